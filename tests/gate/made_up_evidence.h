/* Synthetic evidence for the tests of pages: stressors, and fingerprints of machines. Every name starts with `prefix`, so that a test can
 * use hostile names. */
#ifndef TESTS_MADE_UP_EVIDENCE_H
#define TESTS_MADE_UP_EVIDENCE_H

#include "base/mem.h"
#include "runs/running/evidence.h"
#include "tests/gate/html_scan.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* Names `n` stressors: cpu, PREFIXs01, PREFIXs02, ... */
static inline void made_stressors(struct evidence *evidence, const char *prefix, size_t n)
{
	evidence->fingerprints.n_stressors = n;
	evidence->fingerprints.stressors = mem_new(n, sizeof(char *));
	for (size_t j = 0; j < n; j++)
		evidence->fingerprints.stressors[j] = j == 0 ? mem_string("cpu") : mem_format("%ss%02zu", prefix, j);
}

/* Adds the next fingerprint; rates [passes x stressors]. Call in the order of machines, then times. Valid until the next call. */
static inline struct fingerprint *made_fingerprint(struct evidence *evidence, const char *prefix, const char *machine, const char *battery,
						   int64_t taken_ms, size_t passes, const double *rates)
{
	struct fingerprint_set *set = &evidence->fingerprints;
	size_t cells = passes * set->n_stressors;
	struct fingerprint *f;

	set->items = mem_resize(set->items, set->n + 1, sizeof(*set->items));
	f = &set->items[set->n++];
	*f = (struct fingerprint){ .machine = mem_format("%s%s", prefix, machine),
				   .battery = mem_format("%s%s", prefix, battery),
				   .battery_hash = mem_string(battery),
				   .stress_ng = mem_format("%s1", prefix),
				   .architecture = mem_format("%sx", prefix),
				   .origin = mem_format("%sorigin", prefix),
				   .passes = mem_new(passes, sizeof(int64_t)),
				   .n_passes = passes,
				   .taken_ms = taken_ms,
				   .rates = mem_new(cells, sizeof(double)),
				   .real_rates = mem_new(cells, sizeof(double)) };
	snprintf(f->id, sizeof(f->id), "%016zu", set->n);
	for (size_t i = 0; i < passes; i++)
		f->passes[i] = (int64_t)i + 1;
	memcpy(f->rates, rates, cells * sizeof(double));
	return f;
}

/* Puts a fingerprint into the catalog, with the hardware type PREFIXtype. */
static inline void made_type(struct evidence *evidence, const struct fingerprint *f, const char *prefix, const char *type)
{
	struct machine *machine = catalog_ensure_machine(&evidence->catalog, f->machine);

	machine_put_fingerprint(machine, &evidence->fingerprints, f);
	for (size_t i = 0; i < machine->n_fingerprints; i++) {
		if (strcmp(machine->fingerprints[i].id, f->id) == 0 && type) {
			machine->fingerprints[i].type = mem_format("%s%s", prefix, type);
			machine->fingerprints[i].type_given_by = mem_string("the test");
		}
	}
}

/* Checks that the page is well-formed, has sections with all `ids`, and contains all `parts` in its text. Both lists end with NULL. */
static inline void check_page(const char *what, const char *page, const char *const *ids, const char *const *parts)
{
	struct html_scan scan = html_scan_page(page);

	if (scan.error)
		fail_msg("%s: %s", what, scan.error);
	assert_int_equal(scan.scripts, 1);
	assert_int_equal(scan.styles, 1);
	for (; *ids; ids++) {
		char *id = mem_format(" id=\"%s\"", *ids);

		if (!strstr(page, id))
			fail_msg("%s: no section %s", what, *ids);
		free(id);
	}
	for (; *parts; parts++) {
		if (!strstr(scan.text.bytes, *parts))
			fail_msg("%s: the page should say '%s'", what, *parts);
	}
	assert_null(strstr(scan.text.bytes, "nan"));
	assert_null(strstr(scan.text.bytes, "inf "));
	html_scan_release(&scan);
}

#endif
