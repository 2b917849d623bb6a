/* A sub-command is one constant row: its words, options and help, what it needs of the laboratory, and the function that answers. Parsing,
 * --help, shell completion and manual pages all come from the row; an option is added in one place.
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
#include <stddef.h>
#include <stdint.h>

/* ---- options and words ---- */

enum cli_type {
	CLI_TYPE_FLAG,	  /* bool, set to true */
	CLI_TYPE_TEXT,	  /* const char *, borrowed from argv, not empty */
	CLI_TYPE_INTEGER, /* int64_t, from low to high */
	CLI_TYPE_REAL,	  /* double, from least to most */
	CLI_TYPE_CHOICE,  /* int, the index among choices */
	CLI_TYPE_LIST,	  /* struct cli_list: one item each time that it is given */
	CLI_TYPE_NAMES,	  /* struct cli_list: items separated by commas; given again, they add up; no item is empty */
	CLI_TYPE_PARSED,  /* anything: parse() stores it */
};

/* What is given several times; zeroed at first, released by the command line. */
struct cli_list {
	char **items; /* [n], and a NULL after them; owned */
	size_t n, capacity;
};

struct cli_option {
	const char *name;  /* "top"; of a word, what help calls it: "BASELINE" */
	char letter;	   /* 'w' for -w; or 0 */
	const char *value; /* what help calls its value, where it does not list the choices: "N"; NULL for a flag */
	const char *help;
	enum cli_type type;
	size_t offset;		    /* in the command's arguments */
	int64_t low, high;	    /* CLI_TYPE_INTEGER; of a word that is a list, how many */
	double least, most;	    /* CLI_TYPE_REAL */
	const char *const *choices; /* CLI_TYPE_CHOICE: ends with NULL */
	enum assay_status (*parse)(const char *text, void *to, struct assay_error *err); /* the error says what is wrong with the text */
	bool owned;	     /* what parse() stores starts with a pointer to what it has allocated: the command line frees it */
	const char *implied; /* the value when the option is given without one; NULL: it needs one */
	bool required;	     /* of an option: it must be given; of an argument: it must be given */
};

/* For CLI_SPAN. */
enum assay_status cli_span(const char *text, void *seconds, struct assay_error *err);

/* clang-format off */
#define CLI_AT(arguments, member) .offset = offsetof(arguments, member)
/* A letter for one of these, or a must: CLI_OPTION(INTEGER, "jobs", "N", struct arguments, jobs, "How many", .letter = 'j', .low = 1). */
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
/* A time, of which the member, a double, has the seconds. */
#define CLI_SPAN(name_, arguments, member, help_) \
	CLI_PARSED(name_, "TIME", arguments, member, cli_span, help_)

#define CLI_WORD(name_, arguments, member) { .name = name_, .type = CLI_TYPE_TEXT, CLI_AT(arguments, member), .required = true }
#define CLI_OPTIONAL_WORD(name_, arguments, member) { .name = name_, .type = CLI_TYPE_TEXT, CLI_AT(arguments, member) }
/* All words that are left, at least `low_` of them. */
#define CLI_WORDS(name_, arguments, member, low_) { .name = name_, .type = CLI_TYPE_LIST, CLI_AT(arguments, member), .low = low_ }
#define CLI_END { .name = NULL }
/* clang-format on */

/* ---- the row ---- */

struct lab; /* the laboratory, which base does not know */

enum cli_lab {
	CLI_LAB_NONE,  /* the command has nothing to do with one: -C is refused */
	CLI_LAB_LATER, /* it may open one itself (cli_directory()): run gets NULL */
	CLI_LAB_READ,
	CLI_LAB_WRITE, /* takes the laboratory's lock */
};

#define CLI_NO_FORMAT 1u /* answers in one format only: --format is refused */
#define CLI_PROGRESS  2u /* long work that shows its progress: has --quiet */
#define CLI_DECISIONS 4u /* answers with decisions: has their formats, and --output */

/* Answers into the document; its exit_status is that of the command. A failure prints its error as one line, and no document. */
typedef enum assay_status command_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err);

struct command {
	const char *name;	 /* "catalog list"; of a heading in the list of commands, the heading */
	const char *summary;	 /* one line in the list of commands: what it does, as a verb: "write a page about two versions" */
	const char *about;	 /* one paragraph, or several with an empty line between them; lines are broken where they are shown */
	const char *more;	 /* shown as it is after the options: tables of names and the like; or NULL */
	const char *examples;	 /* lines, each with two blanks in front, shown as they are */
	const char *exit_status; /* one paragraph; NULL: 0, 1 failure, 2 usage */
	const struct cli_option *words, *options; /* end with CLI_END; or NULL */
	const void *defaults;			  /* the arguments before parsing; NULL: zeroed */
	size_t arguments_bytes;
	enum cli_lab lab;
	unsigned flags;
	/* Where the program is not built for x86-64 the command is refused for this reason, which ends a sentence; NULL: it works
	 * everywhere. */
	const char *only_x86_64;
	/* What a row cannot say: options that need or exclude each other. May be NULL. An ASSAY_E_USAGE is wrong usage, like any error
	 * here. */
	enum assay_status (*check)(void *arguments, struct assay_error *err);
	command_run *run; /* NULL: a heading */
};

/* What a row ends with: its arguments, what it needs of the laboratory, and what answers. */
#define CLI_RUN(arguments, lab_, run_) .arguments_bytes = sizeof(arguments), .lab = lab_, .run = run_

/* ---- for commands at work ---- */

const char *cli_directory(void); /* of the laboratory: -C, else "." */
bool cli_quiet(void);		 /* --quiet: no progress */
bool cli_for_people(void);	 /* --format human: a command whose output streams as it arrives does so only for people */
void cli_remark(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* a line on standard error, "assay NAME: ..." */
/* The command at work: "assay catalog list". */
const char *cli_command_name(void);
/* Writes to a terminal what may hold bytes from outside (of hosts, of programs, of files that others wrote), which must not steer it: '?'
 * for every control character but tabs and the ends of lines. With `colours` the sequences that choose one pass, too: they are ours. A
 * character of several bytes must not be cut between two calls. */
void cli_put(const char *bytes, size_t n, bool colours, FILE *to);

/* ---- for the program ---- */

struct program {
	const struct command *const *commands; /* [n], headings before what they are of */
	size_t n;
	const char *const *formats;	     /* of --format: names, the first is the default; ends with NULL */
	const char *const *decision_formats; /* the same, and after them those of decisions */
	doc_renderer *const *renderers;	     /* of each of these */
	/* Opens the laboratory (write: with its lock) in the name of the command. lab_close() is given what it returned. */
	enum assay_status (*lab_open)(const char *directory, bool write, const char *command, struct lab **out, struct assay_error *err);
	void (*lab_close)(struct lab *lab);
};

/* The program: finds the sub-command that argv names and runs it; handles --help, --version and a leading -C DIR. */
int dispatch_main(const struct program *program, int argc, char **argv);

/* Commands about commands. */
extern const struct command completion_command, manual_command;

/* Runs one command: argv[0] is its whole name. Returns the exit status. */
int command_main(const struct program *program, const struct command *command, int argc, char **argv, const char *directory);

/* Help of one command, on standard output. */
void command_help(const struct program *program, const struct command *command, struct buf *out);

/* Options that every command has, those that this one lacks excluded: at most CLI_SHARED_MAX, ended by CLI_END. */
#define CLI_SHARED_MAX 7
void command_shared(const struct program *program, const struct command *command, struct cli_option out[CLI_SHARED_MAX]);

#endif
