/* Tests the writer of sample files inside a process, by reading its files. */
#include "tests/runs/recording.h"

#include "runs/inside/record/record_pack.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>

static void test_what_is_written_is_read(void **state)
{
	struct record_writer w;
	struct record_thread t = { 0 };
	struct samples s;

	(void)state;
	assert_int_equal(record_open(&w, &options), 0);
	assert_int_equal(record_add_function(&w, 0x1234, "abcdef", "f(int, long)"), 0);
	assert_int_equal(record_add_function(&w, 0x99, "", "new\nline"), 1);
	assert_true(record_add_info(&w, "input", "a b\nc"));
	for (uint64_t i = 0; i < 20000; i++) /* enough for several chunks */
		assert_true(put(&w, &t, i & 1, i / 2, i));
	record_close(&w);
	read_file(w.path, &s);
	assert_true(s.finished && !s.truncated);
	assert_int_equal(s.n, 20000);
	assert_int_equal(s.n_functions, 2);
	assert_string_equal(s.functions[0].name, "f(int, long)");
	assert_string_equal(s.functions[0].module, "abcdef");
	assert_int_equal(s.functions[0].address, 0x1234);
	assert_string_equal(s.functions[1].module, "-");
	assert_string_equal(s.functions[1].name, "new?line");
	assert_string_equal(samples_info(&s, "input"), "a b?c");
	assert_int_equal(s.n_counters, 2);
	for (size_t i = 0; i < s.n; i++) {
		assert_int_equal(s.items[i].function, i / 10000);
		assert_int_equal(s.items[i].ordinal, i % 10000);
		assert_true(s.values[2 * i] == (double)(2 * (i % 10000) + i / 10000));
		assert_true(s.values[2 * i + 1] != s.values[2 * i + 1]);
	}
	samples_release(&s);
}

/* ---- reading during the creation of a file ---- */

#define BEGUN_FILES 300u

/* Reads each file as soon as its first byte exists. Returns the number of incomplete headers. */
static void *look_at_beginnings(void *argument)
{
	char path[600];
	size_t torn = 0;

	for (unsigned n = 0; n < BEGUN_FILES; n++) {
		const volatile struct record_header *h;
		struct record_header copy;
		struct stat info = { .st_size = 0 };
		int file = -1;

		snprintf(path, sizeof(path), "%s/%d-%u.samples", (const char *)argument, (int)getpid(), n);
		while (file < 0)
			file = open(path, O_RDONLY);
		while (fstat(file, &info) == 0 && info.st_size < (off_t)sizeof(copy))
			;
		h = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
		close(file);
		while (!h->magic[0])
			;
		memcpy(&copy, (const void *)(uintptr_t)h, sizeof(copy));
		torn += copy.check != record_header_check(&copy);
		munmap((void *)(uintptr_t)h, 4096);
	}
	return (void *)torn;
}

static void test_begun_whole(void **state)
{
	struct record_writer w;
	pthread_t reader;
	void *torn;

	(void)state;
	assert_int_equal(pthread_create(&reader, NULL, look_at_beginnings, (void *)(uintptr_t)options.directory), 0);
	for (unsigned i = 0; i < BEGUN_FILES; i++) {
		assert_int_equal(record_open(&w, &options), 0);
		record_close(&w);
	}
	pthread_join(reader, &torn);
	assert_null(torn);
}

/* Checks that a new file with the same name is not written to. The mapped file gets all samples. */
static void test_replaced(void **state)
{
	struct record_writer w;
	struct record_thread t = { 0 };
	struct stat other;
	struct samples s;
	FILE *f;

	(void)state;
	assert_int_equal(record_open(&w, &options), 0);
	record_add_function(&w, 1, "m", "f");
	assert_true(put(&w, &t, 0, 0, 0));
	assert_int_equal(rename(w.path, "elsewhere"), 0);
	f = fopen(w.path, "w");
	assert_non_null(f);
	fclose(f);
	for (uint64_t i = 1; i < 20000; i++) /* enough for several chunks */
		assert_true(put(&w, &t, 0, i, i));
	record_close(&w);
	assert_int_equal(stat(w.path, &other), 0);
	assert_int_equal(other.st_size, 0);
	read_file("elsewhere", &s);
	assert_int_equal(s.n, 20000);
	samples_release(&s);
}

