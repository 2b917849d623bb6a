/* Reads the emulated back end's data from outside: symbol tables of a program's file, which may have been replaced, and the list of
 * selected functions. The input is used as both. The first name in the list, if any, must select itself. */
#include "runs/inside/emulate/emulate_functions.c"

#include "base/error.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct runtime runtime;
__thread struct hot hot;

/* Stubs of the allocator and the lock that emulate_functions.c uses. */
void *pages_map(size_t bytes)
{
	return mem_new(bytes, 1);
}

void threads_lock(void)
{
}

void threads_unlock(void)
{
}

static void symbols(const char *file, size_t size)
{
	static const uint32_t types[] = { SHT_SYMTAB, SHT_DYNSYM };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		for (uint64_t address = 0; address < 64; address += 4) {
			struct symbol found;

			if (!find_symbol_in_file(file, size, types[i], address, &found))
				continue;
			ASSAY_BUG_IF(found.start > address || found.name < file || found.name + strlen(found.name) >= file + size);
		}
	}
}

static void names(const char *list)
{
	const char *begin;
	size_t length;
	char *first;

	for (const char *name = next_name(list, &length); length > 0; name = next_name(name + length, &length))
		ASSAY_BUG_IF(name < list || name + length > list + strlen(list));
	functions_select(list + strspn(list, "@")); /* the name of a file is not tested */
	begin = next_name(selected, &length);
	first = mem_bytes(begin, length);
	ASSAY_BUG_IF(length > 0 && !is_selected(first));
	free(first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *bytes = mem_bytes((const char *)data, size);

	names(bytes);
	if (size >= sizeof(ElfW(Ehdr)))
		symbols(bytes, size);
	free(bytes);
	return 0;
}
