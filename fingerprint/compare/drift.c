#include "fingerprint/compare/drift.h"

#include "base/mem.h"
#include "base/stats.h"

#include <math.h>
#include <stdlib.h>

#define PEER_SESSIONS 3	 /* of each, where two machines are compared */
#define TYPE_SESSIONS 24 /* from so many the noise is that of the machines of one type alone */

ROWS_FUNCTION(drift_state_code, enum drift_state, DRIFT_STATE_ROWS, ROWS_WORD)

/* ---- fingerprints of one machine ---- */

bool drift_is_latest(const struct machine *machine, const struct machine_fingerprint *f, int64_t now_ms)
{
	if (f->taken_ms > now_ms)
		return false;
	for (const struct machine_fingerprint *later = f + 1; later < machine->fingerprints + machine->n_fingerprints; later++) {
		if (later->taken_ms <= now_ms && strcmp(later->battery_hash, f->battery_hash) == 0 &&
		    strcmp(later->architecture, f->architecture) == 0)
			return false;
	}
	return true;
}

const struct machine_fingerprint *drift_reference(const struct machine *machine, const struct machine_fingerprint *latest,
						  const struct machine_acceptance **acceptance)
{
	const struct machine_fingerprint *f = machine->fingerprints;

	*acceptance = NULL;
	for (size_t i = machine->n_accepted; i-- > 0;) {
		const struct machine_fingerprint *accepted = machine_find(machine, machine->accepted[i].fingerprint);

		if (!accepted || !machine_comparable(accepted, latest))
			continue;
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
		if (strcmp(e->battery_hash, f->battery_hash) == 0 && strcmp(e->architecture, f->architecture) == 0)
			before = e->stress_ng;
	}
	return before && strcmp(before, f->stress_ng) != 0 ? before : NULL;
}

/* ---- against its own past ---- */

/* All from the reference to the latest, but for those of a busy machine. */
static void add_series(struct drift_past *past, const struct fingerprint_set *set)
{
	size_t n = past->machine->n_fingerprints, known = 0, kept = 0;
	const struct machine_fingerprint *first = past->machine->fingerprints;
	const struct fingerprint **sessions = mem_new(n, sizeof(*sessions));
	const char **conditions = mem_new(n, sizeof(*conditions));

	past->busy = mem_new(n, sizeof(*past->busy));
	for (size_t i = 0; i < n; i++) {
		conditions[i] = &first[i] <= past->latest && machine_comparable(&first[i], past->latest) ? first[i].conditions : NULL;
		known += conditions[i] != NULL;
	}
	conditions_busy(conditions, n, strcmp(past->latest->origin, "emulated") == 0, past->busy);
	for (const struct machine_fingerprint *f = past->reference; f <= past->latest; f++) {
		const struct fingerprint *session = machine_comparable(f, past->latest) ? fingerprint_find(set, f->id) : NULL;

		if (session && past->busy[f - first] && known > 1)
			past->left_out++;
		else if (session)
			sessions[kept++] = session;
	}
	compare_series_of(set, sessions, kept, &past->series);
	past->state = kept > 1 ? DRIFT_COMPARED : DRIFT_BUSY;
	if (past->latest <= past->reference)
		past->state = past->acceptance ? DRIFT_REFERENCE : DRIFT_ALONE;
	else if (!fingerprint_find(set, past->latest->id) || !fingerprint_find(set, past->reference->id))
		past->state = DRIFT_NO_RAW;
	mem_free(sessions, conditions);
}

static bool is_alike(const struct drift *drift, size_t a, size_t b)
{
	return machine_comparable(drift->past[a].latest, drift->past[b].latest) && drift->peers[a].type == drift->peers[b].type;
}

/* That of the machines of its type, and of all machines where these have too few sessions. */
static void add_noise(struct drift *drift, const struct fingerprint_set *set, size_t index)
{
	struct compare_series **series = mem_new(drift->n, sizeof(*series));
	struct drift_past *past = &drift->past[index];

	for (int of_type = 1; of_type >= 0 && past->noise.sessions < TYPE_SESSIONS; of_type--) {
		size_t n = 0;

		for (size_t i = 0; i < drift->n; i++) {
			if (of_type ? is_alike(drift, index, i) : machine_comparable(past->latest, drift->past[i].latest))
				series[n++] = &drift->past[i].series;
		}
		compare_noise_release(&past->noise);
		compare_noise_of(set, series, n, &past->noise);
	}
	free(series);
}

static void compare_past(struct drift *drift, const struct fingerprint_set *set)
{
	size_t looks = 0;

	for (size_t i = 0; i < drift->n; i++) {
		add_series(&drift->past[i], set);
		looks += drift->past[i].state == DRIFT_COMPARED;
	}
	for (size_t i = 0; i < drift->n; i++) {
		struct drift_past *past = &drift->past[i];

		add_noise(drift, set, i);
		if (past->state == DRIFT_COMPARED)
			compare_sessions(&past->series, &past->noise, looks, &past->compare);
	}
}

/* ---- against its type ---- */

static bool are_peers(const struct drift *drift, size_t a, size_t b)
{
	return drift->past[a].machine != drift->past[b].machine && is_alike(drift, a, b) && drift->past[a].series.n &&
	       drift->past[b].series.n;
}

