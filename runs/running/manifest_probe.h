/* The key `probe` of a manifest: how functions are measured by `assay run --probe`. */
#ifndef RUNS_RUNNING_MANIFEST_PROBE_H
#define RUNS_RUNNING_MANIFEST_PROBE_H

#include "runs/running/manifest_words.h"

/* What measures functions. */
enum manifest_back_end {
	MANIFEST_PROBED,   /* the native probe: runs/inside/probe/ */
	MANIFEST_EMULATED, /* versions are built with the emulation: runs/inside/emulate/ */
};

struct manifest_probe {
	bool given; /* the manifest has `probe` */
	enum manifest_back_end back_end;
	bool changed;			 /* functions: those that differ between the first two versions of a plan; default */
	struct manifest_words functions; /* else these */
	bool default_counters;		 /* the default list of events; default */
	struct manifest_words counters;	 /* else these; n == 0: time stamps alone */
	double budget;			 /* [0, 1], of the probe; default .03 */
	char *module;			 /* the file that has the functions, as it is deployed; NULL: what the command starts */
	bool full;			 /* the emulation simulates all windows */
};

/* *out is overwritten; manifest_probe_release() it, on failure too. */
enum assay_status manifest_probe_parse(const struct manifest_reader *r, const struct yaml_node *node, struct manifest_probe *out);
void manifest_probe_release(struct manifest_probe *probe); /* accepts zeroed */

/* All that it says (it must be given), as JSON: the same text for the same meaning. free() it. */
char *manifest_probe_text(const struct manifest_probe *probe);

#endif
