#include "fingerprint/compare/drift.h"

#include "base/mem.h"
#include "base/stats.h"

#include <math.h>

ROWS_FUNCTION(drift_state_code, enum drift_state, DRIFT_STATE_ROWS, ROWS_WORD)

bool drift_is_latest(const struct machine *machine, const struct machine_fingerprint *f, int64_t now_ms)
{
	if (f->taken_ms > now_ms)
		return false;
	for (const struct machine_fingerprint *later = f + 1; later < machine->fingerprints + machine->n_fingerprints; later++) {
		if (later->taken_ms <= now_ms && machine_comparable(f, later))
			return false;
	}
	return true;
}

const struct machine_fingerprint *drift_reference(const struct machine *machine, const struct machine_fingerprint *latest,
						  const struct machine_acceptance **acceptance)
{
	const struct machine_fingerprint *f = machine->fingerprints;

	if (acceptance)
		*acceptance = NULL;
	for (size_t i = machine->n_accepted; i-- > 0;) {
		const struct machine_fingerprint *accepted = machine_find(machine, machine->accepted[i].fingerprint);

		if (!accepted || !machine_comparable(accepted, latest))
			continue;
		if (acceptance)
			*acceptance = &machine->accepted[i];
		return accepted;
	}
	while (!machine_comparable(f, latest))
		f++;
	return f;
}

const char *drift_version_before(const struct machine *machine, const struct machine_fingerprint *f)
{
	const char *before = NULL;

	for (const struct machine_fingerprint *e = machine->fingerprints; e < f; e++) {
		if (machine_comparable(e, f))
			return NULL;
		if (strcmp(e->battery_hash, f->battery_hash) == 0 && strcmp(e->architecture, f->architecture) == 0)
			before = e->stress_ng;
	}
	return before;
}

/* Was stress-ng replaced since then? What the machine was under an older version it is not any more. */
static bool drift_superseded(const struct machine *machine, const struct machine_fingerprint *f, int64_t now_ms)
{
	for (const struct machine_fingerprint *e = f + 1; e < machine->fingerprints + machine->n_fingerprints; e++) {
		if (e->taken_ms <= now_ms && strcmp(e->battery_hash, f->battery_hash) == 0 && strcmp(e->architecture, f->architecture) == 0)
			return true;
	}
	return false;
}

/* ---- against its own past ---- */

static enum drift_state past_state(const struct drift_past *past, const struct fingerprint_set *set)
{
	if (past->latest == past->reference)
		return past->acceptance ? DRIFT_REFERENCE : DRIFT_ALONE;
	return fingerprint_find(set, past->latest->id) && fingerprint_find(set, past->reference->id) ? DRIFT_COMPARED : DRIFT_NO_RAW;
}

/* All from the reference to the latest, which stand together in the set by time. free() it. */
static const struct fingerprint **history_of(const struct fingerprint *reference, const struct fingerprint *latest, size_t *n)
{
	const struct fingerprint **history = mem_new(reference < latest ? (size_t)(latest - reference) + 1 : 1, sizeof(*history));

	*n = 0;
	for (const struct fingerprint *f = reference; f <= latest; f++) {
		if (fingerprint_comparable(f, latest))
			history[(*n)++] = f;
	}
	return history;
}

/* Where there is a history each of the two ways to look at it has half of the level. */
static enum assay_status compare_one_past(struct drift_past *past, const struct fingerprint_set *set, size_t looks)
{
	const struct fingerprint *reference = fingerprint_find(set, past->reference->id), *latest = fingerprint_find(set, past->latest->id);
	const struct fingerprint **history = history_of(reference, latest, &past->history);
	bool enough = past->history >= COMPARE_HISTORY_MIN;
	enum assay_status st = compare_fingerprints(set, reference, latest, enough ? 2 * looks : looks, &past->compare, NULL);

	if (!st && enough)
		compare_history(set, history, past->history, 2 * looks, &past->compare);
	free(history);
	return st;
}

static void compare_past(struct drift *drift, const struct fingerprint_set *set)
{
	size_t looks = 0;

	for (size_t i = 0; i < drift->n; i++) {
		drift->past[i].state = past_state(&drift->past[i], set);
		looks += drift->past[i].state == DRIFT_COMPARED;
	}
	for (size_t i = 0; i < drift->n; i++) {
		struct drift_past *past = &drift->past[i];

		/* Of one kind in the catalog but not in the store: changed by hand; `catalog check` says so. */
		if (past->state == DRIFT_COMPARED && compare_one_past(past, set, looks))
			past->state = DRIFT_NO_RAW;
	}
}

/* ---- against its type ---- */

/* One machine against the others: by stressor of the set. */
struct tally {
	size_t *differ, *others;
	double *logs; /* [stressors x peers], of the ratios to the others */
};

