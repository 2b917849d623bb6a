/* What a laboratory compares every night: suite.yaml, written by people (docs/nightly.md; keys: docs/reference/suite.md). */
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

/* What a candidate is compared with, beside versions by their names. */
#define SUITE_ACCEPTED "accepted" /* the version that was accepted as baseline */
#define SUITE_RELEASE  "release"  /* the latest release before it */
#define SUITE_PREVIOUS "previous" /* what the candidate was in the last night that decided about it */

struct suite_entry {
	char *application;		  /* a manifest's name, or a pattern of such names with * ? [ ] */
	struct manifest_words candidates; /* versions, or patterns; none: the manifest's last one */
	struct manifest_words against;	  /* at least one */
	struct manifest_words inputs;	  /* none: all */
	char *hosts;			  /* a node set; NULL: all */
	double min_effect;		  /* 0: the laboratory's */
	double min_gain;		  /* the smallest improvement that is called one; 0: as min_effect */
	double budget_s;		  /* of a comparison; 0: no limit */
	size_t line;
};

struct suite {
	struct suite_entry *entries; /* [n] */
	size_t n;
	char *releases;		    /* pattern of versions and git tags that are releases; "v*" */
	double deadline_s;	    /* after its start; 0: none */
	int deadline_minute;	    /* or at this minute of the day, local time; -1: no */
	char *battery;		    /* of fingerprints; "quick"; SUITE_BATTERY_NONE: none are taken */
	size_t battery_line;	    /* where it is named; 0: nowhere */
	double max_age_days;	    /* of fingerprints; 0: the laboratory's */
	double wait_s;		    /* for the laboratory's lock */
	bool confirm;		    /* findings, by fresh runs beside a control */
	int64_t machines;	    /* on how many of them a confirmed finding must be seen */
	double why_s;		    /* to measure functions of a regression; 0: they are not */
	bool control;		    /* the baseline runs beside itself along each comparison, not only beside fresh runs */
	char *pages;		    /* directory, of the laboratory's where it is relative, that gets the night's pages; NULL: none */
	struct manifest_words hook; /* is run with each decision; n == 0: none */
};

/* From text[0..n); errors start with "name:line: ". *out is overwritten; suite_release() it. */
enum assay_status suite_parse(const char *name, const char *text, size_t n, struct suite *out, struct assay_error *err);
/* The laboratory's; *text: its own text, free() it. */
enum assay_status suite_read(const char *laboratory, struct suite *out, char **text, struct assay_error *err);
void suite_release(struct suite *suite); /* accepts zeroed */

/* When a night that starts now must have ended, since 1970; 0: never. */
int64_t suite_deadline_ms(const struct suite *suite, int64_t now_ms);

#endif
