/* Reads suite.yaml, in which users list the comparisons of each night (docs/nightly.md; all keys: docs/reference/suite.md). */
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

/* Words that suite.yaml accepts as a baseline, besides names of versions. */
#define SUITE_ACCEPTED "accepted" /* the baseline that a user accepted */
#define SUITE_RELEASE  "release"  /* the latest release before the candidate */
#define SUITE_PREVIOUS "previous" /* the candidate's version in the last night that decided on it */

struct suite_entry {
	char *application;			 /* name of a manifest, or a pattern with * ? [ ] */
	struct manifest_arguments candidates;	 /* versions or patterns; n == 0 means the manifest's last version */
	struct manifest_arguments baseline_kind; /* baselines, at least one */
	struct manifest_arguments inputs;	 /* n == 0 means all inputs */
	char *hosts;				 /* node set; NULL means all hosts */
	double min_effect;			 /* smallest slowdown that matters, as a fraction; 0 means the laboratory's */
	double min_gain;			 /* smallest improvement that matters, as a fraction; 0 means min_effect */
	double budget_s;			 /* budget per comparison, s; 0 means no limit */
	size_t line;
};

struct suite {
	struct suite_entry *entries; /* array of n elements */
	size_t n;
	char *releases;			/* pattern of the versions and git tags that are releases; default "v*" */
	double deadline_s;		/* deadline, s after the start of a night; 0 if there is none */
	int deadline_minute;		/* or deadline as a minute of the day, local time; -1 if there is none */
	char *battery;			/* battery of the fingerprints, default "quick"; SUITE_BATTERY_NONE: take none */
	size_t battery_line;		/* line in suite.yaml that names the battery; 0 if there is none */
	double max_age_days;		/* age from which fingerprints are taken again, days; 0 means the laboratory's limit */
	double wait_s;			/* maximum time to wait for the laboratory's lock, s */
	bool confirm;			/* findings need confirmation runs with an A/A control */
	int64_t machines;		/* number of machines that must confirm a finding */
	double explanation_s;		/* time limit for measuring the functions of a regression, s; 0: do not measure */
	bool control;			/* the runs of each comparison have an A/A control, too */
	char *pages;			/* directory of the night's pages, relative to the laboratory; NULL if none */
	struct manifest_arguments hook; /* command to run after each decision; n == 0 if there is none */
};

/* Parses text[0..n). Errors start with "name:line: ". Overwrites *out; the caller calls suite_release(). */
enum assay_status suite_parse(const char *name, const char *text, size_t n, struct suite *out, struct assay_error *err);
/* Reads the laboratory's suite.yaml. Sets *text to the contents of the file, which the caller frees. */
enum assay_status suite_read(const char *laboratory, struct suite *out, char **text, struct assay_error *err);
void suite_release(struct suite *suite); /* Accepts a zeroed struct. */

/* Returns the deadline of a night that starts at `now_ms`, ms since 1970; 0 if there is none. */
int64_t suite_deadline_ms(const struct suite *suite, int64_t now_ms);

#endif
