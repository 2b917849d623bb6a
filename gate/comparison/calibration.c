#include "gate/comparison/calibration.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/json_reader.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "fleet/lab/lab.h"
#include "gate/decide/verdict.h"

#include <inttypes.h>
#include <math.h>

#define ENTRIES_MAX  100000
#define MACHINES_MAX 100000
#define COUNT_MAX    1000000000
#define DAY_MS	     86400000.0
#define TIME_MAX     (INT64_C(1) << 52)

static void add_counts(cJSON *object, const struct replay_counts *c)
{
	json_add_number(object, "pairs", (double)c->pairs);
	json_add_number(object, "resampled", (double)(c->pairs - c->distinct));
	for (int i = 0; i < DECISION_NOTHING_MEASURED; i++)
		json_add_number(object, decision_text((enum decision)i), (double)c->decision[i]);
	json_add_number(object, "seen_again", (double)c->confirmed[DECISION_REGRESSION]);
	json_add_number(object, "improved_again", (double)c->confirmed[DECISION_IMPROVED]);
	json_add_number(object, "repetitions", c->mean_repetitions);
}

static cJSON *entry_json(const struct calibration_entry *e)
{
	cJSON *root = cJSON_CreateObject(), *list, *identical;

	cJSON_AddStringToObject(root, "application", e->application);
	cJSON_AddStringToObject(root, "version", e->version);
	cJSON_AddStringToObject(root, "plan", e->plan);
	json_add_number(root, "taken_ms", (double)e->taken_ms);
	json_add_number(root, "repetitions", (double)e->repetitions);
	json_add_number(root, "min_effect", e->min_effect);
	json_add_number(root, "waited", e->run_delay_share);
	list = cJSON_AddArrayToObject(root, "machines");
	for (size_t i = 0; i < e->n_machines; i++)
		cJSON_AddItemToArray(list, cJSON_CreateString(e->machines[i]));
	identical = cJSON_AddObjectToObject(root, "identical");
	add_counts(identical, &e->identical);
	list = cJSON_AddArrayToObject(root, "planted");
	for (size_t i = 0; i < e->n_planted; i++) {
		cJSON *injected = cJSON_CreateObject();

		cJSON_AddStringToObject(injected, "kind", injection_kind_name(e->injected[i].injection.kind));
		json_add_number(injected, "percent", e->injected[i].injection.percent);
		json_add_number(injected, "measured", e->injected[i].measured);
		add_counts(injected, &e->injected[i].counts);
		cJSON_AddItemToArray(list, injected);
	}
	return root;
}

char *calibration_to_json(const struct calibration *calibration)
{
	cJSON *root = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(root, "applications");
	char *text;

	for (size_t i = 0; i < calibration->n; i++)
		cJSON_AddItemToArray(list, entry_json(&calibration->items[i]));
	text = json_text(root);
	cJSON_Delete(root);
	return text;
}

static struct replay_counts read_counts(struct json_reader *r, const cJSON *object)
{
	struct replay_counts c = { .pairs = (size_t)json_reader_integer(r, object, "pairs", 0, COUNT_MAX) };

	c.distinct = c.pairs - (size_t)json_reader_integer(r, object, "resampled", 0, (int64_t)c.pairs);
	for (int i = 0; i < DECISION_NOTHING_MEASURED; i++)
		c.decision[i] = (size_t)json_reader_integer(r, object, decision_text((enum decision)i), 0, (int64_t)c.pairs);
	c.confirmed[DECISION_REGRESSION] = (size_t)json_reader_integer(r, object, "seen_again", 0, (int64_t)c.pairs);
	c.confirmed[DECISION_IMPROVED] = (size_t)json_reader_integer(r, object, "improved_again", 0, (int64_t)c.pairs);
	c.mean_repetitions = json_reader_number(r, object, "repetitions", 0, COUNT_MAX);
	return c;
}

static double number_or_null(struct json_reader *r, const cJSON *object, const char *key)
{
	return json_reader_has(r, object, key) ? json_reader_number(r, object, key, -COUNT_MAX, COUNT_MAX) : (double)NAN;
}

static void read_injected(struct json_reader *r, const cJSON *object, struct calibration_entry *e)
{
	static const char *const keys[] = { "kind",	  "percent",	    "measured",	  "pairs",	  "resampled",
					    "pass",	  "improved",	    "regression", "inconclusive", "environment",
					    "seen_again", "improved_again", "repetitions" };
	struct calibration_injected *p = &e->injected[e->n_planted++];
	const char *word;
	int kind = 0;

	json_reader_check_keys(r, object, "an injected slowdown", keys, sizeof(keys) / sizeof(keys[0]));
	word = json_reader_text(r, object, "kind");
	while (kind < INJECTION_KINDS && strcmp(injection_kind_name((enum injection_kind)kind), word) != 0)
		kind++;
	if (kind == INJECTION_KINDS)
		json_reader_fail(r, "'kind' must be cpu, memory or calls");
	p->injection = (struct injection){ (enum injection_kind)(kind % INJECTION_KINDS),
					   (unsigned)json_reader_integer(r, object, "percent", 1, INJECTION_PERCENT_MAX) };
	p->measured = number_or_null(r, object, "measured");
	p->counts = read_counts(r, object);
}

