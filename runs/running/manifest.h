/* An application and its versions, as users write them in apps/NAME.yaml (docs/reference/manifest.md). The words of commands are passed
 * unchanged: no shell interprets them. */
#ifndef RUNS_RUNNING_MANIFEST_H
#define RUNS_RUNNING_MANIFEST_H

#include "base/digest.h"
#include "base/error.h"
#include "fleet/emulate/plant.h"
#include "runs/running/metric.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MANIFEST_VERSIONS_MAX	 100
#define MANIFEST_INPUTS_MAX	 5000
#define MANIFEST_REPETITIONS_MAX 10000
#define MANIFEST_DIRECTORY	 "/dev/shm" /* where runs take place by default */

#define MANIFEST_WORDS_MAX 1000 /* for a command and any other list */

/* A list of words: a command, arguments, paths, "NAME=value". */
struct manifest_words {
	char **items; /* [n] */
	size_t n;
};
void manifest_words_add(struct manifest_words *words, const char *word);
void manifest_words_release(struct manifest_words *words); /* accepts a zeroed struct */

/* The key `probe` of a manifest: how `assay run --probe` measures functions. */
/* How functions are measured. */
enum manifest_back_end {
	MANIFEST_PROBED,   /* the native probe: runs/inside/probe/ */
	MANIFEST_EMULATED, /* the emulation, built into versions: runs/inside/emulate/ */
};

struct manifest_probe {
	enum manifest_back_end back_end;
	bool named;			 /* the manifest names the back end */
	bool changed;			 /* default: measure the functions that differ between a plan's first two versions */
	struct manifest_words functions; /* if not `changed`: these functions */
	bool default_counters;		 /* default: the default list of events */
	struct manifest_words counters;	 /* if not default_counters: these; n == 0: only time stamps */
	double budget;			 /* share of run time for the probe, 0 to 1; default 0.03 */
	char *module;			 /* the deployed file that has the functions; NULL: the program that the command starts */
	bool full;			 /* the emulation simulates all windows */
	/* Not of the manifest. beside, borrowed: functions that are measured beside the changed ones. The first `slower` of them take
	 * longer than before, which is a reason to measure if no code has changed. all: the emulation counts in all functions. */
	struct manifest_words beside;
	size_t slower;
	bool all;
};

/* Returns all members as JSON: equal meaning gives equal text. free() it. */
char *manifest_probe_text(const struct manifest_probe *probe);

/* How a version is made. */
enum manifest_build {
	MANIFEST_SAME,	  /* no files of its own: the common files with another command or environment */
	MANIFEST_DIR,	  /* an existing directory (or file) */
	MANIFEST_GIT,	  /* a reference of a git repository, and how to build it */
	MANIFEST_SOURCES, /* a source directory, and how to build it */
};

/* A version's own files for hosts of one architecture. */
struct manifest_own {
	char *architecture; /* NULL: any */
	char *directory;    /* MANIFEST_DIR: the directory to deploy; MANIFEST_GIT, MANIFEST_SOURCES: the part of the work tree to deploy,
			       NULL: all. Absolute or relative to the manifest (to the work tree) */
	struct manifest_words build; /* MANIFEST_GIT, MANIFEST_SOURCES: run in the work tree; may be empty */
};

struct manifest_version {
	char *name;
	char *stem; /* if manifest_derive() added this version: the name of its origin, which {version} represents; else NULL */
	enum manifest_build kind;
	struct manifest_own *own; /* [n_own], one for any architecture, or one per architecture sorted by name; none for MANIFEST_SAME */
	size_t n_own;
	char *repository, *reference;  /* MANIFEST_GIT: both, the first relative to the manifest; MANIFEST_SOURCES: directory and NULL */
	struct plantation plant;       /* injected slowdown, if manifest_derive() added this version */
	struct manifest_words command; /* n == 0: as in the manifest */
	struct manifest_words environment; /* in addition to the manifest's */
	size_t line;
};

struct manifest_input {
	char *name; /* "" if the manifest has no inputs: then there is exactly one */
	struct manifest_words arguments, environment;
	size_t line;
};

struct manifest {
	char *file;	 /* as opened; for messages */
	char *directory; /* the manifest's directory: the start of its relative paths */
	char *text;	 /* the whole file, stored with each plan */
	size_t text_bytes;
	char hash[DIGEST_HEX_BYTES]; /* over everything that is measured. Comments, spaces, `description`, repetitions and warm_ups are not
					in it, nor `probe`, `sampling` and `features`, which change no result */

