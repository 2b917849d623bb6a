/* Converts the bytes of feature files into one sorted list. Checks every size in a file before using it. */
#include "runs/inside/features/run_features.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "runs/inside/features/counting/format.h"
#include "runs/inside/features/counting/slices.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BYTES_MAX (1u << 30)
#define ROOM_MIN       4096u

/* A feature under construction, as a sum over some blocks of counters. */
struct part {
	char *name;
	double sum;
	uint64_t of; /* number of values in the sum; 0 for counts */
	enum feature_kind kind;
};

struct parts {
	struct part *items; /* [n] */
	size_t n, capacity;
	size_t unique; /* number of items after the last parts_join() */
};

ORDER_BY(by_name, struct part, BY_TEXT(name))

/* Sorts the parts and joins those with the same name. */
static void parts_join(struct parts *p)
{
	size_t kept = 0;

	order_sort(p->items, p->n, by_name);
	for (size_t i = 0; i < p->n; i++) {
		if (kept && strcmp(p->items[kept - 1].name, p->items[i].name) == 0) {
			p->items[kept - 1].sum += p->items[i].sum;
			p->items[kept - 1].of += p->items[i].of;
			free(p->items[i].name);
		} else {
			p->items[kept++] = p->items[i];
		}
	}
	p->n = p->unique = kept;
}

static void parts_release(struct parts *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->items[i].name);
	free(p->items);
}

static void parts_add(struct parts *p, char *name, double sum, uint64_t of, enum feature_kind kind)
{
	mem_append(p->items, p->n, &p->capacity, (struct part){ name, sum, of, kind });
}

/* Moves the features to *out, except values that were never assigned. */
static void parts_take(struct parts *p, struct run_features *out)
{
	parts_join(p);
	out->items = mem_new(p->n, sizeof(*out->items));
	out->capacity = p->n;
	for (size_t i = 0; i < p->n; i++) {
		const struct part *part = &p->items[i];

		if (part->kind == FEATURE_COUNT)
			out->items[out->n++] = (struct run_feature){ part->name, part->sum, FEATURE_COUNT };
		else if (part->of)
			out->items[out->n++] = (struct run_feature){ part->name, part->sum / (double)part->of, FEATURE_VALUE };
		else
			free(part->name);
	}
	free(p->items);
	*p = (struct parts){ 0 };
}

/* ---- one file ---- */

struct source {
	const char *name;
	const unsigned char *bytes, *blocks;
	struct counting_header header;
};

static size_t round_up_to_page(uint64_t bytes)
{
	return (size_t)((bytes + FEATURES_PAGE - 1) / FEATURES_PAGE * FEATURES_PAGE);
}

static enum assay_status source_check(struct source *s, size_t size, struct assay_error *err)
{
	struct counting_header *h = &s->header;

	if (size >= sizeof(h->magic) && memcmp(s->bytes, FEATURES_MAGIC_PRE_RELEASE, sizeof(h->magic)) == 0)
		return assay_fail(err, ASSAY_E_VERSION, "%s: made by a pre-release of assay: build the program and run it again", s->name);
	if (size < sizeof(*h) || memcmp(s->bytes, FEATURES_MAGIC, sizeof(h->magic)) != 0)
		return assay_fail(err, ASSAY_E_FORMAT, "%s: not a feature file", s->name);
	memcpy(h, s->bytes, sizeof(*h));
	if (h->version != FEATURES_VERSION)
		return assay_fail(err, ASSAY_E_VERSION, "%s: feature file of version %u; this program reads version %u", s->name,
				  h->version, FEATURES_VERSION);
	if (h->header_bytes % FEATURES_PAGE || h->header_bytes < sizeof(*h) || h->header_bytes > FEATURES_NAMES_MAX ||
	    h->names_bytes > FEATURES_NAMES_MAX || h->slots > FEATURES_SLOTS_MAX || h->block_bytes % FEATURES_PAGE ||
	    h->block_bytes < h->slots * 8 || h->block_bytes > FILE_BYTES_MAX || h->blocks > FEATURES_BLOCKS_MAX)
		return assay_fail(err, ASSAY_E_FORMAT, "%s: the header is damaged", s->name);
	if (size < h->header_bytes + round_up_to_page(h->names_bytes) + h->blocks * h->block_bytes)
		return assay_fail(err, ASSAY_E_FORMAT, "%s: the file is truncated", s->name);
	s->blocks = s->bytes + h->header_bytes + round_up_to_page(h->names_bytes);
	return ASSAY_OK;
}

static uint64_t read_slot(const struct source *s, size_t block, size_t slot)
{
	uint64_t word;

	memcpy(&word, s->blocks + block * s->header.block_bytes + slot * 8, sizeof(word));
	return word;
}