static void read_machines(struct json_reader *r, const cJSON *root, struct calibration_entry *e)
{
	const cJSON *list = json_reader_array(r, root, "machines", 0, MACHINES_MAX), *item;

	e->machines = mem_new((size_t)cJSON_GetArraySize(list), sizeof(*e->machines));
	cJSON_ArrayForEach(item, list)
	{
		if (cJSON_IsString(item))
			e->machines[e->n_machines++] = mem_string(item->valuestring);
		else
			json_reader_fail(r, "'machines' must be a list of names");
	}
}

static void read_entry(struct json_reader *r, const cJSON *root, struct calibration_entry *e)
{
	static const char *const keys[] = { "application", "version", "plan",	  "taken_ms",  "repetitions",
					    "min_effect",  "waited",  "machines", "identical", "planted" };
	const cJSON *list, *item;
	const char *plan;

	json_reader_check_keys(r, root, "an application", keys, sizeof(keys) / sizeof(keys[0]));
	e->application = mem_string(json_reader_text(r, root, "application"));
	e->version = mem_string(json_reader_text(r, root, "version"));
	plan = json_reader_text(r, root, "plan");
	if (strlen(plan) >= sizeof(e->plan))
		json_reader_fail(r, "'plan' is no id");
	snprintf(e->plan, sizeof(e->plan), "%.*s", (int)sizeof(e->plan) - 1, plan);
	e->taken_ms = json_reader_integer(r, root, "taken_ms", 0, TIME_MAX);
	e->repetitions = json_reader_integer(r, root, "repetitions", 0, COUNT_MAX);
	e->min_effect = json_reader_number(r, root, "min_effect", 1e-6, 1);
	e->run_delay_share = number_or_null(r, root, "waited");
	read_machines(r, root, e);
	e->identical = read_counts(r, json_reader_object(r, root, "identical"));
	list = json_reader_array(r, root, "planted", 0, INJECTION_KINDS);
	if (!r->st)
		cJSON_ArrayForEach(item, list) read_injected(r, item, e);
}

enum assay_status calibration_parse(const char *name, const char *text, size_t n, struct calibration *out, struct assay_error *err)
{
	static const char *const keys[] = { "applications" };
	struct json_reader r = { .name = name, .err = err };
	const cJSON *list = NULL, *item;
	cJSON *root = NULL;

	*out = (struct calibration){ NULL, 0 };
	r.st = json_parse(name, text, n, &root, err);
	if (!r.st) {
		json_reader_check_keys(&r, root, "a calibration", keys, 1);
		list = json_reader_array(&r, root, "applications", 0, ENTRIES_MAX);
	}
	if (!r.st)
		out->items = mem_new((size_t)cJSON_GetArraySize(list), sizeof(*out->items));
	if (!r.st)
		cJSON_ArrayForEach(item, list) read_entry(&r, item, &out->items[out->n++]);
	cJSON_Delete(root);
	if (r.st)
		calibration_release(out);
	return r.st;
}

void calibration_entry_release(struct calibration_entry *e)
{
	mem_free_all(e->machines, e->n_machines);
	mem_free(e->application, e->version);
}

void calibration_release(struct calibration *calibration)
{
	mem_release_all(calibration->items, calibration->n, calibration_entry_release);
	*calibration = (struct calibration){ NULL, 0 };
}

enum assay_status calibration_read(const char *directory, struct calibration *out, struct assay_error *err)
{
	char *path = mem_format("%s/" CALIBRATION_FILE, directory);
	struct buf text = BUF_INIT;
	enum assay_status st = file_read_cached(path, JSON_BYTES_MAX, &text, err);

	*out = (struct calibration){ NULL, 0 };
	if (!st)
		st = calibration_parse(path, text.bytes ? text.bytes : "", text.size, out, err);
	else if (st == ASSAY_E_NOTFOUND)
		st = ASSAY_OK;
	buf_release(&text);
	free(path);
	return st;
}

ORDER_BY(compare_entries, struct calibration_entry, BY_TEXT(application))

enum assay_status calibration_put(const char *directory, struct calibration_entry *entry, struct assay_error *err)
{
	char *path = mem_format("%s/" CALIBRATION_FILE, directory), *text;
	struct calibration all;
	enum assay_status st = calibration_read(directory, &all, err);
	size_t i = 0;

	if (st) {
		calibration_entry_release(entry);
	} else {
		while (i < all.n && strcmp(all.items[i].application, entry->application) != 0)
			i++;
		if (i == all.n)
			all.items = mem_resize(all.items, ++all.n, sizeof(*all.items));
		else
			calibration_entry_release(&all.items[i]);
		all.items[i] = *entry;
		qsort(all.items, all.n, sizeof(*all.items), compare_entries);
		text = calibration_to_json(&all);
		st = file_replace(path, text, strlen(text), 0666, err);
		free(text);
	}
	*entry = (struct calibration_entry){ .plan = "" };
	calibration_release(&all);
	free(path);
	return st;
}

