/* An application and its versions, from a file apps/NAME.yaml that users write (docs/reference/manifest.md). Arguments of commands are
 * passed unchanged, without a shell. */
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
#define MANIFEST_DIRECTORY	 "/dev/shm" /* default directory for runs on a host */

#define MANIFEST_WORDS_MAX 1000 /* maximum number of arguments of a command and of items of other lists */

/* A list of texts: arguments of a command, paths, or "NAME=value". */
struct manifest_arguments {
	char **items; /* [n] */
	size_t n;
};
void manifest_arguments_add(struct manifest_arguments *words, const char *word);
void manifest_arguments_release(struct manifest_arguments *words); /* accepts a zeroed struct */

/* How functions are measured. */
enum manifest_back_end {
	MANIFEST_PROBED,   /* the native probe (runs/inside/probe) */
	MANIFEST_EMULATED, /* the emulation, compiled into versions (runs/inside/emulate) */
};

struct manifest_probe {
	enum manifest_back_end back_end;
	bool named;			     /* the manifest sets `back_end` */
	bool changed;			     /* measure the functions that differ between the plan's first two versions (default) */
	struct manifest_arguments functions; /* functions to measure unless `changed` */
	bool default_counters;		     /* count the default events (default) */
	struct manifest_arguments counters;  /* events to count unless default_counters; n == 0: only time stamps */
	double budget;			     /* limit on the probe's share of the run time, 0 to 1; default 0.03 */
	char *module;			     /* deployed file that contains the functions; NULL: the program of the command */
	bool full;			     /* the emulation simulates all windows, not a sample */
	/* Set by commands, not by the manifest. `beside`: functions to measure in addition to changed ones, borrowed. The first `slower` of
	 * them became slower, which justifies a measurement even if no function changed. `all`: the emulation counts in all functions. */
	struct manifest_arguments beside;
	size_t slower;
	bool all;
};

/* Returns all members as JSON text; equal probes give equal texts. free() it. */
char *manifest_probe_text(const struct manifest_probe *probe);

/* Origin of a version's files. */
enum manifest_build {
	MANIFEST_SAME,	  /* no own files: the common files, with another command or environment */
	MANIFEST_DIR,	  /* existing directory or file */
	MANIFEST_GIT,	  /* reference of a git repository, with a build command */
	MANIFEST_SOURCES, /* source directory, with a build command */
};

/* Files of a version for hosts of one architecture. */
struct manifest_own {
	char *architecture; /* NULL: any architecture */
	char *directory;    /* directory to deploy. MANIFEST_DIR: absolute, or relative to the manifest. MANIFEST_GIT, MANIFEST_SOURCES:
			       relative to the work tree; NULL: the whole tree */
	struct manifest_arguments build; /* build command, run in the work tree; may be empty; for MANIFEST_GIT and MANIFEST_SOURCES */
};

struct manifest_version {
	char *name;
	char *stem; /* origin of a version that manifest_derive() added, to which {version} expands; else NULL */
	enum manifest_build kind;
	struct manifest_own *own; /* [n_own], one for any architecture, or one per architecture in name order; none for MANIFEST_SAME */
	size_t n_own;
	char *repository, *reference; /* MANIFEST_GIT: both, the repository relative to the manifest; MANIFEST_SOURCES: directory, NULL */
	struct plantation plant;      /* injected slowdown of a version that manifest_derive() added */
	struct manifest_arguments command;     /* n == 0: the manifest's command */
	struct manifest_arguments environment; /* variables in addition to the manifest's */
	size_t line;
};

struct manifest_input {
	char *name; /* "" for the only input of a manifest without inputs */
	struct manifest_arguments arguments, environment;
	size_t line;
};

struct manifest {
	char *file;	 /* path, for messages */
	char *directory; /* directory of the manifest, where relative paths start */
	char *text;	 /* contents of the file, stored with each plan */
	size_t text_bytes;
	char hash[DIGEST_HEX_BYTES]; /* hash of everything that affects results. Excludes comments, spaces, `description`, repetitions,
					warm_ups, `probe`, `sampling` and `features` */

	char *application;		   /* default: file name without ".yaml" */
	char *description;		   /* NULL if none is given */
	struct manifest_arguments files;   /* files and directories deployed for every version, under their last component */
	size_t *files_lines;		   /* [files.n], line of each in the manifest */
	struct manifest_arguments command; /* may be empty if every version has a command */
	struct manifest_arguments environment;
	struct manifest_version *versions; /* [n_versions] versions in file order; at least one */
	size_t n_versions;
	struct manifest_input *inputs; /* [n_inputs] inputs; at least one */
	size_t n_inputs;
	char *inputs_of; /* directory whose entries are the inputs, deployed as {files}/DIRECTORY/NAME; absolute or relative to the
			    manifest; NULL if none. manifest_open() lists the entries. manifest_parse() reads no files and makes one unnamed
			    input instead */
	char *left_out;	 /* one line about names in `inputs_of` that cannot be inputs, with the reason; NULL if none */
	struct manifest_arguments features; /* command that prints features of an input; n == 0: none */
	char *work;			    /* absolute directory on the hosts for all files of runs */
	int64_t time_limit_ms;		    /* time limit per run; default 10 minutes */
	int64_t repetitions;		    /* number of repetitions; default 5 */
	int64_t warm_ups;		    /* number of uncounted runs per version and input before the counted runs; default 1 */
	bool sampling;			    /* sample the CPU time of results if the host's kernel allows it; default true */
	struct metric metric;		    /* default: wall */
	struct manifest_probe probe;
	bool variance; /* record calls to outside functions for `assay variance`; default false */
};

