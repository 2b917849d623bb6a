/* Converts the bytes of a sample file into arrays: reads the header, the names and the chunks, computes the time in each function itself,
 * and sorts. Checks every size in the file before using it. */
#include "runs/inside/samples/samples.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "runs/inside/changes/map.h"
#include "runs/inside/record/record_pack.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES	 4096u
#define CLOCK_CHANGE_MAX .02 /* maximum relative difference between the first and the last measurement of the clock rate */

/* Names of counters of work, the preferred ones first. The emulation does not count instructions; accesses and blocks replace them. */
static const char *const work_names[][SAMPLES_WORK_MAX] = {
	{ "PAPI_TOT_INS" },
	{ "perf::INSTRUCTIONS" },
	{ "emulated:accesses", "emulated:blocks" },
};

/* A chunk, and those of its samples that are in the file. */
struct chunk {
	uint32_t thread;
	const unsigned char *samples; /* [n] struct record_sample with counters, or struct record_brief; unaligned */
	size_t n;
	size_t offset;		 /* position of the chunk in the file, bytes */
	unsigned char *unpacked; /* unpacked samples of a packed chunk, owned, to which `samples` points; NULL if the chunk is not packed */
};

/* A total of a function's calls in one thread, or the errors of a total (record.h). */
struct total {
	uint32_t function, thread, bursts;
	uint32_t kind; /* flags RECORD_NESTED and RECORD_ERROR */
	uint64_t calls;
	const unsigned char *bytes; /* the sample in its chunk */
};

/* The bytes of the file, and the state of reading them. */
struct source {
	const unsigned char *bytes;
	size_t size;
	struct record_header header;
	size_t sample_bytes;  /* size of an unpacked sample, bytes */
	size_t unpacked;      /* number of unpacked samples; limited as if the file were not packed */
	size_t damaged;	      /* packed file: offset of the first damaged chunk; 0 if there is none */
	bool in_order;	      /* keep the order of recording, and do not compute the time in the function itself */
	unsigned thin_log2;   /* log2 of the thinning factor: one of 1 << thin_log2 samples is kept */
	struct chunk *chunks; /* [n_chunks] chunks, owned */
	size_t n_chunks, capacity;
	struct total *totals; /* [n_totals] totals, owned */
	size_t n_totals, totals_capacity;
};

/* ---- time in the function itself: without nested selected functions, and without the cost of measuring ---- */

/* Cost of measuring, by column: first the time (ns), then the counters. */
struct costs {
	double inside[1 + RECORD_COUNTERS_MAX];	   /* cost that a sample itself includes */
	double around[2][1 + RECORD_COUNTERS_MAX]; /* cost that a sample adds to those around it; [0] all calls sampled, [1] only some */
	double inside_unsure_ns, around_unsure_ns[2];
};

/* Pending samples of one thread: the sample around them comes later in the file, and will subtract them. Each has a vector of 2 * width + 3
 * elements. The first `width` are values of nested samples (measured or estimated), the next `width` are their costs of measuring. Then
 * follow possible errors of the costs and of the values, ns, and the number of accesses that no simulated window covers. */
struct nested_samples {
	struct {
		uint64_t start;
		uint32_t depth;
	} * items;
	double *sums;
	size_t n, capacity, sums_capacity;
	size_t width;		    /* number of columns: 1 + n_counters, the time first */
	size_t accesses, simulated; /* column of the accesses, and of the first simulated counter; `width` if not emulated */
	struct costs costs;
};

/* Possible error of an invocation's time, with and without nested samples, ns. */
struct time_error {
	double ns, self_ns;
};

/* ---- cost of measuring ---- */

/* Assumed errors for files without a calibration, from which no cost is subtracted. Not used for the emulation. */
#define UNCALIBRATED_INSIDE_NS 60.0
#define UNCALIBRATED_AROUND_NS 150.0
#define ERROR_MIN	       .5 /* minimum error / apparent time of an empty function, whose calls CPUs predict too well */

/* Parses "MEDIAN SPREAD MEDIAN SPREAD...", the ticks first. Returns false if the text is missing or malformed. */
static bool cost_parse(const struct samples *s, const char *key, double *columns, double *error_ns)
{
	const char *text = samples_info(s, key);
	char *end;

	for (size_t c = 0; text && c < 1 + s->n_counters; c++) {
		double median = (double)strtoull(text, &end, 10), spread = 0;

		text = *end == ' ' ? end + 1 : NULL;
		if (text) {
			spread = (double)strtoull(text, &end, 10);
			text = *end == ' ' || !*end ? end : NULL;
		}
		columns[c] = c ? median : median * s->ns_per_tick;
		if (!c)
			*error_ns = spread * s->ns_per_tick;
	}
	return text && !*text;
}

