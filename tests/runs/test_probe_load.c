/* Tests the probe's list, modules, patched code and libraries that are loaded later. The test includes the library's source files, so that
 * sanitizers can check them. Modules are made of bytes, with functions of a few instructions; some functions are real. */
#include "runs/inside/probe/probe_interpose.c"
#include "runs/inside/probe/probe_list.c"
#include "runs/inside/probe/probe_module.c"

#include "runs/inside/samples/samples.h"
#include "tests/scratch.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#define PAGE	  4096u
#define MODULE	  "/somewhere/=module"
#define NAME	  "==module"
#define ID	  "000102030405060708090a0b0c0d0e0f10111213"
#define FUNCTIONS 64u

struct probe probe;

static char said[512];
static unsigned n_said;
static struct probe_list later; /* entries to look for in libraries that are loaded later */

/* Replaces the function of probe_start.c. */
void probe_report(const char *text, const char *more, int errnum)
{
	size_t n = n_said ? strlen(said) : 0;

	snprintf(said + n, sizeof(said) - n, "%s%s%s%s%s", n ? "; " : "", text, more, errnum ? ": " : "", errnum ? strerror(errnum) : "");
	n_said++;
}

void probe_scan_loaded(void)
{
	probe_modules_scan(&later);
}

bool probe_open_file(void)
{
	const struct record_options options = {
		.directory = ".",
		.back_end = RECORD_TIME,
		.ticks_per_s = 1000000000u,
		.brief = true,
		.names_bytes_max = 4u << 20,
	};

	if (probe.writer.header)
		return true;
	probe = (struct probe){
		.frame_bytes = sizeof(struct probe_frame),
		.threads = 1,
		.cost_sampled = 300,
		.cost_counted = 2,
		.cost_inside = 40,
		.stack_limit = 8u << 20,
	};
	probe.functions = mmap(NULL, RECORD_FUNCTIONS_MAX * sizeof(probe.functions[0]), PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_true(probe.functions != MAP_FAILED);
	assert_int_equal(record_open(&probe.writer, &options), 0);
	probe_saved_init();
	n_said = 0;
	return true;
}

static void end(struct samples *samples)
{
	struct assay_error err;

	probe_threads_end();
	record_close(&probe.writer);
	check(samples_read(probe.writer.path, samples, &err), &err);
	probe_self = NULL;
	probe_threads = NULL;
	probe_far = probe_far_empty;
	memset(probe_near, 0, sizeof(probe_near));
	munmap(probe.functions, RECORD_FUNCTIONS_MAX * sizeof(probe.functions[0]));
	memset(&probe, 0, sizeof(probe));
}

/* ---- the list ---- */

static void test_list(void **state)
{
	static const struct {
		const char *text;
		size_t n, bad;
	} rows[] = {
		{ "", 0, 0 },
		{ "\n\n", 0, 0 },
		{ "f 10 module name", 1, 0 },
		{ "f 10 module name\n", 1, 0 },
		{ "# f 10 module name\nf 0x1F module operator new(unsigned long)\n", 1, 0 },
		{ "f 10 module name\nf 20 module\nf 30 module name\n", 2, 2 },
		{ "i key value\nf", 0, 0 },
		{ "f ", 0, 1 },
		{ "f  10 module name\n", 0, 1 },
		{ "f -1 module name\n", 0, 1 },
		{ "f 11111111111111111 module name\n", 0, 1 },
		{ "f ffffffffffffffff module name\n", 1, 0 },
		{ "f 10g module name\n", 0, 1 },
		{ "f 10  name\n", 0, 1 },
		{ "f 10 module \n", 0, 1 },
	};
	struct probe_entry items[4];
	struct probe_list list = { .items = items };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char *text = mem_string(rows[i].text);

		assert_int_equal(list_parse(text, strlen(text), &list), rows[i].bad);
		assert_int_equal(list.n, rows[i].n);
		free(text);
	}
	{
		char text[] = "f 10 module na\0me\nf fe =module a (b, c)"; /* the whole array except for the last NUL */

		assert_int_equal(list_parse(text, sizeof(text) - 1, &list), 1);
		assert_int_equal(list.n, 1);
		assert_int_equal(items[0].address, 0xfe);
		assert_string_equal(items[0].module, "=module");
		assert_string_equal(items[0].name, "a (b, c)");
	}
}