	char *application;	       /* default: the file's stem */
	char *description;	       /* may be NULL */
	struct manifest_words files;   /* files or directories deployed for every version, by their last component */
	size_t *files_lines;	       /* [files.n], their lines in the manifest */
	struct manifest_words command; /* may be empty if every version has its own */
	struct manifest_words environment;
	struct manifest_version *versions; /* [n_versions], in file order; at least one */
	size_t n_versions;
	struct manifest_input *inputs; /* [n_inputs], at least one */
	size_t n_inputs;
	char *inputs_of;		/* a directory, absolute or relative to the manifest; each name in it is an input, deployed as
					   {files}/DIRECTORY/NAME; NULL: none. manifest_open() lists them; manifest_parse(), which reads no files, makes
					   one unnamed input that represents any */
	char *left_out;			/* human-readable: names in `inputs_of` that cannot be inputs, and why; NULL: none */
	struct manifest_words features; /* a command that prints features of an input; n == 0: none */
	char *work;			/* the directory on the hosts for everything; absolute */
	int64_t time_limit_ms;		/* per run; default 10 minutes */
	int64_t repetitions;		/* default 5 */
	int64_t warm_ups;		/* runs per version and input before counted ones; default 1 */
	bool sampling;			/* sample where the time of results goes, if the host's kernel allows it; default: yes */
	struct metric metric;		/* default: wall */
	struct manifest_probe probe;
	bool variance; /* record the runs' calls to the outside for `assay variance`; default: no */
};

/* Opens a manifest. `what` is a path (has a '/' or ends in .yaml) or a name: LABORATORY/apps/NAME.yaml. ASSAY_E_NOTFOUND lists existing
 * ones. Overwrites *out; manifest_release() it. */
enum assay_status manifest_open(const char *laboratory, const char *what, struct manifest *out, struct assay_error *err);
/* Parses text[0..n), for tests and for manifests stored with plans. Errors give file, line and remedy: unknown keys or placeholders,
 * versions without a command, names that run_name_fault() refuses or that hold a '/', and so on. */
enum assay_status manifest_parse(const char *file, const char *text, size_t n, struct manifest *out, struct assay_error *err);
void manifest_release(struct manifest *manifest); /* accepts a zeroed struct */

size_t manifest_find_version(const struct manifest *manifest, const char *name); /* SIZE_MAX: no such version */
/* manifest_own_of() returns the version's own entry for that architecture, NULL if it has none. manifest_own_reason() says in one line,
 * with the remedy, that it has entries only for others; free() it. */
const struct manifest_own *manifest_own_of(const struct manifest_version *version, const char *architecture);
char *manifest_own_reason(const struct manifest *manifest, const struct manifest_version *version, const char *architecture);
/* Derived versions, which a manifest has implicitly: NAME-COMMIT, the git version NAME at COMMIT (12 digits); NAME+again, a second NAME;
 * NAME+cpu5, NAME with an injected slowdown (fleet/emulate/plant.h). Adds the version to the manifest's if `name` is derived and not among
 * them yet. The manifest's hash does not change. */
void manifest_derive(struct manifest *manifest, const char *name);
#define MANIFEST_COMMIT_DIGITS 12
#define MANIFEST_AGAIN	       "+again"
/* Returns the length of the derived part of a version's name, with its +; 0: none. */
size_t manifest_addition(const char *name);
size_t manifest_find_input(const struct manifest *manifest, const char *name);

/* Hashes everything that determines a run of a version with an input, except files: command, environment, arguments, directory.
 * with_metric: also the definition of its result. */
void manifest_hash_run(const struct manifest *manifest, size_t version, size_t input, bool with_metric, char hex[DIGEST_HEX_BYTES]);

/* Hashes of everything that must be equal if results of versions are to be compared, besides the versions themselves. */
struct manifest_terms {
	char metric[DIGEST_HEX_BYTES];	/* the metric with its direction; "": unknown */
	char shared[DIGEST_HEX_BYTES];	/* the application's environment and directory, the input's arguments and environment */
	char command[DIGEST_HEX_BYTES]; /* the application's command; "": the version has its own */
	bool higher_is_better;
};
void manifest_terms_of(const struct manifest *manifest, size_t version, size_t input, struct manifest_terms *out);

/* Reports whether the version's deployed files are built from its sources. */
bool manifest_is_built(const struct manifest_version *version);
/* Returns the version's git repository, as passed to git, or its source directory; free() it. */
char *manifest_repository(const struct manifest *manifest, const struct manifest_version *version);

/* Returns the application's name in the store: NAME, or NAME/INPUT if inputs have names. free() it. */
char *manifest_stored_name(const struct manifest *manifest, size_t input);

/* Makes the words of one run on a host, or of the manifest's `features`, and the "NAME=value" of its environment. It replaces
 *    {files}      the directory of the common files         {build}  the version's own (`directory`, or built by git)
 *    {work}       a new, empty directory, the run's working directory
 *    {input}      the input's name                          {version} the version's name
 * - and "{{" becomes "{". A word that is exactly {arguments} becomes the input's arguments, which are appended if no word is. A first word
 * such as "./x" or with a '/' is relative to {work} as usual. manifest_words_release() both. */
struct manifest_places {
	const char *files, *build, *work; /* absolute, on the host; build may be NULL if the version has none */
};
void manifest_command(const struct manifest *manifest, bool features, size_t version, size_t input, const struct manifest_places *places,
		      struct manifest_words *command, struct manifest_words *environment);
/* Returns an input's own words: its arguments and environment, with {files} and other placeholders unchanged. */
void manifest_input_words(const struct manifest *manifest, size_t input, struct manifest_words *arguments,
			  struct manifest_words *environment);

#endif
