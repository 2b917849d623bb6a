/* Two machines for fuzz targets of files that refer to machines: m1 with two fingerprints, "m 2" with none. */
#ifndef TESTS_FUZZ_SMALL_CATALOG_H
#define TESTS_FUZZ_SMALL_CATALOG_H

#include "base/mem.h"
#include "fingerprint/catalog/catalog.h"

static inline struct machine_fingerprint small_fingerprint(const char *id, int64_t taken_ms)
{
	return (struct machine_fingerprint){ .id = mem_string(id),
					     .taken_ms = taken_ms,
					     .battery = mem_string("b"),
					     .battery_hash = mem_string("h"),
					     .stress_ng = mem_string("unknown"),
					     .architecture = mem_string("unknown"),
					     .origin = mem_string("imported"),
					     .passes = 1 };
}

static inline struct catalog small_catalog(void)
{
	struct catalog catalog = { 0 };
	struct machine *m;

	catalog_ensure_machine(&catalog, "m 2");
	m = catalog_ensure_machine(&catalog, "m1");
	m->fingerprints = mem_new(2, sizeof(*m->fingerprints));
	m->fingerprints[0] = small_fingerprint("a", 1000);
	m->fingerprints[1] = small_fingerprint("b", INT64_C(1500000000000));
	m->n_fingerprints = 2;
	return catalog;
}

/* Checks that each machine can still be written and read. */
static inline void small_catalog_check(const struct catalog *catalog)
{
	for (size_t i = 0; i < catalog->n; i++) {
		char *text = machine_to_json(&catalog->machines[i]), *again;
		struct assay_error err = { .text = "" };
		struct machine machine;

		if (machine_parse("fuzz", text, strlen(text), &machine, &err)) {
			fprintf(stderr, "%s\n%s\n", err.text, text);
			ASSAY_BUG_IF("what was written cannot be read" != NULL);
		}
		again = machine_to_json(&machine);
		ASSAY_BUG_IF(strcmp(text, again) != 0);
		machine_release(&machine);
		free(again);
		free(text);
	}
}

#endif