static void test_list_file(void **state)
{
	struct probe_list list;
	struct assay_error err;

	(void)state;
	assert_false(probe_list_read("none", &list));
	assert_non_null(strstr(said, strerror(ENOENT)));
	assert_false(probe_list_read(".", &list));
	assert_non_null(strstr(said, strerror(EISDIR)));
	assert_int_equal(mkfifo("pipe", 0600), 0);
	assert_false(probe_list_read("pipe", &list));
	assert_non_null(strstr(said, strerror(ESPIPE)));
	scratch_put("huge", "");
	assert_int_equal(truncate("huge", 64 << 20), 0);
	assert_false(probe_list_read("huge", &list));
	assert_non_null(strstr(said, strerror(EFBIG)));
	check(file_replace("empty", "", 0, 0600, &err), &err);
	n_said = 0;
	assert_true(probe_list_read("empty", &list));
	assert_int_equal(list.n, 0);
	scratch_put("list", "f 1 a b\nf 2 c d");
	assert_true(probe_list_read("list", &list));
	assert_int_equal(list.n, 2);
	assert_string_equal(list.items[1].name, "d");
	assert_int_equal(n_said, 0);
	scratch_put("list", "f 1 a b\n\nf 2 c");
	assert_true(probe_list_read("list", &list));
	assert_int_equal(list.n, 1);
	assert_non_null(strstr(said, "line 3"));
}

/* ---- modules ---- */

/* A page with notes, followed by code. */
struct made {
	unsigned char *memory, *code;
	size_t code_bytes;
	ElfW(Phdr) parts[4];
	struct dl_phdr_info info;
};

/* Creates the module at `address`, or anywhere if that is NULL. */
static void make_at(struct made *m, void *address, size_t code_pages)
{
	static const uint32_t note[] = { 4, 20, NT_GNU_BUILD_ID };

	*m = (struct made){ .code_bytes = code_pages * PAGE };
	m->memory = mmap(address, PAGE + m->code_bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | (address ? MAP_FIXED_NOREPLACE : 0), -1, 0);
	assert_true(m->memory != MAP_FAILED);
	m->code = m->memory + PAGE;
	memcpy(m->memory, note, sizeof(note));
	memcpy(m->memory + 12, "GNU", 4);
	for (unsigned char i = 0; i < 20; i++)
		m->memory[16 + i] = i;
	m->parts[0] = (ElfW(Phdr)){ .p_type = PT_NOTE, .p_vaddr = 0x100000, .p_memsz = 64 }; /* not loaded */
	m->parts[1] = (ElfW(Phdr)){ .p_type = PT_NOTE, .p_vaddr = 0, .p_memsz = 36 };
	m->parts[2] = (ElfW(Phdr)){ .p_type = PT_LOAD, .p_vaddr = 0, .p_filesz = 36, .p_memsz = 36, .p_flags = PF_R };
	m->parts[3] = (ElfW(Phdr)){ .p_type = PT_LOAD, .p_vaddr = PAGE, .p_memsz = m->code_bytes, .p_flags = PF_R | PF_X };
	m->info = (struct dl_phdr_info){
		.dlpi_addr = (uintptr_t)m->memory,
		.dlpi_name = MODULE,
		.dlpi_phdr = m->parts,
		.dlpi_phnum = COUNT(m->parts),
	};
}

static void make(struct made *m, size_t code_pages)
{
	make_at(m, NULL, code_pages);
}

static void make_executable(const struct made *m)
{
	assert_int_equal(mprotect(m->code, m->code_bytes, PROT_READ | PROT_EXEC), 0);
}

