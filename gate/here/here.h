/* Measures the resource usage of commands on this machine without a laboratory: runs them repeatedly and reads the kernel's counters. */
#ifndef GATE_HERE_HERE_H
#define GATE_HERE_HERE_H

#include "base/command.h"
#include "base/document.h"

#include <stdbool.h>

struct changed_request; /* defined in gate/here/changed.h */

struct adhoc_options {
	double budget_s;
	double min_effect;	/* smallest relative effect that matters in a comparison, 0.03 = 3 % */
	bool stop_when_decided; /* end a comparison as soon as it is decided */
	bool progress;
	bool accept_any_status; /* accept nonzero exit statuses; death by a signal is always a failure */
	const char *attach;	/* ids of running processes to watch for `budget_s`, "12,345", instead of running the command; NULL: none */
	const char *keep;	/* directory of a new laboratory that stores the runs of a comparison; NULL to store nothing */
};

/* A command to measure. */
struct adhoc_side {
	const char *name;	  /* name in answers; NULL to use the command's first arguments */
	const char *const *words; /* [n] arguments; the first is the program */
	size_t n;
	const char *program;   /* path of the file to execute; NULL to use the first argument */
	const char *directory; /* working directory; NULL to use that of this process */
};

/* Measures where the command words[n] spends its time, and fills *d with the answer. Each run reads the whole standard input of assay. With
 * `attach`, the words only name the processes: their program, then text for users. */
enum assay_status adhoc_profile(const char *const *words, size_t n, const struct adhoc_options *how, struct document *d,
				struct assay_error *err);

/* Decides by the gate's rules whether the second command is slower than the first on this machine. Runs the commands in turn. `changed`
 * describes the source trees of the programs; NULL if not known. Sets the document's exit status. Returns ASSAY_E_NODATA if one fails. */
enum assay_status adhoc_compare(const struct adhoc_side sides[2], const struct adhoc_options *how, const struct changed_request *changed,
				struct document *d, struct assay_error *err);

#define ADHOC_BUDGET_S 20
#define ADHOC_BUDGET(arguments, member, default_)                                                                                          \
	CLI_DURATION("budget", arguments, member, "Time to measure: 90, 90s or 2m (default: " default_ ")")
#define ADHOC_ANY_STATUS(arguments, member)                                                                                                \
	CLI_FLAG("ignore-failure", arguments, member, "Also measure a command that ends with a status other than 0")

#endif
