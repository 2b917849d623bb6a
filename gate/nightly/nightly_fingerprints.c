/* Fingerprints of hosts that have none, or an old one. */
#include "base/clock.h"
#include "base/mem.h"
#include "fingerprint/battery/battery.h"
#include "fingerprint/take/take.h"
#include "fleet/engine/reach.h"
#include "gate/nightly/nightly.h"

#define DAY_MS 86400000.

enum assay_status nightly_without_fingerprint(struct nightly *n, struct lab *lab, const struct host ***out, size_t *count,
					      struct assay_error *err)
{
	const struct inventory *inventory = &lab->config.inventory;
	double days = n->suite.max_age_days > 0 ? n->suite.max_age_days : lab->config.fingerprint_max_age_days;
	int64_t now_ms = clock_real_ms();
	bool *wanted = mem_new(inventory->n, sizeof(*wanted));
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; !st && i < n->comparisons.n; i++) {
		const char *set = n->comparisons.items[i].hosts;
		bool *selected = mem_new(inventory->n, sizeof(*selected));

		st = inventory_select(inventory, *set ? set : NULL, NULL, NULL, selected, err);
		for (size_t k = 0; k < inventory->n; k++)
			wanted[k] = wanted[k] || (!st && selected[k]);
		free(selected);
	}
	*out = mem_new(inventory->n, sizeof(**out));
	*count = 0;
	for (size_t k = 0; !st && k < inventory->n; k++) {
		char id[FINGERPRINT_ID_BYTES] = "";

		if (wanted[k])
			st = fingerprint_before(&lab->store, inventory->hosts[k].id, inventory->hosts[k].profile, now_ms,
						now_ms - (int64_t)(days * DAY_MS), id, err);
		if (wanted[k] && !*id)
			(*out)[(*count)++] = &inventory->hosts[k];
	}
	free(wanted);
	return st;
}

static enum assay_status take(struct nightly *n, struct lab *lab, const struct host *const *hosts, size_t count, struct assay_error *err)
{
	struct take_result *results = mem_new(count, sizeof(*results));
	struct battery battery = { 0 };
	struct catalog catalog = { 0 };
	struct reach reach = { 0 };
	struct fleet_options fleet;
	enum assay_status st = battery_open(n->suite.battery, &battery, err);

	if (!st)
		st = battery_select(&battery, NULL, 0, err);
	if (!st)
		st = catalog_load(lab->machines, NULL, &catalog, err);
	if (!st)
		st = reach_init(lab, &reach, err);
	if (!st) {
		const struct take_options options = { .battery = &battery, .resume = true, .fleet = &fleet };

		fleet = reach_options(&reach);
		fleet.cancelled = n->options->cancelled;
		st = take_fingerprints(lab, &catalog, hosts, count, &options, results, err);
	}
	for (size_t i = 0; !st && i < count; i++) {
		if (!results[i].complete)
			nightly_note(n, "no_fingerprint", "no fingerprint of '%s': %s", hosts[i]->name,
				     *results[i].fleet.message ? results[i].fleet.message : "it is not complete");
	}
	take_results_release(results, count);
	free(results);
	reach_release(&reach);
	catalog_release(&catalog);
	battery_release(&battery);
	return st;
}

enum assay_status nightly_fingerprints(struct nightly *n, struct assay_error *err)
{
	const struct host **hosts = NULL;
	struct lab lab = { .lock_fd = -1 };
	enum assay_status st;
	size_t count = 0;

	if (strcmp(n->suite.battery, SUITE_BATTERY_NONE) == 0)
		return ASSAY_OK;
	st = nightly_open(n, &lab, err);
	if (!st)
		st = nightly_without_fingerprint(n, &lab, &hosts, &count, err);
	if (!st && count && !nightly_is_over(n))
		st = take(n, &lab, hosts, count, err);
	free(hosts);
	lab_close(&lab);
	if (st == ASSAY_E_NOTFOUND || st == ASSAY_E_FORMAT || st == ASSAY_E_USAGE) {
		nightly_note(n, "no_fingerprint", "no fingerprints are taken: %s", err->text);
		st = ASSAY_OK;
	}
	return st;
}
