/* Reads the notes of a loaded module. Checks that a build ID found there is pairs of hexadecimal digits, no more than there are bytes. */
#include "base/error.h"
#include "base/mem.h"
#include "runs/inside/record/record_writer.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char id[RECORD_BUILD_ID_BYTES];

	record_build_id(data, size, id);
	ASSAY_BUG_IF(strlen(id) % 2 || id[strspn(id, "0123456789abcdef")] || strlen(id) / 2 > size);
	return 0;
}
