/* Reads a laboratory's lock file. Checks that lab_lock_holder() returns NULL, or one line about a process that exists. */
#include "base/mem.h"
#include "base/text.h"
#include "fleet/lab/lab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = mem_bytes((const char *)data, size), *who = lab_lock_holder(text);

	ASSAY_BUG_IF(who &&
		     (!text_is_utf8(who, strlen(who)) || strchr(who, '\n') || !strstr(who, ", process ") || !strstr(who, ", since ")));
	free(who);
	free(text);
	return 0;
}
