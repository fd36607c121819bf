// Package corpus owns the way from a folder or a bucket to documents: the files
// root and what may be read under it, decoding of text, and the shape that every
// format is parsed into. The formats themselves are packages below it, and so is
// the way to a bucket's store. It knows no chunker, model or graph store, and it
// writes nothing.
//
// A files root is a [Tree]. A folder is read through [Root]: nothing outside it, no
// hidden file, no special file and no symbolic link is ever read, whatever happens
// to the folder meanwhile. A [Bucket] leaves out and refuses the same by its keys.
// A [Loader] turns one file into a [Document] or into that file's own error.
package corpus
