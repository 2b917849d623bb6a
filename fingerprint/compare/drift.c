#include "fingerprint/compare/drift.h"

#include <string.h>

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
		if (strcmp(e->battery_hash, f->battery_hash) == 0 && strcmp(e->architecture, f->architecture) == 0)
			before = e->stress_ng;
	}
	return before && strcmp(before, f->stress_ng) != 0 ? before : NULL;
}