/* ---- threads ---- */

struct worker {
	struct record_writer *w;
	uint32_t function;
};

static void *work(void *argument)
{
	struct worker *worker = argument;
	struct record_thread t = { 0 };

	worker->function = record_add_function(worker->w, 1, "m", "f");
	for (uint64_t i = 0; i < 10000; i++)
		put(worker->w, &t, worker->function, i, i);
	return NULL;
}

static void test_threads_do_not_wait(void **state)
{
	struct record_writer w;
	struct worker workers[8];
	pthread_t threads[8];
	struct samples s;

	(void)state;
	assert_int_equal(record_open(&w, &options), 0);
	for (int i = 0; i < 8; i++) {
		workers[i].w = &w;
		assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
	}
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	record_close(&w);
	read_file(w.path, &s);
	assert_int_equal(s.n, 80000);
	assert_int_equal(s.n_functions, 8);
	for (int i = 0; i < 8; i++) {
		const struct samples_function *f = &s.functions[i];

		assert_int_equal(f->n, 10000); /* every number occurs once, and the samples are of one thread */
		for (size_t k = 0; k < f->n; k++) {
			assert_int_equal(s.items[f->first + k].ordinal, k);
			assert_int_equal(s.items[f->first + k].thread, s.items[f->first].thread);
		}
	}
	samples_release(&s);
}

/* ---- ends of processes ---- */

static void test_killed(void **state)
{
	char path[RECORD_PATH_BYTES + 64];
	struct samples s;
	int status;
	pid_t child = fork();

	(void)state;
	if (child == 0) {
		struct record_writer w;
		struct record_thread t = { 0 };

		record_open(&w, &options);
		record_add_function(&w, 1, "m", "f");
		for (uint64_t i = 0; i < 7777; i++)
			put(&w, &t, 0, i, i);
		raise(SIGKILL);
	}
	waitpid(child, &status, 0);
	snprintf(path, sizeof(path), "%d-0.samples", (int)child);
	read_file(path, &s);
	assert_int_equal(s.n, 7777);
	assert_false(s.finished);
	samples_release(&s);
}

static void test_fork(void **state)
{
	struct record_writer w;
	struct record_thread t = { 0 };
	char path[RECORD_PATH_BYTES + 64];
	struct samples s;
	pid_t child;
	int status;

	(void)state;
	assert_int_equal(record_open(&w, &options), 0);
	record_add_function(&w, 1, "m", "f");
	put(&w, &t, 0, 0, 5);
	child = fork();
	if (child == 0) {
		if (put(&w, &t, 0, 1, 6)) /* before record_reopen_in_child(), the child must not write to the parent's file */
			_exit(1);
		if (record_reopen_in_child(&w, &t) || record_add_function(&w, 2, "m", "g") != 1 || !put(&w, &t, 0, 1, 7) ||
		    !put(&w, &t, 1, 0, 8))
			_exit(2);
		record_close(&w);
		_exit(0);
	}
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
	put(&w, &t, 0, 1, 9);
	record_close(&w);
	read_file(w.path, &s);
	assert_int_equal(s.n, 2);
	assert_int_equal(s.n_functions, 1);
	assert_true(s.values[2] == 9);
	samples_release(&s);
	snprintf(path, sizeof(path), "%d-0.samples", (int)child);
	read_file(path, &s);
	assert_int_equal(s.n, 2);
	assert_int_equal(s.n_functions, 2);
	assert_string_equal(s.functions[0].name, "f");
	assert_int_equal(s.pid, child);
	samples_release(&s);
}

/* Checks a clock that jumps back, as in a migrated virtual machine: the earlier frequency stays in use. */
static void test_clock_goes_backwards(void **state)
{
	struct record_options own = options;
	struct record_writer w;
	struct samples s;

	(void)state;
	own.ticks_per_s = 0;
	assert_int_equal(record_open(&w, &own), 0);
	w.first.ticks += UINT64_C(1) << 60;
	w.first.ns -= 1000000000u;
	record_close(&w);
	read_file(w.path, &s);
	assert_true(s.ns_per_tick > .01 && s.ns_per_tick < 100);
	samples_release(&s);
}