static void costs_find(const struct samples *s, struct costs *out)
{
	*out = (struct costs){ .inside_unsure_ns = 0 };
	if (s->back_end == RECORD_EMULATED)
		return;
	if (cost_parse(s, "cost_inside", out->inside, &out->inside_unsure_ns) &&
	    cost_parse(s, "cost_around", out->around[0], &out->around_unsure_ns[0]) &&
	    cost_parse(s, "cost_around_rare", out->around[1], &out->around_unsure_ns[1])) {
		out->inside_unsure_ns = fmax(out->inside_unsure_ns, ERROR_MIN * out->inside[0]);
		return;
	}
	*out = (struct costs){ .inside_unsure_ns = UNCALIBRATED_INSIDE_NS,
			       .around_unsure_ns = { UNCALIBRATED_AROUND_NS, UNCALIBRATED_AROUND_NS } };
}

/* ---- subtraction of nested invocations ---- */

#define PENDING_MAX (2 * (1 + RECORD_COUNTERS_MAX) + 3)

static size_t pending_length(const struct nested_samples *p)
{
	return 2 * p->width + 3;
}

/* Removes the pending samples that are deeper than `sample`, and stores the sum of their vectors in nested[]. Samples that started before
 * `sample` are not nested in it. They belonged to a sample that was dropped, so they are ignored. */
static void pending_take(struct nested_samples *p, const struct record_sample *sample, double *nested)
{
	size_t length = pending_length(p);

	for (size_t k = 0; k < length; k++)
		nested[k] = 0;
	while (p->n && p->items[p->n - 1].depth > sample->depth) {
		p->n--;
		if (p->items[p->n].start < sample->start)
			continue;
		for (size_t k = 0; k < length; k++)
			nested[k] += p->sums[p->n * length + k];
	}
}

static void pending_put(struct nested_samples *p, const struct record_sample *sample, const double *sums)
{
	size_t length = pending_length(p);

	if (sample->depth == 0)
		return;
	p->items = mem_grow(p->items, p->n, &p->capacity, sizeof(p->items[0]));
	if (p->sums_capacity < p->capacity) {
		p->sums_capacity = p->capacity;
		p->sums = mem_resize(p->sums, p->sums_capacity * length, sizeof(double));
	}
	p->items[p->n].start = sample->start;
	p->items[p->n].depth = sample->depth;
	memcpy(p->sums + p->n * length, sums, length * sizeof(double));
	p->n++;
}

/* Computes the simulated counters of the function itself, from the counts in the sample's simulated windows. Subtracts nested samples that
 * had windows of their own. Divides the rest in proportion to accesses among the function itself and the nested samples without windows. */
static void simulated_find(const struct nested_samples *p, const struct record_sample *sample, const double *values, double *nested,
			   double *out)
{
	double *unknown = nested + pending_length(p) - 1, own = p->simulated < p->width ? out[p->accesses] : 0, part = *unknown;
	bool counted = p->simulated < p->width && !isnan(values[p->simulated]);

	for (size_t k = p->simulated; k < p->width; k++) {
		double remains = nested[k] >= values[k] ? 0 : values[k] - nested[k],
		       per_access = own + part > 0 ? remains / (own + part) : 0;

		out[k] = counted ? own * per_access : (double)NAN;
		nested[k] += counted ? (sample->weight * own + part) * per_access : 0;
	}
	*unknown = counted ? 0 : part + sample->weight * own;
}

/* Processes the next invocation of a thread, in the order of the file; p->n must be 0 at the first one. Subtracts the cost of measuring
 * from values[width] (time and counters). Sets out[width] to the values without nested samples, which count with their weights. Stores the
 * vector for the sample around this one. A value is NaN if this sample, or one nested in it, did not count it. */
static struct time_error self_find(struct nested_samples *p, const struct record_sample *sample, double *values, double *out)
{
	double nested[PENDING_MAX], *cost = nested + p->width, *unsure_cost = nested + 2 * p->width, *unsure_nested = unsure_cost + 1;
	const struct costs *costs = &p->costs;
	size_t rare = sample->weight > 1;
	struct time_error time_error;

