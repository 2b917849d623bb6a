/* Tests the reader with files made by hand: values of a function without its callees, damaged files, and the joining of runs. */
#include "base/rng.h"
#include "runs/inside/record/record_writer.h"
#include "runs/inside/samples/samples_join.h"
#include "runs/inside/samples/samples.h"
#include "tests/scratch.h"

#include <math.h>

/* A sample file in memory, as the writer would make it: one chunk per thread, in the order of add(). */
struct file {
	struct buf names;
	struct {
		uint32_t thread;
		struct buf bytes;
		uint64_t n;
	} chunks[4];
	size_t n_chunks;
	uint32_t n_counters, back_end;
	bool brief;
};

#define CHUNK_BYTES 4096u

static void name(struct file *f, const char *line)
{
	buf_format(&f->names, "%s\n", line);
	f->n_counters += line[0] == 'c';
}

static void add(struct file *f, uint32_t thread, const struct record_sample *head, const uint64_t *values)
{
	size_t i = 0;

	while (i < f->n_chunks && f->chunks[i].thread != thread)
		i++;
	if (i == f->n_chunks)
		f->chunks[f->n_chunks++].thread = thread;
	if (f->brief) {
		struct record_brief brief;

		record_to_brief(head, &brief);
		buf_add(&f->chunks[i].bytes, (const char *)&brief, sizeof(brief));
	} else {
		buf_add(&f->chunks[i].bytes, (const char *)head, sizeof(*head));
	}
	buf_add(&f->chunks[i].bytes, (const char *)values, f->n_counters * sizeof(*values));
	f->chunks[i].n++;
}

static void pad(struct buf *out, size_t to)
{
	while (out->size < to)
		buf_char(out, '\0');
}

static void finish(struct file *f, struct buf *out)
{
	struct record_header header = {
		.version = f->brief ? RECORD_VERSION_BRIEF : RECORD_VERSION,
		.back_end = f->back_end,
		.header_bytes = 4096,
		.names_bytes_max = 4096,
		.chunk_bytes = CHUNK_BYTES,
		.n_counters = f->n_counters,
		.ticks_per_s = 1000000000u,
		.names_bytes = f->names.size,
		.chunks = f->n_chunks,
		.finished = 1,
	};

	memcpy(header.magic, RECORD_MAGIC, sizeof(header.magic));
	buf_clear(out);
	buf_add(out, (const char *)&header, sizeof(header));
	pad(out, 4096);
	buf_add(out, f->names.bytes, f->names.size);
	pad(out, 8192);
	for (size_t i = 0; i < f->n_chunks; i++) {
		const struct record_chunk chunk = { .magic = RECORD_CHUNK_MAGIC, .thread = f->chunks[i].thread, .samples = f->chunks[i].n };

		buf_add(out, (const char *)&chunk, sizeof(chunk));
		buf_add(out, f->chunks[i].bytes.bytes, f->chunks[i].bytes.size);
		pad(out, 8192 + (i + 1) * CHUNK_BYTES);
		buf_release(&f->chunks[i].bytes);
	}
	buf_release(&f->names);
}

static void parse(const struct buf *bytes, struct samples *out)
{
	struct assay_error err;

	if (samples_parse("test", bytes->bytes, bytes->size, out, &err))
		fail_msg("%s", err.text);
}

static const struct sample *find(const struct samples *s, const char *function, uint64_t ordinal, size_t *at)
{
	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->functions[s->items[i].function].name, function) && s->items[i].ordinal == ordinal)
			return *at = i, &s->items[i];
	fail_msg("no sample %s %d", function, (int)ordinal);
	return NULL;
}

