/* Lists of what does not count, and why. */
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "gate/page/html.h"
#include "gate/report/report_sections.h"

#include <stdarg.h>

#define NAMES_SHOWN 12 /* more are folded */

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

void report_omission_count(struct report_omission *omission, const char *noun)
{
	free(omission->what);
	omission->what = mem_format("%zu %s%s", omission->n, noun, text_plural(omission->n));
}

void report_omit_others(struct report_omissions *list, const struct run_set *runs)
{
	struct report_omission *omission;

	if (!runs->n_others)
		return;
	omission = report_omit(list, "of another build than that of its latest runs", "%zu result%s of %s@%s", runs->n_others,
			       text_plural(runs->n_others), runs->application, runs->version);
	for (size_t i = 0; i < runs->n_others; i++) {
		if (i == 0 || strcmp(runs->others[i - 1].machine, runs->others[i].machine) != 0)
			report_omission_name(omission, "%s", runs->others[i].machine);
	}
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

/* ---- showing them ---- */

static void names(const struct report_omission *o, struct buf *out)
{
	if (!o->n)
		return;
	if (o->n > NAMES_SHOWN)
		html_format(out, "<details><summary>which</summary>");
	buf_text(out, "<ul class=\"names\">");
	for (size_t i = 0; i < o->n; i++)
		html_format(out, "<li><bdi>%s</bdi></li>", o->names[i]);
	buf_text(out, o->n > NAMES_SHOWN ? "</ul></details>" : "</ul>");
}

static void show(const struct report_omissions *list, struct buf *out)
{
	for (size_t i = 0; list && i < list->n; i++) {
		const struct report_omission *o = &list->items[i];

		html_format(out, "<div><dt>%s</dt><dd>%s.", o->what, o->why);
		names(o, out);
		buf_text(out, "</dd></div>\n");
	}
}

void report_omitted(const struct report_omissions *own, const struct report_omissions *others, struct buf *out)
{
	page_section(out, "left-out", "Left out, and why", NULL);
	if ((own && own->n) || (others && others->n)) {
		buf_text(out, "<dl class=\"left-out\">");
		show(own, out);
		show(others, out);
		buf_text(out, "</dl>");
	} else {
		buf_text(out, "<p>Nothing: every machine and every result counts.</p>");
	}
	buf_text(out, "</section>\n");
}
