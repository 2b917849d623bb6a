#include "fingerprint/stored/conditions.h"

#include "base/buf.h"
#include "base/text.h"

#include <math.h>

#define LOAD_BUSY  .25 /* for each processor: something else ran in a quarter of the last minute */
#define STEAL_BUSY 2.  /* per cent */

/* Identity belongs to the machine; counters are turned into a share; the clock is an offset, not a condition; what control groups the
 * machine has does not say that a stressor was in one. */
static bool is_condition(const char *name)
{
	static const char *const others[] = { "hostname",   "machine_id",	"board_name",	       "board_serial",
					      "board_uuid", "steal_ticks",	"total_ticks",	       "clock_ms",
					      "uid",	    "has_pmu",		"perf_event_paranoid", "cgroup",
					      "cpu_family", "cpu_model_number", "cpu_stepping",	       "last_cache_bytes",
					      "emulated" };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (strcmp(others[i], name) == 0)
			return false;
	}
	return true;
}

static void add_number(cJSON *object, const char *name, double value)
{
	if (isfinite(value))
		cJSON_AddNumberToObject(object, name, value);
}

static double steal_percent(const struct facts *before, const struct facts *after)
{
	double total = after->total_ticks - before->total_ticks;

	return total > 0 ? 100 * (after->steal_ticks - before->steal_ticks) / total : (double)NAN;
}

char *conditions_text(const struct facts *before, const struct facts *after, int64_t cgroup)
{
	static const char *const cgroups[] = { "none", "v1", "v2" };
	cJSON *object = cJSON_CreateObject();
	char *text;

#define ADD(name)                                                                                                                          \
	if (is_condition(#name) && before->name)                                                                                           \
		cJSON_AddStringToObject(object, #name, before->name);
	FACTS_TEXT_ROWS(ADD)
#undef ADD
#define ADD(name, low, high)                                                                                                               \
	if (is_condition(#name))                                                                                                           \
		add_number(object, #name, before->name);
	FACTS_NUMBER_ROWS(ADD)
#undef ADD
	if (cgroup >= 0 && cgroup <= 2)
		cJSON_AddStringToObject(object, "cgroup", cgroups[cgroup]);
	if (after) {
		add_number(object, "load1_after", after->load1);
		add_number(object, "temperature_c_after", after->temperature_c);
		add_number(object, "steal_percent", steal_percent(before, after));
	}
	text = json_text(object);
	cJSON_Delete(object);
	return text;
}

/* NaN when the text does not say. */
static double number_of(const cJSON *object, const char *name)
{
	return cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(object, name));
}

char *conditions_busy(const char *conditions)
{
	cJSON *object = conditions ? cJSON_Parse(conditions) : NULL;
	double load = number_of(object, "load1"), processors = fmax(number_of(object, "cpus_online"), 1),
	       steal = number_of(object, "steal_percent");
	struct buf out = BUF_INIT;

	if (load >= LOAD_BUSY * processors)
		buf_format(&out, "a load of %.1f on %.0f processor%s before", load, processors, text_plural((size_t)processors));
	if (steal >= STEAL_BUSY)
		buf_format(&out, "%sother guests of its host took %.0f %% of the time", out.size ? ", and " : "", steal);
	cJSON_Delete(object);
	if (out.size)
		return buf_take(&out);
	buf_release(&out);
	return NULL;
}

static void add_change(cJSON *list, const char *name, const char *before, const char *after)
{
	cJSON *object;

	if (before && after && strcmp(before, after) == 0)
		return;
	object = cJSON_CreateObject();
	cJSON_AddItemToArray(list, object);
	cJSON_AddStringToObject(object, "name", name);
	cJSON_AddStringToObject(object, "before", before ? before : "not known");
	cJSON_AddStringToObject(object, "after", after ? after : "not known");
}

cJSON *conditions_changes(const char *before, const char *after)
{
	cJSON *list = cJSON_CreateArray(), *a = before && after ? cJSON_Parse(before) : NULL, *b = a ? cJSON_Parse(after) : NULL;
	const cJSON *item, *other;

	cJSON_ArrayForEach(item, a)
	{
		other = cJSON_GetObjectItemCaseSensitive(b, item->string);
		if (cJSON_IsString(item))
			add_change(list, item->string, item->valuestring, cJSON_GetStringValue(other));
	}
	cJSON_ArrayForEach(item, b)
	{
		if (cJSON_IsString(item) && !cJSON_GetObjectItemCaseSensitive(a, item->string))
			add_change(list, item->string, NULL, item->valuestring);
	}
	cJSON_Delete(a);
	cJSON_Delete(b);
	return list;
}

const char *conditions_shown(const char *word)
{
	if (strcmp(word, "notsupported") == 0)
		return "not supported";
	return strcmp(word, "notimplemented") == 0 ? "not implemented" : word;
}
