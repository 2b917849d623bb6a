/* Finds the functions that changed between two builds, and other functions to measure because of these changes. The rules are AutoPerf's
 * (Alam, Gottschlich, Tatbul, Turek, Mattson, Muzahid: A Zero-Positive Learning Approach for Diagnosing Software Performance Regressions,
 * NeurIPS 2019). For an added function, and a changed function that is inlined or a small wrapper, callers are measured as well. */
#ifndef RUNS_CHANGES_CHANGES_H
#define RUNS_CHANGES_CHANGES_H

#include "base/document.h"
#include "base/rows.h"
#include "runs/inside/changes/match.h"
#include "runs/inside/changes/source.h"

/* Kinds of changes in the order of display: constant, code, human-readable heading. */
#define CHANGE_KIND_ROWS(X)                                                                                                                \
	X(CHANGE_NONE, "unchanged", "Unchanged")                                                                                           \
	X(CHANGE_MODIFIED, "modified", "Modified")                                                                                         \
	X(CHANGE_ADDED, "added", "Added")                                                                                                  \
	X(CHANGE_REMOVED, "removed", "Removed")                                                                                            \
	X(CHANGE_RENAMED, "renamed", "Renamed, with the same code")                                                                        \
	X(CHANGE_INLINE_HOST, "inline_host", "Changed because they inline changed functions")                                              \
	X(CHANGE_RECOMPILED, "compiled_differently", "Compiled differently")                                                               \
	X(CHANGE_CALLER, "caller", "Unchanged, but call changed functions")                                                                \
	X(CHANGE_LINES, "line_numbers", "Differ in line numbers only")                                                                     \
	X(CHANGE_SOURCE, "source_only", "Changed in the source, with the same code")

enum change_kind { CHANGE_KIND_ROWS(ROWS_ENUM) CHANGE_KINDS };
const char *change_kind_code(enum change_kind kind);
/* Reports whether functions with this kind of change are to be measured if both builds have them. */
static inline bool change_kind_is_listed(enum change_kind kind)
{
	return kind == CHANGE_MODIFIED || kind == CHANGE_INLINE_HOST || kind == CHANGE_RECOMPILED || kind == CHANGE_CALLER;
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

/* The change of one function. Its key is its index in the new build; for a removed function, new.functions.n + its index in the old one. */
struct change {
	enum change_kind kind;
	size_t key, old, new; /* `old`, `new`: index of the function in each build; FUNCTIONS_NONE if the build lacks it */
	unsigned reasons;     /* bit mask of 1 << enum change_reason */
	const char *constant; /* name of the first constant that differs; NULL if there is none */
	size_t *inlined_into; /* [n_inlined_into] keys of the functions into which this function is inlined */
	size_t n_inlined_into;
	struct change_cause {
		enum change_reason reason;
		size_t key;
	} * causes; /* [n_causes] functions that caused this change */
	size_t n_causes, causes_capacity;
};

struct changes_options {
	const char *repository, *old_reference,
	    *new_reference; /* git repository and references; without a repository (NULL), only machine code is compared */
	size_t wrapper;	    /* maximum number of instructions of a small wrapper */
};
#define CHANGES_WRAPPER_MAX 16
#define CHANGES_RENAMED_MIN 8 /* functions with fewer instructions count as renamed only within one file */

struct changes {
	struct build old, new;
	struct source source; /* difference of the sources; zeroed if there is no repository */
	bool has_source;
	size_t *old_to_new, *new_to_old;
	size_t compared;      /* number of functions in both builds */
	size_t n_old, n_new;  /* number of functions in each build */
	struct change *items; /* [n] changes by kind, file and line, without unchanged functions */
	size_t n;
	size_t count[CHANGE_KINDS];
	bool other_compiler; /* true if compilers or their options differ, which may explain many differences */
	bool many_differ;    /* true if more than half of the functions differ */
};

/* Finds the changes. Takes over the two builds and zeroes them. Overwrites *out; call changes_release(). Returns ASSAY_E_NOTFOUND as
 * source_read() does, and ASSAY_E_NODATA if no source file of a build is in its commit. */
enum assay_status changes_find(struct build *old, struct build *new, const struct changes_options *options, struct changes *out,
			       struct assay_error *err);
void changes_release(struct changes *changes); /* accepts a zeroed struct */

/* Describes the changes in a document. With `all`, its text for users also lists functions that differ only in line numbers or source. */
void changes_describe(const struct changes *changes, bool all, struct document *d);
/* Lists the entry points, in one of the builds, of the functions to be measured that both builds have. Returns their number. */
size_t changes_list_entries(const struct changes *changes, bool of_old, struct buf *out);

#endif
