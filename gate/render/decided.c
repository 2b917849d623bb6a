#include "gate/render/decided.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "runs/running/manifest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A version stands for itself, or as {application, version}. */
static const char *side_of(const cJSON *row, const char *key, struct decided *to)
{
	const cJSON *side = json_get(row, key);

	if (!cJSON_IsObject(side))
		return json_get_text(row, key);
	to->application = json_get_text(side, "application");
	return json_get_text(side, "version");
}

static void reasons_of(const cJSON *list, struct reasons *to)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, list) reasons_add(to, json_get_text(item, "code"), json_get_text(item, "text"));
}

static bool decided_of(const cJSON *row, struct decided *to)
{
	const cJSON *numbers = json_get(row, "ratio") ? row : json_get(row, "effect"); /* by cost there is but one effect */
	const char *word = json_get_text(row, "decision");
	bool decided;

	*to = (struct decided){ .application = json_get_text(row, "application"), .decision = decision_by_text(word) };
	decided = strcmp(decision_text(to->decision), word) == 0;
	to->baseline = side_of(row, "baseline", to);
	to->candidate = side_of(row, "candidate", to);
	to->ratio = json_get_number(numbers, "ratio");
	to->low = json_get_number(numbers, "low");
	to->high = json_get_number(numbers, "high");
	to->level = json_get_number(numbers, "level");
	to->by_processor = strcmp(json_get_text(row, "time"), "processor") == 0;
	to->cause = json_get_text(row, "cause");
	if (decided)
		reasons_of(json_get(row, "reasons"), &to->reasons);
	to->against = json_get_text(row, "against");
	return decided;
}

/* A comparison of a night that was not decided: nothing was measured, and its state says why. */
static void undecided_of(cJSON *row, struct decided *to)
{
	(void)decided_of(row, to);
	reasons_add(&to->reasons, "", json_get_text(row, "state"));
}

/* ---- keys ---- */

/* Of NAME-COMMIT, which is where a branch was, without the commit. */
static int stem_length(const char *version)
{
	size_t n = strlen(version);
	const char *dash = strrchr(version, '-');

	if (dash && dash > version && strlen(dash + 1) == MANIFEST_COMMIT_DIGITS &&
	    strspn(dash + 1, "0123456789abcdef") == MANIFEST_COMMIT_DIGITS)
		n = (size_t)(dash - version);
	return (int)n;
}

/* Takes both names over. */
static void give_names(struct decided *d, char *candidate, char *baseline)
{
	mem_free(d->candidate_name, d->baseline_name, d->key);
	d->candidate_name = candidate;
	d->baseline_name = baseline;
	d->key = *baseline ? mem_format("%s@%s (against %s)", d->application, candidate, baseline)
			   : mem_format("%s@%s", d->application, candidate);
}

static void give_short_names(struct decided *d)
{
	bool chosen = *d->against && strcmp(d->against, "version") != 0;
	const char *baseline = chosen ? d->against : d->baseline;

	give_names(d, mem_bytes(d->candidate, (size_t)stem_length(d->candidate)), mem_bytes(baseline, (size_t)stem_length(baseline)));
}

ORDER_POINTERS_BY(compare_keys, struct decided, BY_TEXT(key) BY_UP(number))

/* Those that several have become longer: by what they leave out, and where that is not enough by a number. */
static void make_unique(const struct decisions *all, struct decided **order, bool numbered)
{
	for (size_t i = 0; i < all->n; i++)
		order[i] = &all->items[i];
	order_sort(order, all->n, compare_keys);
	for (size_t i = 0, end; i < all->n; i = end) {
		for (end = i + 1; end < all->n && strcmp(order[end]->key, order[i]->key) == 0; end++)
			;
		for (size_t k = i + numbered; end > i + 1 && k < end; k++) {
			struct decided *d = order[k];

			give_names(d, numbered ? mem_format("%s #%zu", d->candidate_name, k - i + 1) : mem_string(d->candidate),
				   mem_string(numbered ? d->baseline_name : d->baseline));
		}
	}
}

