#include "gate/render/decided.h"

#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <string.h>

static const char *text_of(const cJSON *object, const char *key)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));

	return text ? text : "";
}

static double number_of(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsNumber(item) ? item->valuedouble : (double)NAN;
}

/* A version stands for itself, or as {application, version}. */
static const char *side_of(const cJSON *row, const char *key, struct decided *to)
{
	const cJSON *side = cJSON_GetObjectItemCaseSensitive(row, key);

	if (!cJSON_IsObject(side))
		return text_of(row, key);
	to->application = text_of(side, "application");
	return text_of(side, "version");
}

static bool decided_of(const cJSON *row, struct decided *to)
{
	const cJSON *effect = cJSON_GetObjectItemCaseSensitive(row, "effect"), *numbers = cJSON_IsObject(effect) ? effect : row;
	const char *word = text_of(row, "decision");
	int decision = 0;

	while (decision < DECISIONS && strcmp(decision_text((enum decision)decision), word) != 0)
		decision++;
	*to = (struct decided){ .application = text_of(row, "application"), .decision = (enum decision)decision };
	to->baseline = side_of(row, "baseline", to);
	to->candidate = side_of(row, "candidate", to);
	to->ratio = number_of(numbers, "ratio");
	to->low = number_of(numbers, "low");
	to->high = number_of(numbers, "high");
	to->level = number_of(numbers, "level");
	to->reasons = cJSON_GetObjectItemCaseSensitive(row, "reasons");
	return decision < DECISIONS;
}

/* A comparison of a night that was not decided: nothing was measured, and its state says why. */
static void undecided_of(cJSON *row, struct decided *to)
{
	cJSON *reasons = cJSON_AddArrayToObject(row, "reasons"), *reason = cJSON_CreateObject();

	cJSON_AddStringToObject(reason, "text", text_of(row, "state"));
	cJSON_AddItemToArray(reasons, reason);
	(void)decided_of(row, to);
	to->decision = DECISION_NOTHING_MEASURED;
}

void decisions_of(const struct document *d, const char *command, struct decisions *out)
{
	cJSON *rows, *undecided, *row;

	*out = (struct decisions){ .json = document_cjson(d) };
	out->command = strncmp(command, "assay ", 6) == 0 ? command + 6 : command;
	rows = cJSON_GetObjectItemCaseSensitive(out->json, "decisions");
	undecided = cJSON_GetObjectItemCaseSensitive(out->json, "undecided");
	out->notes = rows ? cJSON_GetObjectItemCaseSensitive(out->json, "notes") : NULL;
	out->items = mem_new((size_t)cJSON_GetArraySize(rows) + (size_t)cJSON_GetArraySize(undecided) + 1, sizeof(*out->items));
	cJSON_ArrayForEach(row, rows) out->n += decided_of(row, &out->items[out->n]);
	cJSON_ArrayForEach(row, undecided) undecided_of(row, &out->items[out->n++]);
	if (!rows)
		out->n += decided_of(out->json, &out->items[0]);
}

void decisions_release(struct decisions *decisions)
{
	cJSON_Delete(decisions->json);
	free(decisions->items);
	*decisions = (struct decisions){ 0 };
}

char *decided_text(const struct decided *decided)
{
	if (isnan(decided->ratio))
		return *decided->baseline ? mem_format("cannot be compared with %s", decided->baseline) : mem_string("cannot be compared");
	if (isnan(decided->low) || isnan(decided->high))
		return mem_format("costs %s times as much as %s (no interval)", text_fixed(decided->ratio, 3).text, decided->baseline);
	return mem_format("costs %s times as much as %s (%s%sinterval %s to %s)", text_fixed(decided->ratio, 3).text, decided->baseline,
			  decided->level > 0 ? effect_level(decided->level).text : "", decided->level > 0 ? " " : "",
			  text_fixed(decided->low, 3).text, text_fixed(decided->high, 3).text);
}

void decided_reasons(const struct decided *decided, const char *before, const char *after, struct buf *out)
{
	const cJSON *reason;

	cJSON_ArrayForEach(reason, decided->reasons) buf_format(out, "%s%s%s", before, text_of(reason, "text"), after);
}
