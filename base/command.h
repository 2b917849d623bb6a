/* A sub-command is one constant row: its arguments, options and help, its use of the laboratory, and the function that runs it. The parser,
 * --help, shell completion and manual pages all read this row, so an option is added in one place.
 *
 *	struct arguments { const char *selectors[2]; int64_t top; bool machines; };
 *	static const struct arguments defaults = { .top = 8 };
 *	static const struct cli_option options[] = {
 *		CLI_INTEGER("top", "N", struct arguments, top, 1, 10000, "Show the N groups that changed most (default: 8)"),
 *		CLI_FLAG("machines", struct arguments, machines, "List the ratio on every machine"),
 *		CLI_END
 *	};
 *	static const struct cli_option words[] = {
 *		CLI_ARGUMENT("A", struct arguments, selectors[0]), CLI_ARGUMENT("B", struct arguments, selectors[1]), CLI_END
 *	};
 *	const struct command report_command = {
 *		.name = "report",
 *		.summary = "write a page about two versions",
 *		.about = "...",
 *		.examples = "  assay report ...\n",
 *		.words = words,
 *		.options = options,
 *		.defaults = &defaults,
 *		CLI_RUN(struct arguments, CLI_LAB_READ, report_run),
 *	}; */
#ifndef BASE_COMMAND_H
#define BASE_COMMAND_H

#include "base/document.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* ---- options and arguments ---- */

enum cli_type {
	CLI_TYPE_FLAG,	  /* bool, set to true if the option is given */
	CLI_TYPE_TEXT,	  /* const char *, not empty; belongs to argv */
	CLI_TYPE_INTEGER, /* int64_t from `low` to `high` */
	CLI_TYPE_REAL,	  /* double from `least` to `most` */
	CLI_TYPE_CHOICE,  /* int, index into `choices` */
	CLI_TYPE_LIST,	  /* struct cli_list, one item per occurrence of the option */
	CLI_TYPE_NAMES,	  /* struct cli_list, filled from a text such as "a,b" without empty items; a repeated option adds items */
	CLI_TYPE_PARSED,  /* any type; parse() stores the value */
};

/* Values of a repeatable option. The command line parser frees them. Initially zeroed. */
struct cli_list {
	char **items; /* [n], followed by a NULL; owned by the list */
	size_t n, capacity;
};

struct cli_option {
	const char *name;  /* long name, such as "top"; for an argument, its name in help, such as "BASELINE" */
	char letter;	   /* short name, such as 'w' for -w; 0 if there is none */
	const char *value; /* name of the value in help, such as "N"; NULL for a flag */
	const char *help;
	enum cli_type type;
	size_t offset;		    /* offset of the option's member in the struct of the command's arguments */
	int64_t low, high;	    /* limits of CLI_TYPE_INTEGER; for a list of arguments, `low` is the minimum number of them */
	double least, most;	    /* limits of CLI_TYPE_REAL */
	const char *const *choices; /* names for CLI_TYPE_CHOICE; ends with NULL */
	enum assay_status (*parse)(const char *text, void *to, struct assay_error *err); /* converts `text` into *to; else *err explains */
	bool owned;	     /* true if the value is a struct that starts with a pointer to allocated memory, which the parser frees */
	const char *implied; /* value of an option that is given without a value; NULL if the option needs a value */
	bool required;	     /* true if the option or argument must be given */
};

/* Parses a time such as "90s" into *seconds, a double. This is the parse() function of CLI_DURATION. */
enum assay_status cli_parse_duration(const char *text, void *seconds, struct assay_error *err);

/* clang-format off */
#define CLI_AT(arguments, member) .offset = offsetof(arguments, member)
/* Defines an option with more fields: CLI_OPTION(INTEGER, "jobs", "N", struct arguments, jobs, "How many", .letter = 'j', .low = 1). */
#define CLI_OPTION(type_, name_, value_, arguments, member, help_, ...) \
	{ .name = name_, .value = value_, .help = help_, .type = CLI_TYPE_##type_, CLI_AT(arguments, member), __VA_ARGS__ }
#define CLI_FLAG(name_, arguments, member, help_) \
	CLI_OPTION(FLAG, name_, NULL, arguments, member, help_, .letter = 0)
#define CLI_TEXT(name_, value_, arguments, member, help_) \
	CLI_OPTION(TEXT, name_, value_, arguments, member, help_, .letter = 0)
#define CLI_INTEGER(name_, value_, arguments, member, low_, high_, help_) \
	CLI_OPTION(INTEGER, name_, value_, arguments, member, help_, .low = low_, .high = high_)
#define CLI_REAL(name_, value_, arguments, member, least_, most_, help_) \
	CLI_OPTION(REAL, name_, value_, arguments, member, help_, .least = least_, .most = most_)
#define CLI_CHOICE(name_, choices_, arguments, member, help_) \
	CLI_OPTION(CHOICE, name_, "NAME", arguments, member, help_, .choices = choices_)
#define CLI_LIST(name_, value_, arguments, member, help_) \
	CLI_OPTION(LIST, name_, value_, arguments, member, help_, .letter = 0)
#define CLI_NAMES(name_, value_, arguments, member, help_) \
	CLI_OPTION(NAMES, name_, value_, arguments, member, help_, .letter = 0)
#define CLI_PARSED(name_, value_, arguments, member, parse_, help_) \
	CLI_OPTION(PARSED, name_, value_, arguments, member, help_, .parse = parse_)
/* Defines an option whose value is a time. The member is a double, in seconds. */
#define CLI_DURATION(name_, arguments, member, help_) \
	CLI_PARSED(name_, "TIME", arguments, member, cli_parse_duration, help_)

#define CLI_ARGUMENT(name_, arguments, member) { .name = name_, .type = CLI_TYPE_TEXT, CLI_AT(arguments, member), .required = true }
#define CLI_OPTIONAL_ARGUMENT(name_, arguments, member) { .name = name_, .type = CLI_TYPE_TEXT, CLI_AT(arguments, member) }
/* Defines a list that takes all remaining arguments, at least `low_` of them. */
#define CLI_ARGUMENTS(name_, arguments, member, low_) { .name = name_, .type = CLI_TYPE_LIST, CLI_AT(arguments, member), .low = low_ }
#define CLI_END { .name = NULL }
/* clang-format on */

/* ---- description of a command ---- */

struct lab; /* the laboratory, defined in fleet/ */

enum cli_lab {
	CLI_LAB_NONE,	  /* the command uses no laboratory; -C is refused */
	CLI_LAB_DEFERRED, /* run() gets NULL, and may itself open the laboratory in cli_directory() */
	CLI_LAB_READ,
	CLI_LAB_WRITE, /* run() gets the laboratory, whose lock it holds */
};

#define CLI_NO_FORMAT 1u /* the command has only one output format; --format is refused */
#define CLI_PROGRESS  2u /* the command shows the progress of long work; adds --quiet */
#define CLI_DECISIONS 4u /* the command answers with decisions; adds their formats, and --output */

/* Runs a command: writes its answer and d->exit_status into `d`. If it fails, the parser prints only *err, on one line. */
typedef enum assay_status command_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err);

