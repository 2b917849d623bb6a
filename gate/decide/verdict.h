/* All that the gate says of two versions: decision, reasons, effect, machines, and the stressors with which the change moves. */
#ifndef GATE_DECIDE_VERDICT_H
#define GATE_DECIDE_VERDICT_H

#include "base/buf.h"
#include "base/json.h"
#include "gate/decide/cause.h"
#include "gate/decide/effect.h"
#include "gate/decide/pairing.h"
#include "runs/running/evidence.h"

#define VERDICT_REASONS_MAX  20
#define VERDICT_EMULATED     "emulated_hosts" /* code of the reason that the page shows apart */
#define VERDICT_PERMUTATIONS 9999
#define VERDICT_SEED         20171

struct verdict_reason {
	const char *code; /* stable, for programs (docs/formats.md) */
	char *text;       /* a sentence, for people */
};

struct verdict {
	const struct run_set *baseline, *candidate; /* borrowed */
	double min_effect;
	struct pairing pairing;
	struct effect effect;
	struct verdict_reason reasons[VERDICT_REASONS_MAX];
	size_t n_reasons;
	const char **features;            /* [n_features], names; borrowed from the evidence */
	struct effect_resource *resources; /* [n_features], by |correlation| */
	size_t n_features;
	struct cause cause;
	size_t resource_types;            /* hardware types with fingerprints, over which they were correlated */
};

/* Both run sets must have the same direction, else ASSAY_E_USAGE. The arguments must outlive *out; verdict_release() it. */
enum assay_status verdict_of(const struct evidence *evidence, const struct lab_config *config, const struct run_set *baseline,
			     const struct run_set *candidate, double min_effect, struct verdict *out, struct assay_error *err);
void verdict_release(struct verdict *verdict);

/* The fingerprints that may stand together are those comparable to that of the first machine in use (NULL: it has none); whether a machine
 * is in use and has one of them. */
const struct fingerprint *verdict_kind(const struct verdict *verdict);
bool verdict_usable(const struct pairing_machine *machine, const struct fingerprint *kind);

/* How many stressors cannot be told apart from the leading one, with itself; 0 without any. */
size_t verdict_alike(const struct verdict *verdict);

/* For people, with colours when asked; as JSON. */
void verdict_print(const struct verdict *verdict, bool colours, bool all_machines, struct buf *out);
cJSON *verdict_json(const struct verdict *verdict);
/* The same without a decision, and without what belongs to one. */
void verdict_print_compared(const struct verdict *verdict, bool all_machines, struct buf *out);
cJSON *verdict_json_compared(const struct verdict *verdict);

#endif
