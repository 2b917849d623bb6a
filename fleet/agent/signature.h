/* The stored resource usage of a run: the kernel's counters, and samples of the CPU time. */
#ifndef FLEET_SIGNATURE_H
#define FLEET_SIGNATURE_H

#include "base/document.h"
#include "base/error.h"
#include "fleet/agent/helper_client.h"

#include <stddef.h>

#define SIGNATURE_SAMPLES_BYTES_MAX (1u << 20) /* maximum size of samples: more than a helper sends, even with addresses in files */

struct signature {
	struct helper_result of; /* counters of HELPER_ACCOUNT_ROWS, -1: unknown; all other members are -1 */
	char *samples;		 /* text in the format of fleet/helper/sampler.h; NULL: none */
};
void signature_release(struct signature *signature); /* accepts a zeroed struct */

/* Returns the resource usage in an answer as one line of JSON: known HELPER_ACCOUNT_ROWS, and `samples`. free() it. NULL: no result. */
char *signature_text(const struct helper_answer *answer);

/* Parses the text of signature_text(). In "", all is unknown. Overwrites *out; signature_release() it. ASSAY_E_FORMAT: invalid. */
enum assay_status signature_parse(const char *text, struct signature *out, struct assay_error *err);

/* Returns the number of counters. signature_account() returns counter i: value (-1: unknown), name, human-readable name ("": not shown). */
size_t signature_accounts(void);
int64_t signature_account(const struct helper_result *result, size_t i, const char **name, const char **text);

/* Adds all counters of one run as members of an object. null: the host did not report the counter. */
void signature_set(struct document *d, const char *key, const struct helper_result *result);
/* Adds the medians over n runs in the same form, and human-readable lines. `key` NULL: only human-readable lines. */
void signature_medians(struct document *d, const char *key, const struct helper_result *const *results, size_t n);

#endif
