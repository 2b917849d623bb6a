/* A manifest describes an application and its versions: a file apps/NAME.yaml that users write (docs/reference/manifest.md). Commands run
 * without a shell, so their arguments reach the program unchanged. */
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

#define MANIFEST_ARGUMENTS_MAX 1000 /* maximum number of arguments of a command, and of items of other lists */

/* A list of texts: arguments of a command, paths, or variables "NAME=value". */
struct manifest_arguments {
	char **items; /* [n], the texts */
	size_t n;
};
void manifest_arguments_add(struct manifest_arguments *words, const char *word);
void manifest_arguments_release(struct manifest_arguments *words); /* frees the members; accepts a zeroed struct */

/* Way of measuring functions. */
enum manifest_back_end {
	MANIFEST_PROBED,   /* the native probe (runs/inside/probe) */
	MANIFEST_EMULATED, /* the emulation that is compiled into the versions (runs/inside/emulate) */
};

struct manifest_probe {
	enum manifest_back_end back_end;
	bool named;   /* true if the manifest sets `back_end` */
	bool changed; /* true to measure the functions that differ between the plan's first two versions; default true */
	struct manifest_arguments functions; /* functions to measure unless `changed` is set */
	bool default_counters;		     /* true to count the default events; default true */
	struct manifest_arguments counters;  /* events to count unless default_counters is set; only time stamps if n == 0 */
	double budget;			     /* limit on the probe's share of the run time, from 0 to 1; default 0.03 */
	char *module;			     /* deployed file that contains the functions; NULL for the program of the command */
	bool full;			     /* true if the emulation simulates all windows; else it simulates a sample of them */
	/* Set by commands, not by the manifest. `extra_functions`: functions to measure in addition to changed ones; it belongs to the
	 * command. Its first `slower` functions became slower, so they are measured even if no function changed. `all`: the emulation
	 * counts in all functions. */
	struct manifest_arguments extra_functions;
	size_t slower;
	bool all;
};

/* Returns the probe's settings as JSON text. Equal settings give equal texts. The caller frees the result. */
char *manifest_probe_text(const struct manifest_probe *probe);

/* Origin of a version's own files. */
enum manifest_build {
	MANIFEST_NO_FILES, /* no own files: the common files, with another command or environment */
	MANIFEST_DIR,	   /* existing directory or file */
	MANIFEST_GIT,	   /* reference in a git repository, with a build command */
	MANIFEST_SOURCES,  /* source directory, with a build command */
};

/* Files of a version for hosts of one architecture. */
struct manifest_own_files {
	char *architecture; /* `uname -m` of the hosts; NULL for any architecture */
	char *directory;    /* directory to deploy. MANIFEST_DIR: absolute, or relative to the manifest. MANIFEST_GIT, MANIFEST_SOURCES:
			       relative to the work tree; NULL for the whole tree */
	struct manifest_arguments build; /* build command, run in the work tree; may be empty; only for MANIFEST_GIT and MANIFEST_SOURCES */
};

struct manifest_version {
	char *name;
	char *derived_from; /* version from which manifest_derive() made this one, to which {version} expands; NULL if not derived */
	enum manifest_build kind;
	struct manifest_own_files
	    *own; /* [n_own_files], one for any architecture, or one for each in name order; none for MANIFEST_NO_FILES */
	size_t n_own_files;
	char *repository, *reference;	   /* git repository, relative to the manifest, and reference; or directory of sources, and NULL */
	struct injection injection;	   /* injected slowdown of a version that manifest_derive() added */
	struct manifest_arguments command; /* n == 0 if the version uses the manifest's command */
	struct manifest_arguments environment; /* variables in addition to those of the manifest */
	size_t line;
};

struct manifest_input {
	char *name; /* "" for the only input of a manifest without inputs */
	struct manifest_arguments arguments, environment;
	size_t line;
};

struct manifest {
	char *file;	 /* path of the file, for messages */
	char *directory; /* directory of the file, to which paths are relative */
	char *text;	 /* content of the file, stored with each plan */
	size_t text_bytes;
	char hash[DIGEST_HEX_BYTES]; /* hash of everything that affects results. Excludes comments, spaces, `description`, repetitions,
					warm_ups, `probe`, `sampling` and `features` */

	char *application;		   /* name of the application; default: file name without ".yaml" */
	char *description;		   /* text for users; NULL if none is given */
	struct manifest_arguments files;   /* files and directories deployed for every version, each under its last component */
	size_t *files_lines;		   /* [files.n], line of each item of `files` in the manifest */
	struct manifest_arguments command; /* command of versions that have none of their own; may be empty if each has one */
	struct manifest_arguments environment;
	struct manifest_version *versions; /* [n_versions], versions in the order of the file; at least one */
	size_t n_versions;
	struct manifest_input *inputs; /* [n_inputs], inputs; at least one */
	size_t n_inputs;
	char *inputs_directory; /* directory whose entries are the inputs, deployed as {files}/DIRECTORY/NAME; absolute or relative to the
			    manifest; NULL if none. manifest_open() lists the entries. manifest_parse() reads no files, and makes one
			    unnamed input instead */
	char *
	    excluded_inputs; /* one line about names in `inputs_directory` that cannot be inputs, with the reason; NULL if there are none */
	struct manifest_arguments features; /* command that prints features of an input; n == 0 if there is none */
	char *work;			    /* absolute path of the directory on the hosts for all files of runs */
	int64_t time_limit_ms;		    /* time limit per run, ms; default 10 minutes */
	int64_t repetitions;		    /* number of repetitions; default 5 */
	int64_t warm_ups;		    /* number of runs of each version and input before the counted runs; default 1 */
	bool sampling;			    /* true to sample the CPU time of results if the host's kernel allows it; default true */
	struct metric metric;		    /* metric of the runs; default: wall-clock time */
	struct manifest_probe probe;
	bool variance; /* true to record calls to outside functions for `assay variance`; default false */
};

