/* An application and its versions, as people write them: apps/NAME.yaml (docs/reference/manifest.md). Words of commands are passed as they
 * are: no shell looks at them. */
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
#define MANIFEST_DIRECTORY	 "/dev/shm" /* where runs take place unless the manifest says otherwise */

#define MANIFEST_WORDS_MAX 1000 /* of a command, and of any other list */

/* A list of words: a command, arguments, paths, "NAME=value". */
struct manifest_words {
	char **items; /* [n] */
	size_t n;
};
void manifest_words_add(struct manifest_words *words, const char *word);
void manifest_words_release(struct manifest_words *words); /* accepts zeroed */

/* The key `probe` of a manifest: how functions are measured by `assay run --probe`. */
/* What measures functions. */
enum manifest_back_end {
	MANIFEST_PROBED,   /* the native probe: runs/inside/probe/ */
	MANIFEST_EMULATED, /* versions are built with the emulation: runs/inside/emulate/ */
};

struct manifest_probe {
	enum manifest_back_end back_end;
	bool named;			 /* the manifest says which back end */
	bool changed;			 /* functions: those that differ between the first two versions of a plan; default */
	struct manifest_words functions; /* else these */
	bool default_counters;		 /* the default list of events; default */
	struct manifest_words counters;	 /* else these; n == 0: time stamps alone */
	double budget;			 /* [0, 1], of the probe; default .03 */
	char *module;			 /* the file that has the functions, as it is deployed; NULL: what the command starts */
	bool full;			 /* the emulation simulates all windows */
};

/* All that it says, as JSON: the same text for the same meaning. free() it. */
char *manifest_probe_text(const struct manifest_probe *probe);

/* How a version comes to be. */
enum manifest_build {
	MANIFEST_SAME,	  /* nothing of its own: the common files with another command or environment */
	MANIFEST_DIR,	  /* an existing directory (or file) */
	MANIFEST_GIT,	  /* a reference of a git repository, and how to build it */
	MANIFEST_SOURCES, /* a directory with sources, and how to build them */
};

/* What a version has for itself on hosts of an architecture. */
struct manifest_own {
	char *architecture; /* NULL: of any */
	char *directory; /* MANIFEST_DIR: what is deployed; MANIFEST_GIT, MANIFEST_SOURCES: of the work tree, NULL: all of it. Absolute or
			  * relative to the manifest (the work tree) */
	struct manifest_words build; /* MANIFEST_GIT, MANIFEST_SOURCES: run in the work tree; may be empty */
};

struct manifest_version {
	char *name;
	char *stem; /* of one that manifest_derive() has added: the name of the one that it comes from, which {version} represents; else
		       NULL */
	enum manifest_build kind;
	struct manifest_own *own; /* [n_own], one of any architecture, or one for each, by name; none of MANIFEST_SAME */
	size_t n_own;
	char *repository, *reference; /* MANIFEST_GIT; the repository relative to the manifest; MANIFEST_SOURCES: the directory, and NULL */
	struct plantation plant;      /* on top of what it is, of one that manifest_derive() has added */
	struct manifest_words command;	   /* n == 0: the manifest's */
	struct manifest_words environment; /* on top of the manifest's */
	size_t line;
};

struct manifest_input {
	char *name; /* "" when the manifest has no inputs: then there is exactly one */
	struct manifest_words arguments, environment;
	size_t line;
};

struct manifest {
	char *file;	 /* as opened; for messages */
	char *directory; /* that it is in: where its relative paths start */
	char *text;	 /* of the whole file: kept with each plan */
	size_t text_bytes;
	char hash[DIGEST_HEX_BYTES]; /* of all that is measured: not of comments and blanks, `description`, repetitions, warm_ups;
					not of `probe`, `sampling` and `features`, which change no result */

	char *application;	       /* default: the file's stem */
	char *description;	       /* may be NULL */
	struct manifest_words files;   /* deployed for every version: files or directories, by their last component */
	size_t *files_lines;	       /* [files.n], where the manifest has them */
	struct manifest_words command; /* may be empty when every version has its own */
	struct manifest_words environment;
	struct manifest_version *versions; /* [n_versions], in the order of the file; at least one */
	size_t n_versions;
	struct manifest_input *inputs; /* [n_inputs], at least one */
	size_t n_inputs;
	char *inputs_of;		/* a directory, absolute or relative to the manifest: each name in it is an input, deployed as
					 * {files}/DIRECTORY/NAME; NULL: none. Then manifest_open() lists them, and manifest_parse(), which looks at no
					 * files, has one input without a name, which represents any */
	char *left_out;			/* for people: which names in it cannot be an input's, and why; NULL: all can */
	struct manifest_words features; /* a command that prints features of an input; n == 0: none */
	char *work;			/* directory on the hosts under which everything happens; absolute */
	int64_t time_limit_ms;		/* of one run; default 10 minutes */
	int64_t repetitions;		/* default 5 */
	int64_t warm_ups;		/* runs a version and input before they count; default 1 */
	bool sampling;			/* of where the time of results goes, where the host's kernel allows it; default: yes */
	struct metric metric;		/* default: wall */
	struct manifest_probe probe;
	bool variance; /* calls of runs into the outside are recorded, for `assay variance`; default: no */
};

