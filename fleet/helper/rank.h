/* Ranks of a parallel program on one host: they have one name, and are told apart by what their launcher has put into their environment. */
#ifndef FLEET_HELPER_RANK_H
#define FLEET_HELPER_RANK_H

#include <stdint.h>

/* The variables by which a launcher tells processes which rank they are, up to NULL; NULL: a program of that name is none. */
const char *const *rank_variables(const char *program);

/* By the first of them that the process was started with; -1: by none, or it has ended. */
int64_t rank_of(uint32_t pid, const char *const *variables);

#endif
