/* Comparisons that a laboratory makes every night: suite.yaml, written by users (docs/nightly.md; keys: docs/reference/suite.md). */
#ifndef GATE_NIGHTLY_SUITE_H
#define GATE_NIGHTLY_SUITE_H

#include "base/error.h"
#include "base/rows.h"
#include "runs/running/manifest.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SUITE_FILE	   "suite.yaml"
#define SUITE_ENTRIES_MAX  10000
#define SUITE_BATTERY_NONE "none"

/* Baselines that suite.yaml can name instead of a version. */
#define SUITE_ACCEPTED "accepted" /* the accepted baseline */
#define SUITE_RELEASE  "release"  /* the latest release before the candidate */
#define SUITE_PREVIOUS "previous" /* the candidate's version in the last night that decided on it */

struct suite_entry {
	char *application;		      /* name of a manifest, or pattern with * ? [ ] */
	struct manifest_arguments candidates; /* versions or patterns; n == 0: the manifest's last version */
	struct manifest_arguments against;    /* names of baselines, at least one */
	struct manifest_arguments inputs;     /* n == 0: all inputs */
	char *hosts;			      /* node set; NULL: all hosts */
	double min_effect;		      /* fraction; 0: the laboratory's */
	double min_gain;		      /* smallest change that counts as an improvement; 0: min_effect */
	double budget_s;		      /* per comparison; 0: no limit */
	size_t line;
};

struct suite {
	struct suite_entry *entries; /* [n] */
	size_t n;
	char *releases;			/* pattern of versions and git tags that count as releases; default "v*" */
	double deadline_s;		/* seconds after the start of a night; 0: none */
	int deadline_minute;		/* or minute of the day, local time; -1: none */
	char *battery;			/* battery of fingerprints, default "quick"; SUITE_BATTERY_NONE: take none */
	size_t battery_line;		/* line in suite.yaml that names the battery; 0: none */
	double max_age_days;		/* age at which fingerprints are taken again; 0: the laboratory's */
	double wait_s;			/* seconds to wait for the laboratory's lock */
	bool confirm;			/* findings need confirmation runs with an A/A control */
	int64_t machines;		/* number of machines that must confirm a finding */
	double why_s;			/* time limit to measure the functions of a regression, s; 0: do not measure functions */
	bool control;			/* each comparison has an A/A control, not only the confirmation runs of the comparison */
	char *pages;			/* directory of the night's pages, relative to the laboratory; NULL: none */
	struct manifest_arguments hook; /* command to run after each decision; n == 0: none */
};

/* Parses text[0..n). Errors start with "name:line: ". Overwrites *out; suite_release() it. */
enum assay_status suite_parse(const char *name, const char *text, size_t n, struct suite *out, struct assay_error *err);
/* Reads the laboratory's suite.yaml. Sets *text to the file's contents; free() it. */
enum assay_status suite_read(const char *laboratory, struct suite *out, char **text, struct assay_error *err);
void suite_release(struct suite *suite); /* accepts a zeroed struct */

/* Returns the deadline of a night that starts at `now_ms`, ms since 1970; 0: none. */
int64_t suite_deadline_ms(const struct suite *suite, int64_t now_ms);

#endif