	pending_take(p, sample, nested);
	for (size_t k = 0; k < p->width; k++) {
		values[k] -= costs->inside[k] + cost[k];
		values[k] = values[k] < 0 ? 0 : values[k];
		out[k] = nested[k] >= values[k] ? 0 : values[k] - nested[k];
		nested[k] += k < p->simulated ? sample->weight * out[k] : 0;
		cost[k] += costs->around[rare][k];
	}
	simulated_find(p, sample, values, nested, out);
	time_error.ns = costs->inside_unsure_ns + *unsure_cost;
	time_error.self_ns = time_error.ns + *unsure_nested;
	*unsure_nested = sample->weight * time_error.ns + (sample->weight ? sample->weight - 1 : 0) * *unsure_nested;
	*unsure_cost += costs->around_unsure_ns[rare];
	pending_put(p, sample, nested);
	return time_error;
}

/* Initializes *a. The counters and infos of `samples` must be set. Call self_release() at the end. */
static void self_init(struct nested_samples *a, const struct samples *samples)
{
	size_t accesses = samples_find_counter(samples, "emulated:accesses"),
	       simulated = samples_find_counter(samples, "emulated:simulated");
	bool emulated = accesses < samples->n_counters && simulated < samples->n_counters;

	*a = (struct nested_samples){ .width = 1 + samples->n_counters };
	a->accesses = emulated ? accesses + 1 : a->width;
	a->simulated = emulated ? simulated + 2 : a->width;
	costs_find(samples, &a->costs);
}

static void self_release(struct nested_samples *a)
{
	mem_free(a->items, a->sums);
}

/* ---- header and names ---- */

/* Reports whether samples are packed, and constant parts have checksums. */
static bool is_packed(const struct source *s)
{
	return s->header.version == RECORD_VERSION_PACKED;
}

/* Reports whether the header is undamaged. The clock rate may differ a little from its first value, because it is measured repeatedly. */
static bool is_valid_header(const struct record_header *h)
{
	double clock = (double)h->ticks_per_s / (double)h->ticks_per_s_first;

	return h->check == record_header_check(h) && clock > 1 - CLOCK_CHANGE_MAX && clock < 1 + CLOCK_CHANGE_MAX;
}

/* Fails for a file of zeros, whose process ended before its first chunk. */
static enum assay_status fail_empty(const char *name, struct assay_error *err)
{
	return assay_fail(err, ASSAY_E_NODATA, "%s: its process ended before the first sample", name);
}

static enum assay_status header_check(const char *name, struct source *s, struct assay_error *err)
{
	const struct record_header *h = &s->header;
	static const char zeros[sizeof(h->magic)];

	if (!s->size || (s->size >= sizeof(*h) && memcmp(s->bytes, zeros, sizeof(zeros)) == 0))
		return fail_empty(name, err);
	if (s->size >= sizeof(h->magic) && memcmp(s->bytes, RECORD_MAGIC_PRE_RELEASE, sizeof(h->magic)) == 0)
		return assay_fail(err, ASSAY_E_VERSION, "%s: made by a pre-release of assay: build the program and record it again", name);
	if (s->size < sizeof(*h) || memcmp(s->bytes, RECORD_MAGIC, sizeof(h->magic)) != 0)
		return assay_fail(err, ASSAY_E_FORMAT, "%s: not a sample file", name);
	memcpy(&s->header, s->bytes, sizeof(*h));
	if (h->version > RECORD_VERSION_PACKED)
		return assay_fail(err, ASSAY_E_VERSION, "%s: sample file of version %u; this program reads version %u", name, h->version,
				  RECORD_VERSION_PACKED);
	if (h->version < RECORD_VERSION || h->back_end > RECORD_EMULATED || h->header_bytes % PAGE_BYTES || h->header_bytes < sizeof(*h) ||
	    h->header_bytes > RECORD_NAMES_BYTES_MAX || h->names_bytes_max % PAGE_BYTES || h->names_bytes_max > RECORD_NAMES_BYTES_MAX ||
	    h->names_bytes > h->names_bytes_max || h->n_counters > RECORD_COUNTERS_MAX || h->ticks_per_s == 0)
		return assay_fail(err, ASSAY_E_FORMAT, "%s: the header is damaged", name);
	if ((h->version == RECORD_VERSION_BRIEF && h->n_counters) || (is_packed(s) && !is_valid_header(h)))
		return assay_fail(err, ASSAY_E_FORMAT, "%s: the header is damaged", name);
	s->sample_bytes = h->version == RECORD_VERSION_BRIEF ? sizeof(struct record_brief)
							     : sizeof(struct record_sample) + h->n_counters * sizeof(uint64_t);
	if (h->chunk_bytes % PAGE_BYTES || h->chunk_bytes > RECORD_CHUNK_BYTES_MAX ||
	    h->chunk_bytes < sizeof(struct record_chunk) + (is_packed(s) ? RECORD_PACKED_BYTES(h->n_counters) : s->sample_bytes))
		return assay_fail(err, ASSAY_E_FORMAT, "%s: the header is damaged", name);
	return ASSAY_OK;
}