/* The latest fingerprints of both, as if one machine had changed into the other: three where both have as many, so that one odd one does
 * not matter; else one. */
static void compare_two(const struct drift_past *before, const struct drift_past *after, const struct fingerprint_set *set, size_t looks,
			struct compare *compare)
{
	const struct fingerprint *sessions[2 * PEER_SESSIONS];
	const struct compare_series *a = &before->series, *b = &after->series;
	size_t n = a->n < PEER_SESSIONS || b->n < PEER_SESSIONS ? 1 : PEER_SESSIONS;
	struct compare_series series;

	for (size_t i = 0; i < n; i++) {
		sessions[i] = a->sessions[a->n - n + i];
		sessions[n + i] = b->sessions[b->n - n + i];
	}
	compare_series_of(set, sessions, 2 * n, &series);
	series.multiple = fmax(a->multiple, b->multiple);
	compare_sessions(&series, &after->noise, looks, compare);
	compare_series_release(&series);
}

/* logs: of the ratios to the others, [stressors x peers]. */
static void count_differences(struct drift_stressor *stressors, double *logs, size_t peers, const struct compare *compare)
{
	for (size_t i = 0, j = 0; i < compare->n; i++) {
		const struct compare_row *row = &compare->rows[i];

		while (strcmp(stressors[j].name, row->stressor) != 0)
			j++;
		if (isnan(row->ratio))
			continue;
		logs[j * peers + stressors[j].others++] = log(row->ratio);
		stressors[j].differ += row->differs;
	}
}

static void compare_peer(struct drift *drift, size_t index, const struct fingerprint_set *set)
{
	struct drift_stressor *stressors = mem_new(set->n_stressors, sizeof(*stressors));
	double *logs = mem_new(set->n_stressors * drift->n, sizeof(*logs));
	struct drift_peer *peer = &drift->peers[index];
	const struct drift_past *past = &drift->past[index];

	for (size_t j = 0; j < set->n_stressors; j++)
		stressors[j].name = set->stressors[j];
	for (size_t i = 0; i < drift->n; i++) {
		struct compare compare;

		if (!are_peers(drift, index, i))
			continue;
		compare_two(&drift->past[i], past, set, drift->n, &compare);
		count_differences(stressors, logs, drift->n, &compare);
		free(compare.rows);
		peer->others++;
	}
	peer->state = peer->others ? DRIFT_COMPARED : past->series.n ? DRIFT_ALONE : past->left_out ? DRIFT_BUSY : DRIFT_NO_RAW;
	peer->stressors = stressors;
	for (size_t j = 0; j < set->n_stressors; j++) {
		if (2 * stressors[j].differ <= stressors[j].others)
			continue;
		stressors[j].ratio = exp(stats_median(&logs[j * drift->n], stressors[j].others));
		stressors[peer->n++] = stressors[j];
	}
	free(logs);
}

/* ---- together ---- */

static void add_machine(struct drift *drift, const struct machine *machine, const struct types *types, int64_t now_ms)
{
	for (size_t k = 0; k < machine->n_fingerprints; k++) {
		const struct machine_fingerprint *f = &machine->fingerprints[k];
		struct drift_past *past = &drift->past[drift->n];

		if (f->taken_ms > now_ms)
			drift->ahead[drift->n_ahead++] = (struct drift_ahead){ machine, f };
		if (!drift_is_latest(machine, f, now_ms))
			continue;
		*past = (struct drift_past){ .machine = machine, .latest = f };
		past->reference = drift_reference(machine, f, &past->acceptance);
		drift->peers[drift->n++] = (struct drift_peer){ .type = types_find(types, f->id) };
	}
}

void drift_of(const struct catalog *catalog, const struct fingerprint_set *set, const struct types *types, int64_t now_ms,
	      struct drift *out)
{
	struct drift drift = { 0 };
	size_t n = types->n_members; /* every fingerprint */

	drift.past = mem_new(n, sizeof(*drift.past));
	drift.peers = mem_new(n, sizeof(*drift.peers));
	drift.ahead = mem_new(n, sizeof(*drift.ahead));
	for (size_t i = 0; i < catalog->n; i++) {
		drift.retired += catalog->machines[i].retired;
		if (!catalog->machines[i].retired)
			add_machine(&drift, &catalog->machines[i], types, now_ms);
	}
	compare_past(&drift, set);
	for (size_t i = 0; i < drift.n; i++)
		compare_peer(&drift, i, set);
	*out = drift;
}

void drift_release(struct drift *drift)
{
	for (size_t i = 0; i < drift->n; i++) {
		free(drift->past[i].compare.rows);
		compare_series_release(&drift->past[i].series);
		compare_noise_release(&drift->past[i].noise);
		mem_free_all(drift->past[i].busy, drift->past[i].machine->n_fingerprints);
		free(drift->peers[i].stressors);
	}
	mem_free(drift->past, drift->peers, drift->ahead);
	*drift = (struct drift){ 0 };
}

const char *drift_busy_at(const struct drift_past *past, const struct machine_fingerprint *f)
{
	return past->busy[f - past->machine->fingerprints];
}