/* main [0, 1000) calls a [100, 400), which calls b [200, 250) and b [300, 350); then main calls b [500, 600). */
static void nested(struct file *f)
{
	name(f, "c PAPI_TOT_INS");
	name(f, "f 1 m main");
	name(f, "f 2 m a");
	name(f, "f 3 m b");
	add(f, 0, &(struct record_sample){ .function = 2, .weight = 1, .ordinal = 0, .start = 200, .duration = 50, .depth = 2 },
	    (uint64_t[]){ 5 });
	add(f, 0, &(struct record_sample){ .function = 2, .weight = 1, .ordinal = 1, .start = 300, .duration = 50, .depth = 2 },
	    (uint64_t[]){ 5 });
	add(f, 0, &(struct record_sample){ .function = 1, .weight = 1, .ordinal = 0, .start = 100, .duration = 300, .depth = 1 },
	    (uint64_t[]){ 30 });
	add(f, 0, &(struct record_sample){ .function = 2, .weight = 1, .ordinal = 2, .start = 500, .duration = 100, .depth = 1 },
	    (uint64_t[]){ 10 });
	add(f, 0, &(struct record_sample){ .function = 0, .weight = 1, .ordinal = 0, .start = 0, .duration = 1000, .depth = 0 },
	    (uint64_t[]){ 100 });
}

static void test_alone(void **state)
{
	struct file f = { .n_chunks = 0 };
	struct buf bytes = BUF_INIT;
	struct samples s;
	size_t at;

	(void)state;
	nested(&f);
	finish(&f, &bytes);
	parse(&bytes, &s);
	assert_int_equal(s.n, 5);
	assert_true(find(&s, "a", 0, &at)->self_ns == 200);
	assert_true(s.self_counts[at] == 20);
	assert_true(find(&s, "main", 0, &at)->self_ns == 600);
	assert_true(s.self_counts[at] == 60 && s.values[at] == 100);
	assert_true(find(&s, "b", 2, &at)->self_ns == 100);
	assert_int_equal(s.functions[2].n, 3);
	samples_release(&s);
	buf_release(&bytes);
}

/* Checks an estimate: `a` made 8 calls of `b`, and one of them was sampled with weight 8. */
static void test_alone_is_estimated(void **state)
{
	struct file f = { .n_chunks = 0 };
	struct buf bytes = BUF_INIT;
	struct samples s;
	size_t at;

	(void)state;
	name(&f, "f 1 m a");
	name(&f, "f 2 m b");
	add(&f, 0,
	    &(struct record_sample){ .function = 1, .weight = 8, .start = 200, .duration = 10, .depth = 1, .flags = RECORD_ESTIMATED },
	    NULL);
	add(&f, 0, &(struct record_sample){ .function = 0, .weight = 1, .start = 100, .duration = 300, .flags = RECORD_ESTIMATED }, NULL);
	/* its caller was dropped; the next call of `a` started later and does not contain it */
	add(&f, 0, &(struct record_sample){ .function = 1, .weight = 8, .ordinal = 9, .start = 500, .duration = 10, .depth = 1 }, NULL);
	add(&f, 0, &(struct record_sample){ .function = 0, .weight = 1, .ordinal = 1, .start = 600, .duration = 300 }, NULL);
	finish(&f, &bytes);
	parse(&bytes, &s);
	assert_true(find(&s, "a", 0, &at)->self_ns == 220);
	assert_true(s.items[at].estimated);
	assert_true(find(&s, "a", 1, &at)->self_ns == 300);
	samples_release(&s);
	buf_release(&bytes);
}

/* Checks a callee `a` whose simulated counters are unknown: those of its caller stay known. The known misses of `b` are subtracted, and
 * the rest is divided by accesses. */
static void test_alone_beside_unsimulated(void **state)
{
	struct file f = { .n_chunks = 0, .back_end = RECORD_EMULATED };
	struct buf bytes = BUF_INIT;
	struct samples s;
	size_t at;

	(void)state;
	name(&f, "c emulated:accesses");
	name(&f, "c emulated:simulated");
	name(&f, "c emulated:l1_misses");
	name(&f, "f 1 m main");
	name(&f, "f 2 m a");
	name(&f, "f 3 m b");
	add(&f, 0, &(struct record_sample){ .function = 2, .weight = 1, .start = 20, .duration = 5, .depth = 2 },
	    (uint64_t[]){ 100, 100, 30 });
	add(&f, 0, &(struct record_sample){ .function = 1, .weight = 1, .start = 10, .duration = 50, .depth = 1 },
	    (uint64_t[]){ 300, 100, UINT64_MAX });
	add(&f, 0, &(struct record_sample){ .function = 0, .weight = 1, .duration = 90 }, (uint64_t[]){ 1100, 900, 130 });
	finish(&f, &bytes);
	parse(&bytes, &s);
	find(&s, "a", 0, &at);
	assert_true(s.self_counts[3 * at] == 200 && isnan(s.self_counts[3 * at + 2]));
	find(&s, "main", 0, &at);
	assert_true(s.self_counts[3 * at] == 800 &&
		    fabs(s.self_counts[3 * at + 2] - 80) < 1e-9); /* 130 - 30 of b, times 800 / (800 + 200) */
	samples_release(&s);
	buf_release(&bytes);
}