/* Splits "KEY REST" at its first space. Returns false if there is no space, or KEY is empty. */
static bool text_split(const char *text, size_t n, char **key, char **rest)
{
	const char *blank = memchr(text, ' ', n);

	if (!blank || blank == text)
		return false;
	*key = mem_bytes(text, (size_t)(blank - text));
	*rest = mem_bytes(blank + 1, n - (size_t)(blank - text) - 1);
	return true;
}

/* Replaces the module "~N" by the module of function N. Returns false if function N is not known yet. */
static bool module_find(const struct samples *out, char **module)
{
	char *end;
	unsigned long n = **module == '~' ? strtoul(*module + 1, &end, 10) : 0;

	if (**module != '~')
		return true;
	if (*end || n >= out->n_functions)
		return false;
	free(*module);
	*module = mem_string(out->functions[n].module);
	return true;
}

static bool function_add(struct samples *out, const char *text, size_t n, size_t *capacity)
{
	struct samples_function function = { .module = NULL };
	char *address = NULL, *rest = NULL, *end;
	bool ok = false;

	if (text_split(text, n, &address, &rest)) {
		function.address = strtoull(address, &end, 16);
		ok = !*end && text_split(rest, strlen(rest), &function.module, &function.name) && module_find(out, &function.module);
	}
	if (ok) {
		mem_append(out->functions, out->n_functions, capacity, function);
	} else {
		mem_free(function.module, function.name);
	}
	mem_free(address, rest);
	return ok;
}

static void info_add(struct samples *out, const char *text, size_t n, size_t *capacity)
{
	struct samples_info info;

	if (!text_split(text, n, &info.key, &info.value))
		return;
	mem_append(out->infos, out->n_infos, capacity, info);
}

static bool is_complete_line(const char *line, size_t n)
{
	char digits[3] = "";

	if (n < 3)
		return false;
	snprintf(digits, sizeof(digits), "%02x", record_check_byte(record_hash(record_hash(0, line, 1), line + 3, n - 3)));
	return memcmp(line + 1, digits, 2) == 0;
}

/* Parses the names up to the first incomplete line. Later lines are ignored, because the numbers of their functions are unknown. */
static enum assay_status names_parse(const char *name, const struct source *s, struct samples *out, struct assay_error *err)
{
	size_t functions = 0, infos = 0, counters = 0;
	size_t there = s->size > s->header.header_bytes ? s->size - s->header.header_bytes : 0;
	uint64_t in_use = is_packed(s) ? s->header.names_bytes_max : s->header.names_bytes;
	size_t n = in_use < there ? (size_t)in_use : there, blank = is_packed(s) ? 3 : 1;
	const char *at = n ? (const char *)s->bytes + s->header.header_bytes : "", *end;

	for (; (end = n ? memchr(at, '\n', n) : NULL); n -= (size_t)(end - at) + 1, at = end + 1) {
		size_t length = (size_t)(end - at), text = blank + 1;

		if (!*at || (is_packed(s) && !is_complete_line(at, length)))
			break;
		if (length <= text || at[blank] != ' ' || memchr(at, '\0', length))
			break;
		if (at[0] == 'c' && out->n_counters < s->header.n_counters) {
			mem_append(out->counters, out->n_counters, &counters, mem_bytes(at + text, length - text));
		} else if (at[0] == 'f' && out->n_functions < RECORD_FUNCTIONS_MAX) {
			if (!function_add(out, at + text, length - text, &functions))
				break;
		} else if (at[0] == 'i') {
			info_add(out, at + text, length - text, &infos);
		} else {
			break;
		}
	}
	if (is_packed(s) && n && *at && (end || n + (size_t)(at - (const char *)s->bytes) < s->size))
		return assay_fail(err, ASSAY_E_FORMAT, "%s: its names are damaged", name);
	if (out->n_counters != s->header.n_counters && n && !*at && !s->header.chunks)
		return fail_empty(name, err);
	if (out->n_counters != s->header.n_counters)
		return assay_fail(err, ASSAY_E_FORMAT, "%s: the names of its counters are missing", name);
	return ASSAY_OK;
}

