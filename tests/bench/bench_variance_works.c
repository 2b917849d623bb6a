/* Measures how well clusters match the true works: bench_variance_works RECORDS TRUTH SITE Uses the computation that ends at call sites
 * named SITE and starts at a site of the same function. Prints a table row: the basis that identifies work, the numbers of fragments,
 * works and clusters, and the V-measure. TRUTH has the work of each fragment, one per line, in order of time. */
#include "gate/variance/stored_runs.h"
#include "gate/variance/variance.h"
#include "tests/model/v_measure.h"

#include <stdio.h>
#include <string.h>

#define PIECES_MAX 100000u

static size_t truth_read(const char *path, size_t *truth)
{
	FILE *in = fopen(path, "r");
	size_t n = 0;

	while (in && n < PIECES_MAX && fscanf(in, "%zu", &truth[n]) == 1)
		n++;
	if (in)
		fclose(in);
	return n;
}

static size_t kinds_of(const size_t *x, size_t n)
{
	size_t kinds = 0;

	for (size_t i = 0; i < n; i++) {
		size_t k = 0;

		while (k < i && x[k] != x[i])
			k++;
		kinds += k == i;
	}
	return kinds;
}

int main(int argc, char **argv)
{
	const struct variance_options options = { .threshold = VARIANCE_THRESHOLD, .least_s = (double)NAN };
	static size_t truth[PIECES_MAX], found[PIECES_MAX];
	enum basis basis = BASIS_UNVERIFIED;
	struct fragments fragments;
	struct assay_error err;
	struct variance v;
	size_t n = 0, wanted = argc == 4 ? truth_read(argv[2], truth) : 0;
	const char *name = argv[1];

	if (!wanted)
		return 2;
	if (record_files_read(&name, 1, &fragments, &err) != ASSAY_OK || variance_analyse(&fragments, &options, &v, &err) != ASSAY_OK) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	for (size_t i = 0; i < v.fragments.n; i++) {
		const struct fragment *f = &v.fragments.items[i];

		if (f->activity != ACTIVITY_COMPUTATION || f->from == FRAGMENT_NO_SITE ||
		    strcmp(v.fragments.sites[f->to].name, argv[3]) != 0 ||
		    strncmp(v.fragments.sites[f->from].name, argv[3], strcspn(argv[3], ":")) != 0)
			continue;
		if (n < PIECES_MAX)
			found[n] = f->cluster;
		basis = v.clusters[f->cluster].basis;
		n++;
	}
	if (n != wanted) {
		fprintf(stderr, "%zu pieces were recorded, and %zu were done\n", n, wanted);
		return 1;
	}
	printf("| %s | %zu | %zu | %zu | %.3f |\n", basis_name(basis), n, kinds_of(truth, n), kinds_of(found, n),
	       v_measure(truth, found, n));
	variance_release(&v);
	return 0;
}