static void test_vector(void **state)
{
	struct file f = { .n_chunks = 0 };
	struct buf bytes = BUF_INIT;
	struct samples s;
	double vector[3];

	(void)state;
	name(&f, "c PAPI_L1_DCM");
	name(&f, "c PAPI_TOT_INS");
	name(&f, "c PAPI_BR_MSP");
	name(&f, "f 1 m a");
	add(&f, 0, &(struct record_sample){ .weight = 1, .threads = 4 }, (uint64_t[]){ 100, 1000, UINT64_MAX });
	add(&f, 0, &(struct record_sample){ .weight = 1, .ordinal = 1 }, (uint64_t[]){ 100, 0, 1 });
	finish(&f, &bytes);
	parse(&bytes, &s);
	samples_fill_vector(&s, 0, false, vector);
	assert_true(vector[0] == .1 / 4 && vector[1] == 250 && isnan(vector[2]));
	samples_fill_vector(&s, 0, true, vector);
	assert_true(vector[1] == 250 && isnan(vector[2])); /* an uncounted value is not counted without nested calls either */
	samples_fill_vector(&s, 1, false, vector);
	assert_true(isnan(vector[0]) && vector[1] == 0); /* no work was done */
	samples_release(&s);
	buf_release(&bytes);
}

/* ---- totals ---- */

/* Writes totals: of `a` from two threads, one with an estimated error; of `b` from one of two callers; of `c` only the number of calls. */
static void totals(struct file *f)
{
	const uint64_t none[] = { UINT64_MAX, UINT64_MAX };

	name(f, "c emulated:accesses");
	name(f, "c emulated:l1_misses");
	name(f, "f 1 m a");
	name(f, "f 2 m b");
	name(f, "f 3 m c");
	add(f, 1, &(struct record_sample){ .flags = RECORD_TOTAL | RECORD_ERROR, .weight = 9 }, (uint64_t[]){ 0, 4 });
	add(f, 1, &(struct record_sample){ .ordinal = 10, .flags = RECORD_TOTAL }, (uint64_t[]){ 1000, 50 });
	add(f, 0, &(struct record_sample){ .weight = 1 }, (uint64_t[]){ 300, UINT64_MAX });
	add(f, 0, &(struct record_sample){ .ordinal = 2, .flags = RECORD_TOTAL }, (uint64_t[]){ 500, 25 });
	add(f, 0, &(struct record_sample){ .function = 1, .weight = 1 }, (uint64_t[]){ 7, 7 });
	add(f, 1, &(struct record_sample){ .function = 1, .ordinal = 3, .flags = RECORD_TOTAL }, (uint64_t[]){ 70, 70 });
	add(f, 1, &(struct record_sample){ .function = 2, .ordinal = 4, .flags = RECORD_TOTAL }, none);
}

static void test_totals(void **state)
{
	struct file f = { .n_chunks = 0, .back_end = RECORD_EMULATED };
	struct samples_total total;
	struct buf bytes = BUF_INIT;
	struct samples s;

	(void)state;
	totals(&f);
	finish(&f, &bytes);
	parse(&bytes, &s);
	assert_int_equal(s.n, 2);
	assert_int_equal(s.n_calls, 4);
	samples_total_find(&s, 0, &total);
	assert_true(total.known && total.complete && total.calls == 12 && total.threads == 2 && total.bursts == 9);
	assert_true(total.sums[0] == 1500 && total.sums[1] == 75 && total.errors[0] == 0 && total.errors[1] == 4);
	samples_total_release(&total);
	samples_total_find(&s, 1, &total);
	assert_true(!total.known && !total.complete && total.calls == 3 && total.threads == 2 && total.sums[0] == 70);
	samples_total_release(&total);
	samples_total_find(&s, 2, &total);
	assert_true(total.known && total.calls == 4 && total.bursts == 0 && isnan(total.sums[0]) && isnan(total.errors[1]));
	samples_total_release(&total);
	samples_release(&s);
	buf_release(&bytes);
}

