/* A detector that is kept, with where it comes from; it never judges samples of another back end, hardware type or list of counters. */
#ifndef GATE_DETECT_MODEL_FILE_H
#define GATE_DETECT_MODEL_FILE_H

#include "gate/detect/like_inputs.h"
#include "gate/detect/side.h"

#define MODEL_FILE_VERSION	2 /* 1 compared nothing at like inputs */
#define MODEL_FILE_COUNTERS_MAX 4096

struct model_file {
	char *what;    /* "sqlite@1.2", "samples/old" */
	char *trained; /* "2026-11-20T15:00:00Z" */
	enum record_back_end back_end;
	uint64_t counting;   /* side_counting() */
	char *hardware_type; /* "" when not known */
	char **counters;     /* [n_counters] of the detector's columns, by name */
	size_t n_counters;
	char **inclusive; /* [n_inclusive] functions that were taken with nested calls, by name */
	size_t n_inclusive;
	char **active_names; /* [n_active] functions that did at least least_share of all, by name; none in models without others */
	size_t n_active;
	struct observe_options observe;	 /* how samples were put together; no pointers */
	char digest[DIGEST_HEX_BYTES];	 /* of the samples */
	struct detector_options options; /* scorer, rate, seed... it was fitted with */
	struct like_inputs like;	 /* with which what is judged is brought to the typical input */
	struct detector *detector;
};

/* From what was observed of a side; takes over the detector (*detector becomes NULL) and what inputs should cost (*like is zeroed). */
void model_file_make(const struct side *side, const struct observed *observed, const struct observe_options *observe,
		     const struct detector_options *options, struct like_inputs *like, struct detector **detector, const char *trained,
		     struct model_file *out);
cJSON *model_file_json(const struct model_file *model);
enum assay_status model_file_write(const struct model_file *model, const char *path, struct assay_error *err);
/* *out is overwritten; model_file_release() it. ASSAY_E_FORMAT, ASSAY_E_VERSION. */
enum assay_status model_file_read(const char *path, struct model_file *out, struct assay_error *err);
enum assay_status model_file_parse(const char *name, const char *text, size_t n, struct model_file *out, struct assay_error *err);
void model_file_release(struct model_file *model); /* accepts zeroed */

/* May it judge these samples? ASSAY_E_USAGE that names the difference. */
enum assay_status model_file_check(const struct model_file *model, const struct side *side, struct assay_error *err);

#endif
