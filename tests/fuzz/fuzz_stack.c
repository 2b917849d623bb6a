/* Reads a host's list of libraries. Checks that an accepted list is sorted, has each line once, and is the same if read again. Two lists
 * differ exactly if their texts do. */
#include "base/mem.h"
#include "runs/running/stack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	char *once = NULL, *twice = NULL, *difference;
	struct assay_error err;

	if (size > STACK_BYTES_MAX / 16 || stack_parse(text, size, "/dev/shm/s", &once, &err))
		return 0;
	ASSAY_BUG_IF(!*once || stack_parse(once, strlen(once), "/dev/shm/s", &twice, &err));
	ASSAY_BUG_IF(strcmp(once, twice) != 0);
	difference = stack_describe_difference(once, twice);
	ASSAY_BUG_IF(*difference);
	free(difference);
	difference = stack_describe_difference(once, "");
	ASSAY_BUG_IF(!*difference);
	free(difference);
	free(once);
	free(twice);
	return 0;
}
