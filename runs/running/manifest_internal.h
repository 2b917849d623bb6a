/* Shared by the files of the manifest only. */
#ifndef RUNS_RUNNING_MANIFEST_INTERNAL_H
#define RUNS_RUNNING_MANIFEST_INTERNAL_H

#include "base/yaml.h"
#include "fleet/agent/counting_client.h"
#include "runs/running/manifest.h"

/* What is being read: for messages. */
struct manifest_reader {
	const char *file;
	struct assay_error *err;
};

/* "FILE:LINE: " and the text. */
enum assay_status manifest_fail(const struct manifest_reader *r, enum assay_status status, size_t line, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* manifest_words.c. Lists of words from YAML; *out is empty before, and released by whoever holds it, on failure too. A command
 * has at least one word; an environment is a map of names and values and becomes "NAME=value". */
enum manifest_braces {
	MANIFEST_LITERAL,   /* braces mean nothing: paths, build commands */
	MANIFEST_EXPANDED,  /* placeholders, but {arguments} */
	MANIFEST_ARGUMENTS, /* {arguments} too, as a word of its own */
};
void manifest_add_word(struct manifest_words *words, const char *word);
enum assay_status manifest_take_words(const struct manifest_reader *r, const struct yaml_node *node, enum manifest_braces braces,
                                      struct manifest_words *out);
enum assay_status manifest_take_command(const struct manifest_reader *r, const struct yaml_node *node,
                                        enum manifest_braces braces, struct manifest_words *out);
enum assay_status manifest_take_environment(const struct manifest_reader *r, const struct yaml_node *node,
                                            struct manifest_words *out);

/* manifest_expand.c */
enum assay_status manifest_check_word(const struct manifest_reader *r, size_t line, const char *word,
                                      enum manifest_braces braces);
/* Every placeholder of every version stands for something there. */
enum assay_status manifest_check_places(const struct manifest_reader *r, const struct manifest *manifest);
/* Has the line a placeholder that no quote stands before? To YAML that is a map. */
bool manifest_bare_placeholder(const char *line, size_t n);

/* manifest_metric.c */
enum assay_status manifest_take_metric(const struct manifest_reader *r, const struct yaml_node *node, struct metric *out);

/* manifest_probe.c; *out is overwritten, manifest_probe_release() it, on failure too. */
enum assay_status manifest_take_probe(const struct manifest_reader *r, const struct yaml_node *node, struct manifest_probe *out);
void manifest_probe_release(struct manifest_probe *probe);

/* manifest_parse.c */
bool manifest_has_control(const char *text);
bool manifest_has_parent(const char *path); /* ".." */

/* manifest_hash.c */
void manifest_update_hash(struct manifest *manifest);

#endif
