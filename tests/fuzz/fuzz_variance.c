/* Reads records of calls as those of one process, of two processes, and of a time window of one. Checks that all fragments are within the
 * run, and that the parts of a loss are not larger than the loss. */
#include "gate/variance/answer.h"

#include "base/mem.h"
#include "base/rng.h"
#include "runs/inside/record/record_pack.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most); /* libFuzzer's own mutator */

/* ---- mutation of header, names and samples, with checksums corrected afterwards ---- */

static uint64_t changed(uint64_t value, struct rng *rng)
{
	static const uint64_t values[] = { 0, 1, 2, 63, 1u << 20, UINT32_MAX, INT64_MAX, UINT64_MAX, UINT64_MAX - 1, 1u << 30 };

	switch (rng_below(rng, 4)) {
	case 0:
		return values[rng_below(rng, sizeof(values) / sizeof(values[0]))];
	case 1:
		return value + (UINT64_C(1) << rng_below(rng, 64));
	case 2:
		return value - (UINT64_C(1) << rng_below(rng, 64));
	default:
		return value ^ (UINT64_C(1) << rng_below(rng, 20));
	}
}

static void sample_change(struct record_sample *s, uint32_t n_counters, struct rng *rng)
{
	uint64_t field = rng_below(rng, 6 + n_counters);

	if (field == 0)
		s->function = (uint32_t)changed(s->function, rng);
	else if (field == 1)
		s->weight = (uint32_t)changed(s->weight, rng);
	else if (field == 2)
		s->ordinal = changed(s->ordinal, rng);
	else if (field == 3)
		s->start = changed(s->start, rng);
	else if (field == 4)
		s->duration = changed(s->duration, rng);
	else if (field == 5)
		s->flags = (uint32_t)changed(s->flags, rng);
	else
		s->counters[field - 6] = changed(s->counters[field - 6], rng);
}

static void chunk_change(uint8_t *bytes, size_t n, uint32_t n_counters, struct rng *rng)
{
	uint64_t *from = mem_new(RECORD_PACK_STATE(n_counters), sizeof(*from)), *to = mem_new(RECORD_PACK_STATE(n_counters), sizeof(*to));
	struct record_sample *sample = mem_new(1, sizeof(*sample) + n_counters * sizeof(uint64_t));
	uint8_t *packed = mem_new(n + RECORD_PACKED_BYTES(n_counters), 1);
	size_t at = sizeof(struct record_chunk), out = at, took, seldom = 1 + rng_below(rng, 64);
	struct record_chunk head;

	memcpy(&head, bytes, sizeof(head));
	record_pack_reset(from, head.thread);
	head.thread = rng_below(rng, 8) ? head.thread : (uint32_t)rng_below(rng, 3);
	record_pack_reset(to, head.thread);
	head.samples = 0;
	while ((took = record_unpack(bytes + at, n - at, n_counters, from, sample)) > 0) {
		at += took;
		for (size_t times = rng_below(rng, seldom) ? 1 : rng_below(rng, 3); times > 0; times--) {
			size_t size;

			if (!rng_below(rng, seldom))
				sample_change(sample, n_counters, rng);
			size = record_pack(sample, n_counters, to, packed + out);
			if (out + size > n)
				break;
			out += size;
			head.samples++;
		}
		if (out + RECORD_PACKED_BYTES(n_counters) > n)
			break;
	}
	memcpy(bytes + sizeof(head), packed + sizeof(head), out - sizeof(head));
	memset(bytes + out, 0, n - out);
	memcpy(bytes, &head, sizeof(head));
	mem_free(from, to, sample, packed);
}