/* ---- damaged files ---- */

static void set32(struct buf *b, size_t at, uint32_t value)
{
	memcpy(b->bytes + at, &value, sizeof(value));
}

static void test_damaged(void **state)
{
	static const struct {
		const char *what;
		size_t at;
		uint32_t value;
		enum assay_status status;
	} rows[] = {
		{ "magic", 0, 1, ASSAY_E_FORMAT },
		{ "a newer version", 8, RECORD_VERSION_PACKED + 1, ASSAY_E_VERSION },
		{ "version 0", 8, 0, ASSAY_E_FORMAT },
		{ "counters in brief samples", 8, RECORD_VERSION_BRIEF, ASSAY_E_FORMAT },
		{ "back end", 12, 77, ASSAY_E_FORMAT },
		{ "header's size", 16, 100, ASSAY_E_FORMAT },
		{ "room for names", 20, 1u << 30, ASSAY_E_FORMAT },
		{ "chunk's size", 24, 12, ASSAY_E_FORMAT },
		{ "no chunk's size", 24, 0, ASSAY_E_FORMAT },
		{ "more counters than names", 28, 2, ASSAY_E_FORMAT },
		{ "too many counters", 28, 1000, ASSAY_E_FORMAT },
	};
	struct file f = { .n_chunks = 0 };
	struct buf bytes = BUF_INIT;
	struct assay_error err;
	struct samples s;

	(void)state;
	nested(&f);
	finish(&f, &bytes);
	for (size_t i = 0; i < COUNT(rows); i++) {
		uint32_t old;

		memcpy(&old, bytes.bytes + rows[i].at, sizeof(old));
		set32(&bytes, rows[i].at, rows[i].value);
		if (samples_parse("f", bytes.bytes, bytes.size, &s, &err) != rows[i].status)
			fail_msg("%s", rows[i].what);
		assert_non_null(strstr(err.text, "f: "));
		set32(&bytes, rows[i].at, old);
	}
	parse(&bytes, &s);
	samples_release(&s);
	memcpy(bytes.bytes, RECORD_MAGIC_PRE_RELEASE, 8);
	for (size_t n = 8; n <= bytes.size; n += bytes.size - 8)
		check_fails("of a pre-release", samples_parse("f", bytes.bytes, n, &s, &err), ASSAY_E_VERSION, &err,
			    "f: made by a pre-release of assay");
	buf_release(&bytes);
}

/* Checks nested() with costs of measuring: 10 ticks and 2 instructions inside each call, 30 and 5 around each nested call. */
static void test_costs(void **state)
{
	static const struct {
		const char *function;
		uint64_t ordinal;
		double ns, self_ns, value, alone, error_ns, self_error_ns;
	} rows[] = {
		{ "b", 0, 40, 40, 3, 3, 5, 5 },
		{ "b", 2, 90, 90, 8, 8, 5, 5 },
		{ "a", 0, 230, 150, 18, 12, 5 + 2 * 2, 5 + 2 * 2 + 2 * 5 }, /* 300 - 10 - 2 * 30; - 2 * 40 */
		{ "main", 0, 870, 550, 78, 52, 5 + 4 * 2, 5 + 4 * 2 + 9 + 5 },
	};
	struct file f = { .back_end = RECORD_PAPI };
	struct buf bytes = BUF_INIT;
	struct samples s;

	(void)state;
	name(&f, "i cost_inside 10 3 2 0");
	name(&f, "i cost_around 30 2 5 1");
	name(&f, "i cost_around_rare 300 2 5 1");
	nested(&f);
	finish(&f, &bytes);
	parse(&bytes, &s);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t at;
		const struct sample *sample = find(&s, rows[i].function, rows[i].ordinal, &at);

		assert_true(fabs(sample->ns - (rows[i].ns)) < 1e-9);
		assert_true(fabs(sample->self_ns - (rows[i].self_ns)) < 1e-9);
		assert_true(fabs(s.values[at] - (rows[i].value)) < 1e-9);
		assert_true(fabs(s.self_counts[at] - (rows[i].alone)) < 1e-9);
		assert_true(fabs(sample->error_ns - (rows[i].error_ns)) < 1e-6);
		assert_true(fabs(sample->self_error_ns - (rows[i].self_error_ns)) < 1e-6);
	}
	samples_release(&s);
	buf_release(&bytes);
}

