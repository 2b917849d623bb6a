/* Measures which resources commands use on this machine: runs them repeatedly, without a laboratory, with the kernel's counters. */
#ifndef GATE_HERE_HERE_H
#define GATE_HERE_HERE_H

#include "base/command.h"
#include "base/document.h"

#include <stdbool.h>

struct changed_asked; /* gate/here/changed.h */

struct here_how {
	double budget_s;
	double min_effect;  /* for a comparison */
	bool until_decided; /* end a comparison as soon as it is decided */
	bool progress;
	bool any_status;  /* an exit status other than 0 is no failure; an end by a signal is */
	const char *keep; /* directory of a laboratory to create with a comparison's runs; NULL: none */
};

/* A command. */
struct here_side {
	const char *name;	  /* name in answers; NULL: its first arguments */
	const char *const *words; /* [n] arguments, the program first */
	size_t n;
	const char *program;   /* file to execute; NULL: the first argument */
	const char *directory; /* directory in which it runs; NULL: that of this process */
};

/* Measures where the time of the command words[n] goes. Each run reads all of our standard input. Adds the answer to *d. */
enum assay_status here_profile(const char *const *words, size_t n, const struct here_how *how, struct document *d, struct assay_error *err);

/* Decides, as the gate does, whether the second of two commands is slower than the first on this machine; they run in turn. `changed`: the
 * source trees of their programs; NULL: not known. Sets the document's exit status. ASSAY_E_NODATA: a command fails. */
enum assay_status here_compare(const struct here_side sides[2], const struct here_how *how, const struct changed_asked *changed,
			       struct document *d, struct assay_error *err);

#define HERE_BUDGET_S 20
#define HERE_BUDGET(arguments, member, default_)                                                                                           \
	CLI_SPAN("budget", arguments, member, "Measure for so long: 90, 90s or 2m (default: " default_ ")")
#define HERE_ANY_STATUS(arguments, member)                                                                                                 \
	CLI_FLAG("ignore-failure", arguments, member, "On this machine: measure a command that ends with another status than 0, too")

#endif
