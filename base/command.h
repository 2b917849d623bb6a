/* A sub-command is one constant row: its arguments, options and help, its use of the laboratory, and the function that answers. Parsing,
 * --help, shell completion and manual pages all come from the row, so an option is added in one place.
 *
 *	struct arguments { const char *selectors[2]; int64_t top; bool machines; };
 *	static const struct arguments defaults = { .top = 8 };
 *	static const struct cli_option options[] = {
 *		CLI_INTEGER("top", "N", struct arguments, top, 1, 10000, "Show the N groups that changed most (default: 8)"),
 *		CLI_FLAG("machines", struct arguments, machines, "List the ratio on every machine"),
 *		CLI_END
 *	};
 *	static const struct cli_option words[] = {
 *		CLI_WORD("A", struct arguments, selectors[0]), CLI_WORD("B", struct arguments, selectors[1]), CLI_END
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
	CLI_TYPE_FLAG,	  /* bool, set to true */
	CLI_TYPE_TEXT,	  /* const char *, borrowed from argv, not empty */
	CLI_TYPE_INTEGER, /* int64_t, from low to high */
	CLI_TYPE_REAL,	  /* double, from least to most */
	CLI_TYPE_CHOICE,  /* int, index into choices */
	CLI_TYPE_LIST,	  /* struct cli_list: one item per occurrence */
	CLI_TYPE_NAMES,	  /* struct cli_list: items separated by commas; repeated options add items; no item is empty */
	CLI_TYPE_PARSED,  /* any type: parse() stores the value */
};

/* A repeatable value; zeroed at first, released by the command line. */
struct cli_list {
	char **items; /* [n], and a NULL after them; owned */
	size_t n, capacity;
};

struct cli_option {
	const char *name;  /* "top"; for an argument, its name in help: "BASELINE" */
	char letter;	   /* 'w' for -w; 0: none */
	const char *value; /* name of the value in help, unless help lists choices: "N"; NULL for a flag */
	const char *help;
	enum cli_type type;
	size_t offset;		    /* in the command's arguments */
	int64_t low, high;	    /* CLI_TYPE_INTEGER; for an argument that is a list: number of items */
	double least, most;	    /* CLI_TYPE_REAL */
	const char *const *choices; /* CLI_TYPE_CHOICE: ends with NULL */
	enum assay_status (*parse)(const char *text, void *to, struct assay_error *err); /* its error describes the fault of the text */
	bool owned;	     /* parse() stores a struct that starts with a pointer to allocated memory, which the command line frees */
	const char *implied; /* value of an option without one; NULL: it needs one */
	bool required;	     /* the option or argument must be given */
};

/* Parses the value of CLI_SPAN. */
enum assay_status cli_span(const char *text, void *seconds, struct assay_error *err);

/* clang-format off */
#define CLI_AT(arguments, member) .offset = offsetof(arguments, member)
/* An option with a letter or more fields: CLI_OPTION(INTEGER, "jobs", "N", struct arguments, jobs, "How many", .letter = 'j', .low = 1). */
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
/* A time; the member, a double, gets seconds. */
#define CLI_SPAN(name_, arguments, member, help_) \
	CLI_PARSED(name_, "TIME", arguments, member, cli_span, help_)

#define CLI_WORD(name_, arguments, member) { .name = name_, .type = CLI_TYPE_TEXT, CLI_AT(arguments, member), .required = true }
#define CLI_OPTIONAL_WORD(name_, arguments, member) { .name = name_, .type = CLI_TYPE_TEXT, CLI_AT(arguments, member) }
/* All remaining arguments, at least `low_`. */
#define CLI_WORDS(name_, arguments, member, low_) { .name = name_, .type = CLI_TYPE_LIST, CLI_AT(arguments, member), .low = low_ }
#define CLI_END { .name = NULL }
/* clang-format on */

/* ---- the row ---- */

struct lab; /* the laboratory, unknown to base */

enum cli_lab {
	CLI_LAB_NONE,  /* the command uses none: -C is refused */
	CLI_LAB_LATER, /* run gets NULL, and may open one itself (cli_directory()) */
	CLI_LAB_READ,
	CLI_LAB_WRITE, /* takes the laboratory's lock */
};

