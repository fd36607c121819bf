// Package pipeline turns files into rows of a graph: it joins the stages (list,
// load, chunk, extract, resolve, assemble, commit) by bounded channels, decides
// what has to be done again and why, and finalizes the graph. It owns the
// store's interface and the report; it does not know FalkorDB, the command line
// or any strategy's code.
//
// One file goes forward and no stage asks an earlier one anything. The store is
// asked one question before work starts: what it has of the root. A file that
// cannot be processed leaves with its own status and reason and never stops the
// run; an error of the store does.
package pipeline
