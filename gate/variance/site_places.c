#include "gate/variance/fragments.h"

#include "base/mem.h"
#include "base/text.h"
#include "runs/inside/changes/demangle.h"
#include "runs/inside/changes/image.h"

#include <stdlib.h>
#include <string.h>

/* Returns "main, sort.c:88", or "main+2f of sort" if the line is not known; free() it. NULL: there is no function. */
static char *place_of(const struct image *image, const char *path, uint64_t behind_call)
{
	uint64_t address = behind_call - 1;
	size_t s = image_symbol_before(image, address);
	const struct image_symbol *symbol = s == SIZE_MAX ? NULL : &image->symbols[s];
	Dwarf_Line *line;
	Dwarf_Die unit;
	char *function, *place;
	int number = 0;

	while (symbol && symbol->kind != IMAGE_CODE)
		symbol = s-- > 0 ? &image->symbols[s] : NULL;
	if (!symbol || address >= symbol->address + symbol->size)
		return NULL;
	function = demangle(symbol->name);
	line = image->dwarf && dwarf_addrdie(image->dwarf, address, &unit) ? dwarf_getsrc_die(&unit, address) : NULL;
	if (line && !dwarf_lineno(line, &number) && number > 0 && dwarf_linesrc(line, NULL, NULL))
		place = mem_format("%s, %s:%d", function, text_file_name(dwarf_linesrc(line, NULL, NULL)), number);
	else
		place = mem_format("%s+%llx of %s", function, (unsigned long long)(behind_call - symbol->address), text_file_name(path));
	free(function);
	return place;
}

void site_places_find(struct fragments *f)
{
	const char *opened = "";
	struct image image = { .path = NULL };
	struct assay_error ignored;

	for (size_t s = 0; s < f->n_sites; s++) {
		struct fragment_site *site = &f->sites[s];

		if (strcmp(opened, site->file) != 0) {
			image_release(&image);
			opened = site->file;
			(void)image_open(opened, IMAGE_NAMELESS, &image, &ignored);
		}
		if (!image.build_id[0] || strcmp(image.build_id, site->module) != 0)
			continue;
		site->is_file = true;
		site->place = place_of(&image, opened, site->address);
	}
	image_release(&image);
}