/* Checks a call with weight 16. The result is at least 0 even if measuring costs more than the call took. Then checks files of an older
 * probe with missing or damaged cost lines: nothing is subtracted. */
static void test_costs_of_few(void **state)
{
	static const struct {
		const char *line;
		double inner, outer, unsure;
	} rows[] = {
		{ "i cost_inside 80 6", 0, 620, 40 },	 { "i cost_clock_ticks 80", 50, 200, 60 }, { "i cost_inside 80", 50, 200, 60 },
		{ "i cost_inside 80 6 7", 50, 200, 60 }, { "i cost_inside 80 x", 50, 200, 60 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct file f = { .back_end = RECORD_TIME, .brief = true };
		struct buf bytes = BUF_INIT;
		struct samples s;

		name(&f, "f 1 m outer");
		name(&f, "f 2 m inner");
		name(&f, rows[i].line);
		name(&f, "i cost_around 30 2");
		name(&f, "i cost_around_rare 300 2");
		add(&f, 0, &(struct record_sample){ .function = 1, .weight = 16, .start = 100, .duration = 50, .depth = 1 }, NULL);
		add(&f, 0, &(struct record_sample){ .function = 0, .weight = 1, .start = 0, .duration = 1000, .depth = 0 }, NULL);
		finish(&f, &bytes);
		parse(&bytes, &s);
		assert_int_equal(s.n, 2);
		assert_true(fabs(s.items[1].self_ns - (rows[i].inner)) < 1e-9);
		assert_true(fabs(s.items[0].self_ns - (rows[i].outer)) < 1e-9);
		assert_true(fabs(s.items[1].error_ns - (rows[i].unsure)) < 1e-6);
		samples_release(&s);
		buf_release(&bytes);
	}
}

/* Checks that a file cut at any byte is read up to the last complete sample. */
static void test_truncated(void **state)
{
	const size_t first = 8192 + sizeof(struct record_chunk), each = sizeof(struct record_sample) + 8;
	struct file f = { .n_chunks = 0 };
	struct buf bytes = BUF_INIT;
	struct assay_error err;
	struct samples s;

	(void)state;
	nested(&f);
	finish(&f, &bytes);
	for (size_t n = 0; n <= bytes.size; n += n < 4096 ? 1024 : 7) {
		enum assay_status st = samples_parse("f", bytes.bytes, n, &s, &err);
		size_t whole = n < first ? 0 : (n - first) / each < 5 ? (n - first) / each : 5;

		if (st) {
			assert_true(n < 4096 + 15); /* before the counter's name is complete */
			continue;
		}
		if (s.n_functions == 3)
			assert_int_equal(s.n, whole);
		assert_true(s.truncated == (s.n_functions < 3 || whole < 5));
		samples_release(&s);
	}
	buf_release(&bytes);
}

/* Checks that brief samples, which have no counters, are read back the same. */
static void test_brief(void **state)
{
	static const struct {
		uint32_t function, weight;
		uint64_t ordinal, start, duration;
		uint32_t depth, threads, flags;
	} rows[] = {
		{ 1, 8, 5, 200, 10, 1, 3, RECORD_ESTIMATED },
		{ 0, 1, UINT64_MAX / 3, 100, 300, 0, 3, RECORD_UNWOUND },
		{ 1, 1u << 16, 9, 500, 1ull << 40, 0, 1, 0 },
		{ 1, 0, 70000, 900, 0, 0, 0, RECORD_TOTAL },
	};
	struct samples read[2];

	(void)state;
	for (int brief = 0; brief < 2; brief++) {
		struct file f = { .n_chunks = 0, .brief = brief };
		struct buf bytes = BUF_INIT;

		name(&f, "f 1 m a");
		name(&f, "f 2 m b");
		for (size_t i = 0; i < COUNT(rows); i++)
			add(&f, 0,
			    &(struct record_sample){ .function = rows[i].function,
						     .weight = rows[i].weight,
						     .ordinal = rows[i].ordinal,
						     .start = rows[i].start,
						     .duration = rows[i].duration,
						     .depth = rows[i].depth,
						     .threads = rows[i].threads,
						     .flags = rows[i].flags },
			    NULL);
		finish(&f, &bytes);
		parse(&bytes, &read[brief]);
		buf_release(&bytes);
	}
	assert_int_equal(read[1].n, 3);
	assert_int_equal(read[0].n, 3);
	for (size_t i = 0; i < 3; i++) {
		const struct sample *a = &read[0].items[i], *b = &read[1].items[i];

		assert_int_equal(a->function, b->function);
		assert_int_equal(a->weight, b->weight);
		assert_int_equal(a->threads, b->threads);
		assert_int_equal(a->depth, b->depth);
		assert_int_equal(a->ordinal, b->ordinal);
		assert_true(a->unwound == b->unwound && a->estimated == b->estimated);
		assert_true(a->start_s == b->start_s && a->ns == b->ns && a->self_ns == b->self_ns);
	}
	assert_int_equal(read[1].n_calls, 1);
	assert_int_equal(read[1].calls[0].calls, 70000);
	samples_release(&read[0]);
	samples_release(&read[1]);
}

/* Checks samples in recorded order: the same samples, with their callees included. A limit selects a random part of them. */
static void test_in_order(void **state)
{
	struct samples all, some;
	struct assay_error err;
	struct file f = { .n_chunks = 0 };
	struct buf bytes = BUF_INIT;
	size_t found = 0;

	(void)state;
	nested(&f);
	for (uint32_t i = 0; i < 40; i++)
		add(&f, 1, &(struct record_sample){ .function = i % 2, .weight = 1, .ordinal = i, .start = 10 * i, .duration = i },
		    (uint64_t[]){ i });
	finish(&f, &bytes);
	check(samples_parse_in_order("test", bytes.bytes, bytes.size, 0, &all, &err), &err);
	assert_int_equal(all.n, 45);
	for (size_t i = 0; i < 5; i++) {
		static const double starts_s[] = { 200e-9, 300e-9, 100e-9, 500e-9, 0 }, counts[] = { 5, 5, 30, 10, 100 };

		assert_int_equal(all.items[i].thread, 0);
		assert_float_equal(all.items[i].start_s, starts_s[i], 1e-12);
		assert_float_equal(all.values[i], counts[i], 0);
	}
	for (size_t i = 5; i < 45; i++)
		assert_true(all.items[i].thread == 1 && all.items[i].ordinal == i - 5 && all.values[i] == (double)(i - 5));
	check(samples_parse_in_order("test", bytes.bytes, bytes.size, 1, &some, &err), &err);
	assert_in_range(some.n, 12, 33); /* about half of 45; chosen by a hash, so that it never varies */
	for (size_t i = 0; i < some.n; i++)
		for (; found < all.n && (all.items[found].thread != some.items[i].thread ||
					 all.items[found].start_s != some.items[i].start_s || all.values[found] != some.values[i]);)
			found++;
	assert_true(found < all.n);
	samples_release(&all);
	samples_release(&some);
	buf_release(&bytes);
}

static void test_brief_damaged(void **state)
{
	struct file f = { .n_chunks = 0, .brief = true };
	struct buf bytes = BUF_INIT;
	struct samples s;

	(void)state;
	name(&f, "f 1 m a");
	add(&f, 0, &(struct record_sample){ .weight = 1, .threads = 1u << 20 }, NULL);
	add(&f, 0, &(struct record_sample){ .weight = 1 }, NULL);
	finish(&f, &bytes);
	bytes.bytes[8192 + sizeof(struct record_chunk) + sizeof(struct record_brief) + 2] = 32; /* a weight of 2^32 */
	parse(&bytes, &s);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.unreadable, 1);
	assert_int_equal(s.items[0].threads, UINT16_MAX);
	samples_release(&s);
	buf_release(&bytes);
}