/* Opens the manifest `what`: a path if it contains '/' or ends with ".yaml", else the NAME of LABORATORY/apps/NAME.yaml. The error
 * ASSAY_E_NOTFOUND lists the existing names. Overwrites *out; free it with manifest_release(). */
enum assay_status manifest_open(const char *laboratory, const char *what, struct manifest *out, struct assay_error *err);
/* Parses text[0..n) without reading other files. Errors have file, line and remedy. Examples: unknown keys or placeholders, versions
 * without a command, and names that contain '/' or that run_name_fault() refuses. */
enum assay_status manifest_parse(const char *file, const char *text, size_t n, struct manifest *out, struct assay_error *err);
void manifest_release(struct manifest *manifest); /* frees the members; accepts a zeroed struct */

size_t manifest_find_version(const struct manifest *manifest, const char *name); /* returns SIZE_MAX if there is none */
/* manifest_find_own_files() returns the version's entry for an architecture; NULL if there is none. manifest_explain_no_files() tells
 * users, in one line with a remedy, that the version has entries only for other architectures. The caller frees this line. */
const struct manifest_own_files *manifest_find_own_files(const struct manifest_version *version, const char *architecture);
char *manifest_explain_no_files(const struct manifest *manifest, const struct manifest_version *version, const char *architecture);
/* Adds the version `name` to the manifest if it is the name of a derived version, and not in the manifest yet. Derived names are:
 * NAME-COMMIT, the git version NAME at COMMIT (12 digits); NAME+again, a second copy of NAME; NAME+cpu5, NAME with an injected slowdown
 * (fleet/emulate/plant.h). Does not change the manifest's hash. */
void manifest_derive(struct manifest *manifest, const char *name);
#define MANIFEST_COMMIT_DIGITS 12
#define MANIFEST_COPY_SUFFIX   "+again"
/* Returns the length of the derived part of a version's name, such as "+cpu5"; 0 if there is none. */
size_t manifest_suffix_length(const char *name);
size_t manifest_find_input(const struct manifest *manifest, const char *name);

/* Computes the hash of everything that determines a run of a version with an input, except files: command, environment, arguments,
 * directory. If `with_metric`, also includes the metric. */
void manifest_hash_run(const struct manifest *manifest, size_t version, size_t input, bool with_metric, char hex[DIGEST_HEX_BYTES]);

/* Hashes of everything but the version. They must be equal before results are compared. */
struct manifest_hashes {
	char metric[DIGEST_HEX_BYTES];	/* metric with its direction; "" if unknown */
	char shared[DIGEST_HEX_BYTES];	/* environment and directory of the application, arguments and environment of the input */
	char command[DIGEST_HEX_BYTES]; /* command of the application; "" if the version has its own command */
	bool higher_is_better;
};
void manifest_hash_terms(const struct manifest *manifest, size_t version, size_t input, struct manifest_hashes *out);

/* Reports whether the version's deployed files are built from sources. */
bool manifest_is_built(const struct manifest_version *version);
/* Returns the path of the version's git repository or source directory. The caller frees the result. */
char *manifest_repository(const struct manifest *manifest, const struct manifest_version *version);

/* Returns the application's name in the store: NAME, or NAME/INPUT if inputs have names. The caller frees the result. */
char *manifest_stored_name(const struct manifest *manifest, size_t input);

/* Makes the arguments and the environment ("NAME=value") of a run on a host, or, if `features`, of the manifest's `features` command.
 * Replaces {files} by the directory of the common files, {build} by that of the version's own files,
 * {work} by the working directory of the run, which is new and empty,
 * {input} by the input's name, {version} by the version's name, and "{{" by "{".
 * The input's arguments replace an argument {arguments}; without one, they are appended. A program with a '/' in its name is relative to
 * {work}, as usual. Free both with manifest_arguments_release(). */
struct manifest_directories {
	const char *files, *build, *work; /* absolute paths on the host; `build` is NULL if the version has no own files */
};
void manifest_command(const struct manifest *manifest, bool features, size_t version, size_t input,
		      const struct manifest_directories *places, struct manifest_arguments *command,
		      struct manifest_arguments *environment);
/* Returns an input's arguments and environment. Placeholders such as {files} are not replaced. */
void manifest_input_arguments(const struct manifest *manifest, size_t input, struct manifest_arguments *arguments,
			      struct manifest_arguments *environment);

#endif
