/* Which functions look like the leading group, for people and for programs. */
#include "base/json.h"
#include "base/table.h"
#include "base/text.h"
#include "gate/detect/likeness.h"

#include <math.h>

static void print_table(const struct likeness *l, struct buf *out)
{
	static const char *const with_group[] = { "  function", "like the group", "p", "most like", "" };
	static const char *const without[] = { "  function", "most like", "" };
	struct table t;

	table_init(&t, l->group ? "lrrlr" : "llr", l->group ? with_group : without);
	for (size_t i = 0; i < l->n; i++) {
		const struct likeness_function *f = &l->functions[i];

		if (f->missing)
			continue;
		table_cell(&t, "  %s", f->name);
		if (l->group) {
			table_cell(&t, "%+.2f", f->group.similarity);
			table_cell(&t, "%.2g", f->group.p);
		}
		table_cell(&t, "%s", f->most_like);
		table_cell(&t, "%+.2f", f->most_similarity);
	}
	if (t.n > t.columns)
		table_print(&t, out);
	table_release(&t);
}

void likeness_print(const struct likeness *l, struct buf *out)
{
	size_t matches = 0;

	if (l->missing)
		buf_format(out, "\nWhich resource these functions look like cannot be told: %s.\n", l->missing);
	if (l->missing || !l->n)
		return;
	buf_format(out, "\nWhat the time that is %s these functions is made of, by %zu counters, against %zu stressors:\n",
	           l->improved ? "gone from" : "new in", l->n_counters, l->stressors);
	print_table(l, out);
	for (size_t i = 0; i < l->n; i++) {
		const struct likeness_function *f = &l->functions[i];

		matches += f->matches;
		if (f->missing)
			buf_format(out, "  %s is not compared: %s\n", f->name, f->missing);
		if (f->matches)
			buf_format(out, "  %s looks like the group that %s: %s\n", f->name, l->improved ? "shrank" : "grew",
			           l->group->name);
	}
	if (!l->group)
		buf_format(out, "  they cannot be matched with a group: %s\n", l->no_group);
	else if (!matches)
		buf_format(out, "  none of them surely looks like the group that %s: %s\n", l->improved ? "shrank" : "grew",
		           l->group->name);
}

static void add_text(cJSON *object, const char *key, const char *text)
{
	if (text)
		cJSON_AddStringToObject(object, key, text);
	else
		cJSON_AddNullToObject(object, key);
}

static cJSON *function_json(const struct likeness *l, const struct likeness_function *f)
{
	cJSON *object = cJSON_CreateObject();

	cJSON_AddStringToObject(object, "name", f->name);
	add_text(object, "missing", f->missing);
	add_text(object, "most_like", f->most_like);
	json_add_number(object, "most_similarity", f->most_similarity);
	json_add_number(object, "similarity", f->group.similarity);
	json_add_number(object, "p", f->group.p);
	json_add_number(object, "as_similar", l->group && !f->missing ? (double)f->group.as_similar : (double)NAN);
	cJSON_AddBoolToObject(object, "matches", f->matches);
	return object;
}

cJSON *likeness_json(const struct likeness *l)
{
	cJSON *root, *list;

	if (!l->missing && !l->n)
		return cJSON_CreateNull();
	root = cJSON_CreateObject();
	add_text(root, "missing", l->missing);
	add_text(root, "group", l->group ? l->group->name : NULL);
	add_text(root, "no_group", l->no_group);
	cJSON_AddNumberToObject(root, "members", (double)l->members);
	add_text(root, "unit", l->unit);
	list = cJSON_AddArrayToObject(root, "counters");
	for (size_t i = 0; i < l->n_counters; i++)
		cJSON_AddItemToArray(list, cJSON_CreateString(l->counters[i]));
	cJSON_AddNumberToObject(root, "stressors", (double)l->stressors);
	cJSON_AddNumberToObject(root, "fingerprints", (double)l->fingerprints);
	list = cJSON_AddArrayToObject(root, "functions");
	for (size_t i = 0; i < l->n; i++)
		cJSON_AddItemToArray(list, function_json(l, &l->functions[i]));
	return root;
}
