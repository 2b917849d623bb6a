/* From the bytes of a sample file to arrays by function: header and names, chunks, what was spent in each function itself, the order.
 * Every size in the file is checked before it is used. */
#include "runs/inside/samples/samples.h"

#include "base/file.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES 4096u

/* In this order; the emulated back end has no instructions, and counts the work that it sees. */
static const char *const work_names[][SAMPLES_WORK_MAX] = {
	{ "PAPI_TOT_INS" },
	{ "perf::INSTRUCTIONS" },
	{ "emulated:accesses", "emulated:blocks" },
};

/* The samples of a chunk, as far as they are there. */
struct chunk {
	uint32_t thread;
	const unsigned char *samples; /* [n] of struct record_sample with its counters, or of struct record_brief; not aligned */
	size_t n;
};

/* The file, as far as it is there. */
struct source {
	const unsigned char *bytes;
	size_t size;
	struct record_header header;
	size_t sample_bytes;
	struct chunk *chunks; /* [n_chunks] */
	size_t n_chunks, capacity;
};

/* ---- header and names ---- */

static enum assay_status header_check(const char *name, struct source *s, struct assay_error *err)
{
	const struct record_header *h = &s->header;

	if (s->size < sizeof(*h) || memcmp(s->bytes, RECORD_MAGIC, 8) != 0)
		return assay_fail(err, ASSAY_E_FORMAT, "%s: not a sample file", name);
	memcpy(&s->header, s->bytes, sizeof(*h));
	if (h->version > RECORD_VERSION_BRIEF)
		return assay_fail(err, ASSAY_E_VERSION, "%s: samples of version %u, this program reads %u", name, h->version,
				  RECORD_VERSION_BRIEF);
	if (h->version < RECORD_VERSION || h->back_end > RECORD_EMULATED || h->header_bytes % PAGE_BYTES || h->header_bytes < sizeof(*h) ||
	    h->header_bytes > RECORD_NAMES_BYTES_MAX || h->names_bytes_max % PAGE_BYTES || h->names_bytes_max > RECORD_NAMES_BYTES_MAX ||
	    h->names_bytes > h->names_bytes_max || h->n_counters > RECORD_COUNTERS_MAX || h->ticks_per_s == 0)
		return assay_fail(err, ASSAY_E_FORMAT, "%s: the header is damaged", name);
	if (h->version == RECORD_VERSION_BRIEF && h->n_counters)
		return assay_fail(err, ASSAY_E_FORMAT, "%s: the header is damaged", name);
	s->sample_bytes = h->version == RECORD_VERSION_BRIEF ? sizeof(struct record_brief)
							     : sizeof(struct record_sample) + h->n_counters * sizeof(uint64_t);
	if (h->chunk_bytes % PAGE_BYTES || h->chunk_bytes > RECORD_CHUNK_BYTES_MAX ||
	    h->chunk_bytes < sizeof(struct record_chunk) + s->sample_bytes)
		return assay_fail(err, ASSAY_E_FORMAT, "%s: the header is damaged", name);
	return ASSAY_OK;
}

/* Splits "KEY REST" at its first blank; false: there is none. */
static bool text_split(const char *text, size_t n, char **key, char **rest)
{
	const char *blank = memchr(text, ' ', n);

	if (!blank || blank == text)
		return false;
	*key = mem_bytes(text, (size_t)(blank - text));
	*rest = mem_bytes(blank + 1, n - (size_t)(blank - text) - 1);
	return true;
}

static bool function_add(struct samples *out, const char *text, size_t n, size_t *capacity)
{
	struct samples_function function = { .module = NULL };
	char *address = NULL, *rest = NULL, *end;
	bool ok = false;

	if (text_split(text, n, &address, &rest)) {
		function.address = strtoull(address, &end, 16);
		ok = !*end && text_split(rest, strlen(rest), &function.module, &function.name);
	}
	if (ok) {
		out->functions = mem_grow(out->functions, out->n_functions, capacity, sizeof(function));
		out->functions[out->n_functions++] = function;
	}
	free(address);
	free(rest);
	return ok;
}

static void info_add(struct samples *out, const char *text, size_t n, size_t *capacity)
{
	struct samples_info info;

	if (!text_split(text, n, &info.key, &info.value))
		return;
	out->infos = mem_grow(out->infos, out->n_infos, capacity, sizeof(info));
	out->infos[out->n_infos++] = info;
}

