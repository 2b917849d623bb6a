/* The stored resource usage of a run: the kernel's counts, and samples of its CPU time. */
#ifndef FLEET_SIGNATURE_H
#define FLEET_SIGNATURE_H

#include "base/document.h"
#include "base/error.h"
#include "fleet/agent/helper_client.h"

#include <stddef.h>

#define SIGNATURE_SAMPLES_BYTES_MAX (1u << 20) /* more than the helper sends, even with places in files */

struct signature {
	struct helper_result of; /* counts of HELPER_ACCOUNT_ROWS; all other members are -1 */
	char *samples;		 /* text of fleet/helper/sampler.h; NULL: none */
};
void signature_release(struct signature *signature); /* accepts zeroed */

/* Returns an answer's resource usage as one line of JSON: known HELPER_ACCOUNT_ROWS, and `samples`. free() it. NULL: nothing was run. */
char *signature_text(const struct helper_answer *answer);

/* Parses such a text; in "", nothing is known. Overwrites *out; signature_release() it. ASSAY_E_FORMAT. */
enum assay_status signature_parse(const char *text, struct signature *out, struct assay_error *err);

/* Returns the number of counts. signature_account() returns count i: value (-1: unknown), name, and text for users ("": not shown). */
size_t signature_accounts(void);
int64_t signature_account(const struct helper_result *result, size_t i, const char **name, const char **text);

/* Adds all counts of one run as members of an object; null: the host did not report it. */
void signature_set(struct document *d, const char *key, const struct helper_result *result);
/* Adds medians over n runs in the same form (key NULL: human-readable output only), and lines for users. */
void signature_medians(struct document *d, const char *key, const struct helper_result *const *results, size_t n);

#endif
