#include "fingerprint/battery/stressng.h"

#include "base/yaml.h"

#include <math.h>

#define TIME_EXACT_S	 .01 /* precision of times, which stress-ng counts in clock ticks, s */
#define RATE_EXACT_RATIO 1.01

static const char source[] = "stress-ng";

/* Reads a number of the metrics into *out; 0 if it is missing. *there gets whether the key exists. */
static enum assay_status metric_number(const struct yaml_node *metrics, const char *key, double *out, bool *there, struct assay_error *err)
{
	const struct yaml_node *node = yaml_get(metrics, key);

	*there = node != NULL;
	*out = 0;
	return node ? yaml_double(source, node, 0, 1e18, out, err) : ASSAY_OK;
}

/* Reports whether `item` has the metrics of `stressor`. Compares the raw scalar, because stress-ng does not quote the name of the stressor
 * null, which YAML would read as no value. */
static bool is_item_of_stressor(const struct yaml_node *item, const char *stressor)
{
	for (size_t i = 0; item->kind == YAML_MAP && i < item->n_items; i++) {
		const struct yaml_node *value = &item->items[i];

		if (strcmp(value->key, "stressor") == 0)
			return value->kind == YAML_SCALAR && strcmp(value->scalar, stressor) == 0;
	}
	return false;
}

/* Finds the list item with the metrics of `stressor`. It is an error if there are two. */
static enum assay_status find_item(const struct yaml_node *list, const char *stressor, const struct yaml_node **item,
				   struct assay_error *err)
{
	*item = NULL;
	for (size_t i = 0; list && list->kind == YAML_LIST && i < list->n_items; i++) {
		if (*item && is_item_of_stressor(&list->items[i], stressor))
			return assay_fail(
			    err, ASSAY_E_FORMAT,
			    "stress-ng wrote metrics of '%s' twice (lines %zu and %zu of its YAML): the right count is not known", stressor,
			    (*item)->line, list->items[i].line);
		if (is_item_of_stressor(&list->items[i], stressor))
			*item = &list->items[i];
	}
	return *item ? ASSAY_OK : assay_fail(err, ASSAY_E_FORMAT, "stress-ng wrote no metrics of '%s'", stressor);
}

static enum assay_status read_version(const struct yaml_node *root, struct stressng_metrics *out, struct assay_error *err)
{
	const struct yaml_node *info = yaml_get(root, "system-info");
	const struct yaml_node *version = info && info->kind == YAML_MAP ? yaml_get(info, "stress-ng-version") : NULL;
	const char *text = NULL;

	if (!version || yaml_string(source, version, &text, err) || !*text || strlen(text) >= sizeof(out->version) ||
	    strspn(text, "0123456789.abcdefghijklmnopqrstuvwxyz-+~") != strlen(text))
		return assay_fail(err, ASSAY_E_FORMAT, "stress-ng did not report its version");
	snprintf(out->version, sizeof(out->version), "%s", text);
	return ASSAY_OK;
}

/* Checks that `rate` agrees with operations and seconds, within the precision of times. Accepts a rate of 0, which means a missing rate. */
static enum assay_status check_rate(const char *stressor, double rate, double ops, double seconds, const char *of, struct assay_error *err)
{
	double most = seconds > TIME_EXACT_S ? ops / (seconds - TIME_EXACT_S) : (double)INFINITY;

	if (rate <= 0 || (rate >= ops / (seconds + TIME_EXACT_S) / RATE_EXACT_RATIO && rate <= most * RATE_EXACT_RATIO))
		return ASSAY_OK;
	return assay_fail(err, ASSAY_E_FORMAT, "stress-ng contradicts itself: %.6g operations of '%s' per second, but %.6g in %.3g s of %s",
			  rate, stressor, ops, seconds, of);
}