static void add_count(const struct source *s, char *name, size_t slot, struct parts *out)
{
	uint64_t sum = 0;

	for (size_t b = 0; b < s->header.blocks; b++)
		sum += read_slot(s, b, slot);
	parts_add(out, name, (double)sum, 0, FEATURE_COUNT);
}

/* Adds, for each K up to FEATURES_VALUES, the K-th values of all blocks. */
static void add_values(const struct source *s, const char *name, size_t n, char kind, size_t slot, struct parts *out)
{
	for (unsigned k = 1; k <= FEATURES_VALUES; k++) {
		double sum = 0;
		uint64_t of = 0;

		for (size_t b = 0; b < s->header.blocks; b++) {
			uint64_t word = read_slot(s, b, slot + k);
			double real;

			if (read_slot(s, b, slot) < k)
				continue;
			memcpy(&real, &word, sizeof(real));
			if (kind == 'v')
				real = (double)(int64_t)word;
			if (real - real != 0) /* infinity and NaN cannot be features */
				continue;
			sum += real;
			of++;
		}
		parts_add(out, mem_format("%.*s %u", (int)n, name, k), sum, of, FEATURE_VALUE);
	}
}

static bool is_name(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return false;
	return n > 0 && n <= RUN_FEATURES_NAME_MAX;
}

static bool is_piece(const char *line)
{
	return memchr(FEATURES_PIECES, line[0], strlen(FEATURES_PIECES)) != NULL;
}

/* Sets *slots to the slots of a line of names; 0 for another name of a counter, or a piece. Returns false if the line is damaged. */
static bool line_slots(const char *at, size_t n, size_t *slots)
{
	*slots = at[0] == 'c' ? 1 : at[0] == 'v' || at[0] == 'd' ? FEATURES_VALUE_SLOTS : 0;
	return n >= 3 && (memchr("c=vd", at[0], 4) || is_piece(at)) && at[1] == ' ' && is_name(at + 2, n - 2);
}

static void add_piece(struct run_features *out, const char *at, size_t n)
{
	mem_append(out->pieces, out->n_pieces, &out->pieces_capacity, mem_bytes(at, n));
}

/* Adds the features of all lines of names, with the counts in their slots. */
static enum assay_status source_add(const struct source *s, struct parts *out, struct run_features *f, struct assay_error *err)
{
	const char *at = (const char *)s->bytes + s->header.header_bytes, *end = at + s->header.names_bytes;
	size_t slot = 0, counter = SIZE_MAX, line = 1, slots;

	for (const char *stop; at < end; at = stop + 1, line++, slot += slots) {
		stop = memchr(at, '\n', (size_t)(end - at));
		if (!stop || !line_slots(at, (size_t)(stop - at), &slots) || (at[0] == '=' && counter == SIZE_MAX))
			return assay_fail(err, ASSAY_E_FORMAT, "%s: line %zu of its names is damaged", s->name, line);
		if (slot + slots > s->header.slots || out->n >= RUN_FEATURES_MAX)
			return assay_fail(err, ASSAY_E_FORMAT, "%s: more names than counters", s->name);
		if (is_piece(at)) {
			add_piece(f, at, (size_t)(stop - at));
			continue;
		}
		if (at[0] != '=')
			counter = at[0] == 'c' ? slot : SIZE_MAX;
		if (slots > 1)
			add_values(s, at + 2, (size_t)(stop - at) - 2, at[0], slot, out);
		else
			add_count(s, mem_bytes(at + 2, (size_t)(stop - at) - 2), counter, out);
	}
	return ASSAY_OK;
}

static enum assay_status file_add(const char *name, const unsigned char *bytes, size_t size, struct parts *parts, struct run_features *out,
				  struct assay_error *err)
{
	struct source s = { .name = name, .bytes = bytes };
	enum assay_status st = source_check(&s, size, err);

	if (!st)
		st = source_add(&s, parts, out, err);
	out->files++;
	out->incomplete |= s.header.lost > 0;
	out->n_unfinished += !st && !s.header.finished;
	if (parts->n > ROOM_MIN && parts->n > 2 * parts->unique)
		parts_join(parts);
	return st;
}

/* ---- public functions ---- */

enum assay_status run_features_parse(const struct run_features_file *files, size_t n, struct run_features *out, struct assay_error *err)
{
	struct run_features f = { .n = 0 };
	struct parts parts = { .n = 0 };
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; i < n && !st; i++)
		st = file_add(files[i].name, (const unsigned char *)files[i].bytes, files[i].size, &parts, &f, err);
	if (!st)
		parts_take(&parts, &f);
	parts_release(&parts);
	*out = f;
	return st;
}

