/* What `assay changes` says, read: sorted, and each symbol found again. */
#include "gate/detect/places.h"

#include "base/mem.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct assay_error err;
	struct places places;

	if (places_parse("fuzz", (const char *)data, size, &places, &err))
		return 0;
	for (size_t i = 0; i < places.n; i++) {
		const struct place *found = places_find(&places, places.items[i].symbol);

		ASSAY_BUG_IF(!found || strcmp(found->symbol, places.items[i].symbol) != 0);
		ASSAY_BUG_IF(i && strcmp(places.items[i - 1].symbol, places.items[i].symbol) > 0);
	}
	places_release(&places);
	return 0;
}
