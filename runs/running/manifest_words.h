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

#endif
