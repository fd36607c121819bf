// Package corpus owns the way from a folder to documents: the files root and
// what may be read under it, decoding of text, and the shape that every format
// is parsed into. The formats themselves are packages below it. It knows no
// chunker, model or graph store, and it writes nothing.
//
// A files root is read through [Root]. Nothing outside it, no hidden file, no
// special file and no symbolic link is ever read, whatever happens to the
// folder meanwhile. A [Loader] turns one file into a [Document] or into that
// file's own error.
package corpus