/* ---- chunks ---- */

/* Reads a sample without its counters. Returns false if its weight or its function is invalid. */
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

/* Unpacks a chunk of which `there` bytes exist, up to the first sample whose check fails. Does not rely on the chunk's number of samples,
 * because the program may have been killed before it counted the last one. */
static void chunk_unpack(struct source *s, struct chunk *chunk, size_t there)
{
	uint64_t *state = mem_new(RECORD_PACK_STATE(s->header.n_counters), sizeof(*state));
	union {
		struct record_sample sample;
		uint64_t words[sizeof(struct record_sample) / sizeof(uint64_t) + RECORD_COUNTERS_MAX];
	} one;
	size_t bytes, room = SAMPLES_FILE_BYTES_MAX / s->sample_bytes - s->unpacked, capacity = 0;

	record_pack_reset(state, chunk->thread);
	for (; chunk->n < room; chunk->n++, chunk->samples += bytes, there -= bytes) {
		bytes = record_unpack(chunk->samples, there, s->header.n_counters, state, &one.sample);
		if (!bytes)
			break;
		chunk->unpacked = mem_grow(chunk->unpacked, chunk->n, &capacity, s->sample_bytes);
		memcpy(chunk->unpacked + chunk->n * s->sample_bytes, &one, s->sample_bytes);
	}
	free(state);
	chunk->samples = chunk->unpacked;
	s->unpacked += chunk->n;
}

static void note_damage(struct source *s, size_t offset)
{
	if (is_packed(s) && !s->damaged)
		s->damaged = offset;
}

static void chunk_read(struct source *s, size_t offset, struct samples *out)
{
	size_t least = is_packed(s) ? RECORD_PACKED_MIN_BYTES : s->sample_bytes;
	struct record_chunk chunk;
	size_t there = s->size - offset, whole;
	struct chunk found;

	if (there < sizeof(chunk)) {
		out->truncated = true;
		return;
	}
	memcpy(&chunk, s->bytes + offset, sizeof(chunk));
	if (chunk.magic == 0) /* the chunk is unused */
		return;
	there = (there < s->header.chunk_bytes ? there : s->header.chunk_bytes) - sizeof(chunk);
	whole = there / least;
	if (chunk.magic != RECORD_CHUNK_MAGIC || chunk.samples > s->header.chunk_bytes / least) {
		note_damage(s, offset);
		out->unreadable += whole;
		return;
	}
	out->dropped += chunk.dropped;
	found = (struct chunk){ .thread = chunk.thread, .samples = s->bytes + offset + sizeof(chunk), .offset = offset };
	if (is_packed(s))
		chunk_unpack(s, &found, there);
	else
		found.n = chunk.samples < whole ? (size_t)chunk.samples : whole;
	if (chunk.samples > found.n && there == s->header.chunk_bytes - sizeof(chunk))
		note_damage(s, offset);
	if (chunk.samples > found.n) {
		out->unreadable += chunk.samples - found.n;
		out->truncated = true;
	}
	mem_append(s->chunks, s->n_chunks, &s->capacity, found);
}

