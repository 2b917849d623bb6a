/* Measures the resource usage of commands on this machine without a laboratory: runs them repeatedly and reads the kernel's counters. */
#ifndef GATE_HERE_HERE_H
#define GATE_HERE_HERE_H

#include "base/command.h"
#include "base/document.h"

#include <stdbool.h>

struct changed_asked; /* defined in gate/here/changed.h */

struct here_how {
	double budget_s;
	double min_effect;  /* smallest effect that matters in a comparison */
	bool until_decided; /* end a comparison as soon as it is decided */
	bool progress;
	bool any_status;    /* accept nonzero exit statuses; a signal is always a failure */
	const char *attach; /* ids of running processes to watch for `budget_s`, "12,345", instead of running the command; NULL: none */
	const char *keep;   /* directory of a new laboratory for the runs of a comparison; NULL: none */
};

/* A command to run. */
struct here_side {
	const char *name;	  /* name in answers; NULL: its first arguments */
	const char *const *words; /* [n], arguments, program first */
	size_t n;
	const char *program;   /* file to execute; NULL: the first argument */
	const char *directory; /* working directory; NULL: that of this process */
};

/* Measures where the command words[n] spends its time, and fills *d with the answer. Each run reads the whole standard input of assay. With
 * `attach`, the words only name the processes: their program, then text for users. */
enum assay_status here_profile(const char *const *words, size_t n, const struct here_how *how, struct document *d, struct assay_error *err);

/* Decides by the gate's rules whether the second command is slower than the first on this machine. Runs both in turn. `changed`: source
 * trees of the programs; NULL: not known. Sets the document's exit status. ASSAY_E_NODATA: a command fails. */
enum assay_status here_compare(const struct here_side sides[2], const struct here_how *how, const struct changed_asked *changed,
			       struct document *d, struct assay_error *err);

#define HERE_BUDGET_S 20
#define HERE_BUDGET(arguments, member, default_)                                                                                           \
	CLI_SPAN("budget", arguments, member, "Time to measure: 90, 90s or 2m (default: " default_ ")")
#define HERE_ANY_STATUS(arguments, member)                                                                                                 \
	CLI_FLAG("ignore-failure", arguments, member, "Also measure a command that ends with a status other than 0")

#endif