static void test_build_id(void **state)
{
	static const struct {
		uint32_t words[12];
		size_t n;
		const char *id;
	} rows[] = {
		{ { 0 }, 0, "" },
		{ { 4, 4, 3, 0x554e47, 0x04030201 }, 20, "01020304" },
		{ { 4, 4, 3, 0x554e47, 0x04030201 }, 19, "" },
		{ { 4, 4, 3 }, 12, "" },
		{ { 4, 4, 3, 0x6f47, 0x04030201 }, 20, "" }, /* a note of the owner "Go", not "GNU" */
		{ { 4, 4, 1, 0x554e47, 0x04030201, 4, 4, 3, 0x554e47, 0x08070605 }, 40, "05060708" },
		{ { 5, 3, 1, 0x554e47, 0, 0x04030201, 4, 1, 3, 0x554e47, 0x08 }, 44, "08" }, /* sizes are rounded up to 4 */
		{ { UINT32_MAX, 4, 3, 0x554e47, 0 }, 20, "" },
		{ { 4, UINT32_MAX, 3, 0x554e47, 0 }, 20, "" },
		{ { 4, 0x7ffffffc, 3, 0x554e47, 0 }, 20, "" },
		{ { 0, 0, 0, 0, 0, 0, 0, 0, 0 }, 36, "" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char *bytes = mem_bytes((const char *)rows[i].words, rows[i].n);
		char id[RECORD_BUILD_ID_BYTES];

		record_build_id(bytes, rows[i].n, id);
		assert_string_equal(id, rows[i].id);
		free(bytes);
	}
}

static void test_brief(void **state)
{
	struct record_options brief = { .directory = ".", .brief = true, .ticks_per_s = TICKS };
	struct record_writer w;
	struct record_thread t = { 0 };
	struct samples s;

	(void)state;
	brief.n_counters = 1;
	assert_int_equal(record_open(&w, &brief), EINVAL);
	brief.n_counters = 0;
	assert_int_equal(record_open(&w, &brief), 0);
	record_add_function(&w, 1, "m", "f");
	for (uint64_t i = 0; i < 40000; i++) { /* enough for several chunks */
		const struct record_sample head = {
			.weight = 1u << i % 17, .ordinal = i, .duration = 3 * i, .flags = i & 1 ? RECORD_ESTIMATED : 0
		};
		struct record_brief *sample = (struct record_brief *)record_begin(&w, &t);

		if (!sample)
			fail_msg("sample %zu was dropped", (size_t)i);
		else
			record_to_brief(&head, sample);
		record_commit(&w, &t);
	}
	record_close(&w);
	read_file(w.path, &s);
	assert_int_equal(s.n, 40000);
	for (size_t i = 0; i < s.n; i++) {
		assert_int_equal(s.items[i].ordinal, i);
		assert_int_equal(s.items[i].weight, 1u << i % 17);
		assert_true(s.items[i].ns == (double)(3 * i) && s.items[i].estimated == (i & 1));
	}
	samples_release(&s);
}

/* Checks that values of all sizes, known and unknown, are read back unchanged from several chunks. */
static void test_packed(void **state)
{
	struct record_options packed = { .directory = ".", .packed = true, .counters = counters, .n_counters = 2, .ticks_per_s = TICKS };
	uint64_t memory[RECORD_PACK_WORDS(2)], bytes = 0;
	struct record_writer w;
	struct record_thread t = { 0 };
	struct samples s;

	(void)state;
	packed.chunk_bytes = 4096;
	assert_int_equal(record_open(&w, &packed), 0);
	record_add_function(&w, 1, "m", "f");
	for (uint64_t i = 0; i < 20000; i++) {
		struct record_sample *sample = record_pack_begin(&w, &t, memory);

		assert_non_null(sample);
		*sample = (struct record_sample){
			.weight = i % 5 ? 1 : UINT32_MAX, .ordinal = i, .start = 1000 * i, .duration = 7 * i, .threads = (uint32_t)(i % 3)
		};
		sample->counters[0] = i % 4 ? UINT64_C(1) << i % 53 : UINT64_MAX;
		sample->counters[1] = 17;
		bytes += record_pack_commit(&w, &t, memory);
	}
	record_close(&w);
	assert_true(bytes < 20000 * 20);
	read_file(w.path, &s);
	assert_int_equal(s.n, 20000);
	assert_int_equal(s.unreadable, 0);
	for (size_t i = 0; i < s.n; i++) {
		assert_int_equal(s.items[i].ordinal, i);
		assert_int_equal(s.items[i].weight, i % 5 ? 1 : UINT32_MAX);
		assert_int_equal(s.items[i].threads, i % 3);
		assert_true(s.items[i].ns == (double)(7 * i));
		assert_true(i % 4 ? s.values[2 * i] == (double)(UINT64_C(1) << i % 53) : s.values[2 * i] != s.values[2 * i]);
		assert_true(s.values[2 * i + 1] == 17);
	}
	samples_release(&s);
}

/* Checks two alternating functions with constant values, whose differences need few bytes, also at the start of a new chunk. */
static void test_packed_by_function(void **state)
{
	struct record_options packed = { .directory = ".", .packed = true, .counters = counters, .n_counters = 2, .ticks_per_s = TICKS };
	uint64_t memory[RECORD_PACK_WORDS(2)], bytes = 0;
	struct record_writer w;
	struct record_thread t = { 0 };
	struct samples s;

	(void)state;
	packed.chunk_bytes = 4096;
	assert_int_equal(record_open(&w, &packed), 0);
	for (uint64_t f = 0; f < 2 + RECORD_PACK_SLOTS; f++)
		record_add_function(&w, f, "m", "f");
	for (uint64_t i = 0; i < 20000; i++) {
		struct record_sample *sample = record_pack_begin(&w, &t, memory);
		uint64_t function = i % 1000 == 999 ? RECORD_PACK_SLOTS + 1 : i % 2; /* shares the slot of function 1 */

		assert_non_null(sample);
		*sample = (struct record_sample){ .function = (uint32_t)function,
						  .weight = 1,
						  .ordinal = 5 * function,
						  .start = 100000 * i,
						  .duration = 900 * function };
		sample->counters[0] = function ? 4096 : UINT64_MAX;
		sample->counters[1] = 123456789 * (1 + function);
		bytes += record_pack_commit(&w, &t, memory);
	}
	record_close(&w);
	assert_true(bytes < 20000 * 7);
	read_file(w.path, &s);
	assert_int_equal(s.n, 20000);
	assert_true(s.functions[0].n == 10000 && s.functions[1].n == 9980 && s.functions[RECORD_PACK_SLOTS + 1].n == 20);
	for (size_t i = 0; i < s.n; i++) {
		uint64_t function = s.items[i].function;

		assert_int_equal(s.items[i].ordinal, 5 * function);
		assert_true(s.items[i].ns == 900.0 * (double)function);
		assert_true(function ? s.values[2 * i] == 4096 : s.values[2 * i] != s.values[2 * i]);
		assert_true(s.values[2 * i + 1] == 123456789.0 * (1 + (double)function));
	}
	samples_release(&s);
}

/* Checks references to the module of an earlier function. A reference to a missing one ends the list of names. */
static void test_modules(void **state)
{
	struct record_writer w;
	struct samples s;

	(void)state;
	assert_int_equal(record_open(&w, &options), 0);
	record_add_function(&w, 1, "c0ffee", "f");
	record_add_function(&w, 2, "~0", "g");
	record_add_function(&w, 3, "~1", "h");
	record_add_function(&w, 4, "~4", "i");
	record_add_function(&w, 5, "c0ffee", "j");
	record_close(&w);
	read_file(w.path, &s);
	assert_int_equal(s.n_functions, 3);
	for (size_t i = 0; i < s.n_functions; i++)
		assert_string_equal(s.functions[i].module, "c0ffee");
	samples_release(&s);
}

/* Checks extreme 64-bit values in all combinations. */
static void test_packed_extremes(void **state)
{
	static const uint64_t values[] = { 0, 1, UINT64_MAX, UINT64_MAX - 1, UINT64_C(1) << 63, (UINT64_C(1) << 63) - 1, 42 };
	uint64_t memory[RECORD_PACK_WORDS(1)], back[RECORD_PACK_WORDS(1)], there[RECORD_PACK_STATE(1)], here[RECORD_PACK_STATE(1)];
	unsigned char bytes[RECORD_PACKED_BYTES(1)];
	struct record_sample *in = (void *)memory, *out = (void *)back;

	(void)state;
	record_pack_reset(there, 7);
	record_pack_reset(here, 7);
	for (size_t i = 0; i < 49; i++) {
		uint64_t a = values[i % 7], b = values[i / 7];
		size_t n;

		*in = (struct record_sample){ .function = (uint32_t)a,
					      .weight = (uint32_t)b,
					      .ordinal = a,
					      .start = b,
					      .duration = a,
					      .depth = (uint32_t)a,
					      .threads = (uint32_t)b,
					      .flags = (uint32_t)a,
					      .caller = (uint32_t)b };
		in->counters[0] = b;
		n = record_pack(in, 1, here, bytes);
		assert_in_range(n, RECORD_PACKED_MIN_BYTES, RECORD_PACKED_BYTES(1));
		for (size_t cut = 0; cut < n; cut++) {
			uint64_t tried[RECORD_PACK_STATE(1)];

			memcpy(tried, there, sizeof(tried));
			assert_int_equal(record_unpack(bytes, cut, 1, tried, out), 0);
		}
		assert_int_equal(record_unpack(bytes, n, 1, there, out), n);
		assert_memory_equal(in, out, sizeof(*in) + sizeof(uint64_t));
	}
}

/* Checks a file with one wrong bit, for each used byte: the file is refused or reads the same. Nearly all are refused. */
static void test_damaged(void **state)
{
	struct record_options packed = { .directory = ".", .packed = true, .counters = counters, .n_counters = 2, .chunk_bytes = 4096 };
	uint64_t memory[RECORD_PACK_WORDS(2)], tried = 0, refused = 0;
	struct record_writer w;
	struct record_thread t = { 0 };
	struct buf file = BUF_INIT;
	struct assay_error err;
	struct samples s, damaged;

	(void)state;
	assert_int_equal(record_open(&w, &packed), 0);
	record_add_function(&w, 1, "m", "f");
	record_add_info(&w, "rank", "3");
	for (uint64_t i = 0; i < 500; i++) {
		struct record_sample *sample = record_pack_begin(&w, &t, memory);

		*sample = (struct record_sample){ .weight = 1 + (uint32_t)(i % 3), .ordinal = i, .start = 1000 * i, .duration = 7 * i };
		sample->counters[0] = i % 4 ? 4096 * i : UINT64_MAX;
		sample->counters[1] = 17;
		record_pack_commit(&w, &t, memory);
	}
	record_close(&w);
	assert_int_equal(file_read(w.path, 1 << 26, &file, &err), ASSAY_OK);
	assert_int_equal(samples_parse("whole", file.bytes, file.size, &s, &err), ASSAY_OK);
	assert_int_equal(s.n, 500);
	for (size_t at = 0; at < file.size; at++) {
		char was = file.bytes[at];

		if (!was) /* mostly unused bytes */
			continue;
		file.bytes[at] = (char)(was ^ 1 << at % 8);
		tried++;
		if (samples_parse("damaged", file.bytes, file.size, &damaged, &err) != ASSAY_OK) {
			refused++;
		} else {
			assert_int_equal(damaged.n, s.n);
			assert_true(damaged.n_functions == s.n_functions && damaged.n_infos == s.n_infos && damaged.pid == s.pid);
			for (size_t i = 0; i < s.n; i++)
				assert_true(damaged.items[i].ordinal == s.items[i].ordinal && damaged.items[i].weight == s.items[i].weight);
			samples_release(&damaged);
		}
		file.bytes[at] = was;
	}
	assert_true(tried > 5000);
	assert_in_range(tried - refused, 0, 32); /* bytes that change until the end, and the last digits of the clock */
	samples_release(&s);
	buf_release(&file);
}

/* Checks a process that was killed between a sample and its count, or inside a sample: all complete samples are read. */
static void test_killed_within(void **state)
{
	struct record_options packed = { .directory = ".", .packed = true, .chunk_bytes = 4096, .ticks_per_s = TICKS };
	uint64_t memory[RECORD_PACK_WORDS(0)];
	struct record_writer w;
	struct record_thread t = { 0 };
	struct samples s;

	(void)state;
	assert_int_equal(record_open(&w, &packed), 0);
	record_add_function(&w, 1, "m", "f");
	for (uint64_t i = 0; i < 5; i++) {
		*record_pack_begin(&w, &t, memory) = (struct record_sample){ .weight = 1, .ordinal = i, .start = 1000 * i, .duration = 7 };
		record_pack_commit(&w, &t, memory);
	}
	t.chunk->samples--;
	read_file(w.path, &s);
	assert_int_equal(s.n, 5);
	samples_release(&s);
	t.next[0] = 1; /* the first bytes of a sixth sample */
	read_file(w.path, &s);
	assert_int_equal(s.n, 5);
	samples_release(&s);
	record_close(&w);
}

static void test_refused(void **state)
{
	struct record_options bad = options;
	struct record_writer w;

	(void)state;
	bad.directory = "not/there";
	assert_int_equal(record_open(&w, &bad), ENOENT);
	assert_false(record_add_info(&w, "k", "v"));
	assert_int_equal(record_add_function(&w, 1, "m", "f"), UINT32_MAX);
	bad = options;
	bad.n_counters = RECORD_COUNTERS_MAX + 1;
	assert_int_equal(record_open(&w, &bad), E2BIG);
	bad = options;
	bad.chunk_bytes = 5000;
	assert_int_equal(record_open(&w, &bad), EINVAL);
}

/* Checks a module whose headers give wrong places of notes: those are not read, and an existing note is found. */
static void test_module_id(void **state)
{
	static const uint32_t note[] = { 4, 4, 3, 0x554e47, 0x04030201 };
	static const struct {
		uint64_t at, bytes;
		uint32_t flags; /* flags of the segment from 0x1000 to 0x1fff */
		const char *id;
	} rows[] = {
		{ 0x1fec, 20, PF_R, "01020304" }, { 0x1fec, 21, PF_R, "" }, /* beyond the file's part of the segment */
		{ 0x1fec, 20, PF_X, "" },				    /* not readable */
		{ 0x3000, 20, PF_R, "" },				    /* between two segments */
		{ 0xfec, 20, PF_R, "" },				    /* before the first segment */
		{ 0x7fffffff0000, 20, PF_R, "" }, { UINT64_MAX - 8, 20, PF_R, "" }, { 0x1fec, UINT64_MAX - 8, PF_R, "" },
		{ 0x2000, 0, PF_R, "" },
	};
	char *memory = mmap(NULL, 0x6000, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), id[RECORD_BUILD_ID_BYTES];

	(void)state;
	assert_true(memory != MAP_FAILED);
	assert_int_equal(mprotect(memory + 0x1000, 0x1000, PROT_READ | PROT_WRITE), 0);
	memcpy(memory + 0x1fec, note, sizeof(note));
	for (size_t i = 0; i < COUNT(rows); i++) {
		const Elf64_Phdr parts[] = {
			{ .p_type = PT_NOTE, .p_vaddr = 0x5000, .p_memsz = 64 },
			{ .p_type = PT_NOTE, .p_vaddr = rows[i].at, .p_memsz = rows[i].bytes },
			{ .p_type = PT_LOAD, .p_vaddr = 0x1000, .p_filesz = 0x1000, .p_memsz = 0x1800, .p_flags = rows[i].flags },
			{ .p_type = PT_LOAD, .p_vaddr = 0x4000, .p_filesz = 0, .p_memsz = 0x2000, .p_flags = PF_R | PF_W },
		};

		record_module_id((uintptr_t)memory, parts, COUNT(parts), id);
		assert_string_equal(id, rows[i].id);
	}
	munmap(memory, 0x6000);
}

int suite_record(void)
{
	const struct CMUnitTest tests[] = {
		SCRATCH_TEST(test_what_is_written_is_read),
		SCRATCH_TEST(test_begun_whole),
		SCRATCH_TEST(test_replaced),
		SCRATCH_TEST(test_threads_do_not_wait),
		SCRATCH_TEST(test_killed),
		SCRATCH_TEST(test_fork),
		SCRATCH_TEST(test_refused),
		SCRATCH_TEST(test_brief),
		SCRATCH_TEST(test_packed),
		SCRATCH_TEST(test_packed_by_function),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_killed_within),
		SCRATCH_TEST(test_modules),
		SCRATCH_TEST(test_packed_extremes),
		SCRATCH_TEST(test_clock_goes_backwards),
		SCRATCH_TEST(test_build_id),
		SCRATCH_TEST(test_module_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
