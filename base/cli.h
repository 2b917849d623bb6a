/* What all sub-commands share: -C, --format, --help, one way to end. Only cmd_*.c and main.c use this. */
#ifndef BASE_CLI_H
#define BASE_CLI_H

#include "base/buf.h"
#include "base/command.h"
#include "base/error.h"

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cli_format_old { CLI_HUMAN, CLI_JSON };

struct cli {
	const char *name;       /* "assay catalog list" */
	const char *directory;  /* of the laboratory; -C, else "." */
	enum cli_format_old format; /* --format, else human */
};

/* A sub-command: argv[0] is its whole name. Returns the exit status. `directory` is what stood before the sub-command. */
typedef int cli_command(int argc, char **argv, const char *directory);

/* The program: finds the sub-command that argv names and runs it; handles --help, --version and a leading -C DIR. */
int cli_main(const struct program *program, int argc, char **argv);

extern const struct command completion_command, manual_command;

/* Parses the options of a sub-command together with the shared ones. `argp` has no children of its own; its parser gets `input`.
 * Wrong usage prints one line and exits with 2, --help exits with 0. */
void cli_parse(struct cli *cli, const struct argp *argp, int argc, char **argv, const char *directory, void *input);

/* The same for a command that has no laboratory, or one format only: what would have no effect is not in its help, and refused. (A -C
 * before the command is the program's, and taken.) */
#define CLI_NO_DIRECTORY_OLD 1u
#define CLI_NO_FORMAT_OLD    2u
void cli_parse_without(struct cli *cli, unsigned without, const struct argp *argp, int argc, char **argv, const char *directory, void *input);

/* Writes the text to standard output; a failure (full disk, closed descriptor) is an error. On a terminal nothing in it but our own colours
 * has an effect: the text may have words of hosts, programs and files in it. */
enum assay_status cli_print(const struct buf *text, struct assay_error *err);

/* Ends a command: prints the error of a failure as one line on standard error, and gives the exit status: that of `status`, or
 * `decided` when status is ASSAY_OK. */
int cli_end(const struct cli *cli, enum assay_status status, const struct assay_error *err, int decided);

/* A remark on standard error, "NAME: ...". */
void cli_note(const struct cli *cli, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Wrong usage, for parsers: prints "NAME: ... ('NAME --help' shows how)" as one line on standard error and exits with 2. Instead of
 * argp_error(), whose message takes several lines. */
_Noreturn void cli_refuse(const struct argp_state *state, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* For parsers: the whole number behind `option` ("--top"), which is from low to high; refuses all else. */
int64_t cli_number(const struct argp_state *state, const char *option, const char *arg, int64_t low, int64_t high);

/* For parsers of commands that take exactly `wanted` words: stores them in words[], refuses more and fewer. Returns
 * ARGP_ERR_UNKNOWN for keys that are not about words. `what` names them: "MACHINE", "BASELINE and CANDIDATE". */
error_t cli_words(int key, char *arg, struct argp_state *state, const char **words, unsigned wanted, const char *what);

/* For parsers of commands whose only word is a directory that may be left out: stores it in *directory, refuses a second one. */
error_t cli_directory_old(int key, char *arg, struct argp_state *state, const char **directory);

#endif