static void chunks_read(struct source *s, struct samples *out)
{
	size_t first = (size_t)s->header.header_bytes + s->header.names_bytes_max;

	/* The last chunk may be short, because its disk space is reserved in pieces. */
	out->truncated = s->header.chunks > 0 && (s->size < first || (s->size - first) / s->header.chunk_bytes + 1 < s->header.chunks);
	for (uint64_t i = 0; (is_packed(s) || i < s->header.chunks) && i <= SIZE_MAX / RECORD_CHUNK_BYTES_MAX &&
			     first + i * s->header.chunk_bytes < s->size;
	     i++)
		chunk_read(s, first + (size_t)i * s->header.chunk_bytes, out);
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
		       struct time_error time_error, struct samples *out)
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
		.caller = head->caller > out->n_functions && head->caller != RECORD_NO_CALLER ? 0 : head->caller,
		.ordinal = head->ordinal,
		.start_s = ((double)head->start - (double)start_ticks) * out->ns_per_tick / 1e9,
		.ns = values[0],
		.self_ns = alone[0],
		.error_ns = time_error.ns,
		.self_error_ns = time_error.self_ns,
	};
	if (width)
		memcpy(out->values + out->n * out->n_counters, values + 1, width);
	if (width && out->self_counts)
		memcpy(out->self_counts + out->n * out->n_counters, alone + 1, width);
	out->n++;
}

static void total_add(struct source *s, const struct record_sample *head, uint32_t thread, const unsigned char *bytes)
{
	mem_append(s->totals, s->n_totals, &s->totals_capacity,
		   (struct total){ .function = head->function,
				   .thread = thread,
				   .bursts = head->weight,
				   .kind = head->flags & (RECORD_NESTED | RECORD_ERROR),
				   .calls = head->ordinal,
				   .bytes = bytes });
}

/* Sorts by thread. Chunks of a thread stay in the order of the file. */
ORDER_BY(chunks_by_thread, struct chunk, BY_ASC(thread) BY_ASC(offset))

static void samples_add(struct source *s, struct samples *out)
{
	struct nested_samples pending;
	double values[1 + RECORD_COUNTERS_MAX], alone[1 + RECORD_COUNTERS_MAX];
	size_t n = 0;
	struct time_error time_error;

	self_init(&pending, out);
	order_sort(s->chunks, s->n_chunks, chunks_by_thread);
	for (size_t i = 0; i < s->n_chunks; i++)
		n += s->chunks[i].n;
	out->items = mem_new(n, sizeof(out->items[0]));
	out->values = mem_new(n * out->n_counters, sizeof(double));
	out->self_counts = s->in_order ? NULL : mem_new(n * out->n_counters, sizeof(double));
	for (size_t i = 0; i < s->n_chunks; i++) {
		const struct chunk *chunk = &s->chunks[i];

		if (i && chunk->thread != chunk[-1].thread)
			pending.n = 0; /* samples of different threads are never nested */
		for (size_t k = 0; k < chunk->n; k++) {
			const unsigned char *bytes = chunk->samples + k * s->sample_bytes;
			struct record_sample head;

			if (!sample_head(s, bytes, out, &head)) {
				out->unreadable++;
				note_damage(s, chunk->offset);
			} else if (head.flags & RECORD_TOTAL) {
				total_add(s, &head, chunk->thread, bytes);
			} else if (head.flags & RECORD_LATE) {
				out->functions[head.function].n_late_ends++;
			} else if (s->in_order) {
				if (map_combine(head.start, chunk->thread) & ((UINT64_C(1) << s->thin_log2) - 1))
					continue; /* skips most samples, by a hash of thread and start */
				values_read(bytes, &head, out, values);
				sample_add(s->header.started_ticks, chunk->thread, &head, values, values, (struct time_error){ 0, 0 }, out);
			} else {
				values_read(bytes, &head, out, values);
				time_error = self_find(&pending, &head, values, alone);
				sample_add(s->header.started_ticks, chunk->thread, &head, values, alone, time_error, out);
			}
		}
	}
	self_release(&pending);
}

/* ---- order ---- */

struct place {
	const struct sample *sample;
	size_t at;
};

ORDER_BY(places_by_function, struct place, BY_ASC(sample->function) BY_ASC(sample->thread) BY_ASC(sample->ordinal) BY_ASC(at))

static void *places_copy(const void *from, size_t size, const struct place *places, size_t n)
{
	char *to = mem_new(n, size);

	for (size_t i = 0; size && i < n; i++)
		memcpy(to + i * size, (const char *)from + places[i].at * size, size);
	return to;
}

static void samples_sort(struct samples *out)
{
	struct place *places = mem_new(out->n, sizeof(*places));
	struct samples old = *out;

	for (size_t i = 0; i < out->n; i++)
		places[i] = (struct place){ &out->items[i], i };
	order_sort(places, out->n, places_by_function);
	out->items = places_copy(old.items, sizeof(old.items[0]), places, out->n);
	out->values = places_copy(old.values, out->n_counters * sizeof(double), places, out->n);
	out->self_counts = places_copy(old.self_counts, out->n_counters * sizeof(double), places, out->n);
	for (size_t i = out->n; i-- > 0;) {
		out->functions[out->items[i].function].first = i;
		out->functions[out->items[i].function].n++;
	}
	mem_free(old.items, old.values, old.self_counts, places);
}

