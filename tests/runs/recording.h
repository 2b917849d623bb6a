/* Writes a sample file in a test and reads it back. */
#ifndef TESTS_RECORDING_H
#define TESTS_RECORDING_H

#include "runs/inside/record/record_writer.h"
#include "runs/inside/samples/samples.h"
#include "tests/scratch.h"

#define TICKS 1000000000u

static const char *const counters[] = { "one", "two" };

static const struct record_options options = {
	.directory = ".", .counters = counters, .n_counters = 2, .back_end = RECORD_PAPI, .ticks_per_s = TICKS
};

static inline bool put(struct record_writer *w, struct record_thread *t, uint32_t function, uint64_t ordinal, uint64_t value)
{
	struct record_sample *s = record_begin(w, t);

	if (!s)
		return false;
	memset(s, 0, sizeof(*s));
	s->function = function;
	s->weight = 1;
	s->ordinal = ordinal;
	s->duration = value;
	s->counters[0] = value;
	s->counters[1] = UINT64_MAX;
	record_commit(w, t);
	return true;
}

static inline void read_file(const char *path, struct samples *samples)
{
	struct assay_error err;

	if (samples_read(path, samples, &err))
		fail_msg("%s", err.text);
}

#endif
