/* Functions that the files of the manifest parser share. Private to runs/running/. */
#ifndef RUNS_RUNNING_MANIFEST_PARSE_H
#define RUNS_RUNNING_MANIFEST_PARSE_H

#include "base/error.h"
#include "base/yaml.h"
#include "runs/running/manifest.h"

#include <stdbool.h>
#include <stddef.h>

/* Context that every error message needs. */
struct manifest_reader {
	const char *file;
	struct assay_error *err;
};

/* Fails with "FILE:LINE: " and the formatted text. */
enum assay_status manifest_fail(const struct manifest_reader *r, enum assay_status status, size_t line, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

enum placeholder_kind {
	PLACEHOLDER_FILES,
	PLACEHOLDER_BUILD,
	PLACEHOLDER_WORK,
	PLACEHOLDER_INPUT,
	PLACEHOLDER_VERSION,
	PLACEHOLDER_ARGUMENTS,
	PLACEHOLDERS,
	PLACEHOLDER_UNKNOWN,
	PLACEHOLDER_NONE
};

/* A piece of an argument: a placeholder, or literal text (PLACEHOLDER_NONE). */
struct argument_piece {
	enum placeholder_kind place;
	const char *text;
	size_t n;
};

/* Checks that the store accepts `name` as a name of `what`, such as "a version". */
enum assay_status manifest_check_name(const struct manifest_reader *r, size_t line, const char *what, const char *name);

/* Writes the next piece of an argument to *out, and moves *at past it. Returns false at the end. */
bool manifest_next_piece(const char **at, struct argument_piece *out);

static inline const struct manifest_arguments *manifest_find_command(const struct manifest *manifest,
								     const struct manifest_version *version)
{
	return version->command.n ? &version->command : &manifest->command;
}

void manifest_hash_all(struct manifest *manifest); /* computes manifest->hash */

#endif