/* ---- totals ---- */

/* Sorts so that errors come after the total to which they belong. */
ORDER_BY(totals_by_function, struct total, BY_ASC(function) BY_ASC(thread) BY_ASC(kind) BY_ASC(bytes))

static void totals_values(const struct total *total, const struct samples *out, double *to)
{
	static const struct record_sample no_time;
	double values[1 + RECORD_COUNTERS_MAX];

	values_read(total->bytes, &no_time, out, values);
	if (out->n_counters)
		memcpy(to, values + 1, out->n_counters * sizeof(double));
}

/* Stores the sums or the errors of a total. Sums are exact unless errors follow. */
static void totals_take(const struct total *total, const struct samples *out, uint32_t *bursts, double *sums, double *errors)
{
	bool is_error = total->kind & RECORD_ERROR;

	totals_values(total, out, is_error ? errors : sums);
	*bursts = total->bursts;
	for (size_t c = 0; c < out->n_counters && !is_error; c++)
		errors[c] = isnan(sums[c]) ? (double)NAN : 0;
}

/* Reads the totals. A function without a nested total has nested sums equal to its own sums. Files of the probe have no nested sums. */
static void totals_read(struct source *s, struct samples *out)
{
	const char *kinds = samples_info(out, "totals");
	bool nested = kinds && strcmp(kinds, "nested") == 0;
	size_t width = out->n_counters;

	order_sort(s->totals, s->n_totals, totals_by_function);
	out->calls = mem_new(s->n_totals, sizeof(out->calls[0]));
	out->sums = mem_new(4 * s->n_totals * width, sizeof(double));
	for (size_t i = 0; i < s->n_totals; i++) {
		const struct total *total = &s->totals[i];
		struct samples_calls *last = out->n_calls ? &out->calls[out->n_calls - 1] : NULL;

		if (!total->kind) {
			double *sums = out->sums + 4 * out->n_calls * width;

			last = &out->calls[out->n_calls++];
			*last = (struct samples_calls){
				.function = total->function,
				.thread = total->thread,
				.calls = total->calls,
				.sums = sums,
				.errors = sums + width,
				.nested_sums = sums + 2 * width,
				.nested_errors = sums + 3 * width,
			};
			for (size_t c = 0; c < 2 * width; c++)
				last->nested_sums[c] = (double)NAN;
		} else if (!last || last->function != total->function || last->thread != total->thread) {
			continue;
		}
		if (!(total->kind & RECORD_NESTED))
			totals_take(total, out, &last->bursts, last->sums, last->errors);
		if (nested || (total->kind & RECORD_NESTED))
			totals_take(total, out, &last->nested_bursts, last->nested_sums, last->nested_errors);
	}
}

/* ---- whole file ---- */

static enum assay_status parse_source(const char *name, struct source s, struct samples *out, struct assay_error *err)
{
	struct samples made = { .items = NULL };
	enum assay_status st = header_check(name, &s, err);

	if (!st)
		st = names_parse(name, &s, &made, err);
	if (st)
		goto out;
	made.back_end = (enum record_back_end)s.header.back_end;
	made.pid = s.header.pid;
	made.started_ns = s.header.started_ns;
	made.started_ticks = s.header.started_ticks;
	made.ns_per_tick = 1e9 / (double)s.header.ticks_per_s;
	made.dropped = s.header.dropped;
	made.finished = s.header.finished == 1;
	chunks_read(&s, &made);
	samples_add(&s, &made);
	if (s.damaged) {
		st = assay_fail(err, ASSAY_E_FORMAT, "%s: the file is damaged at or after byte %zu, so nothing of it is used", name,
				s.damaged);
		goto out;
	}
	if (!s.in_order)
		samples_sort(&made);
	totals_read(&s, &made);
	*out = made;
	made = (struct samples){ .items = NULL }; /* *out owns the arrays now */
out:
	for (size_t i = 0; i < s.n_chunks; i++)
		free(s.chunks[i].unpacked);
	mem_free(s.chunks, s.totals);
	samples_release(&made);
	return st;
}

