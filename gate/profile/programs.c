#include "gate/profile/programs.h"

#include <string.h>

#define SPENT_MIN   .05 /* of the time of what it is a part of */
#define PROGRAM_MIN .01 /* of all: smaller ones are not shown */

void programs_spent(const struct sampled *s, const double *of, struct document *d)
{
	bool done[SAMPLED_SLICED] = { false };
	struct buf text = BUF_INIT;

	doc_list(d, "categories");
	for (;;) {
		size_t best = s->n_sliced;

		for (size_t c = 0; c < s->n_sliced; c++) {
			if (!done[c] && of[c] >= SPENT_MIN && (best == s->n_sliced || of[c] > of[best]))
				best = c;
		}
		if (best == s->n_sliced)
			break;
		done[best] = true;
		doc_object(d, NULL);
		doc_set(d, "name", s->sliced[best].name);
		doc_set(d, "of", s->sliced[best].kernel ? "kernel" : "compute");
		doc_set(d, "share", of[best]);
		doc_end(d);
		buf_format(&text, "%s%s %.0f %%", text.size ? ", " : "", s->sliced[best].name, 100 * of[best]);
	}
	doc_end(d);
	doc_show(d, NULL, "spent on", text.size ? text.bytes : "");
	buf_release(&text);
}

/* What had become no program yet when it was met, and what there was no room for: of any command, a moment before it begins. */
static bool is_others(const struct sampled_program *p)
{
	return strcmp(p->name, "?") == 0;
}

/* What a launcher of parallel programs has started: fleet/helper/sampler.c. */
static bool is_rank(const struct sampled_program *p)
{
	return strncmp(p->name, "rank ", 5) == 0;
}

static void program_row(const struct sampled *s, size_t program, double all, struct document *d)
{
	const struct sampled_program *p = &s->programs[program];
	double of[SAMPLED_SLICED];

	for (size_t c = 0; c < s->n_sliced; c++)
		of[c] = s->sliced[c].in_program[program] / (double)p->count;
	doc_row(d);
	doc_show(d, "name", "program", is_others(p) ? "others" : p->name);
	doc_showf(d, "share", "of the processor's time", (double)p->count / all, "%.1f %%", 100 * (double)p->count / all);
	programs_spent(s, of, d);
}

void programs_answer(const struct sampled *s, struct document *d)
{
	size_t order[SAMPLED_PROGRAMS], n = 0, shown = 0, named = 0, ranks = 0;
	double all = 0;

	for (size_t i = 0; i < s->n_programs; i++) {
		size_t k = n;

		all += (double)s->programs[i].count;
		if (s->programs[i].count == 0)
			continue;
		for (; k > 0 && s->programs[order[k - 1]].count < s->programs[i].count; k--)
			order[k] = order[k - 1];
		order[k] = i;
		n++;
	}
	for (; shown < n && (double)s->programs[order[shown]].count >= PROGRAM_MIN * all; shown++) {
		named += !is_others(&s->programs[order[shown]]);
		ranks += is_rank(&s->programs[order[shown]]);
	}
	if (named > 1)
		doc_line(d, "\nIt is %zu %s, each with its own profile:", named,
			 ranks == named ? "ranks"
			 : ranks	? "programs and ranks"
					: "programs");
	doc_table(d, "programs");
	for (size_t i = 0; named > 1 && i < shown; i++)
		program_row(s, order[i], all, d);
	doc_end(d);
}
