/* The program in place of a compiler, for main(). */
#ifndef RUNS_CMD_BUILD_H
#define RUNS_CMD_BUILD_H

/* Executes the compiler in whose place the program was called (runs/inside/variants/compiler_wrapper.h). Returns the exit status if that
 * cannot be. */
int build_as_compiler(int argc, char **argv);

#endif