static enum assay_status read_metrics(const struct yaml_node *item, const char *stressor, struct stressng_metrics *out,
				      struct assay_error *err)
{
	const struct {
		const char *key;
		double *value;
		bool required;
	} rows[] = {
		{ "bogo-ops", &out->bogo_ops, true },
		{ "wall-clock-time", &out->wall_s, true },
		{ "user-time", &out->user_s, true },
		{ "system-time", &out->system_s, true },
		{ "bogo-ops-per-second-usr-sys-time", &out->per_s, false },
		{ "bogo-ops-per-second-real-time", &out->real_per_s, false },
	};
	enum assay_status st = ASSAY_OK;
	double cpu_s;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool there;
		st = metric_number(item, rows[i].key, rows[i].value, &there, err);

		if (!st && rows[i].required && !there)
			st = assay_fail(err, ASSAY_E_FORMAT, "stress-ng did not report '%s'", rows[i].key);
		if (st)
			return st;
	}
	/* Computes missing rates from operations and times. Both CPU times may be 0, because they are counted in clock ticks. */
	cpu_s = out->user_s + out->system_s;
	st = check_rate(stressor, out->per_s, out->bogo_ops, cpu_s, "CPU time", err);
	if (!st)
		st = check_rate(stressor, out->real_per_s, out->bogo_ops, out->wall_s, "real time", err);
	if (out->per_s <= 0)
		out->per_s = cpu_s > 0 ? out->bogo_ops / cpu_s : 0;
	if (out->real_per_s <= 0)
		out->real_per_s = out->wall_s > 0 ? out->bogo_ops / out->wall_s : 0;
	out->measured = !st && out->bogo_ops > 0 && out->per_s > 0 && isfinite(out->per_s) && isfinite(out->real_per_s);
	return st;
}

enum assay_status stressng_parse(const char *text, size_t n, const char *stressor, struct stressng_metrics *out, struct assay_error *err)
{
	struct stressng_metrics metrics = { 0 };
	const struct yaml_node *item = NULL;
	struct yaml_node root = { 0 };
	enum assay_status st = ASSAY_OK;

	if (n > STRESSNG_YAML_BYTES_MAX)
		st = assay_fail(err, ASSAY_E_LIMIT, "stress-ng wrote more than %d bytes of metrics", STRESSNG_YAML_BYTES_MAX);
	if (!st)
		st = yaml_parse(source, text, n, &root, err);
	if (!st && root.kind != YAML_MAP)
		st = assay_fail(err, ASSAY_E_FORMAT, "the output of stress-ng is not a YAML document of metrics");
	if (!st)
		st = read_version(&root, &metrics, err);
	if (!st)
		st = find_item(yaml_get(&root, "metrics"), stressor, &item, err);
	if (!st)
		st = read_metrics(item, stressor, &metrics, err);
	yaml_release(&root);
	*out = metrics;
	return st;
}

enum stressng_result stressng_classify_exit(int exit_status, const char **text)
{
	static const struct {
		enum stressng_result trust;
		const char *text;
	} rows[] = {
		[0] = { STRESSNG_MEASURED, "" },
		[STRESSNG_EXIT_NOT_STARTED] = { STRESSNG_FAILED, "stress-ng refused its arguments, or its directory is gone" },
		[2] = { STRESSNG_FAILED, "the stressor failed" },
		[3] = { STRESSNG_MISSING, "the machine lacks a resource that the stressor needs" },
		[4] = { STRESSNG_MISSING, "the stressor is not implemented on this machine" },
		[5] = { STRESSNG_FAILED, "the stressor was killed" },
		[6] = { STRESSNG_FAILED, "the stressor ended unexpectedly" },
		[7] = { STRESSNG_DISCARDED, "stress-ng does not trust its own metrics" },
	};

	if (exit_status < 0 || (size_t)exit_status >= sizeof(rows) / sizeof(rows[0])) {
		*text = "stress-ng ended with an undocumented exit status";
		return STRESSNG_FAILED;
	}
	*text = rows[exit_status].text;
	return rows[exit_status].trust;
}
