/* Names of C++ and Rust as people write them. */
#ifndef RUNS_CHANGES_DEMANGLE_H
#define RUNS_CHANGES_DEMANGLE_H

/* "std::max(int, int)" for a C++ symbol (Itanium ABI), "core::iter::range" for one of Rust (v0 and legacy), any other symbol unchanged; on
 * one line. By GNU libiberty. free() it. */
char *demangle(const char *symbol);

/* The name of a Rust symbol, which is without the hashes that every build of a crate has of its own; NULL for any other symbol. free() it.
 */
char *demangle_without_hash(const char *symbol);

#endif