struct command {
	const char *name;	 /* full name, such as "host list"; for a heading, its text */
	const char *summary;	 /* one line for the list of commands, starting with a verb: "write a page about two versions" */
	const char *about;	 /* paragraphs separated by empty lines; help wraps their lines */
	const char *more;	 /* text that help prints unchanged after the options, such as tables of names; NULL if none */
	const char *examples;	 /* lines that start with two spaces, printed unchanged; NULL if none */
	const char *exit_status; /* one paragraph; NULL if the statuses are 0 success, 1 failure, 2 usage */
	const struct cli_option *words, *options; /* arguments and options; end with CLI_END; NULL if none */
	const void *defaults;			  /* initial values of the arguments; NULL if all are zero */
	size_t arguments_bytes;
	enum cli_lab lab;
	unsigned flags;
	/* Reason why builds for other architectures than x86-64 refuse the command, as the end of a sentence; NULL if they accept it. */
	const char *only_x86_64;
	/* Checks options that require or exclude each other. The parser reports an error as wrong usage. NULL if nothing needs a check. */
	enum assay_status (*check)(void *arguments, struct assay_error *err);
	command_run *run; /* function that runs the command; NULL for a heading */
};

/* Sets the last fields of a command: the type of its arguments, its use of the laboratory, and the function that runs it. */
#define CLI_RUN(arguments, lab_, run_) .arguments_bytes = sizeof(arguments), .lab = lab_, .run = run_

/* ---- functions for running commands ---- */

const char *cli_directory(void);  /* returns the laboratory's directory: that of -C, else "." */
bool cli_is_quiet(void);	  /* reports whether --quiet is given: show no progress */
bool cli_is_human_format(void);	  /* reports whether the format is human; only then may a command stream its output */
doc_renderer *cli_renderer(void); /* returns the renderer for --format, for a command that renders pages itself */
void cli_note(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* prints the note "assay NAME: ..." on standard error */
const char *cli_command_name(void);					   /* returns the command's full name, such as "assay host list" */
/* Writes bytes from outside (of hosts, programs, other users' files) safely to a terminal. '?' replaces control characters, except tabs and
 * newlines. If `colours`, sequences that choose colours pass unchanged. Do not split a multi-byte character between two calls. */
void cli_write_sanitized(const char *bytes, size_t n, bool colours, FILE *to);

/* ---- functions for the main program ---- */

/* A name that users may type but that is no command, and the command to use instead. Neither starts with "assay". */
struct renamed {
	const char *old_name, *new_name;
};

struct program {
	const struct command *const *commands; /* [n], commands and headings, each heading before its commands */
	size_t n;
	const struct renamed *renamed;	     /* other names of commands, of which the first match counts; ends with { NULL, NULL } */
	const char *const *formats;	     /* names for --format, the default first; ends with NULL */
	const char *const *decision_formats; /* the names in `formats`, then names that only decisions have; ends with NULL */
	doc_renderer *const *renderers;	     /* renderers in the order of `decision_formats` */
	/* Opens the laboratory for `command`, and takes its lock if `write`. After a failure, too, lab_close() must get *out. */
	enum assay_status (*lab_open)(const char *directory, bool write, const char *command, struct lab **out, struct assay_error *err);
	void (*lab_close)(struct lab *lab);
};

/* Runs the program: handles --help, --version and a leading -C DIR, then runs the sub-command in argv. Returns the exit status. */
int dispatch_main(const struct program *program, int argc, char **argv);

extern const struct command help_command;

/* Runs one command. argv[0] is its full name, such as "assay host list". Returns the exit status. */
int command_main(const struct program *program, const struct command *command, int argc, char **argv, const char *directory);

/* Appends the help text of one command to `out`. */
void command_help(const struct program *program, const struct command *command, struct buf *out);

/* Writes the shared options of `command`, such as --format, to `out`, ended by CLI_END. CLI_SHARED_OPTIONS_MAX includes the end. */
#define CLI_SHARED_OPTIONS_MAX 7
void command_shared_options(const struct program *program, const struct command *command, struct cli_option out[CLI_SHARED_OPTIONS_MAX]);

#endif