static void give_keys(struct decisions *all)
{
	struct decided **order = mem_new(all->n + 1, sizeof(struct decided *));

	for (size_t i = 0; i < all->n; i++)
		give_short_names(&all->items[i]);
	make_unique(all, order, false);
	make_unique(all, order, true);
	free(order);
}

ORDER_BY(compare_worst, struct decided, BY_UP(worse) BY_UP(number))

void decisions_of(const struct document *d, const char *command, struct decisions *out)
{
	cJSON *rows, *undecided, *row;

	*out = (struct decisions){ .json = document_cjson(d) };
	out->command = strncmp(command, "assay ", 6) == 0 ? command + 6 : command;
	rows = json_get(out->json, "decisions");
	undecided = json_get(out->json, "undecided");
	if (rows)
		reasons_of(json_get(out->json, "notes"), &out->notes);
	out->items = mem_new((size_t)cJSON_GetArraySize(rows) + (size_t)cJSON_GetArraySize(undecided) + 1, sizeof(*out->items));
	cJSON_ArrayForEach(row, rows) out->n += decided_of(row, &out->items[out->n]);
	cJSON_ArrayForEach(row, undecided) undecided_of(row, &out->items[out->n++]);
	if (!rows)
		out->n += decided_of(out->json, &out->items[0]);
	for (size_t i = 0; i < out->n; i++) {
		out->items[i].number = i;
		out->items[i].worse = decision_place(out->items[i].decision);
	}
	order_sort(out->items, out->n, compare_worst);
	give_keys(out);
}

void decisions_release(struct decisions *decisions)
{
	for (size_t i = 0; i < decisions->n; i++) {
		reasons_release(&decisions->items[i].reasons);
		mem_free(decisions->items[i].candidate_name, decisions->items[i].baseline_name, decisions->items[i].key);
	}
	reasons_release(&decisions->notes);
	cJSON_Delete(decisions->json);
	free(decisions->items);
	*decisions = (struct decisions){ 0 };
}

bool decided_has(const struct decided *decided, const char *code)
{
	return reasons_find(&decided->reasons, code) != NULL;
}

/* The runs that all failed say more than what became of them. */
static char *why_without_ratio(const struct decided *decided)
{
	const char *fails = reasons_find(&decided->reasons, "candidate_always_fails"),
		   *why = fails ? fails : reasons_find(&decided->reasons, NULL);

	return mem_format("%s cannot be compared%s%s%s%s", decided->candidate, *decided->baseline ? " with " : "", decided->baseline,
			  why ? ": " : "", why ? why : "");
}

char *decided_text(const struct decided *decided)
{
	const struct reason first = decided->reasons.n ? decided->reasons.items[0] : (struct reason){ .code = NULL };
	const char *cause = decision_is_finding(decided->decision) ? decided->cause : ""; /* a night may have withdrawn the finding */
	char *interval, *text, *why;

	if (isnan(decided->ratio))
		return why_without_ratio(decided);
	if (isnan(decided->low) || isnan(decided->high))
		interval = mem_string("no interval");
	else
		interval = mem_format("%s%sinterval %s to %s", decided->level > 0 ? effect_level(decided->level).text : "",
				      decided->level > 0 ? " " : "", text_fixed(decided->low, 3).text, text_fixed(decided->high, 3).text);
	why = decision_why(decided->decision, first.code ? first.code : "", first.code ? first.text : "");
	text = mem_format("%s%s%s %s %s times as much %sas %s (%s)%s%s", why, *why ? "; " : "", decided->candidate,
			  decided->by_processor ? "takes" : "costs", text_fixed(decided->ratio, 3).text,
			  decided->by_processor ? "processor time " : "", decided->baseline, interval, *cause ? ": " : "", cause);
	mem_free(interval, why);
	return text;
}

void decided_reasons(const struct decided *decided, const char *before, const char *after, struct buf *out)
{
	for (size_t i = 0; i < decided->reasons.n; i++)
		buf_format(out, "%s%s%s", before, decided->reasons.items[i].text, after);
}
