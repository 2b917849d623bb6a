#include "gate/page/page_parts.h"

#include "base/mem.h"
#include "fingerprint/stored/fingerprint.h"

#include <math.h>
#include <string.h>

#define COLOURS	    11
#define NAMES_SHOWN 12 /* maximum number of names that are shown without a fold */

void page_add_fact(struct document *d, const char *what, const char *value, const char *more)
{
	doc_showf(d, NULL, what, value, DOC_STRONG "%s" DOC_END DOC_MUTED "%s" DOC_END, value, more);
	doc_style(d, "facts");
}

struct text_number page_format_signed(double value, int decimals)
{
	struct text_number out = text_signed(value, decimals);

	if (!strpbrk(out.text, "123456789"))
		memmove(out.text, out.text + 1, strlen(out.text));
	return out;
}

void page_set_cell_colour(struct document *d, double value, double most, const char *more)
{
	doc_style(d, "h%d%s", (int)fmin(fmax(round(value / most * (COLOURS / 2)) + COLOURS / 2, 0), COLOURS - 1), more);
}

void page_add_legend(struct document *d, const char *low, const char *high, double most, const char *note, bool gaps)
{
	doc_object(d, NULL);
	doc_style(d, "heat-legend");
	doc_object(d, NULL);
	doc_style(d, "scale");
	doc_line(d, "%s", low);
	doc_list(d, NULL);
	for (int b = 0; b < COLOURS; b++) {
		doc_item(d, DOC_MARK("vh") "%s" DOC_END, page_format_signed(most * (b - COLOURS / 2) / (COLOURS / 2), 1).text);
		doc_style(d, "h h%d", b);
	}
	doc_end(d);
	doc_line(d, "%s", high);
	doc_end(d);
	doc_styled_line(d, "muted", "%s", note);
	if (gaps)
		doc_styled_line(d, "gaps", DOC_MARK("h hx") DOC_END "not measured");
	doc_end(d);
}

static struct omission *omissions_append(struct omissions *list, const char *why, char *what)
{
	list->items = mem_grow(list->items, list->n, &list->capacity, sizeof(*list->items));
	list->items[list->n] = (struct omission){ .items_text = what, .reason = mem_string(why) };
	return &list->items[list->n++];
}

static void omission_append(struct omission *omission, char *name)
{
	mem_append(omission->names, omission->n, &omission->capacity, name);
}

struct omission *omissions_add(struct omissions *list, const char *why, const char *fmt, ...)
{
	char *what;

	mem_format_va(what, fmt);
	return omissions_append(list, why, what);
}

void omission_add_name(struct omission *omission, const char *fmt, ...)
{
	char *name;

	mem_format_va(name, fmt);
	omission_append(omission, name);
}

static char *omission_count(size_t n, const char *noun, const char *rest)
{
	return mem_format("%zu %s%s%s", n, noun, text_plural(n), rest);
}

/* Returns the omission with this reason and kind of item; NULL if there is none yet. */
static struct omission *omissions_find(const struct omissions *list, const char *why, const char *noun, const char *rest)
{
	for (size_t i = list->n; i > 0; i--) {
		struct omission *omission = &list->items[i - 1];
		char *what = omission_count(omission->n, noun, rest);
		bool same = strcmp(omission->reason, why) == 0 && strcmp(omission->items_text, what) == 0;

		free(what);
		if (same)
			return omission;
	}
	return NULL;
}

void omissions_add_name(struct omissions *list, const char *why, const char *noun, const char *rest, const char *fmt, ...)
{
	struct omission *omission = omissions_find(list, why, noun, rest);
	char *name;

	if (!omission)
		omission = omissions_append(list, why, NULL);
	mem_format_va(name, fmt);
	omission_append(omission, name);
	free(omission->items_text);
	omission->items_text = omission_count(omission->n, noun, rest);
}

void omissions_release(struct omissions *list)
{
	for (size_t i = 0; i < list->n; i++) {
		mem_free_all(list->items[i].names, list->items[i].n);
		mem_free(list->items[i].items_text, list->items[i].reason);
	}
	free(list->items);
	*list = (struct omissions){ 0 };
}

static void omission_show(const struct omission *o, struct document *d)
{
	doc_entry(d, o->items_text);
	doc_style(d, "left-out");
	doc_line(d, "%s.", o->reason);
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

void omissions_section(struct document *d, const struct omissions *list)
{
	doc_section(d, "left-out", "Excluded", "Excluded, with reasons", NULL);
	for (size_t k = 0; k < list->n; k++)
		omission_show(&list->items[k], d);
	if (!list->n)
		doc_line(d, "Nothing: every machine and every result is used.");
}

static void add_machine(const struct evidence *evidence, const struct fingerprint *f, bool used, struct document *d)
{
	size_t type = types_find(&evidence->types, f->id);

	doc_row(d);
	doc_style(d, used ? "used" : "unused");
	doc_show(d, NULL, "Machine", f->machine);
	doc_show(d, NULL, "Hardware type", type == SIZE_MAX ? "not known" : evidence->types.types[type].name);
	if (f->profile)
		doc_showf(d, NULL, "Origin", f->profile, "emulated, profile " DOC_NAME "%s" DOC_END, f->profile);
	else
		doc_show(d, NULL, "Origin", f->origin);
	doc_showf(d, NULL, "Taken", f->taken_ms, "%.10s", TEXT_DATE(f->taken_ms));
	doc_attribute(d, "v", "%lld", (long long)f->taken_ms);
	doc_show(d, NULL, "Passes", f->n_passes);
	doc_show(d, NULL, "Battery", f->battery);
	doc_show(d, NULL, "stress-ng", f->stress_ng);
}

void page_fingerprints(struct document *d, const struct evidence *evidence, const struct page_machines *machines)
{
	doc_section(d, "fingerprints", "Fingerprints", "The machines' fingerprints",
		    "'assay host list --format html' shows how the machines differ, 'assay host show --passes' the rates of one.");
	doc_table(d, NULL);
	doc_style(d, "sortable wide");
	doc_set_caption(d, "Fingerprints");
	for (size_t i = 0; i < machines->n; i++)
		add_machine(evidence, machines->fingerprints[i], !machines->used || machines->used[i], d);
	doc_end(d);
	if (!machines->n)
		doc_styled_line(d, "empty",
				"None of these results has a fingerprint, so the machines are not known. " DOC_CODE
				"assay host measure" DOC_END " takes fingerprints.");
}
