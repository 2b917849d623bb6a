/* Reads a host's CPU samples. Checks that they are refused, or that the counts add up. */
#include "base/mem.h"
#include "gate/profile/sampled.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct sampled s;
	struct assay_error err = { .text = "" };
	char *text = mem_bytes((const char *)data, size);
	uint64_t user = 0, kernel = 0;

	s = (struct sampled){ .n = 0 };
	ASSAY_BUG_IF((sampled_add(&s, text, "./program", NULL, &err) != ASSAY_OK) != (*err.text != '\0'));
	ASSAY_BUG_IF(s.n > SAMPLED_CLASSES_MAX);
	for (size_t i = 0; i < s.n; i++) {
		ASSAY_BUG_IF(!memchr(s.classes[i].name, 0, sizeof(s.classes[i].name)) || strpbrk(s.classes[i].name, "\033\n"));
		*(s.classes[i].kernel ? &kernel : &user) += s.classes[i].count;
	}
	ASSAY_BUG_IF(user != s.user || kernel != s.kernel);
	ASSAY_BUG_IF(s.n_functions > 0); /* no file is read unless requested */
	free(text);
	return 0;
}
