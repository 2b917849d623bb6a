/* The comparisons that a laboratory makes every night: suite.yaml, written by users (docs/nightly.md; keys: docs/reference/suite.md). */
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

/* Baselines that suite.yaml can name besides versions. */
#define SUITE_ACCEPTED "accepted" /* the version that was accepted as baseline */
#define SUITE_RELEASE  "release"  /* the latest release before it */
#define SUITE_PREVIOUS "previous" /* the candidate's version in the last night that decided about it */

struct suite_entry {
	char *application;		  /* name of a manifest, or pattern of such names with * ? [ ] */
	struct manifest_words candidates; /* versions, or patterns; none: the manifest's last version */
	struct manifest_words against;	  /* baselines, at least one */
	struct manifest_words inputs;	  /* none: all */
	char *hosts;			  /* node set; NULL: all */
	double min_effect;		  /* 0: the laboratory's */
	double min_gain;		  /* smallest change that is called an improvement; 0: min_effect */
	double budget_s;		  /* per comparison; 0: no limit */
	size_t line;
};

struct suite {
	struct suite_entry *entries; /* [n] */
	size_t n;
	char *releases;		    /* pattern of versions and git tags that are releases; default "v*" */
	double deadline_s;	    /* time after the start of a night; 0: none */
	int deadline_minute;	    /* alternatively, minute of the day, local time; -1: none */
	char *battery;		    /* battery of fingerprints, default "quick"; SUITE_BATTERY_NONE: none are taken */
	size_t battery_line;	    /* line that names it; 0: no line does */
	double max_age_days;	    /* age from which fingerprints are taken again; 0: the laboratory's */
	double wait_s;		    /* time to wait for the laboratory's lock */
	bool confirm;		    /* findings need confirmation runs with an A/A control */
	int64_t machines;	    /* number of machines that must show a finding again */
	double why_s;		    /* time to measure the functions of a regression; 0: they are not measured */
	bool control;		    /* each comparison has an A/A control, not only the confirmation runs */
	char *pages;		    /* directory for the night's pages, relative to the laboratory's; NULL: none */
	struct manifest_words hook; /* command to run with each decision; n == 0: none */
};

/* Parses text[0..n); errors start with "name:line: ". *out is overwritten; suite_release() it. */
enum assay_status suite_parse(const char *name, const char *text, size_t n, struct suite *out, struct assay_error *err);
/* Reads the laboratory's suite. Sets *text to the text of the file; free() it. */
enum assay_status suite_read(const char *laboratory, struct suite *out, char **text, struct assay_error *err);
void suite_release(struct suite *suite); /* accepts zeroed */

/* Returns the deadline of a night that starts now, ms since 1970; 0: none. */
int64_t suite_deadline_ms(const struct suite *suite, int64_t now_ms);

#endif
