#include "gate/page/omissions.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

#include <string.h>

#define NAMES_SHOWN 12 /* more are folded */

static struct omission *omissions_append(struct omissions *list, const char *why, char *what)
{
	list->items = mem_grow(list->items, list->n, &list->capacity, sizeof(*list->items));
	list->items[list->n] = (struct omission){ .what = what, .why = mem_string(why) };
	return &list->items[list->n++];
}

static void omission_append(struct omission *omission, char *name)
{
	mem_append(omission->names, omission->n, &omission->capacity, name);
}

struct omission *omissions_add(struct omissions *list, const char *why, const char *fmt, ...)
{
	char *what;

	mem_formatted(what, fmt);
	return omissions_append(list, why, what);
}

void omission_name(struct omission *omission, const char *fmt, ...)
{
	char *name;

	mem_formatted(name, fmt);
	omission_append(omission, name);
}

static char *omission_count(size_t n, const char *noun, const char *rest)
{
	return mem_format("%zu %s%s%s", n, noun, text_plural(n), rest);
}

/* The one whose names are those left out for this reason, so far; NULL when there is none yet. */
static struct omission *omissions_find(const struct omissions *list, const char *why, const char *noun, const char *rest)
{
	for (size_t i = list->n; i > 0; i--) {
		struct omission *omission = &list->items[i - 1];
		char *what = omission_count(omission->n, noun, rest);
		bool same = strcmp(omission->why, why) == 0 && strcmp(omission->what, what) == 0;

		free(what);
		if (same)
			return omission;
	}
	return NULL;
}

void omissions_one(struct omissions *list, const char *why, const char *noun, const char *rest, const char *fmt, ...)
{
	struct omission *omission = omissions_find(list, why, noun, rest);
	char *name;

	if (!omission)
		omission = omissions_append(list, why, NULL);
	mem_formatted(name, fmt);
	omission_append(omission, name);
	free(omission->what);
	omission->what = omission_count(omission->n, noun, rest);
}

void omissions_release(struct omissions *list)
{
	for (size_t i = 0; i < list->n; i++) {
		mem_free_all(list->items[i].names, list->items[i].n);
		mem_free(list->items[i].what, list->items[i].why);
	}
	free(list->items);
	*list = (struct omissions){ 0 };
}

/* ---- the section ---- */

static void omission_show(const struct omission *o, struct document *d)
{
	doc_entry(d, o->what);
	doc_style(d, "left-out");
	doc_line(d, "%s.", o->why);
	if (o->n > NAMES_SHOWN)
		doc_fold(d, "which");
	doc_list(d, NULL);
	doc_style(d, "names");
	for (size_t i = 0; i < o->n; i++)
		doc_item(d, DOC_NAME "%s" DOC_END, o->names[i]);
	doc_end(d);
	if (o->n > NAMES_SHOWN)
		doc_end(d);
	doc_end(d);
}

void omissions_section(struct document *d, const struct omissions *own, const struct omissions *others)
{
	const struct omissions *lists[] = { own, others };
	size_t n = 0;

	doc_section(d, "left-out", "Left out", "Left out, and why", NULL);
	for (int i = 0; i < 2; i++) {
		for (size_t k = 0; lists[i] && k < lists[i]->n; k++, n++)
			omission_show(&lists[i]->items[k], d);
	}
	if (!n)
		doc_line(d, "Nothing: every machine and every result counts.");
}
