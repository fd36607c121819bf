// Package pdf reads PDF files: text in reading order with pages, headings and
// metadata, as a [corpus.Document].
//
// PDFium, compiled to WebAssembly and run by wazero, finds the characters; it
// sees no file system and no network, has a memory limit, and an instance that
// traps or hangs is thrown away with its file. pdfcpu reads the outline and
// says what is wrong with a file that does not open. Everything between the
// characters and the document is this package: lines, columns, running headers
// and footers, hyphenation, paragraphs, headings.
//
// It does no optical character recognition: a scan without a text layer is an
// error of kind image_only.
package pdf