/* Lines up to the first that was not written to its end: what comes after it has no known number. */
static enum assay_status names_parse(const char *name, const struct source *s, struct samples *out, struct assay_error *err)
{
	size_t functions = 0, infos = 0, counters = 0;
	size_t there = s->size > s->header.header_bytes ? s->size - s->header.header_bytes : 0;
	size_t n = s->header.names_bytes < there ? (size_t)s->header.names_bytes : there;
	const char *at = n ? (const char *)s->bytes + s->header.header_bytes : "", *end;

	for (; (end = n ? memchr(at, '\n', n) : NULL); n -= (size_t)(end - at) + 1, at = end + 1) {
		size_t length = (size_t)(end - at);

		if (length < 3 || at[1] != ' ' || memchr(at, '\0', length))
			break;
		if (at[0] == 'c' && out->n_counters < s->header.n_counters) {
			out->counters = mem_grow(out->counters, out->n_counters, &counters, sizeof(out->counters[0]));
			out->counters[out->n_counters++] = mem_bytes(at + 2, length - 2);
		} else if (at[0] == 'f' && out->n_functions < RECORD_FUNCTIONS_MAX) {
			if (!function_add(out, at + 2, length - 2, &functions))
				break;
		} else if (at[0] == 'i') {
			info_add(out, at + 2, length - 2, &infos);
		} else {
			break;
		}
	}
	if (out->n_counters != s->header.n_counters)
		return assay_fail(err, ASSAY_E_FORMAT, "%s: the names of its counters are not there", name);
	return ASSAY_OK;
}

/* ---- chunks ---- */

/* False: not a sample, by its weight or its function. */
static bool sample_head(const struct source *s, const unsigned char *bytes, const struct samples *out, struct record_sample *head)
{
	struct record_brief brief;

	if (s->header.version != RECORD_VERSION_BRIEF) {
		memcpy(head, bytes, sizeof(*head));
		return head->function < out->n_functions;
	}
	memcpy(&brief, bytes, sizeof(brief));
	*head = (struct record_sample){
		.function = brief.function,
		.weight = brief.flags & RECORD_TOTAL ? 0 : (uint32_t)1 << (brief.weight_log2 & 31),
		.ordinal = brief.ordinal,
		.start = brief.start,
		.duration = brief.duration,
		.depth = brief.depth,
		.threads = brief.threads,
		.flags = brief.flags,
	};
	return brief.weight_log2 < 32 && head->function < out->n_functions;
}

static void chunk_read(struct source *s, size_t offset, struct samples *out)
{
	struct record_chunk chunk;
	size_t there = s->size - offset, whole;

	if (there < sizeof(chunk)) {
		out->truncated = true;
		return;
	}
	memcpy(&chunk, s->bytes + offset, sizeof(chunk));
	if (chunk.magic == 0) /* never begun */
		return;
	whole = ((there < s->header.chunk_bytes ? there : s->header.chunk_bytes) - sizeof(chunk)) / s->sample_bytes;
	if (chunk.magic != RECORD_CHUNK_MAGIC || chunk.samples > s->header.chunk_bytes / s->sample_bytes) {
		out->unreadable += whole;
		return;
	}
	out->dropped += chunk.dropped;
	if (chunk.samples > whole) {
		out->unreadable += chunk.samples - whole;
		out->truncated = true;
	}
	s->chunks = mem_grow(s->chunks, s->n_chunks, &s->capacity, sizeof(s->chunks[0]));
	s->chunks[s->n_chunks++] =
	    (struct chunk){ chunk.thread, s->bytes + offset + sizeof(chunk), chunk.samples < whole ? (size_t)chunk.samples : whole };
}

static void chunks_read(struct source *s, struct samples *out)
{
	size_t first = (size_t)s->header.header_bytes + s->header.names_bytes_max;

	/* The last chunk may end early: its place is reserved piece by piece. */
	out->truncated = s->header.chunks > 0 && (s->size < first || (s->size - first) / s->header.chunk_bytes + 1 < s->header.chunks);
	for (uint64_t i = 0; i < s->header.chunks && i <= SIZE_MAX / RECORD_CHUNK_BYTES_MAX && first + i * s->header.chunk_bytes < s->size;
	     i++)
		chunk_read(s, first + (size_t)i * s->header.chunk_bytes, out);
}

