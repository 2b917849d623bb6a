#include "gate/decide/reasons.h"

#include "base/mem.h"

#include <string.h>

void reasons_add(struct reasons *r, const char *code, const char *text)
{
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->items[i].code, code) == 0 && strcmp(r->items[i].text, text) == 0)
			return;
	mem_append(r->items, r->n, &r->capacity, (struct reason){ mem_string(code), mem_string(text) });
}

void reasons_release(struct reasons *r)
{
	for (size_t i = 0; i < r->n; i++)
		mem_free(r->items[i].code, r->items[i].text);
	free(r->items);
	*r = (struct reasons){ .n = 0 };
}

const char *reasons_find(const struct reasons *r, const char *code)
{
	for (size_t i = 0; i < r->n; i++)
		if (!code || strcmp(r->items[i].code, code) == 0)
			return r->items[i].text;
	return NULL;
}

void reasons_add_member(const struct reasons *r, const char *key, struct document *d)
{
	doc_list(d, key);
	for (size_t i = 0; i < r->n; i++)
		doc_reason(d, r->items[i].code, r->items[i].text);
	doc_end(d);
}
