/* Finds the functions that changed between two builds, and the others to measure because of that. By the rules of AutoPerf (Alam,
 * Gottschlich, Tatbul, Turek, Mattson, Muzahid: A Zero-Positive Learning Approach for Diagnosing Software Performance Regressions, NeurIPS
 * 2019), a changed function that is inlined or is a small wrapper, and an added one, add their callers. */
#ifndef RUNS_CHANGES_CHANGES_H
#define RUNS_CHANGES_CHANGES_H

#include "base/document.h"
#include "base/rows.h"
#include "runs/inside/changes/match.h"
#include "runs/inside/changes/source.h"

/* Constant, code, human-readable heading; in the order of display. */
#define CHANGE_KIND_ROWS(X)                                                                                                                \
	X(CHANGE_NONE, "unchanged", "Unchanged")                                                                                           \
	X(CHANGE_MODIFIED, "modified", "Modified")                                                                                         \
	X(CHANGE_ADDED, "added", "Added")                                                                                                  \
	X(CHANGE_REMOVED, "removed", "Removed")                                                                                            \
	X(CHANGE_RENAMED, "renamed", "Renamed, with the same code")                                                                        \
	X(CHANGE_HOST, "inline_host", "Changed because they inline changed functions")                                                     \
	X(CHANGE_RECOMPILED, "compiled_differently", "Compiled differently")                                                               \
	X(CHANGE_CALLER, "caller", "Unchanged, brought in because they call what changed")                                                 \
	X(CHANGE_LINES, "line_numbers", "Differ in line numbers only")                                                                     \
	X(CHANGE_SOURCE, "source_only", "Changed in the source, with the same code")

enum change_kind { CHANGE_KIND_ROWS(ROWS_ENUM) CHANGE_KINDS };
const char *change_kind_code(enum change_kind kind);
/* Reports whether a function of this kind, present in both builds, is to be measured. */
static inline bool change_kind_is_listed(enum change_kind kind)
{
	return kind == CHANGE_MODIFIED || kind == CHANGE_HOST || kind == CHANGE_RECOMPILED || kind == CHANGE_CALLER;
}

/* Reasons of a change: constant, code, human-readable text. */
#define CHANGE_REASON_ROWS(X)                                                                                                              \
	X(CHANGE_CODE, "code", "its machine code differs")                                                                                 \
	X(CHANGE_IN_SOURCE, "source", "its source differs")                                                                                \
	X(CHANGE_CONSTANT, "constant", "a constant that it reads differs")                                                                 \
	X(CHANGE_CLONES, "clones", "the compiler made other clones of it")                                                                 \
	X(CHANGE_NOW_INLINED, "now_inlined", "it is inlined everywhere now")                                                               \
	X(CHANGE_NOW_CALLED, "now_called", "it was inlined everywhere before")                                                             \
	X(CHANGE_INLINED_CODE, "inlined_code", "its code differs where it is inlined")                                                     \
	X(CHANGE_INLINES, "inlines", "inlines")                                                                                            \
	X(CHANGE_CALLS_ADDED, "calls_added", "calls the added")                                                                            \
	X(CHANGE_CALLS_WRAPPER, "calls_wrapper", "calls the small")

enum change_reason { CHANGE_REASON_ROWS(ROWS_ENUM) CHANGE_REASONS };

/* The key of a function is its index in the new build, or new.functions.n + its index in the old one if it was removed. */
struct change {
	enum change_kind kind;
	size_t key, old, new; /* old, new: functions of the builds; FUNCTIONS_NONE: not in that build */
	unsigned reasons;     /* bits: 1 << enum change_reason */
	const char *constant; /* name of the first one that differs; NULL: none */
	size_t *inlined_into; /* [n_inlined_into] keys */
	size_t n_inlined_into;
	struct change_cause {
		enum change_reason reason;
		size_t key;
	} * causes; /* [n_causes], functions that caused the change */
	size_t n_causes, causes_capacity;
};

struct changes_options {
	const char *repository, *old_reference, *new_reference; /* in git; repository NULL: only machine code */
	size_t wrapper;						/* largest number of instructions of a small wrapper */
};
#define CHANGES_WRAPPER 16
#define CHANGES_FEW	8 /* functions with fewer instructions can only be renamed within one file */

struct changes {
	struct build old, new;
	struct source source; /* zeroed without git */
	bool has_source;
	size_t *new_of_old, *old_of_new;
	size_t compared;      /* functions in both builds */
	size_t n_old, n_new;  /* functions present */
	struct change *items; /* [n], by kind, file, line; without unchanged ones */
	size_t n;
	size_t count[CHANGE_KINDS];
	bool other_compiler; /* or other options, which may explain many of the differences */
	bool many_differ;    /* more than half of the functions */
};

/* Takes over the builds, which are zeroed. *out is overwritten; changes_release() it. ASSAY_E_NOTFOUND, ASSAY_E_NODATA as in source_read()
 * and source_touched(). */
enum assay_status changes_find(struct build *old, struct build *new, const struct changes_options *options, struct changes *out,
			       struct assay_error *err);
void changes_release(struct changes *changes); /* accepts zeroed */

/* Describes the changes. all: also lists, for users, functions that are not to be measured. */
void changes_document(const struct changes *changes, bool all, struct document *d);
/* Lists for the probe the entry points, in one build, of functions that are in both builds and to be measured. Returns their number. */
size_t changes_list(const struct changes *changes, bool of_old, struct buf *out);

#endif