/* ---- what was spent in the function itself ---- */

/* What samples of one thread leave to the one around them: vectors of 1 + n_counters, the time first. */
struct pending {
	struct {
		uint64_t start;
		uint32_t depth;
	} * items;
	double *sums;
	size_t n, capacity, sums_capacity, width;
};

/* Everything deeper than the sample belongs to it, if it began later; what belongs to a dropped one is dropped with it. */
static void pending_take(struct pending *p, const struct record_sample *sample, double *nested)
{
	for (size_t k = 0; k < p->width; k++)
		nested[k] = 0;
	while (p->n && p->items[p->n - 1].depth > sample->depth) {
		p->n--;
		if (p->items[p->n].start < sample->start)
			continue;
		for (size_t k = 0; k < p->width; k++)
			nested[k] += p->sums[p->n * p->width + k];
	}
}

static void pending_put(struct pending *p, const struct record_sample *sample, const double *sums)
{
	if (sample->depth == 0)
		return;
	p->items = mem_grow(p->items, p->n, &p->capacity, sizeof(p->items[0]));
	if (p->sums_capacity < p->capacity) {
		p->sums_capacity = p->capacity;
		p->sums = mem_resize(p->sums, p->sums_capacity * p->width, sizeof(double));
	}
	p->items[p->n].start = sample->start;
	p->items[p->n].depth = sample->depth;
	memcpy(p->sums + p->n * p->width, sums, p->width * sizeof(double));
	p->n++;
}

/* values[width] of an invocation, time and counters, less what nested ones are known or estimated to have taken: each sampled call counts
 * for as many as it stands for. Leaves what this one took, with all in it, for the one around it. */
static void alone_find(struct pending *p, const struct record_sample *sample, const double *values, double *alone)
{
	double nested[1 + RECORD_COUNTERS_MAX];

	pending_take(p, sample, nested);
	for (size_t k = 0; k < p->width; k++) {
		alone[k] = nested[k] >= values[k] ? 0 : values[k] - nested[k]; /* NaN: not counted here, or not inside */
		nested[k] += sample->weight * alone[k];
	}
	pending_put(p, sample, nested);
}

/* ---- arrays ---- */

static void values_read(const unsigned char *bytes, const struct record_sample *head, const struct samples *out, double *values)
{
	values[0] = (double)head->duration * out->ns_per_tick;
	for (size_t c = 0; c < out->n_counters; c++) {
		uint64_t value;

		memcpy(&value, bytes + sizeof(struct record_sample) + c * sizeof(value), sizeof(value));
		values[1 + c] = value == UINT64_MAX ? (double)NAN : (double)value;
	}
}

static void sample_add(uint64_t start_ticks, uint32_t thread, const struct record_sample *head, const double *values, const double *alone,
		       struct samples *out)
{
	size_t width = out->n_counters * sizeof(double);

	out->items[out->n] = (struct sample){
		.function = head->function,
		.thread = thread,
		.weight = head->weight,
		.threads = head->threads,
		.depth = head->depth,
		.unwound = head->flags & RECORD_UNWOUND,
		.estimated = head->flags & RECORD_ESTIMATED,
		.ordinal = head->ordinal,
		.start_s = ((double)head->start - (double)start_ticks) * out->ns_per_tick / 1e9,
		.ns = values[0],
		.alone_ns = alone[0],
	};
	if (width) {
		memcpy(out->values + out->n * out->n_counters, values + 1, width);
		memcpy(out->alone + out->n * out->n_counters, alone + 1, width);
	}
	out->n++;
}

static void calls_add(struct samples *out, const struct record_sample *head, uint32_t thread, size_t *capacity)
{
	out->calls = mem_grow(out->calls, out->n_calls, capacity, sizeof(out->calls[0]));
	out->calls[out->n_calls++] = (struct samples_calls){ head->function, thread, head->ordinal };
}

/* Within a thread in the order of the file. */
static int chunks_by_thread(const void *a, const void *b)
{
	const struct chunk *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return (x->samples > y->samples) - (x->samples < y->samples);
}

