#include "gate/profile/phases.h"
#include "gate/profile/programs.h"

#include "model/segments.h"

#include <math.h>

#define DIFFERS	    .15 /* of a phase's time is spent on something else than in the one before, at least */
#define SAMPLES_MIN 100 /* of all */
#define BORDER_MAX  3	/* slices in which one phase may turn into another: runs differ in length, and a slice may hold the end of both */

/* Half the sum of the differences of their shares. */
static double phase_distance(const struct phase *a, const struct phase *b, size_t n)
{
	double sum = 0;

	for (size_t c = 0; c < n; c++)
		sum += fabs(a->of[c] - b->of[c]) / 2;
	return sum;
}

static void phase_fill(const struct sampled *s, struct phase *phase)
{
	double all = 0, of[SAMPLED_SLICED] = { 0 };

	for (size_t c = 0; c < s->n_sliced; c++) {
		for (size_t k = phase->from; k < phase->to; k++)
			of[c] += s->sliced[c].count[k];
		all += of[c];
	}
	for (size_t c = 0; c < s->n_sliced; c++)
		phase->of[c] = all > 0 ? of[c] / all : 0;
	phase->share = all;
}

/* Neighbours that hardly differ are one, the least different first. */
static size_t phases_join(const struct sampled *s, struct phase *phases, size_t n)
{
	while (n > 1) {
		size_t least = 0;

		for (size_t i = 1; i + 1 < n; i++) {
			if (phase_distance(&phases[i], &phases[i + 1], s->n_sliced) <
			    phase_distance(&phases[least], &phases[least + 1], s->n_sliced))
				least = i;
		}
		if (phase_distance(&phases[least], &phases[least + 1], s->n_sliced) >= DIFFERS)
			break;
		phases[least].to = phases[least + 1].to;
		phase_fill(s, &phases[least]);
		n--;
		for (size_t i = least + 1; i < n; i++)
			phases[i] = phases[i + 1];
	}
	return n;
}

/* How much of a phase is the one before it, if it is nothing but that and the one behind; -1 where it is something else. Shares are mixed
 * as nearly as squares tell. */
static double border_part(const struct phase *at, size_t n)
{
	const struct phase *before = at - 1, *behind = at + 1;
	struct phase mixed = { .from = 0 };
	double along = 0, length = 0, part;

	for (size_t c = 0; c < n; c++) {
		double step = before->of[c] - behind->of[c];

		along += (at->of[c] - behind->of[c]) * step;
		length += step * step;
	}
	part = length > 0 ? fmin(fmax(along / length, 0), 1) : 0;
	for (size_t c = 0; c < n; c++)
		mixed.of[c] = part * before->of[c] + (1 - part) * behind->of[c];
	return phase_distance(at, &mixed, n) < DIFFERS ? part : -1;
}

/* A short phase between two of which it is a mixture is the border of these: its slices are theirs, by as much as it is of each. */
static size_t phases_join_borders(const struct sampled *s, struct phase *phases, size_t n)
{
	for (size_t i = 1; i + 1 < n;) {
		size_t slices = phases[i].to - phases[i].from;
		double part = slices <= BORDER_MAX ? border_part(&phases[i], s->n_sliced) : -1;

		if (part < 0) {
			i++;
			continue;
		}
		phases[i - 1].to += (size_t)lround(part * (double)slices);
		phases[i + 1].from = phases[i - 1].to;
		phase_fill(s, &phases[i - 1]);
		phase_fill(s, &phases[i + 1]);
		n--;
		for (size_t k = i; k < n; k++)
			phases[k] = phases[k + 1];
	}
	return n;
}

size_t phases_of(const struct sampled *s, struct phase *phases)
{
	struct mat counts = mat_new(SAMPLED_SLICES, s->n_sliced);
	size_t ends[SAMPLED_SLICES], n;
	double all = 0;

	for (size_t k = 0; k < SAMPLED_SLICES; k++) {
		for (size_t c = 0; c < s->n_sliced; c++) {
			mat_set(&counts, k, c, s->sliced[c].count[k]);
			all += s->sliced[c].count[k];
		}
	}
	n = all >= SAMPLES_MIN ? segments_of(&counts, ends) : 0;
	for (size_t i = 0; i < n; i++) {
		phases[i] = (struct phase){ .from = i ? ends[i - 1] : 0, .to = ends[i] };
		phase_fill(s, &phases[i]);
	}
	n = phases_join(s, phases, n);
	n = phases_join(s, phases, phases_join_borders(s, phases, n));
	for (size_t i = 0; i < n; i++)
		phases[i].share /= all;
	mat_release(&counts);
	return n;
}

static void phase_row(const struct sampled *s, const struct phase *phase, struct document *d)
{
	double part_s = s->sliced_ns / (double)s->sliced_runs / 1e9 / SAMPLED_SLICES;

	doc_row(d);
	doc_showf(d, "from_s", "from", (double)phase->from * part_s, "%.2f s", (double)phase->from * part_s);
	doc_showf(d, "to_s", "to", (double)phase->to * part_s, "%.2f s", (double)phase->to * part_s);
	doc_showf(d, "share", "of its time", phase->share, "%.0f %%", 100 * phase->share);
	programs_spent(s, phase->of, d);
}

void phases_answer(const struct sampled *s, struct document *d)
{
	struct phase phases[SAMPLED_SLICES];
	size_t n = s->sliced_runs ? phases_of(s, phases) : 0;

	if (n > 1)
		doc_line(d, "\nIt goes through %zu phases, each with its own profile:", n);
	doc_table(d, "phases");
	for (size_t i = 0; n > 1 && i < n; i++)
		phase_row(s, &phases[i], d);
	doc_end(d);
}
