/* Readable names of C++ and Rust functions. */
#ifndef RUNS_CHANGES_DEMANGLE_H
#define RUNS_CHANGES_DEMANGLE_H

/* Returns a symbol as a readable name on one line: "std::max(int, int)" for C++ (Itanium ABI), "core::iter::range" for Rust (v0 and
 * legacy). Returns other symbols unchanged. Uses GNU libiberty. The caller frees the result. */
char *demangle(const char *symbol);

/* Returns the name of a Rust symbol without the hashes that differ between builds of a crate; NULL for others. The caller frees it. */
char *demangle_without_hash(const char *symbol);

#endif
