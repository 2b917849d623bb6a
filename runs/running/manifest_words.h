/* Lists of words as manifests have them: commands, arguments, environments, paths; and the placeholders in them. */
#ifndef RUNS_RUNNING_MANIFEST_WORDS_H
#define RUNS_RUNNING_MANIFEST_WORDS_H

#include "base/error.h"
#include "base/yaml.h"

#include <stdbool.h>
#include <stddef.h>

#define MANIFEST_WORDS_MAX 1000 /* of a command, and of any other list */

/* A list of words: a command, arguments, paths, "NAME=value". */
struct manifest_words {
	char **items; /* [n] */
	size_t n;
};
void manifest_words_add(struct manifest_words *words, const char *word);
void manifest_words_release(struct manifest_words *words); /* accepts zeroed */

/* What is being read, for messages. */
struct manifest_reader {
	const char *file;
	struct assay_error *err;
};

/* "FILE:LINE: " and the text. */
enum assay_status manifest_fail(const struct manifest_reader *r, enum assay_status status, size_t line, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* As yaml_keys(), but each key has a value: its default may not be what was meant by one without. */
enum assay_status manifest_keys(const struct manifest_reader *r, const struct yaml_node *map, const char *what, const char *const *keys,
				size_t n);
#define MANIFEST_VERSIONS_HINT "a map with at least one version, such as {old: {directory: build-old}, new: {directory: build-new}}"

/* From YAML; *out is empty before, and released by its owner, on failure too. A command has at least one word; an environment is
 * a map of names and values and becomes "NAME=value". */
enum manifest_braces {
	MANIFEST_LITERAL,   /* braces mean nothing: paths, build commands */
	MANIFEST_EXPANDED,  /* placeholders, but {arguments} */
	MANIFEST_ARGUMENTS, /* {arguments} too, as a word of its own */
};
enum assay_status manifest_words_parse(const struct manifest_reader *r, const struct yaml_node *node, enum manifest_braces braces,
				       struct manifest_words *out);
enum assay_status manifest_command_parse(const struct manifest_reader *r, const struct yaml_node *node, enum manifest_braces braces,
					 struct manifest_words *out);
enum assay_status manifest_environment_parse(const struct manifest_reader *r, const struct yaml_node *node, struct manifest_words *out);

/* Does every placeholder of every version stand for something there? */
struct manifest;
enum assay_status manifest_check_places(const struct manifest_reader *r, const struct manifest *manifest);
/* Does the line have a placeholder without a quote before it? To YAML that is a map. */
bool manifest_has_bare_placeholder(const char *line, size_t n);

void manifest_hash_all(struct manifest *manifest); /* sets its hash */

bool manifest_is_line(const char *text);  /* not empty, no control characters */
bool manifest_leads_up(const char *path); /* has a component ".." */

/* The key `probe` of a manifest: how functions are measured by `assay run --probe`. */
/* What measures functions. */
enum manifest_back_end {
	MANIFEST_PROBED,   /* the native probe: runs/inside/probe/ */
	MANIFEST_EMULATED, /* versions are built with the emulation: runs/inside/emulate/ */
};

struct manifest_probe {
	bool given; /* the manifest has `probe` */
	enum manifest_back_end back_end;
	bool changed;			 /* functions: those that differ between the first two versions of a plan; default */
	struct manifest_words functions; /* else these */
	bool default_counters;		 /* the default list of events; default */
	struct manifest_words counters;	 /* else these; n == 0: time stamps alone */
	double budget;			 /* [0, 1], of the probe; default .03 */
	char *module;			 /* the file that has the functions, as it is deployed; NULL: what the command starts */
	bool full;			 /* the emulation simulates all windows */
};

/* *out is overwritten; manifest_probe_release() it, on failure too. */
enum assay_status manifest_probe_parse(const struct manifest_reader *r, const struct yaml_node *node, struct manifest_probe *out);
void manifest_probe_release(struct manifest_probe *probe); /* accepts zeroed */

/* All that it says (it must be given), as JSON: the same text for the same meaning. free() it. */
char *manifest_probe_text(const struct manifest_probe *probe);

#endif