/* Writes a function that returns x + 1, after the bytes that a compiler puts at its start. */
static void function_put(unsigned char *at, const char *begin, size_t n)
{
	static const unsigned char rest[] = { 0x48, 0x8d, 0x47, 0x01, 0xc3 }; /* lea 1(%rdi), %rax; ret */

	memcpy(at, begin, n);
	memcpy(at + n, rest, sizeof(rest));
}

static long call(const unsigned char *function, long x)
{
	long (*f)(long);

	memcpy(&f, &function, sizeof(f));
	return f(x);
}

/* Checks functions of gcc and clang, with and without endbr64, at all offsets in a word, and more functions than have near counters. Each
 * is called and measured. A second scan patches nothing. */
static void test_patch(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
	} begins[] = {
		{ "\x90\x90\x90\x90\x90", 5 },
		{ "\x0f\x1f\x44\x00\x08", 5 },
		{ "\xf3\x0f\x1e\xfa\x90\x90\x90\x90\x90", 9 },
		{ "\xf3\x0f\x1e\xfa\x0f\x1f\x44\x00\x08", 9 },
	};
	struct probe_entry items[5 * FUNCTIONS];
	struct probe_list list = { items, 5 * FUNCTIONS };
	struct samples s;
	struct made m;

	(void)state;
	make(&m, 3);
	for (size_t i = 0; i < list.n; i++) {
		size_t at = 32 * i + i % 8;

		items[i] = (struct probe_entry){ PAGE + at, i % 2 ? ID : NAME, "f", UINT32_MAX };
		function_put(m.code + at, begins[i / 8 % 4].bytes, begins[i / 8 % 4].n);
	}
	make_executable(&m);
	assert_true(probe_open_file());
	for (int twice = 0; twice < 2; twice++) {
		char *before = mem_bytes((const char *)m.code, m.code_bytes);

		module_scan(&m.info, sizeof(m.info), &list);
		assert_int_equal(memcmp(before, m.code, m.code_bytes) == 0, twice);
		free(before);
		for (size_t i = 0; i < list.n; i++) {
			assert_int_equal(items[i].number, i);
			for (int k = 0; k < 3; k++)
				assert_int_equal(call(m.code + items[i].address - PAGE, k), k + 1);
		}
	}
	assert_int_equal(n_said, 0);
	end(&s);
	assert_int_equal(s.n, 6 * list.n);
	assert_int_equal(s.n_calls, list.n);
	for (size_t i = 0; i < s.n_calls; i++)
		assert_int_equal(s.calls[i].calls, 6);
	samples_release(&s);
	munmap(m.memory, PAGE + m.code_bytes);
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Returns the median duration of a function's calls in ticks, callees included. */
static double median_of(const struct samples *s, size_t function)
{
	const struct samples_function *f = &s->functions[function];
	double *values = mem_new(f->n, sizeof(*values)), median;

	for (size_t i = 0; i < f->n; i++)
		values[i] = s->items[f->first + i].ns;
	qsort(values, f->n, sizeof(*values), by_value);
	median = values[f->n / 2];
	free(values);
	return median;
}