static void samples_add(const struct source *s, struct samples *out)
{
	struct pending pending = { .width = 1 + out->n_counters };
	double values[1 + RECORD_COUNTERS_MAX], alone[1 + RECORD_COUNTERS_MAX];
	size_t calls_capacity = 0, n = 0;

	if (s->n_chunks)
		qsort(s->chunks, s->n_chunks, sizeof(s->chunks[0]), chunks_by_thread);
	for (size_t i = 0; i < s->n_chunks; i++)
		n += s->chunks[i].n;
	out->items = mem_new(n, sizeof(out->items[0]));
	out->values = mem_new(n * out->n_counters, sizeof(double));
	out->alone = mem_new(n * out->n_counters, sizeof(double));
	for (size_t i = 0; i < s->n_chunks; i++) {
		const struct chunk *chunk = &s->chunks[i];

		if (i && chunk->thread != chunk[-1].thread)
			pending.n = 0;
		for (size_t k = 0; k < chunk->n; k++) {
			const unsigned char *bytes = chunk->samples + k * s->sample_bytes;
			struct record_sample head;

			if (!sample_head(s, bytes, out, &head)) {
				out->unreadable++;
			} else if (head.flags & RECORD_TOTAL) {
				calls_add(out, &head, chunk->thread, &calls_capacity);
			} else {
				values_read(bytes, &head, out, values);
				alone_find(&pending, &head, values, alone);
				sample_add(s->header.started_ticks, chunk->thread, &head, values, alone, out);
			}
		}
	}
	free(pending.items);
	free(pending.sums);
}

/* ---- order ---- */

struct place {
	const struct sample *sample;
	size_t at;
};

static int places_by_function(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->sample->function != y->sample->function)
		return x->sample->function < y->sample->function ? -1 : 1;
	if (x->sample->thread != y->sample->thread)
		return x->sample->thread < y->sample->thread ? -1 : 1;
	if (x->sample->ordinal != y->sample->ordinal)
		return x->sample->ordinal < y->sample->ordinal ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

static void *places_copy(const void *from, size_t size, const struct place *places, size_t n)
{
	char *to = mem_new(n, size);

	for (size_t i = 0; size && i < n; i++)
		memcpy(to + i * size, (const char *)from + places[i].at * size, size);
	return to;
}

static int calls_by_function(const void *a, const void *b)
{
	const struct samples_calls *x = a, *y = b;

	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return (x->calls > y->calls) - (x->calls < y->calls);
}

static void samples_sort(struct samples *out)
{
	struct place *places = mem_new(out->n, sizeof(*places));
	struct samples old = *out;

	for (size_t i = 0; i < out->n; i++)
		places[i] = (struct place){ &out->items[i], i };
	if (out->n)
		qsort(places, out->n, sizeof(*places), places_by_function);
	if (out->n_calls)
		qsort(out->calls, out->n_calls, sizeof(out->calls[0]), calls_by_function);
	out->items = places_copy(old.items, sizeof(old.items[0]), places, out->n);
	out->values = places_copy(old.values, out->n_counters * sizeof(double), places, out->n);
	out->alone = places_copy(old.alone, out->n_counters * sizeof(double), places, out->n);
	for (size_t i = out->n; i-- > 0;) {
		out->functions[out->items[i].function].first = i;
		out->functions[out->items[i].function].n++;
	}
	free(old.items);
	free(old.values);
	free(old.alone);
	free(places);
}

/* ---- all of it ---- */

enum assay_status samples_parse(const char *name, const void *bytes, size_t n, struct samples *out, struct assay_error *err)
{
	struct source s = { .bytes = bytes, .size = n };
	struct samples made = { .items = NULL };
	enum assay_status st = header_check(name, &s, err);

	if (!st)
		st = names_parse(name, &s, &made, err);
	if (st)
		goto out;
	made.back_end = (enum record_back_end)s.header.back_end;
	made.pid = s.header.pid;
	made.started_ns = s.header.started_ns;
	made.ns_per_tick = 1e9 / (double)s.header.ticks_per_s;
	made.dropped = s.header.dropped;
	made.finished = s.header.finished == 1;
	chunks_read(&s, &made);
	samples_add(&s, &made);
	samples_sort(&made);
	*out = made;
	made = (struct samples){ .items = NULL }; /* now the caller's */
out:
	free(s.chunks);
	samples_release(&made);
	return st;
}

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