static void test_unknown_function(void **state)
{
	struct file f = { .n_chunks = 0 };
	struct buf bytes = BUF_INIT;
	struct samples s;

	(void)state;
	name(&f, "f 1 m a");
	add(&f, 0, &(struct record_sample){ .function = 1, .weight = 1 }, NULL);
	add(&f, 0, &(struct record_sample){ .function = 0, .weight = 1 }, NULL);
	finish(&f, &bytes);
	parse(&bytes, &s);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.unreadable, 1);
	samples_release(&s);
	buf_release(&bytes);
}

/* ---- joining ---- */

struct run {
	const char *counter, *input;
	uint64_t calls, first, step; /* ordinals first, first + step, ... below calls are sampled; calls = 0: no total */
	uint32_t back_end;
};

static void run_make(const struct run *run, struct samples *out)
{
	struct file f = { .back_end = run->back_end };
	struct buf bytes = BUF_INIT;
	char *line = mem_format("c %s", run->counter), *input = mem_format("i input %s", run->input ? run->input : "");
	uint64_t calls = run->calls ? run->calls : 20;

	name(&f, "c PAPI_TOT_INS");
	name(&f, line);
	name(&f, "f 10 m f");
	if (run->input)
		name(&f, input);
	for (uint64_t i = run->first; i < calls; i += run->step)
		add(&f, 0, &(struct record_sample){ .weight = 1, .ordinal = i, .duration = i }, (uint64_t[]){ 1000, 10 * i });
	if (run->calls)
		add(&f, 0, &(struct record_sample){ .ordinal = run->calls, .flags = RECORD_TOTAL }, (uint64_t[]){ UINT64_MAX, UINT64_MAX });
	finish(&f, &bytes);
	parse(&bytes, out);
	buf_release(&bytes);
	free(line);
	free(input);
}

