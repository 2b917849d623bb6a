/* Symbols of a program: the name that people see is one line of bounded length, twice the same; the stem and the label of a clone are parts
 * of the symbol. Short symbols can stand for very long names, and take very long. */
#include "base/mem.h"
#include "runs/inside/changes/demangle.h"
#include "runs/inside/changes/functions.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NAME_MOST 65536 /* as in demangle.c, where symbols that are longer stay as they are */

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
	ASSAY_BUG_IF(functions_stem(symbol) > n || (*label && *label != '.') || strlen(label) > n - functions_stem(symbol));
	intern_release(&names);
	free(name);
	free(again);
	free(symbol);
	return 0;
}
