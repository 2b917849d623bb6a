/* Checks that samples are within their arrays and in order, that reading twice gives the same, and that a shorter file has no more. */
#include "base/mem.h"
#include "runs/inside/samples/samples_join.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct samples *s)
{
	size_t n = 0;

	for (size_t f = 0; f < s->n_functions; f++) {
		ASSAY_BUG_IF(s->functions[f].n && s->functions[f].first + s->functions[f].n > s->n);
		n += s->functions[f].n;
	}
	ASSAY_BUG_IF(n != s->n);
	for (size_t i = 0; i < s->n; i++) {
		const struct sample *a = &s->items[i], *b = i ? &s->items[i - 1] : a;

		ASSAY_BUG_IF(a->function >= s->n_functions || a->function < b->function);
		ASSAY_BUG_IF(a->function == b->function && (a->thread < b->thread || (a->thread == b->thread && a->ordinal < b->ordinal)));
		ASSAY_BUG_IF(a->self_ns < 0 || a->self_ns > a->ns);
	}
}

static void check_vectors(const struct samples *s)
{
	const struct samples *runs[] = { s, s };
	double vector[2 * RECORD_COUNTERS_MAX];
	struct samples_join join;
	struct assay_error err;

	for (size_t i = 0; i < s->n; i++)
		samples_fill_vector(s, i, true, vector);
	ASSAY_BUG_IF(samples_join(runs, 2, &join, &err)); /* a run joins itself */
	for (size_t f = 0; f < join.n; f++)
		for (size_t i = 0; join.functions[f].outcome == SAMPLES_JOINED && i < join.functions[f].n; i++)
			samples_join_vector(&join, f, i, false, vector);
	samples_join_release(&join);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct samples whole, half;
	struct assay_error err = { .text = "" };

	if (samples_parse("fuzz", data, size, &whole, &err)) {
		ASSAY_BUG_IF(!err.text[0]);
		return 0;
	}
	check(&whole);
	check_vectors(&whole);
	if (!samples_parse("fuzz", data, size - size / 3, &half, &err)) {
		check(&half);
		ASSAY_BUG_IF(half.n > whole.n);
		samples_release(&half);
	}
	samples_release(&whole);
	return 0;
}
