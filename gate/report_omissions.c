/* Lists of what does not count, and why. */
#include "base/error.h"
#include "base/mem.h"
#include "gate/report.h"

#include <stdarg.h>

struct report_omission *report_omit(struct report_omissions *list, const char *why, const char *fmt, ...)
{
	struct report_omission *omission;
	va_list args;
	char *what = NULL;

	va_start(args, fmt);
	ASSAY_BUG_IF(vasprintf(&what, fmt, args) < 0);
	va_end(args);
	list->items = mem_grow(list->items, list->n, &list->capacity, sizeof(*list->items));
	omission = &list->items[list->n++];
	*omission = (struct report_omission){ .what = what, .why = mem_string(why) };
	return omission;
}

void report_omission_name(struct report_omission *omission, const char *fmt, ...)
{
	va_list args;
	char *name = NULL;

	va_start(args, fmt);
	ASSAY_BUG_IF(vasprintf(&name, fmt, args) < 0);
	va_end(args);
	omission->names = mem_grow(omission->names, omission->n, &omission->capacity, sizeof(char *));
	omission->names[omission->n++] = name;
}

void report_omissions_release(struct report_omissions *list)
{
	for (size_t i = 0; i < list->n; i++) {
		struct report_omission *omission = &list->items[i];

		for (size_t k = 0; k < omission->n; k++)
			free(omission->names[k]);
		free(omission->names);
		free(omission->what);
		free(omission->why);
	}
	free(list->items);
	*list = (struct report_omissions){ 0 };
}