/* Runs three functions: one does nothing, one multiplies 200 times in a row, one calls the first one ten times. */
static void calibrated_once(struct samples *s)
{
	struct made m;
	struct probe_entry items[] = { { PAGE, ID, "short", UINT32_MAX },
				       { PAGE + 64, ID, "long", UINT32_MAX },
				       { PAGE + 2048, ID, "caller", UINT32_MAX } };
	struct probe_list list = { items, COUNT(items) };
	unsigned char *at;

	make(&m, 1);
	function_put(m.code, "\x90\x90\x90\x90\x90", 5);
	at = m.code + 64;
	memcpy(at, "\x90\x90\x90\x90\x90", 5);
	at += 5;
	for (int i = 0; i < 200; i++, at += 4)
		memcpy(at, "\x48\x0f\xaf\xff", 4); /* imul %rdi, %rdi */
	memcpy(at, "\x48\x89\xf8\xc3", 4);	   /* mov %rdi, %rax; ret */
	at = m.code + 2048;
	memcpy(at, "\x90\x90\x90\x90\x90\x53", 6); /* push %rbx */
	at += 6;
	for (int i = 0; i < 10; i++, at += 5) {
		int32_t back = (int32_t)(m.code - at - 5);

		*at = 0xe8; /* call */
		memcpy(at + 1, &back, sizeof(back));
	}
	memcpy(at, "\x5b\xc3", 2); /* pop %rbx; ret */
	make_executable(&m);
	assert_true(probe_open_file());
	probe_thread_begin(probe_stack());
	calibrate_once(false);
	assert_in_range(probe.cost_inside, 5, 5000);
	module_scan(&m.info, sizeof(m.info), &list);
	for (int i = 0; i < 500; i++) {
		call(m.code, i);
		call(m.code + 64, i);
		call(m.code + 2048, i);
	}
	end(s);
	munmap(m.memory, PAGE + m.code_bytes);
}

/* Checks that the measured cost of the probe is subtracted: nothing remains of the empty function, most of the long one, little of ten
 * calls in their caller. Calibration calls belong to no function. A busy machine may disturb the calibration, hence several attempts. */
static void test_calibrated(void **state)
{
	bool good = false;

	(void)state;
	for (int i = 0; i < 20 && !good; i++) {
		struct samples s;
		double little, much, ten, around;

		calibrated_once(&s);
		assert_int_equal(s.n, 500 + 500 + 500 + 5000);
		assert_int_equal(s.n_calls, 3);
		assert_int_equal(s.calls[0].calls, 5500);
		assert_true(s.items[0].error_ns > 0 && s.items[0].error_ns <= s.items[0].self_error_ns);
		little = median_of(&s, 0);
		much = median_of(&s, 1);
		ten = median_of(&s, 2);
		around = strtod(samples_info(&s, "cost_around"), NULL);
		good = little <= s.items[0].error_ns && much > 100 && much > 10 * little && around > 20 && ten < 3 * around;
		samples_release(&s);
	}
	assert_true(good);
}

/* Checks a list of another build: addresses outside the code, at its end, and at a jump out of the module. */
static void test_addresses_of_another_build(void **state)
{
	struct made m;
	struct probe_entry items[] = {
		{ UINT64_MAX - 7, NAME, "beyond all", UINT32_MAX }, { 0, NAME, "notes", UINT32_MAX },
		{ PAGE - 1, NAME, "before", UINT32_MAX },	    { 2 * PAGE - 15, NAME, "end", UINT32_MAX },
		{ 2 * PAGE, NAME, "behind", UINT32_MAX },	    { PAGE + 64, NAME, "jump", UINT32_MAX },
		{ 2 * PAGE - 16, NAME, "last", UINT32_MAX },	    { PAGE, "another", "module", UINT32_MAX },
	};
	struct probe_list list = { items, COUNT(items) };
	struct samples s;

	(void)state;
	make(&m, 1);
	items[0].address -= (uintptr_t)m.memory; /* the sum is within eight bytes of the end of the address space */
	memcpy(m.code + 64, "\xe9\xff\xff\xff\x7f", 5);
	function_put(m.code + PAGE - 16, "\x90\x90\x90\x90\x90", 5);
	make_executable(&m);
	assert_true(probe_open_file());
	for (int twice = 0; twice < 2; twice++)
		module_scan(&m.info, sizeof(m.info), &list);
	for (size_t i = 0; i < list.n; i++)
		assert_int_equal(items[i].number, i == 5 ? 0 : i == 6 ? 1 : UINT32_MAX);
	assert_int_equal(call(m.code + PAGE - 16, 4), 5);
	assert_int_equal(m.code[64 + 4], 0x7f);
	end(&s);
	assert_int_equal(s.n, 1);
	samples_release(&s);
	munmap(m.memory, PAGE + m.code_bytes);
}

