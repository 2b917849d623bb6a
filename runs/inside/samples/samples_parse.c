/* The bytes of a file. Every size in it is checked before it is believed. */
#include "runs/inside/samples/samples_internal.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES 4096u

/* The file, as far as it is there. */
struct source {
	const unsigned char *bytes;
	size_t size;
	struct record_header header;
	size_t sample_bytes;
};

/* ---- header and names ---- */

static enum assay_status header_check(const char *name, struct source *s, struct assay_error *err)
{
	const struct record_header *h = &s->header;

	if (s->size < sizeof(*h) || memcmp(s->bytes, RECORD_MAGIC, 8) != 0)
		return assay_fail(err, ASSAY_E_FORMAT, "%s: not a file of samples", name);
	memcpy(&s->header, s->bytes, sizeof(*h));
	if (h->version > RECORD_VERSION_BRIEF)
		return assay_fail(err, ASSAY_E_VERSION, "%s: samples of version %u, this program reads %u", name, h->version, RECORD_VERSION_BRIEF);
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
static bool split(const char *text, size_t n, char **key, char **rest)
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

	if (split(text, n, &address, &rest)) {
		function.address = strtoull(address, &end, 16);
		ok = !*end && split(rest, strlen(rest), &function.module, &function.name);
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

	if (!split(text, n, &info.key, &info.value))
		return;
	out->infos = mem_grow(out->infos, out->n_infos, capacity, sizeof(info));
	out->infos[out->n_infos++] = info;
}

/* Lines up to the first that was not written to its end: the number of what comes behind it is not known. */
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

bool samples_head_of(const struct entries *entries, const struct entry *e, struct record_sample *head)
{
	struct record_brief brief;

	if (!entries->brief) {
		memcpy(head, e->bytes, sizeof(*head));
		return true;
	}
	memcpy(&brief, e->bytes, sizeof(brief));
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
	return brief.weight_log2 < 32;
}

static void chunk_read(const struct source *s, size_t offset, struct samples *out, struct entries *entries)
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
	for (size_t i = 0; i < whole && i < chunk.samples; i++) {
		const unsigned char *at = s->bytes + offset + sizeof(chunk) + i * s->sample_bytes;
		struct entry entry = { chunk.thread, at };
		struct record_sample head;

		if (!samples_head_of(entries, &entry, &head) || head.function >= out->n_functions) {
			out->unreadable++;
			continue;
		}
		entries->items = mem_grow(entries->items, entries->n, &entries->capacity, sizeof(entry));
		entries->items[entries->n++] = entry;
	}
}

static void chunks_read(const struct source *s, struct samples *out, struct entries *entries)
{
	size_t first = (size_t)s->header.header_bytes + s->header.names_bytes_max;

	/* The last chunk may end early: its place is reserved piece by piece. */
	out->truncated = s->header.chunks > 0 && (s->size < first || (s->size - first) / s->header.chunk_bytes + 1 < s->header.chunks);
	for (uint64_t i = 0; i < s->header.chunks && i <= SIZE_MAX / RECORD_CHUNK_BYTES_MAX && first + i * s->header.chunk_bytes < s->size; i++)
		chunk_read(s, first + (size_t)i * s->header.chunk_bytes, out, entries);
}

enum assay_status samples_parse(const char *name, const void *bytes, size_t n, struct samples *out, struct assay_error *err)
{
	struct source s = { .bytes = bytes, .size = n };
	struct samples made = { .items = NULL };
	struct entries entries = { .items = NULL };
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
	entries.brief = s.header.version == RECORD_VERSION_BRIEF;
	chunks_read(&s, &made, &entries);
	samples_order(s.header.started_ticks, &entries, &made);
	*out = made;
	made = (struct samples){ .items = NULL }; /* now the caller's */
out:
	free(entries.items);
	samples_release(&made);
	return st;
}
