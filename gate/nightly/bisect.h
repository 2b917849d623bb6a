/* Which commit made an application slower? Versions between a good and a bad one, built from git and measured beside the good one, as few
 * as the noise allows. What was measured is in the store, so that the same question again goes on where it was. */
#ifndef GATE_NIGHTLY_BISECT_H
#define GATE_NIGHTLY_BISECT_H

#include "base/document.h"
#include "runs/running/launch.h"

struct bisect_options {
	const char *directory;	 /* of the laboratory */
	const char *command;	 /* what others are told while it is locked */
	const char *application; /* of apps/, by its name */
	const char *version;	 /* of the manifest, built from git; NULL: the only one that is */
	char *input;		 /* NULL: the only one */
	const char *good, *bad;	 /* revisions of its repository, as git takes them */
	double min_effect;	 /* 0: the laboratory's */
	double budget_s;	 /* of each comparison; 0: no limit */
	struct cmd_fleet_choice hosts;
	const volatile sig_atomic_t *cancelled;
	void (*watch)(struct launch_options *options);
	void (*note)(const char *text); /* how far it is */
};

/* Fills the document and its exit status. */
enum assay_status bisect_run(const struct bisect_options *options, struct document *d, struct assay_error *err);

#endif
