/* The signature of one run, as it is stored: what the kernel has counted of it, and where its time was sampled. */
#ifndef FLEET_SIGNATURE_H
#define FLEET_SIGNATURE_H

#include "base/document.h"
#include "base/error.h"
#include "fleet/agent/helper_client.h"

#include <stddef.h>

#define SIGNATURE_SAMPLES_BYTES_MAX (1u << 20) /* more than the helper sends, with places in files as well */

struct signature {
	struct helper_result of; /* its accounts; all else in it is -1 */
	char *samples;		 /* as in fleet/helper/sampler.h; NULL: none */
};
void signature_release(struct signature *signature); /* accepts zeroed */

/* Of the answer to a run, as JSON on one line: an object with what is known of HELPER_ACCOUNT_ROWS, and `samples`. free() it. NULL: nothing
 * was run. */
char *signature_text(const struct helper_answer *answer);

/* The same from text; "" is a signature in which nothing is known. *out is overwritten; signature_release() it. ASSAY_E_FORMAT. */
enum assay_status signature_parse(const char *text, struct signature *out, struct assay_error *err);

/* Account `i` of signature_accounts(): its value (-1: not known), its name, and text for people ("": it is none for them). */
size_t signature_accounts(void);
int64_t signature_account(const struct helper_result *result, size_t i, const char **name, const char **text);

/* All accounts of one run as members of an object, null where the host did not say. */
void signature_set(struct document *d, const char *key, const struct helper_result *result);
/* Medians over n runs, likewise (without a key only for people), and lines for people. */
void signature_medians(struct document *d, const char *key, const struct helper_result *const *results, size_t n);

#endif