static void names_mend(uint8_t *at, size_t n)
{
	uint8_t *end;

	for (; n && *at && (end = memchr(at, '\n', n)); n -= (size_t)(end + 1 - at), at = end + 1) {
		char digits[3];

		if (end - at < 4)
			continue;
		snprintf(digits, sizeof(digits), "%02x",
			 record_check_byte(record_hash(record_hash(0, at, 1), at + 3, (size_t)(end - at) - 3)));
		memcpy(at + 1, digits, 2);
	}
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
	struct record_header h;
	struct rng rng;
	size_t chunks;

	rng_seed(&rng, seed);
	if (size < sizeof(h) || !rng_below(&rng, 8))
		return LLVMFuzzerMutate(data, size, most);
	memcpy(&h, data, sizeof(h));
	if (h.n_counters > RECORD_COUNTERS_MAX || h.version != RECORD_VERSION_PACKED ||
	    (uint64_t)h.header_bytes + h.names_bytes_max >= size ||
	    h.chunk_bytes < sizeof(struct record_chunk) + RECORD_PACKED_BYTES(h.n_counters) || h.chunk_bytes > size)
		return LLVMFuzzerMutate(data, size, most);
	chunks = (size - h.header_bytes - h.names_bytes_max) / h.chunk_bytes;
	if (!rng_below(&rng, 8)) { /* fields that do not affect the file's layout */
		uint64_t fields[] = { h.pid, h.started_ns, h.started_ticks, h.ticks_per_s, h.dropped, h.finished };
		size_t field = rng_below(&rng, sizeof(fields) / sizeof(fields[0]));

		fields[field] = changed(fields[field], &rng);
		h.pid = fields[0];
		h.started_ns = fields[1];
		h.started_ticks = fields[2];
		h.ticks_per_s = h.ticks_per_s_first = fields[3];
		h.dropped = fields[4];
		h.finished = fields[5];
	}
	h.check = record_header_check(&h);
	memcpy(data, &h, sizeof(h));
	if (!rng_below(&rng, 4))
		(void)LLVMFuzzerMutate(data + h.header_bytes, h.names_bytes_max, h.names_bytes_max);
	names_mend(data + h.header_bytes, h.names_bytes_max);
	if (chunks)
		chunk_change(data + h.header_bytes + h.names_bytes_max + rng_below(&rng, chunks) * h.chunk_bytes, h.chunk_bytes,
			     h.n_counters, &rng);
	return size;
}

/* ---- checks ---- */

static void check(const struct variance *v)
{
	const struct fragments *f = &v->fragments;

	for (size_t i = 0; i < f->n; i++) {
		ASSAY_BUG_IF(f->items[i].cluster >= v->n_clusters || f->items[i].process >= f->n_processes);
		ASSAY_BUG_IF(f->items[i].to >= f->n_sites || !(f->items[i].time_s >= 0) || !(f->items[i].start_s >= 0));
	}
	for (size_t r = 0; r < v->n_regions; r++) {
		double sum = 0;

		ASSAY_BUG_IF(!(v->regions[r].from_s < v->regions[r].to_s) || v->regions[r].causing_region == r);
		for (size_t k = 0; k < v->regions[r].breakdown.n; k++)
			sum += v->regions[r].breakdown.parts[k].impact_s;
		ASSAY_BUG_IF(!(sum <= v->regions[r].breakdown.loss_s * (1 + 1e-9) + 1e-9));
	}
}

/* Returns the analysis of the files as text, or NULL if it failed. The caller frees it. */
static char *answer_of(struct fragments_file *files, size_t n, const struct fragments_window *window)
{
	const struct variance_options options = { .threshold = VARIANCE_THRESHOLD, .least_s = 0 };
	const struct doc_style style = { .columns = 80 };
	struct buf out = BUF_INIT;
	struct assay_error err = { .text = "" };
	struct fragments f = { .n = 0 };
	enum assay_status st;
	struct variance v;
	struct document d;

	st = fragments_parse(files, n, window, &f, &err);
	for (size_t i = 0; i < n; i++) {
		free(files[i].reason);
		files[i].reason = NULL;
		files[i].st = ASSAY_OK;
	}
	if (st) {
		ASSAY_BUG_IF(!err.text[0]);
		return NULL;
	}
	if (window && !f.n) {
		fragments_release(&f);
		return NULL;
	}
	ASSAY_BUG_IF(variance_analyse(&f, &options, &v, &err));
	check(&v);
	document_init(&d);
	variance_describe(&v, &d);
	document_json(&d, &style, &out);
	document_human(&d, &style, &out);
	document_release(&d);
	variance_release(&v);
	return buf_take(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t half = size / 2;
	char *other = mem_bytes((const char *)data, half);
	struct fragments_file files[] = { { .name = "one", .bytes = data, .n = size }, { .name = "half", .bytes = other, .n = half } };
	const struct fragments_window window = { .run_start = { .ns = 1700000000000000000u }, .from_s = .1, .to_s = .3, .thin_log2 = 1 };
	char *one = answer_of(files, 1, NULL), *again = answer_of(files, 1, NULL);

	if (half >= sizeof(struct record_header))
		other[offsetof(struct record_header, pid)] ^= 1; /* otherwise both files would be of the same process */
	ASSAY_BUG_IF((one != NULL) != (again != NULL) || (one && strcmp(one, again) != 0));
	free(answer_of(files, 2, NULL));
	free(answer_of(files, 1, &window));
	free(other);
	free(one);
	free(again);
	return 0;
}
