/* What commands stress on this machine: run again and again for some time, without a laboratory, and measured by the kernel. */
#ifndef GATE_HERE_HERE_H
#define GATE_HERE_HERE_H

#include "base/command.h"
#include "base/document.h"

#include <stdbool.h>

struct changed_asked; /* gate/here/changed.h */

struct here_how {
	double budget_s;
	double min_effect;  /* of a comparison */
	bool until_decided; /* a comparison ends when it has decided */
	bool progress;
	bool any_status;  /* other than 0 is no failure; to be ended by a signal is */
	const char *keep; /* the directory of a laboratory that is made of a comparison's runs; NULL: none is */
};

/* A command. */
struct here_side {
	const char *name;	  /* in answers; NULL: its first words */
	const char *const *words; /* [n] */
	size_t n;
	const char *program;   /* what is executed; NULL: the first word */
	const char *directory; /* in which it runs; NULL: ours */
};

/* Measures where the time of the command words[n] goes. Each run reads our standard input. Adds the answer to *d. */
enum assay_status here_profile(const char *const *words, size_t n, const struct here_how *how, struct document *d, struct assay_error *err);

/* Decides as the gate whether the second of two commands is slower on this machine than the first; they run in turn. `changed`: of which
 * trees they are the programs; NULL: that is not known. Sets the document's exit status. ASSAY_E_NODATA: one fails. */
enum assay_status here_compare(const struct here_side sides[2], const struct here_how *how, const struct changed_asked *changed,
			       struct document *d, struct assay_error *err);

#define HERE_BUDGET_S 20
#define HERE_BUDGET(arguments, member, default_)                                                                                           \
	CLI_SPAN("budget", arguments, member, "Measure for so long: 90, 90s or 2m (default: " default_ ")")
#define HERE_ANY_STATUS(arguments, member)                                                                                                 \
	CLI_FLAG("ignore-failure", arguments, member, "On this machine: measure a command that ends with another status than 0, too")

#endif