#define CLI_NO_FORMAT 1u /* has one output format only: --format is refused */
#define CLI_PROGRESS  2u /* long work that shows its progress: has --quiet */
#define CLI_DECISIONS 4u /* answers with decisions: has their formats, and --output */

/* Writes the answer into the document, whose exit_status becomes the command's. A failure prints its error as one line, and no document. */
typedef enum assay_status command_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err);

struct command {
	const char *name;	 /* "host list"; for a heading in the list of commands, the heading */
	const char *summary;	 /* one line in the list of commands, starting with a verb: "write a page about two versions" */
	const char *about;	 /* paragraphs separated by empty lines; their lines are broken for display */
	const char *more;	 /* shown unchanged after the options: tables of names and the like; or NULL */
	const char *examples;	 /* lines that start with two spaces, shown unchanged */
	const char *exit_status; /* one paragraph; NULL: 0, 1 failure, 2 usage */
	const struct cli_option *words, *options; /* end with CLI_END; or NULL */
	const void *defaults;			  /* initial arguments; NULL: zeroed */
	size_t arguments_bytes;
	enum cli_lab lab;
	unsigned flags;
	/* Reason, as the end of a sentence, why the command is refused on other architectures than x86-64; NULL: it works everywhere. */
	const char *only_x86_64;
	/* Checks options that need or exclude each other. May be NULL. An ASSAY_E_USAGE is wrong usage, like any error here. */
	enum assay_status (*check)(void *arguments, struct assay_error *err);
	command_run *run; /* NULL: a heading */
};

/* The end of a row: type of the arguments, use of the laboratory, function that answers. */
#define CLI_RUN(arguments, lab_, run_) .arguments_bytes = sizeof(arguments), .lab = lab_, .run = run_

/* ---- for running commands ---- */

const char *cli_directory(void);					     /* directory of the laboratory: -C, else "." */
bool cli_quiet(void);							     /* --quiet: shows no progress */
bool cli_for_people(void);						     /* --format human: only then may a command stream its output */
doc_renderer *cli_renderer(void);					     /* renderer of --format, for a command whose page is its own */
void cli_remark(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* prints a line on standard error, "assay NAME: ..." */
const char *cli_command_name(void);					     /* name of the running command: "assay host list" */
/* Writes bytes from outside (of hosts, programs, other users' files) to a terminal safely: '?' replaces control characters except tabs and
 * line ends. With `colours`, sequences that choose colours pass, too: they are assay's. Do not cut multi-byte characters between calls. */
void cli_put(const char *bytes, size_t n, bool colours, FILE *to);

/* ---- for the program ---- */

/* An old name of a command, as a user types it, and the name in use. Neither starts with "assay". */
struct renamed {
	const char *was, *is;
};

struct program {
	const struct command *const *commands; /* [n], each heading before its commands */
	size_t n;
	const struct renamed *renamed;	     /* the first that matches counts; ends with { NULL, NULL } */
	const char *const *formats;	     /* names for --format, the first is the default; ends with NULL */
	const char *const *decision_formats; /* the same names, then those of decisions */
	doc_renderer *const *renderers;	     /* one renderer per format */
	/* Opens the laboratory for a command (write: with its lock). lab_close() gets its result. */
	enum assay_status (*lab_open)(const char *directory, bool write, const char *command, struct lab **out, struct assay_error *err);
	void (*lab_close)(struct lab *lab);
};

/* Runs the program: finds the sub-command that argv names and runs it; handles --help, --version and a leading -C DIR. */
int dispatch_main(const struct program *program, int argc, char **argv);

extern const struct command help_command;

/* Runs one command; argv[0] is its full name. Returns the exit status. */
int command_main(const struct program *program, const struct command *command, int argc, char **argv, const char *directory);

/* Appends the help of one command to `out`. */
void command_help(const struct program *program, const struct command *command, struct buf *out);

/* Returns the options that all commands share, without those that this one lacks: at most CLI_SHARED_MAX, ended by CLI_END. */
#define CLI_SHARED_MAX 7
void command_shared(const struct program *program, const struct command *command, struct cli_option out[CLI_SHARED_MAX]);

#endif