/* Checks a nearly full address space around the module, as large mappings of a program may leave it. */
static void test_more_than_fit(void **state)
{
	const size_t all = (size_t)8 << 30, room = 16u << 20;
	char *around = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t n = RECORD_FUNCTIONS_MAX + 10;
	struct probe_entry *items = mem_new(n, sizeof(*items));
	struct probe_list list = { items, n };
	struct samples s;
	struct made m;

	(void)state;
	assert_true(around != MAP_FAILED);
	munmap(around + all / 2, room);
	make_at(&m, around + all / 2 + room / 2, n * 16 / PAGE + 1);
	for (size_t i = 0; i < n; i++) {
		items[i] = (struct probe_entry){ PAGE + 16 * i, ID, "f", UINT32_MAX };
		function_put(m.code + 16 * i, "\x90\x90\x90\x90\x90", 5);
	}
	make_executable(&m);
	assert_true(probe_open_file());
	for (int twice = 0; twice < 2; twice++)
		module_scan(&m.info, sizeof(m.info), &list);
	if (n_said != 1 || !strstr(said, "no room"))
		fail_msg("%u messages: %s", n_said, said);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(items[i].number, i < RECORD_FUNCTIONS_MAX ? i : UINT32_MAX);
	for (size_t i = 0; i < n; i += 13)
		assert_int_equal(call(m.code + 16 * i, (long)i), i + 1);
	assert_int_equal(call(m.code + 16 * (RECORD_FUNCTIONS_MAX - 1), 1), 2);
	end(&s);
	assert_int_equal(s.n, (RECORD_FUNCTIONS_MAX + 12) / 13 + 1);
	assert_int_equal(s.items[s.n - 1].function, RECORD_FUNCTIONS_MAX - 1);
	samples_release(&s);
	free(items);
	munmap(m.memory, PAGE + m.code_bytes);
	munmap(around, all / 2); /* a sanitizer may have put memory into the gap meanwhile */
	munmap(around + all / 2 + room, all / 2 - room);
}

/* ---- this program, and libraries that are loaded later ---- */

__attribute__((noinline, patchable_function_entry(5))) static long own(long x)
{
	__asm__ volatile("" ::: "memory");
	return x + 2;
}

__attribute__((noinline, patchable_function_entry(5))) static void leaves(void)
{
	own(1);
	pthread_exit(NULL);
}

static void *thread(void *argument)
{
	leaves();
	return argument;
}

static struct probe_entry entry_of(void *function)
{
	static char module[MODULE_BYTES];
	Dl_info info;

	assert_true(dladdr(function, &info));
	snprintf(module, sizeof(module), "=%s", last_component(info.dli_fname));
	return (struct probe_entry){ (uintptr_t)function - (uintptr_t)info.dli_fbase, module, "own", UINT32_MAX };
}

/* Loads a library and checks that the functions of all loaded modules are found. One thread ends in the middle of a function. */
static void test_own_code(void **state)
{
	struct probe_entry items[] = { entry_of((void *)(uintptr_t)own), entry_of((void *)(uintptr_t)leaves) };
	struct samples s;
	pthread_t one;
	void *library;

	(void)state;
	later = (struct probe_list){ items, COUNT(items) };
	probe_thread_init();
	assert_null(dlopen("there is no such library", RTLD_NOW));
	assert_false(probe.writer.header);
	library = dlopen("libz.so.1", RTLD_NOW);
	if (!library)
		library = dlopen(NULL, RTLD_NOW);
	assert_non_null(library);
	assert_true(probe.writer.header);
	for (long i = 0; i < 10; i++)
		assert_int_equal(own(i), i + 2);
	assert_int_equal(pthread_create(&one, NULL, thread, NULL), 0);
	assert_int_equal(pthread_join(one, NULL), 0);
	dlclose(library);
	end(&s);
	assert_int_equal(s.functions[0].n, 11);
	assert_int_equal(s.functions[1].n, 1);
	assert_true(s.items[s.functions[1].first].unwound);
	samples_release(&s);
	later.n = 0;
}