size_t run_features_count_files(const char *directory)
{
	struct assay_error ignored;
	char **names = NULL;
	size_t n = 0;

	if (file_list_names(directory, FEATURES_SUFFIX, &names, &n, &ignored))
		return 0;
	file_names_free(names, n);
	return n;
}

enum assay_status run_features_read(const char *directory, struct run_features *out, struct assay_error *err)
{
	struct run_features f = { .n = 0 };
	struct parts parts = { .n = 0 };
	char **names = NULL;
	size_t n = 0;
	enum assay_status st = file_list_names(directory, FEATURES_SUFFIX, &names, &n, err);

	if (!st && !n)
		st = assay_fail(err, ASSAY_E_NODATA, "'%s' has no feature file: build the program with 'assay build --for features'",
				directory);
	for (size_t i = 0; i < n && !st; i++) {
		char *path = mem_format("%s/%s", directory, names[i]);
		struct buf bytes = BUF_INIT;

		st = file_read(path, FILE_BYTES_MAX, &bytes, err);
		if (!st)
			st = file_add(path, (const unsigned char *)bytes.bytes, bytes.size, &parts, &f, err);
		buf_release(&bytes);
		free(path);
	}
	if (!st)
		parts_take(&parts, &f);
	parts_release(&parts);
	file_names_free(names, n);
	*out = f;
	return st;
}

ORDER_LOWER_BOUND(feature_at, struct run_feature, strcmp(x->name, name) < 0, const char *name)

const struct run_feature *run_features_find(const struct run_features *f, const char *name)
{
	size_t at = feature_at(f->items, f->n, name);

	return at < f->n && strcmp(f->items[at].name, name) == 0 ? &f->items[at] : NULL;
}

void run_features_release(struct run_features *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->items[i].name);
	free(f->items);
	mem_free_all(f->pieces, f->n_pieces);
	*f = (struct run_features){ 0 };
}

/* ---- text form ---- */

enum feature_kind feature_find_kind(const char *name)
{
	static const char *const counts[] = { "loop ", "branch ", "call ", "exception " };

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		if (strncmp(name, counts[i], strlen(counts[i])) == 0)
			return FEATURE_COUNT;
	return FEATURE_VALUE;
}

static enum assay_status line_add(const char *text, size_t n, size_t line, struct parts *out, struct assay_error *err)
{
	const char *blank = memchr(text, ' ', n);
	size_t digits = blank ? (size_t)(blank - text) : n;
	char *number = mem_bytes(text, digits), *name = blank ? mem_bytes(blank + 1, n - digits - 1) : mem_string("");
	double value = 0;
	enum assay_status st = ASSAY_OK;

	if (memchr(text, '\0', n) || !text_parse_double(number, &value))
		st = assay_fail(err, ASSAY_E_FORMAT, "line %zu: '%s' is not a number; a line is NUMBER NAME", line, TEXT_SANITIZED(number));
	else if (!is_name(name, strlen(name)))
		st = assay_fail(err, ASSAY_E_FORMAT, "line %zu: the name after the number is missing or invalid", line);
	else if (out->n >= RUN_FEATURES_MAX)
		st = assay_fail(err, ASSAY_E_LIMIT, "line %zu: more than %u features", line, RUN_FEATURES_MAX);
	else
		parts_add(out, mem_string(name), value, 1, feature_find_kind(name));
	mem_free(number, name);
	return st;
}

enum assay_status run_features_text_parse(const char *text, size_t n, struct run_features *out, struct assay_error *err)
{
	struct run_features f = { .n = 0 };
	struct parts parts = { .n = 0 };
	const char *end = text + n;
	enum assay_status st = ASSAY_OK;

	for (size_t line = 1; text < end && !st; line++) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		size_t bytes = (size_t)((stop ? stop : end) - text);

		if (bytes && text[bytes - 1] == '\r')
			bytes--;
		if (bytes)
			st = line_add(text, bytes, line, &parts, err);
		text = stop ? stop + 1 : end;
	}
	parts_join(&parts);
	for (size_t i = 0; i < parts.n && !st; i++)
		if (parts.items[i].kind == FEATURE_VALUE && parts.items[i].of > 1)
			st = assay_fail(err, ASSAY_E_FORMAT, "'%s' occurs twice", TEXT_SANITIZED(parts.items[i].name));
	if (!st)
		parts_take(&parts, &f);
	parts_release(&parts);
	*out = f;
	return st;
}

void run_features_print(const struct run_features *f, struct buf *out)
{
	for (size_t i = 0; i < f->n; i++)
		buf_format(out, "%s %s\n", TEXT_DOUBLE(f->items[i].value), f->items[i].name);
}