static void test_join(void **state)
{
	static const struct {
		const char *what;
		struct run a, b;
		enum samples_join_outcome outcome;
		size_t rows;
		enum assay_status status;
	} rows[] = {
		{ "all of both", { "A", NULL, 20, 0, 1, 1 }, { "B", NULL, 20, 0, 1, 1 }, SAMPLES_JOINED, 20, ASSAY_OK },
		{ "sampled more seldom in one", { "A", NULL, 20, 0, 1, 1 }, { "B", NULL, 20, 0, 4, 1 }, SAMPLES_JOINED, 5, ASSAY_OK },
		{ "never the same ones", { "A", NULL, 20, 0, 2, 1 }, { "B", NULL, 20, 1, 2, 1 }, SAMPLES_NO_COMMON_CALL, 0, ASSAY_OK },
		{ "called more often in one", { "A", NULL, 20, 0, 1, 1 }, { "B", NULL, 21, 0, 1, 1 }, SAMPLES_CALLS_DIFFER, 0, ASSAY_OK },
		{ "one was killed", { "A", NULL, 20, 0, 1, 1 }, { "B", NULL, 0, 0, 1, 1 }, SAMPLES_CALLS_UNKNOWN, 0, ASSAY_OK },
		{ "other inputs", { "A", "x", 20, 0, 1, 1 }, { "B", "y", 20, 0, 1, 1 }, SAMPLES_JOINED, 0, ASSAY_E_USAGE },
		{ "other back ends", { "A", NULL, 20, 0, 1, 1 }, { "B", NULL, 20, 0, 1, 2 }, SAMPLES_JOINED, 0, ASSAY_E_USAGE },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct samples a, b;
		const struct samples *runs[] = { &a, &b };
		struct samples_join join;
		struct assay_error err;
		double vector[3];

		run_make(&rows[i].a, &a);
		run_make(&rows[i].b, &b);
		if (samples_join(runs, 2, &join, &err) != rows[i].status)
			fail_msg("%s", rows[i].what);
		if (!rows[i].status) {
			assert_int_equal(join.n_columns, 3); /* the common instructions only once */
			assert_int_equal(join.n, 1);
			if (join.functions[0].outcome != rows[i].outcome || join.functions[0].n != rows[i].rows)
				fail_msg("%s: %d, %zu rows", rows[i].what, (int)join.functions[0].outcome, join.functions[0].n);
			for (size_t k = 0; k < join.functions[0].n && join.functions[0].outcome == SAMPLES_JOINED; k++) {
				samples_join_vector(&join, 0, k, false, vector);
				assert_true(vector[0] == 1000 && vector[1] == vector[2]);
			}
			samples_join_release(&join);
		}
		samples_release(&a);
		samples_release(&b);
	}
}

