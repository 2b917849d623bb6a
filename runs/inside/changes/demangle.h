/* C++ names as people write them. */
#ifndef RUNS_CHANGES_DEMANGLE_H
#define RUNS_CHANGES_DEMANGLE_H

/* "std::max(int, int)" for a C++ symbol (Itanium ABI), any other symbol unchanged; on one line. By GNU libiberty. free() it. */
char *demangle(const char *symbol);

#endif
