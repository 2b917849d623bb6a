/* Finds the functions that changed between two builds, and further functions to measure because of those. The rules are AutoPerf's (Alam,
 * Gottschlich, Tatbul, Turek, Mattson, Muzahid: A Zero-Positive Learning Approach for Diagnosing Software Performance Regressions, NeurIPS
 * 2019). An added function, and a changed function that is inlined or a small wrapper, add their callers. */
#ifndef RUNS_CHANGES_CHANGES_H
#define RUNS_CHANGES_CHANGES_H

#include "base/document.h"
#include "base/rows.h"
#include "runs/inside/changes/match.h"
#include "runs/inside/changes/source.h"

/* Kinds of changes: constant, code, human-readable heading; in the order of display. */
#define CHANGE_KIND_ROWS(X)                                                                                                                \
	X(CHANGE_NONE, "unchanged", "Unchanged")                                                                                           \
	X(CHANGE_MODIFIED, "modified", "Modified")                                                                                         \
	X(CHANGE_ADDED, "added", "Added")                                                                                                  \
	X(CHANGE_REMOVED, "removed", "Removed")                                                                                            \
	X(CHANGE_RENAMED, "renamed", "Renamed, with the same code")                                                                        \
	X(CHANGE_HOST, "inline_host", "Changed because they inline changed functions")                                                     \
	X(CHANGE_RECOMPILED, "compiled_differently", "Compiled differently")                                                               \
	X(CHANGE_CALLER, "caller", "Unchanged, but call changed functions")                                                                \
	X(CHANGE_LINES, "line_numbers", "Differ in line numbers only")                                                                     \
	X(CHANGE_SOURCE, "source_only", "Changed in the source, with the same code")

enum change_kind { CHANGE_KIND_ROWS(ROWS_ENUM) CHANGE_KINDS };
const char *change_kind_code(enum change_kind kind);
/* Reports whether functions of this kind that both builds have are to be measured. */
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
	X(CHANGE_CALLS_ADDED, "calls_added", "calls the added function")                                                                   \
	X(CHANGE_CALLS_WRAPPER, "calls_wrapper", "calls the small function")

enum change_reason { CHANGE_REASON_ROWS(ROWS_ENUM) CHANGE_REASONS };

/* The change of one function. Its key is its index in the new build, or new.functions.n + its index in the old build if it was removed. */
struct change {
	enum change_kind kind;
	size_t key, old, new; /* `old`, `new`: index of the function in each build; FUNCTIONS_NONE if the build lacks the function */
	unsigned reasons;     /* bit mask of 1 << enum change_reason */
	const char *constant; /* name of the first constant that differs; NULL if none does */
	size_t *inlined_into; /* [n_inlined_into] keys of the functions into which this function is inlined */
	size_t n_inlined_into;
	struct change_cause {
		enum change_reason reason;
		size_t key;
	} * causes; /* [n_causes] functions that caused this change */
	size_t n_causes, causes_capacity;
};

struct changes_options {
	const char *repository, *old_reference, *new_reference; /* git references; repository NULL: compare only machine code */
	size_t wrapper;						/* maximum number of instructions of a small wrapper */
};
#define CHANGES_WRAPPER 16
#define CHANGES_FEW	8 /* number of instructions below which functions count as renamed only within one file */

struct changes {
	struct build old, new;
	struct source source; /* zeroed if there is no repository */
	bool has_source;
	size_t *new_of_old, *old_of_new;
	size_t compared;      /* number of functions in both builds */
	size_t n_old, n_new;  /* number of functions present in each build */
	struct change *items; /* [n] changes by kind, file, line; without unchanged functions */
	size_t n;
	size_t count[CHANGE_KINDS];
	bool other_compiler; /* the builds have different compilers or options, which may explain many differences */
	bool many_differ;    /* more than half of the functions differ */
};

/* Finds the changes. Takes over the builds and zeroes them. *out is overwritten; call changes_release(). Returns ASSAY_E_NOTFOUND as
 * source_read(), and ASSAY_E_NODATA if no source file of a build is in its commit. */
enum assay_status changes_find(struct build *old, struct build *new, const struct changes_options *options, struct changes *out,
			       struct assay_error *err);
void changes_release(struct changes *changes); /* accepts a zeroed struct */

/* Describes the changes in a document. `all`: also lists, for users, functions that differ only in line numbers or in the source. */
void changes_document(const struct changes *changes, bool all, struct document *d);
/* Lists the entry points, in one build, of the functions that the probe is to measure and that both builds have. Returns their number. */
size_t changes_list(const struct changes *changes, bool of_old, struct buf *out);

#endif