/* `what` is a path (has a '/' or ends in .yaml) or a name: LABORATORY/apps/NAME.yaml; ASSAY_E_NOTFOUND lists what there is.
 * *out is overwritten; manifest_release() it. */
enum assay_status manifest_open(const char *laboratory, const char *what, struct manifest *out, struct assay_error *err);
/* From text[0..n), for tests and for what was kept with a plan. Unknown keys, placeholders that do not exist, versions without a
 * command, names that run_name_fault() refuses or that hold a '/'...: file, line and remedy. */
enum assay_status manifest_parse(const char *file, const char *text, size_t n, struct manifest *out, struct assay_error *err);
void manifest_release(struct manifest *manifest); /* accepts zeroed */

size_t manifest_find_version(const struct manifest *manifest, const char *name); /* SIZE_MAX when not there */
/* What the version has for itself on hosts of that architecture; NULL: nothing. Why, where it has something for others, in one line with
 * the remedy: free() it. */
const struct manifest_own *manifest_own_of(const struct manifest_version *version, const char *architecture);
char *manifest_own_reason(const struct manifest *manifest, const struct manifest_version *version, const char *architecture);
/* Versions that a manifest has without saying so: NAME-COMMIT, of its git version NAME what COMMIT (12 digits) was, NAME+again, which
 * is NAME once more, and NAME+cpu5, which is NAME with a slowdown injected in it (fleet/emulate/plant.h). Adds the version to those of the
 * manifest where `name` is of this kind and not among them yet; its hash stays. */
void manifest_derive(struct manifest *manifest, const char *name);
#define MANIFEST_COMMIT_DIGITS 12
#define MANIFEST_AGAIN	       "+again"
/* How many bytes of a version's name are such an addition, with its +; 0: none. */
size_t manifest_addition(const char *name);
size_t manifest_find_input(const struct manifest *manifest, const char *name);

/* The hash of what a run of a version with an input does, apart from the files: command, environment, arguments, directory. with_metric:
 * and of what its result is. */
void manifest_hash_run(const struct manifest *manifest, size_t version, size_t input, bool with_metric, char hex[DIGEST_HEX_BYTES]);

/* What versions must have in common for their results to be compared, beside what each of them is: hashes. */
struct manifest_terms {
	char metric[DIGEST_HEX_BYTES];	/* with its direction; "": nothing is known */
	char shared[DIGEST_HEX_BYTES];	/* the application's environment and directory, arguments and environment of the input */
	char command[DIGEST_HEX_BYTES]; /* the application's; "": the version has its own */
	bool higher_is_better;
};
void manifest_terms_of(const struct manifest *manifest, size_t version, size_t input, struct manifest_terms *out);

/* Whether what is deployed of a version is built from its sources. */
bool manifest_is_built(const struct manifest_version *version);
/* The repository of a version from git, as git is told, or the directory with its sources; free() it. */
char *manifest_repository(const struct manifest *manifest, const struct manifest_version *version);

/* The application as the store knows it: NAME, or NAME/INPUT where inputs have names. free() it. */
char *manifest_stored_name(const struct manifest *manifest, size_t input);

/* The words of one run on a host, or of its manifest's `features`, and "NAME=value" of its environment. In them
 *   {files}      the directory of the common files         {build}  the version's own (`directory` or what git built)
 *   {work}       a new, empty directory, the run's working directory
 *   {input}      the input's name                          {version} the version's name
 * are replaced, "{{" is "{"; a word that is exactly {arguments} becomes the input's arguments (they are appended when no word
 * is). A command's first word that is "./x" or has a '/' starts at {work} as usual. manifest_words_release() both. */
struct manifest_places {
	const char *files, *build, *work; /* absolute, on the host; build may be NULL when the version has none */
};
void manifest_command(const struct manifest *manifest, bool features, size_t version, size_t input, const struct manifest_places *places,
		      struct manifest_words *command, struct manifest_words *environment);
/* What an input itself says: its arguments and environment, with {files} and the like as they stand. */
void manifest_input_words(const struct manifest *manifest, size_t input, struct manifest_words *arguments,
			  struct manifest_words *environment);

#endif