static void add_entry_counts(const struct calibration_entry *e, struct calibration_quote *q)
{
	q->identical += (int64_t)e->identical.pairs;
	q->distinct += (int64_t)e->identical.distinct;
	q->slower += (int64_t)e->identical.decision[DECISION_REGRESSION];
	q->faster += (int64_t)e->identical.decision[DECISION_IMPROVED];
	for (size_t i = 0; i < e->n_planted; i++) {
		const struct calibration_injected *p = &e->injected[i];

		if (q->percent && q->percent != p->injection.percent)
			continue;
		q->percent = p->injection.percent;
		q->injected += (int64_t)p->counts.pairs;
		q->found += (int64_t)p->counts.decision[DECISION_REGRESSION];
	}
	q->taken_ms = q->taken_ms && q->taken_ms < e->taken_ms ? q->taken_ms : e->taken_ms;
}

/* Returns the first of machines[n] that was not calibrated; NULL if all were. Considers only the entry `only`, or all if `only` is NULL. */
static const char *unknown_machine(const struct calibration *c, const struct calibration_entry *only, char *const *machines, size_t n)
{
	for (size_t k = 0; k < n; k++) {
		bool known = false;

		for (size_t i = 0; i < c->n; i++)
			known = known || ((!only || only == &c->items[i]) &&
					  text_is_among(c->items[i].machines, c->items[i].n_machines, machines[k]));
		if (!known)
			return machines[k];
	}
	return NULL;
}

struct calibration_quote calibration_quote_make(const struct calibration *c, const char *application, char *const *machines, size_t n,
						int64_t now_ms, double max_age_days)
{
	const struct calibration_entry *own = NULL;
	struct calibration_quote q = { .identical = 0 };
	const char *unknown;

	for (size_t i = 0; i < c->n; i++)
		own = strcmp(c->items[i].application, application) == 0 ? &c->items[i] : own;
	for (size_t i = 0; i < c->n; i++) {
		if (!own || own == &c->items[i])
			add_entry_counts(&c->items[i], &q);
	}
	if (!q.identical)
		return (struct calibration_quote){ .identical = 0 };
	unknown = unknown_machine(c, own, machines, n);
	q.is_application_specific = own != NULL;
	q.stale = (double)(now_ms - q.taken_ms) > max_age_days * DAY_MS
		      ? mem_format("the last calibration, of %.10s, is older than allowed", TEXT_DATE(q.taken_ms))
		  : unknown ? mem_format("'%s' was not among its machines", unknown)
			    : mem_string("");
	return q;
}

enum assay_status calibration_quote_now(const struct lab *lab, const struct verdict *v, struct calibration_quote *out,
					struct assay_error *err)
{
	char **machines = mem_new(v->pairing.n + 1, sizeof(*machines));
	struct calibration calibration;
	enum assay_status st = calibration_read(lab->directory, &calibration, err);
	size_t n = 0;

	*out = (struct calibration_quote){ .identical = 0 };
	for (size_t i = 0; i < v->pairing.n; i++) {
		if (v->pairing.machines[i].reason == PAIRING_USED)
			machines[n++] = mem_string(v->pairing.machines[i].machine);
	}
	if (!st)
		*out = calibration_quote_make(&calibration, v->baseline->application, machines, n, clock_real_ms(),
					      lab->config.fingerprint_max_age_days);
	mem_free_all(machines, n);
	calibration_release(&calibration);
	return st;
}

struct calibration_quote calibration_quote_copy(const struct calibration_quote *quote)
{
	struct calibration_quote q = *quote;

	q.stale = q.stale ? mem_string(q.stale) : NULL;
	return q;
}

void calibration_describe(const struct calibration_quote *q, struct document *d)
{
	if (!q->identical)
		return;
	doc_line(d,
		 "%s, %" PRId64 " of %" PRId64 " identical pairs (%" PRId64
		 " share%s no run with another pair) were called slower, and %" PRId64 " faster; an injected %" PRId64
		 " %% was found in %" PRId64 " of %" PRId64 ".%s%s%s",
		 q->is_application_specific ? "With this application" : "On this laboratory", q->slower, q->identical, q->distinct,
		 q->distinct == 1 ? "s" : "", q->faster, q->percent, q->found, q->injected, *q->stale ? " Calibrate again: " : "", q->stale,
		 *q->stale ? "." : "");
	doc_object(d, "calibration");
	doc_set(d, "of", q->is_application_specific ? "application" : "laboratory");
	doc_set(d, "taken_ms", q->taken_ms);
	doc_set(d, "identical", q->identical);
	doc_set(d, "distinct", q->distinct);
	doc_set(d, "called", q->slower);
	doc_set(d, "called_faster", q->faster);
	doc_set(d, "percent", q->percent);
	doc_set(d, "planted", q->injected);
	doc_set(d, "found", q->found);
	doc_set(d, "stale", q->stale);
	doc_end(d);
}
