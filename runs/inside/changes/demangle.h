/* Readable names of C++ and Rust functions. */
#ifndef RUNS_CHANGES_DEMANGLE_H
#define RUNS_CHANGES_DEMANGLE_H

/* Returns "std::max(int, int)" for a C++ symbol (Itanium ABI), "core::iter::range" for a Rust one (v0 and legacy), any other symbol
 * unchanged; on one line. By GNU libiberty. free() it. */
char *demangle(const char *symbol);

/* Returns the name of a Rust symbol, without the hashes that differ in each build of a crate; NULL for any other symbol. free() it. */
char *demangle_without_hash(const char *symbol);

#endif
