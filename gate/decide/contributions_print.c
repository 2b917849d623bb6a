/* Where the time went, for people and for programs. */
#include "base/table.h"
#include "base/text.h"
#include "gate/decide/contributions.h"

#include <math.h>

#define SMALLEST .0005 /* of the baseline's time: what would be shown as 0.0 % */
#define NAMED    4     /* of the groups that cannot be told apart; how many more there are is said */

/* In per cent, as printed: what rounds to nothing has no sign of its own. */
static double percent(double part)
{
	return isfinite(part) ? round(1000 * part) / 10 + 0. : part; /* -0. + 0. is 0. */
}

static const struct contribution *most_probable(const struct contributions *c)
{
	const struct contribution *most = NULL;

	for (size_t i = 0; i < c->n_groups; i++)
		if (!most || c->groups[i].first > most->first)
			most = &c->groups[i];
	return most;
}

void contributions_lead(const struct contributions *c, struct buf *out)
{
	size_t named = c->n_leading > NAMED ? NAMED : c->n_leading;
	const struct contribution *most = most_probable(c);
	double sum = 0;

	for (size_t i = 0; i < c->n_leading; i++)
		sum += c->leading[i]->first;
	if (!c->n_leading && c->resource && most && c->unexplained.first <= 1 - CONTRIBUTIONS_LEADING)
		buf_format(out, "Beside a factor for all of the work, which group changed most cannot be said; the most probable is %s (%s).",
			   most->name, text_probability(most->first).text);
	else if (!c->n_leading)
		buf_text(out, "Beside a factor for all of the work, no group can be said to have changed.");
	else if (c->n_leading == 1)
		buf_format(out, "Beside a factor for all of the work, what changed most is %s (probability %s).", c->leading[0]->name,
			   text_probability(sum).text);
	else
		buf_format(out, "Beside a factor for all of the work, what changed most is one of %zu groups (together probability %s):",
			   c->n_leading, text_probability(sum).text);
	for (size_t i = 0; c->n_leading > 1 && i < named; i++)
		buf_format(out, " %s (%s)%s", c->leading[i]->name, text_probability(c->leading[i]->first).text, i + 1 < named ? "," : "");
	if (c->n_leading > 1)
		buf_text(out, named < c->n_leading ? ", ..." : ".");
}

bool contributions_any_negative(const struct contributions *c, size_t shown)
{
	for (size_t i = 0; i < shown && i < c->n_groups; i++)
		if (percent(fmin(c->groups[i].before, c->groups[i].after)) < 0)
			return true;
	return false;
}

static void print_row(struct table *t, const char *name, const struct contribution *c)
{
	bool grew = c->low > 0, shrank = c->high < 0;

	table_cell(t, "  %s", name);
	table_cell(t, "%s %%", text_fixed(percent(c->before), 1).text);
	table_cell(t, "%s %%", text_fixed(percent(c->after), 1).text);
	table_cell(t, "%s %%", text_signed(percent(c->change), 1).text);
	table_cell(t, "%s to %s %%", text_signed(percent(c->low), 1).text, text_signed(percent(c->high), 1).text);
	table_cell(t, "%s", grew ? "grew" : shrank ? "shrank" : "");
}

void contributions_print(const struct contributions *c, size_t shown, struct buf *out)
{
	static const char *const headings[] = { "  group", "before", "after", "change", "90 % interval", "" };
	size_t rows = 0, hidden;
	struct table t;
	double rest = 0;

	if (c->missing) {
		buf_format(out, "\nWhere the time went cannot be told: %s.\n", c->missing);
		return;
	}
	buf_format(out,
		   "\nWhere the time went, in parts of the baseline's, over %zu hardware types (%s %% in all, by the "
		   "types' arithmetic mean, 95 %% interval %s to %s %%):\n",
		   c->types, text_signed(percent(c->total), 1).text, text_signed(percent(c->total_low), 1).text,
		   text_signed(percent(c->total_high), 1).text);
	table_init(&t, "lrrrrl", headings);
	for (; rows < c->n_groups && rows < shown && fabs(c->groups[rows].change) >= SMALLEST; rows++)
		print_row(&t, c->groups[rows].name, &c->groups[rows]);
	print_row(&t, "(unexplained)", &c->unexplained);
	table_print(&t, out);
	table_release(&t);
	for (size_t i = rows; i < c->n_groups; i++)
		rest += c->groups[i].change;
	hidden = c->n_groups - rows;
	if (hidden)
		buf_format(out, "and %s %% in %zu other group%s\n", text_signed(percent(rest), 1).text, hidden, text_plural(hidden));
	if (contributions_any_negative(c, rows))
		buf_text(out, CONTRIBUTIONS_NEGATIVE "\n");
	contributions_lead(c, out);
	buf_text(out, "\n");
}

static cJSON *one_json(const struct contribution *c)
{
	cJSON *object = cJSON_CreateObject();

	if (c->name) {
		cJSON_AddStringToObject(object, "name", c->name);
		cJSON_AddItemToObject(object, "members", cJSON_CreateStringArray(c->members, (int)c->n));
	}
	json_add_number(object, "before", c->before);
	json_add_number(object, "after", c->after);
	json_add_number(object, "change", c->change);
	json_add_number(object, "low", c->low);
	json_add_number(object, "high", c->high);
	if (c->name)
		json_add_number(object, "first_probability", c->first);
	return object;
}

cJSON *contributions_json(const struct contributions *c)
{
	cJSON *root = cJSON_CreateObject(), *groups, *leading;

	cJSON_AddNumberToObject(root, "hardware_types", (double)c->types);
	cJSON_AddNumberToObject(root, "machines", (double)c->machines);
	if (c->missing)
		cJSON_AddStringToObject(root, "missing", c->missing);
	else
		cJSON_AddNullToObject(root, "missing");
	json_add_number(root, "total", c->missing ? (double)NAN : c->total);
	json_add_number(root, "total_low", c->missing ? (double)NAN : c->total_low);
	json_add_number(root, "total_high", c->missing ? (double)NAN : c->total_high);
	groups = cJSON_AddArrayToObject(root, "groups");
	for (size_t i = 0; i < c->n_groups; i++)
		cJSON_AddItemToArray(groups, one_json(&c->groups[i]));
	leading = cJSON_AddArrayToObject(root, "leading");
	for (size_t i = 0; i < c->n_leading; i++)
		cJSON_AddItemToArray(leading, cJSON_CreateString(c->leading[i]->name));
	json_add_number(root, "none_probability", c->missing ? (double)NAN : c->unexplained.first);
	if (c->missing)
		cJSON_AddNullToObject(root, "unexplained");
	else
		cJSON_AddItemToObject(root, "unexplained", one_json(&c->unexplained));
	return root;
}
