/* Demangles symbols. Checks that the name is one line of bounded length, that a second call gives the same name, and that the stem and the
 * label of a clone are parts of the symbol. Short symbols can expand to very long names, which takes long. */
#include "base/mem.h"
#include "runs/inside/changes/demangle.h"
#include "runs/inside/changes/functions.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NAME_MOST 65536 /* as in demangle.c, which does not change longer symbols */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *symbol = mem_bytes((const char *)data, size), *name, *again;
	struct intern names = { .texts = NULL };
	size_t n = strlen(symbol);
	const char *label;

	name = demangle(symbol);
	again = demangle(symbol);
	ASSAY_BUG_IF(strcmp(name, again) != 0 || strlen(name) > (n > NAME_MOST ? n : NAME_MOST));
	ASSAY_BUG_IF(strncmp(symbol, "_Z", 2) != 0 && strncmp(symbol, "_R", 2) != 0 && strlen(name) != n);
	for (const char *c = name; *c; c++)
		ASSAY_BUG_IF((unsigned char)*c < 0x20 || *c == 0x7f);
	label = functions_label(&names, symbol);
	ASSAY_BUG_IF(functions_stem_length(symbol) > n || (*label && *label != '.') || strlen(label) > n - functions_stem_length(symbol));
	intern_release(&names);
	free(name);
	free(again);
	free(symbol);
	return 0;
}