static void count_differences(struct tally *tally, size_t peers, const struct fingerprint_set *set, const struct compare *compare)
{
	size_t j = 0;

	for (size_t i = 0; i < compare->n; i++) {
		const struct compare_row *row = &compare->rows[i];

		while (strcmp(set->stressors[j], row->stressor) != 0)
			j++;
		if (isnan(row->ratio))
			continue;
		tally->logs[j * peers + tally->others[j]++] = log(row->ratio);
		tally->differ[j] += row->differs;
	}
}

static bool are_peers(const struct drift_peer *a, const struct drift_peer *b)
{
	return a->machine != b->machine && a->type == b->type && machine_comparable(a->latest, b->latest);
}

static void compare_peer(struct drift *drift, size_t index, const struct fingerprint_set *set, size_t looks)
{
	struct tally tally = { mem_new(set->n_stressors, sizeof(size_t)), mem_new(set->n_stressors, sizeof(size_t)),
			       mem_new(set->n_stressors * drift->n, sizeof(double)) };
	struct drift_peer *peer = &drift->peers[index];
	const struct fingerprint *own = fingerprint_find(set, peer->latest->id);

	for (size_t i = 0; i < drift->n; i++) {
		const struct fingerprint *other = fingerprint_find(set, drift->peers[i].latest->id);
		struct compare compare;

		if (!other || !are_peers(peer, &drift->peers[i]) || compare_fingerprints(set, other, own, looks, &compare, NULL))
			continue;
		count_differences(&tally, drift->n, set, &compare);
		compare_release(&compare);
		peer->others++;
	}
	peer->state = peer->others ? DRIFT_COMPARED : DRIFT_ALONE;
	peer->stressors = mem_new(set->n_stressors, sizeof(*peer->stressors));
	for (size_t j = 0; j < set->n_stressors; j++) {
		if (2 * tally.differ[j] <= tally.others[j])
			continue;
		peer->stressors[peer->n++] =
		    (struct drift_stressor){ set->stressors[j], exp(stats_median(&tally.logs[j * drift->n], tally.others[j])),
					     tally.differ[j], tally.others[j] };
	}
	free(tally.differ);
	free(tally.others);
	free(tally.logs);
}

static bool has_peer(const struct drift *drift, size_t index)
{
	for (size_t i = 0; i < drift->n; i++) {
		if (are_peers(&drift->peers[index], &drift->peers[i]))
			return true;
	}
	return false;
}

static void compare_peers(struct drift *drift, const struct fingerprint_set *set)
{
	size_t looks = 0;

	for (size_t i = 0; i < drift->n; i++)
		looks += has_peer(drift, i);
	for (size_t i = 0; i < drift->n; i++) {
		if (fingerprint_find(set, drift->peers[i].latest->id))
			compare_peer(drift, i, set, looks ? looks : 1);
		else
			drift->peers[i].state = DRIFT_NO_RAW;
	}
}

/* ---- together ---- */

static void add_machine(struct drift *drift, const struct machine *machine, const struct types *types, int64_t now_ms)
{
	for (size_t k = 0; k < machine->n_fingerprints; k++) {
		const struct machine_fingerprint *f = &machine->fingerprints[k];
		struct drift_past *past = &drift->past[drift->n];

		if (f->taken_ms > now_ms)
			drift->ahead[drift->n_ahead++] = (struct drift_ahead){ machine, f };
		if (f->taken_ms > now_ms || drift_superseded(machine, f, now_ms))
			continue;
		*past = (struct drift_past){ .machine = machine, .latest = f };
		past->reference = drift_reference(machine, f, &past->acceptance);
		drift->peers[drift->n++] = (struct drift_peer){ .machine = machine, .latest = f, .type = types_find(types, f->id) };
	}
}

void drift_of(const struct catalog *catalog, const struct fingerprint_set *set, const struct types *types, int64_t now_ms,
	      struct drift *out)
{
	struct drift drift = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < catalog->n; i++)
		n += catalog->machines[i].n_fingerprints;
	drift.past = mem_new(n, sizeof(*drift.past));
	drift.peers = mem_new(n, sizeof(*drift.peers));
	drift.ahead = mem_new(n, sizeof(*drift.ahead));
	for (size_t i = 0; i < catalog->n; i++) {
		drift.retired += catalog->machines[i].retired;
		if (!catalog->machines[i].retired)
			add_machine(&drift, &catalog->machines[i], types, now_ms);
	}
	compare_past(&drift, set);
	compare_peers(&drift, set);
	*out = drift;
}

void drift_release(struct drift *drift)
{
	for (size_t i = 0; i < drift->n; i++) {
		compare_release(&drift->past[i].compare);
		free(drift->peers[i].stressors);
	}
	free(drift->past);
	free(drift->peers);
	free(drift->ahead);
	*drift = (struct drift){ 0 };
}