/* Opens a manifest. `what`: a path, if it contains '/' or ends with ".yaml"; else a name: LABORATORY/apps/NAME.yaml. ASSAY_E_NOTFOUND:
 * lists existing names. Overwrites *out; manifest_release() it. */
enum assay_status manifest_open(const char *laboratory, const char *what, struct manifest *out, struct assay_error *err);
/* Parses text[0..n) without reading other files. Errors have file, line and remedy: for example unknown keys or placeholders, versions
 * without a command, and names that run_name_fault() refuses or that contain '/'. */
enum assay_status manifest_parse(const char *file, const char *text, size_t n, struct manifest *out, struct assay_error *err);
void manifest_release(struct manifest *manifest); /* accepts a zeroed struct */

size_t manifest_find_version(const struct manifest *manifest, const char *name); /* Returns SIZE_MAX if there is none. */
/* manifest_own_of() returns the version's entry for an architecture; NULL if it has none. manifest_own_reason() returns one line that the
 * version has entries only for other architectures, with a remedy; free() it. */
const struct manifest_own *manifest_own_of(const struct manifest_version *version, const char *architecture);
char *manifest_own_reason(const struct manifest *manifest, const struct manifest_version *version, const char *architecture);
/* Adds the version `name` to the manifest if the name is a derived one and not in the manifest yet. Derived names: NAME-COMMIT, the git
 * version NAME at COMMIT (12 digits); NAME+again, a second copy of NAME; NAME+cpu5, NAME with an injected slowdown (fleet/emulate/plant.h).
 * The manifest's hash stays the same. */
void manifest_derive(struct manifest *manifest, const char *name);
#define MANIFEST_COMMIT_DIGITS 12
#define MANIFEST_AGAIN	       "+again"
/* Returns the length of the derived part of a version's name, including the '+'; 0 if there is none. */
size_t manifest_addition(const char *name);
size_t manifest_find_input(const struct manifest *manifest, const char *name);

/* Computes the hash of everything that determines a run of a version with an input, except files: command, environment, arguments,
 * directory. `with_metric`: also the metric. */
void manifest_hash_run(const struct manifest *manifest, size_t version, size_t input, bool with_metric, char hex[DIGEST_HEX_BYTES]);

/* Hashes of everything except versions that must be equal before results are compared. */
struct manifest_terms {
	char metric[DIGEST_HEX_BYTES];	/* metric with its direction; "" if unknown */
	char shared[DIGEST_HEX_BYTES];	/* environment and directory of the application, arguments and environment of the input */
	char command[DIGEST_HEX_BYTES]; /* command of the application; "" if the version has its own command */
	bool higher_is_better;
};
void manifest_terms_of(const struct manifest *manifest, size_t version, size_t input, struct manifest_terms *out);

/* Reports whether the version's deployed files are built from its sources. */
bool manifest_is_built(const struct manifest_version *version);
/* Returns the path of the version's git repository or source directory; free() it. */
char *manifest_repository(const struct manifest *manifest, const struct manifest_version *version);

/* Returns the application's name in the store: NAME, or NAME/INPUT if inputs have names. free() it. */
char *manifest_stored_name(const struct manifest *manifest, size_t input);

/* Makes the arguments and the environment ("NAME=value") of a run on a host, or of the manifest's `features` command. Replaces
 * {files} by the directory of the common files, {build} by that of the version's own files,
 * {work} by a new, empty directory, the working directory of the run,
 * {input} by the input's name, {version} by the version's name, and "{{" by "{".
 * An argument {arguments} becomes the input's arguments; without one, they are appended. As usual, a program with a '/' in its name is
 * relative to {work}. manifest_arguments_release() both. */
struct manifest_places {
	const char *files, *build, *work; /* absolute paths on the host; `build` is NULL if the version has no own files */
};
void manifest_command(const struct manifest *manifest, bool features, size_t version, size_t input, const struct manifest_places *places,
		      struct manifest_arguments *command, struct manifest_arguments *environment);
/* Returns an input's arguments and environment, without replacing placeholders such as {files}. */
void manifest_input_arguments(const struct manifest *manifest, size_t input, struct manifest_arguments *arguments,
			      struct manifest_arguments *environment);

#endif