enum assay_status samples_parse(const char *name, const void *bytes, size_t n, struct samples *out, struct assay_error *err)
{
	return parse_source(name, (struct source){ .bytes = bytes, .size = n }, out, err);
}

enum assay_status samples_parse_in_order(const char *name, const void *bytes, size_t n, unsigned thin_log2, struct samples *out,
					 struct assay_error *err)
{
	return parse_source(name, (struct source){ .bytes = bytes, .size = n, .in_order = true, .thin_log2 = thin_log2 }, out, err);
}

const char *samples_back_end_name(enum record_back_end back_end)
{
	static const char *const names[] = { "time", "papi", "software", "emulated", "calls" };

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
	mem_free_all(samples->counters, samples->n_counters);
	for (size_t i = 0; i < samples->n_functions; i++)
		mem_free(samples->functions[i].module, samples->functions[i].name);
	for (size_t i = 0; i < samples->n_infos; i++)
		mem_free(samples->infos[i].key, samples->infos[i].value);
	mem_free(samples->functions, samples->infos, samples->items, samples->values, samples->self_counts, samples->calls, samples->sums);
	*samples = (struct samples){ .items = NULL };
}

const char *samples_info(const struct samples *samples, const char *key)
{
	for (size_t i = samples->n_infos; i-- > 0;)
		if (strcmp(samples->infos[i].key, key) == 0)
			return samples->infos[i].value;
	return NULL;
}

uint64_t samples_info_number(const struct samples *samples, const char *key)
{
	const char *text = samples_info(samples, key);

	return text ? strtoull(text, NULL, 10) : 0;
}

size_t samples_find_counter(const struct samples *samples, const char *name)
{
	return text_index((const char *const *)samples->counters, samples->n_counters, name);
}

size_t samples_find_work_counters(const struct samples *samples, size_t counters[SAMPLES_WORK_MAX])
{
	for (size_t i = 0; i < sizeof(work_names) / sizeof(work_names[0]); i++) {
		size_t n = 0;

		while (n < SAMPLES_WORK_MAX && work_names[i][n] &&
		       (counters[n] = samples_find_counter(samples, work_names[i][n])) != SIZE_MAX)
			n++;
		if (n == SAMPLES_WORK_MAX || (n && !work_names[i][n]))
			return n;
	}
	return 0;
}

void samples_fill_vector(const struct samples *samples, size_t i, bool alone, double *vector)
{
	const double *values = (alone ? samples->self_counts : samples->values) + i * samples->n_counters;
	double threads = samples->items[i].threads ? samples->items[i].threads : 1, work = 0;
	size_t counters[SAMPLES_WORK_MAX], n = samples_find_work_counters(samples, counters);

	for (size_t k = 0; k < n; k++)
		work += values[counters[k]];
	for (size_t c = 0; c < samples->n_counters; c++) {
		bool is_work = (n > 0 && c == counters[0]) || (n > 1 && c == counters[1]);

		vector[c] = values[c] / threads;
		if (n && !is_work)
			vector[c] = work > 0 ? vector[c] / work : (double)NAN;
	}
}

/* ---- child processes ---- */

/* Reports whether the call's result is the id of a child process. `name` may have a call path after "<". */
static bool is_child_call(const char *name)
{
	static const char *const calls[] = { "fork", "wait", "wait3", "wait4", "waitpid" };
	size_t n = strcspn(name, "<");

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strlen(calls[i]) == n && strncmp(calls[i], name, n) == 0)
			return true;
	return false;
}

ORDER_BY(pids_order, uint64_t, BY_VALUE)

uint64_t *samples_list_children(const struct samples *samples, size_t *n)
{
	size_t result = samples_find_counter(samples, "result"), all = 0, capacity = 0;
	uint64_t *pids = NULL;

	for (size_t i = 0; i < samples->n && result != SIZE_MAX; i++) {
		double child = samples->values[i * samples->n_counters + result];

		if (child > 0 && child <= INT32_MAX && is_child_call(samples->functions[samples->items[i].function].name))
			mem_append(pids, all, &capacity, (uint64_t)child);
	}
	order_sort(pids, all, pids_order);
	*n = 0;
	for (size_t i = 0; i < all; i++)
		if (!*n || pids[*n - 1] != pids[i])
			pids[(*n)++] = pids[i];
	return pids;
}