/* ---- means of randomly chosen calls ---- */

/* Typical lengths of a function's calls: most are similar, and a few are long. */
struct lengths {
	const char *what;
	double one_in, times; /* one call in `one_in` is `times` as long */
	double spread;	      /* standard deviation of the logarithm of a length */
	size_t n;	      /* number of samples */
};

static double length_drawn(const struct lengths *l, struct rng *rng)
{
	return 100 * (rng_double(rng) * l->one_in < 1 ? l->times : 1) * exp(l->spread * rng_normal(rng));
}

static double length_mean(const struct lengths *l)
{
	return 100 * (1 + (l->times - 1) / l->one_in) * exp(l->spread * l->spread / 2);
}

/* Checks that intervals contain the mean of all calls, and that few samples give no interval. */
static void test_means_cover(void **state)
{
	static const struct lengths rows[] = {
		{ "nearly the same", 1e9, 1, .1, 100 }, { "every twentieth is long", 20, 50, .1, 100 },
		{ "every fortieth", 40, 100, .1, 200 }, { "log-normal", 1e9, 1, 1, 100 },
		{ "wide", 1e9, 1, 1.5, 100 },		{ "wide, and many", 1e9, 1, 1.5, 600 },
		{ "every tenth", 10, 20, .5, 300 },	{ "too few", 20, 50, .1, 15 },
		{ "still too few", 1e9, 1, .1, 90 },
	};
	static struct sample items[600];
	struct samples_function function = { .n = 0 };
	struct samples s = { .functions = &function, .n_functions = 1, .items = items };
	struct rng rng;

	(void)state;
	rng_seed(&rng, 1);
	for (size_t r = 0; r < COUNT(rows); r++) {
		unsigned held = 0, trials = 500;

		function.n = s.n = rows[r].n;
		for (unsigned k = 0; k < trials; k++) {
			struct samples_estimate_mean mean;
			double truth = length_mean(&rows[r]);

			for (size_t i = 0; i < s.n; i++)
				items[i] = (struct sample){ .weight = 64, .ns = length_drawn(&rows[r], &rng) };
			mean = samples_estimate_mean(&s, 0, SAMPLES_MEAN_NS);
			held += isnan(mean.low) ? 0 : mean.low <= truth && truth <= mean.high;
			if (isnan(mean.low) != (s.n < SAMPLES_MEAN_MIN) || isnan(mean.high) != isnan(mean.low))
				fail_msg("%s: %g to %g", rows[r].what, mean.low, mean.high);
		}
		if (s.n >= SAMPLES_MEAN_MIN && held < trials * 9 / 10)
			fail_msg("%s: %u of %u means lie in their intervals", rows[r].what, held, trials);
	}
}

/* Checks that nothing is estimated if all calls are samples, even if there are few. */
static void test_mean_of_all(void **state)
{
	struct sample items[] = { { .weight = 1, .ns = 10 }, { .weight = 1, .ns = 1000 }, { .weight = 1, .ns = 40 } };
	struct samples_function function = { .n = COUNT(items) };
	struct samples s = { .functions = &function, .n_functions = 1, .items = items, .n = COUNT(items) };
	struct samples_estimate_mean mean = samples_estimate_mean(&s, 0, SAMPLES_MEAN_NS);

	(void)state;
	assert_true(mean.mean == 350 && mean.low == 350 && mean.high == 350);
}

int suite_samples(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alone),	    cmocka_unit_test(test_alone_is_estimated),
		cmocka_unit_test(test_vector),	    cmocka_unit_test(test_alone_beside_unsimulated),
		cmocka_unit_test(test_totals),	    cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_costs),	    cmocka_unit_test(test_costs_of_few),
		cmocka_unit_test(test_truncated),   cmocka_unit_test(test_unknown_function),
		cmocka_unit_test(test_join),	    cmocka_unit_test(test_brief),
		cmocka_unit_test(test_in_order),    cmocka_unit_test(test_brief_damaged),
		cmocka_unit_test(test_means_cover), cmocka_unit_test(test_mean_of_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
