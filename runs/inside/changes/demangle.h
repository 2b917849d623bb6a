/* Names of C++ as people write them. */
#ifndef RUNS_CHANGES_DEMANGLE_H
#define RUNS_CHANGES_DEMANGLE_H

/* "std::max(int, int)" of a symbol of C++ (Itanium ABI), any other as it is; on one line. By GNU libiberty. free() it. */
char *demangle(const char *symbol);

#endif
