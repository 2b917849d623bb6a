#include "runs/inside/samples/samples.h"

#include "base/file.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

/* In this order; the emulated back end has no instructions, and counts what it sees. */
static const char *const work_names[][SAMPLES_WORK_MAX] = {
	{ "PAPI_TOT_INS" },
	{ "perf::INSTRUCTIONS" },
	{ "emulated:accesses", "emulated:blocks" },
};

const char *samples_back_end_name(enum record_back_end back_end)
{
	static const char *const names[] = { "time", "papi", "software", "emulated" };

	ASSAY_BUG_IF((size_t)back_end >= sizeof(names) / sizeof(names[0]));
	return names[back_end];
}

enum assay_status samples_read(const char *path, struct samples *out, struct assay_error *err)
{
	struct buf bytes = BUF_INIT;
	enum assay_status st = file_read(path, SAMPLES_FILE_BYTES_MAX, &bytes, err);

	if (!st)
		st = samples_parse(path, bytes.bytes ? bytes.bytes : "", bytes.size, out, err);
	buf_release(&bytes);
	return st;
}

void samples_release(struct samples *samples)
{
	for (size_t i = 0; i < samples->n_counters; i++)
		free(samples->counters[i]);
	for (size_t i = 0; i < samples->n_functions; i++) {
		free(samples->functions[i].module);
		free(samples->functions[i].name);
	}
	for (size_t i = 0; i < samples->n_infos; i++) {
		free(samples->infos[i].key);
		free(samples->infos[i].value);
	}
	free(samples->counters);
	free(samples->functions);
	free(samples->infos);
	free(samples->items);
	free(samples->values);
	free(samples->alone);
	free(samples->calls);
	*samples = (struct samples){ .items = NULL };
}

const char *samples_info(const struct samples *samples, const char *key)
{
	for (size_t i = samples->n_infos; i-- > 0;)
		if (strcmp(samples->infos[i].key, key) == 0)
			return samples->infos[i].value;
	return NULL;
}

size_t samples_counter(const struct samples *samples, const char *name)
{
	for (size_t i = 0; i < samples->n_counters; i++)
		if (strcmp(samples->counters[i], name) == 0)
			return i;
	return SIZE_MAX;
}

bool samples_calls(const struct samples *samples, size_t function, uint32_t thread, uint64_t *calls)
{
	size_t low = 0, high = samples->n_calls;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct samples_calls *c = &samples->calls[middle];

		if (c->function == function && c->thread == thread) {
			*calls = c->calls;
			return true;
		}
		if (c->function < function || (c->function == function && c->thread < thread))
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

size_t samples_work(const struct samples *samples, size_t counters[SAMPLES_WORK_MAX])
{
	for (size_t i = 0; i < sizeof(work_names) / sizeof(work_names[0]); i++) {
		size_t n = 0;

		while (n < SAMPLES_WORK_MAX && work_names[i][n] && (counters[n] = samples_counter(samples, work_names[i][n])) != SIZE_MAX)
			n++;
		if (n == SAMPLES_WORK_MAX || (n && !work_names[i][n]))
			return n;
	}
	return 0;
}

void samples_vector(const struct samples *samples, size_t i, bool alone, double *vector)
{
	const double *values = (alone ? samples->alone : samples->values) + i * samples->n_counters;
	double threads = samples->items[i].threads ? samples->items[i].threads : 1, work = 0;
	size_t counters[SAMPLES_WORK_MAX], n = samples_work(samples, counters);

	for (size_t k = 0; k < n; k++)
		work += values[counters[k]];
	for (size_t c = 0; c < samples->n_counters; c++) {
		bool is_work = (n > 0 && c == counters[0]) || (n > 1 && c == counters[1]);

		vector[c] = values[c] / threads;
		if (n && !is_work)
			vector[c] = work > 0 ? vector[c] / work : (double)NAN;
	}
}
