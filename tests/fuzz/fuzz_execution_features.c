/* Checks that features that are accepted are the same if written and read again, as text and in packed form. */
#include "base/mem.h"
#include "runs/running/execution.c" /* only this file packs features for the store */

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = mem_bytes((const char *)data, size);
	struct buf once = BUF_INIT, packed = BUF_INIT, twice = BUF_INIT;
	struct assay_error err = { .text = "" };
	struct execution_features f, again;

	if (execution_features_parse(text, size, &f, &err)) {
		ASSAY_BUG_IF(!*err.text || f.known.n || f.printed.n || f.counted.n);
	} else {
		execution_features_text(&f, &once);
		ASSAY_BUG_IF(execution_features_pack(&f, &packed, &err));
		ASSAY_BUG_IF(execution_features_unpack(packed.bytes, packed.size, &again, &err));
		execution_features_text(&again, &twice);
		ASSAY_BUG_IF(once.size != twice.size || (once.size && memcmp(once.bytes, twice.bytes, once.size) != 0));
		execution_features_release(&again);
	}
	execution_features_release(&f);
	buf_release(&once);
	buf_release(&packed);
	buf_release(&twice);
	free(text);
	return 0;
}
