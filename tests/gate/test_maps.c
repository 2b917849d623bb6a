/* Tests the rows of maps with many processes. */
#include "tests/gate/said.h"
#include "tests/scratch.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A process that computes for 10 ms at a time, with a call after each computation. */
struct made {
	const char *program;
	int64_t rank;
	double from_s, to_s;
};

static char *map_of(const struct made *made, size_t n)
{
	const struct variance_options options = { .threshold = VARIANCE_THRESHOLD, .least_s = (double)NAN };
	struct fragments f = { .n_sites = 1, .n_processes = n, .is_one_host = true };
	struct variance v;
	struct assay_error err;
	size_t capacity = 0;
	char *text, *map;

	f.sites = mem_new(1, sizeof(*f.sites));
	f.sites[0] = (struct fragment_site){ .module = mem_string("-"), .name = mem_string("write"), .file = mem_string("") };
	f.processes = mem_new(n, sizeof(*f.processes));
	for (size_t p = 0; p < n; p++) {
		const struct made *m = &made[p];
		struct fragment_process *out = &f.processes[p];

		*out = (struct fragment_process){ .name = m->rank >= 0 ? mem_format("rank %lld", (long long)m->rank)
								       : mem_format("process %zu (%s)", p, m->program),
						  .program = mem_string(m->program),
						  .host = mem_string(""),
						  .rank = m->rank,
						  .pid = p + 1,
						  .start_s = m->from_s,
						  .end_s = m->to_s,
						  .thread_s = m->to_s - m->from_s,
						  .first = f.n,
						  .finished = true };
		for (double at = m->from_s; at + .005 < m->to_s; at += .01)
			mem_append(f.items, f.n, &capacity,
				   (struct fragment){
				       .start_s = at, .time_s = .01, .process = (uint32_t)p, .weight = 1, .basis = BASIS_UNVERIFIED });
		out->n = f.n - out->first;
		f.span_s = fmax(f.span_s, m->to_s);
	}
	check(variance_analyse(&f, &options, &v, &err), &err);
	text = said(&v);
	variance_release(&v);
	map = strstr(text, "\nComputation\n");
	assert_non_null(map);
	map = mem_string(map);
	*strstr(map, "\n\n") = '\0';
	free(text);
	return map;
}

static size_t lines_of(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n - 3; /* minus the heading, the time axis, and the legend */
}

/* Checks that adjacent ranks are merged into one row, above a time axis. */
static void many_ranks(void **state)
{
	struct made made[64];
	char *map;

	(void)state;
	for (size_t i = 0; i < COUNT(made); i++)
		made[i] = (struct made){ "app", (int64_t)i, 0, 2 };
	map = map_of(made, COUNT(made));
	assert_int_equal(lines_of(map), 16);
	assert_non_null(strstr(map, "  rank 0 and 3 more\n"));
	assert_non_null(strstr(map, "  rank 60 and 3 more\n  0 s "));
	assert_non_null(strstr(map, " 2.00 s\n"));
	free(map);
}

int suite_maps(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_ranks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
