#include "gate/detect/renamed.h"

#include "base/buf.h"
#include "base/mem.h"
#include "gate/detect/callers.h"
#include "runs/inside/changes/demangle.h"
#include "runs/inside/changes/functions.h"

#include <string.h>

#define ANONYMOUS "(anonymous namespace)"
#define OPERATOR  "operator"

/* A function that only one side has; of pairs, as the other side calls it. */
struct only {
	char *name; /* as people call it */
	const char *stem, *other;
};

struct only_list {
	struct only *items;
	size_t n, capacity;
};

static bool starts(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* How much of the text is one word of a name: what may have brackets of its own. 0: it begins with no such word. */
static size_t word_bytes(const char *text, bool first)
{
	size_t n = strlen(OPERATOR);

	if (text[0] == '{')
		return strcspn(text, "}") + (strchr(text, '}') ? 1 : 0);
	if (!first || !starts(text, OPERATOR))
		return 0;
	return n + strcspn(text + n, text[n] == ' ' ? "(" : "( ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");
}

/* "Few::push" of "void Few<int, 4u>::push(int const&)"; NULL: nothing is left, or too little ("<int as Run>::run" of Rust). */
static char *name_alone(const char *symbol)
{
	char *text = demangle(symbol);
	struct buf out = BUF_INIT;
	size_t depth = 0;

	for (size_t i = 0, n; text[i] && (text[i] != '(' || depth || starts(text + i, ANONYMOUS)); i += n) {
		char last = out.size ? out.bytes[out.size - 1] : ':';

		n = depth ? 0 : word_bytes(text + i, last == ':');
		if (n)
			buf_add(&out, text + i, n);
		else if (text[i] == '<')
			depth++;
		else if (text[i] == '>' && depth)
			depth--;
		else if (!depth && text[i] == ' ')
			out.size = 0; /* that was what it returns */
		else if (!depth)
			buf_char(&out, text[i]);
		n = n ? n : 1;
	}
	free(text);
	if (out.size && out.bytes[0] != ':')
		return buf_take(&out);
	buf_release(&out);
	return NULL;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct only *)a)->name, ((const struct only *)b)->name);
}

static int by_stem(const void *a, const void *b)
{
	return strcmp(((const struct only *)a)->stem, ((const struct only *)b)->stem);
}

static struct only_list only_in(const struct stems *here, const struct stems *there)
{
	struct only_list list = { .items = NULL };

	for (size_t i = 0; i < here->n; i++) {
		bool both = stems_find(there, here->items[i]) != SIZE_MAX || record_is_library(here->items[i]);
		char *name = both ? NULL : name_alone(here->items[i]);

		if (!name)
			continue;
		list.items = mem_grow(list.items, list.n, &list.capacity, sizeof(list.items[0]));
		list.items[list.n++] = (struct only){ .name = name, .stem = here->items[i] };
	}
	if (list.n)
		qsort(list.items, list.n, sizeof(list.items[0]), by_name);
	return list;
}

static void only_release(struct only_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->items[i].name);
	free(list->items);
}

/* The one of that name; NULL: there is none, or another one. */
static const struct only *only_one(const struct only_list *list, const struct only *key)
{
	const struct only *found = list->n ? bsearch(key, list->items, list->n, sizeof(list->items[0]), by_name) : NULL;
	const struct only *end = list->items + list->n;

	if (!found || (found > list->items && by_name(found - 1, key) == 0) || (found + 1 < end && by_name(found + 1, key) == 0))
		return NULL;
	return found;
}

/* The same, with the suffix that it has ("" or ".constprop.0"). */
static void function_rename(struct samples_function *f, const struct only_list *pairs)
{
	size_t length = functions_stem(f->name);
	char *stem = mem_bytes(f->name, length), *name;
	struct only key = { .stem = stem };
	const struct only *pair = pairs->n ? bsearch(&key, pairs->items, pairs->n, sizeof(pairs->items[0]), by_stem) : NULL;

	if (pair) {
		name = mem_format("%s%s", pair->other, f->name + length);
		free(f->name);
		f->name = name;
	}
	free(stem);
}

static void side_rename(struct side *side, const struct only_list *pairs)
{
	for (size_t r = 0; r < side->n; r++)
		for (size_t f = 0; f < side->runs[r].n_files; f++)
			for (size_t k = 0; k < side->runs[r].files[f].n_functions; k++)
				function_rename(&side->runs[r].files[f].functions[k], pairs);
}

static char *pairs_text(const struct only_list *pairs)
{
	char *name = demangle(pairs->items[0].other), *text;

	text = mem_format("%s%s: compared with what had other parameters, or arguments of templates, and the same name", name,
			  pairs->n > 1 ? " and others" : "");
	free(name);
	return text;
}

char *renamed_match(struct side *old, const struct side *new)
{
	struct stems names[2] = { { .items = NULL } };
	struct only_list then, now, pairs = { .items = NULL };
	char *text = NULL;

	stems_of(old, &names[0]);
	stems_of(new, &names[1]);
	then = only_in(&names[0], &names[1]);
	now = only_in(&names[1], &names[0]);
	for (size_t i = 0; i < then.n; i++) {
		const struct only *same = only_one(&then, &then.items[i]) ? only_one(&now, &then.items[i]) : NULL;

		if (!same)
			continue;
		pairs.items = mem_grow(pairs.items, pairs.n, &pairs.capacity, sizeof(pairs.items[0]));
		pairs.items[pairs.n++] = (struct only){ .stem = then.items[i].stem, .other = same->stem };
	}
	if (pairs.n) {
		text = pairs_text(&pairs);
		qsort(pairs.items, pairs.n, sizeof(pairs.items[0]), by_stem);
		side_rename(old, &pairs);
	}
	free(pairs.items);
	only_release(&then);
	only_release(&now);
	stems_release(&names[0]);
	stems_release(&names[1]);
	return text;
}