/* Checks that runs and functions measure different calls: two seeds agree in one of sixteen by chance, even consecutive ones. */
static void test_seeds(void **state)
{
	unsigned same = 0, n = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 100; seed++) {
		uint64_t one[3];

		for (unsigned k = 0; k < 3; k++) {
			probe.seed = seed + k % 2;
			one[k] = function_seed(0x1530 + 16 * (k / 2));
		}
		for (uint64_t block = 0; block < 64; block++, n += 2)
			for (unsigned k = 1; k < 3; k++)
				same += probe_next_sampled(one[0], 4, 16 * block) == probe_next_sampled(one[k], 4, 16 * block);
		probe.seed = seed;
		assert_int_equal(one[0], function_seed(0x1530));
	}
	probe.seed = 0;
	assert_in_range(same, n / 16 - 130, n / 16 + 130); /* within five standard deviations */
}

/* Checks that the table of the fall-back keeps free places, so that searches end, even if libraries are loaded again and again. */
static void test_instrumented_full(void **state)
{
	uintptr_t address = 4096;

	(void)state;
	while (address / 64 < 2 * RECORD_FUNCTIONS_MAX && probe_instrumented_add(address, 7))
		address += 64;
	assert_in_range(address / 64, RECORD_FUNCTIONS_MAX, 2 * RECORD_FUNCTIONS_MAX - 1);
	assert_true(probe_instrumented_add(4096, 8)); /* the address is already in the table */
	assert_false(probe_instrumented_add(address + 64, 7));
}

/* Checks the search for a `ret` in the caller's segment: after the caller, else before it, never in data or in another segment. */
static void test_gadget(void **state)
{
	static const struct {
		const char *what;
		size_t rets[2], caller;
		int found; /* -1: none */
	} rows[] = {
		{ "behind the caller", { 3, 9 }, 5, 9 },
		{ "at it", { 5, 9 }, 5, 5 },
		{ "before it alone", { 3, 3 }, 5, 3 },
		{ "the first byte alone", { 0, 0 }, 5, 0 },
		{ "the last byte", { 11, 11 }, 5, 11 },
		{ "in the next segment alone", { 12, 12 }, 5, -1 },
		{ "in another segment than the caller", { 5, 5 }, 20, -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		unsigned char bytes[24] = { 0 };
		const ElfW(Phdr) segments[] = {
			{ .p_type = PT_NOTE, .p_flags = PF_X, .p_vaddr = 0, .p_memsz = 24 },
			{ .p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = 12, .p_memsz = 12 },
			{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = 0, .p_memsz = 12 },
		};
		struct dl_phdr_info info = { .dlpi_addr = (uintptr_t)bytes, .dlpi_phdr = segments, .dlpi_phnum = 3 };
		struct search search = { .caller = (uintptr_t)&bytes[rows[i].caller] };

		bytes[rows[i].rets[0]] = bytes[rows[i].rets[1]] = 0xc3;
		if (gadget_find(&info, sizeof(info), &search) != (rows[i].found >= 0) ||
		    search.gadget != (rows[i].found < 0 ? NULL : &bytes[rows[i].found]))
			fail_msg("%s: found at %td", rows[i].what, search.gadget ? search.gadget - bytes : -1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gadget),	  SCRATCH_TEST(test_list),	 SCRATCH_TEST(test_list_file),
		SCRATCH_TEST(test_patch),	  SCRATCH_TEST(test_calibrated), SCRATCH_TEST(test_addresses_of_another_build),
		SCRATCH_TEST(test_more_than_fit), SCRATCH_TEST(test_own_code),	 SCRATCH_TEST(test_instrumented_full),
		cmocka_unit_test(test_seeds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
