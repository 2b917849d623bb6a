#include "fleet/cgroup/process.h"
#include "fleet/emulate/emulate_profile.h"
#include "fleet/emulate/emulate_down.c" /* for the state */

#include "tests/scratch.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/syscall.h>

/* ---- profiles ---- */

static char *show(const struct emulate_profile *p)
{
	static const char *const classes[] = { EMULATE_CLASS_ROWS(ROWS_WORD) };
	struct buf text = BUF_INIT;

	buf_text(&text, p->name);
	for (int i = 0; i < EMULATE_CLASSES; i++) {
		if (p->divisions[i])
			buf_format(&text, " %s=%u", classes[i], p->divisions[i]);
	}
	buf_format(&text, " strings=%u compare=%u malloc=%u mmap=%lld hog=%u/%u interrupts=%u faults=%u walks=%u", p->strings, p->compare,
		   p->malloc_steps, (long long)p->mmap_threshold_bytes, p->hog_mib, p->hog_percent, p->interrupts, p->page_faults,
		   p->page_walks);
	return buf_take(&text);
}

#define MANY                                                                                                                               \
	"{data: 3800, metadata: 3800, mapping: 3800, processes: 3800, synchronisation: 3800, network: 3800, events: 3800, time: 1400, "    \
	"other: "

static void test_profile(void **state)
{
	static const struct {
		const char *what, *text;
		enum assay_status status;
		const char *expected; /* if an error is expected: a part of its text */
	} rows[] = {
		{ "nothing", "", ASSAY_OK, "p strings=0 compare=0 malloc=0 mmap=0 hog=0/0 interrupts=0 faults=0 walks=0" },
		{ "everything",
		  "about: x\nsystem_calls: {data: 1, mapping: 2, other: 3}\nstrings: 4\ncompare: 5\nmalloc: 6\nmmap_threshold: 4096\n"
		  "hog: {mib: 7, percent: 8}\ninterrupts: 9\npage_faults: 10\npage_walks: 11\n",
		  ASSAY_OK,
		  "p data=1 mapping=2 other=3 strings=4 compare=5 malloc=6 mmap=4096 hog=7/8 interrupts=9 faults=10 "
		  "walks=11" },
		{ "as many divisions as fit", "system_calls: " MANY "0}\n", ASSAY_OK,
		  "p data=3800 metadata=3800 mapping=3800 processes=3800 synchronisation=3800 "
		  "network=3800 "
		  "events=3800 time=1400 strings=0 compare=0 malloc=0 mmap=0 hog=0/0 interrupts=0 faults=0 walks=0" },
		{ "one more", "system_calls: " MANY "1}\n", ASSAY_E_LIMIT, "f.yaml:1: system_calls has 28001" },
		{ "more than one filter holds", "system_calls: {data: 3801}\n", ASSAY_E_FORMAT, "3800" },
		{ "too many interrupts", "interrupts: 30001\n", ASSAY_E_FORMAT, "30000" },
		{ "an unknown key", "about: x\nstring: 4\n", ASSAY_E_FORMAT, "'strings'" },
		{ "an unknown class", "system_calls:\n  mem: 4\n", ASSAY_E_FORMAT, "mem" },
		{ "not a number", "strings: fast\n", ASSAY_E_FORMAT, "f.yaml:1" },
		{ "negative", "compare: -1\n", ASSAY_E_FORMAT, "f.yaml:1" },
		{ "too much", "hog: {mib: 65, percent: 1}\n", ASSAY_E_FORMAT, "64" },
		{ "half a hog", "hog: {mib: 5}\n", ASSAY_E_FORMAT, "both mib and percent" },
		{ "a list", "- 1\n", ASSAY_E_FORMAT, "f.yaml:1" },
		{ "a threshold that malloc would not take", "mmap_threshold: 8\n", ASSAY_E_FORMAT, "1024" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct emulate_profile p;
		struct assay_error err = { .text = "" };
		enum assay_status st = emulate_profile_parse("f.yaml", "p", rows[i].text, strlen(rows[i].text), &p, &err);
		char *shown;

		check_fails(rows[i].what, st, rows[i].status, &err, rows[i].expected);
		if (st)
			continue;
		shown = show(&p);
		assert_string_equal(shown, rows[i].expected);
		free(shown);
		emulate_profile_release(&p);
	}
}

static void test_builtin_profiles(void **state)
{
	struct emulate_profile p;
	struct assay_error err;
	char **names, **shown;
	size_t n;

	(void)state;
	check(emulate_profile_names(NULL, &names, &n, &err), &err);
	assert_int_equal(n, 26);
	assert_string_equal(names[0], "base");
	shown = mem_new(n, sizeof(*shown));
	for (size_t i = 0; i < n; i++) {
		check(emulate_profile_load(NULL, names[i], &p, &err), &err);
		assert_non_null(p.about);
		shown[i] = show(&p);
		for (size_t j = 0; j < i; j++) /* no two profiles have the same settings */
			assert_string_not_equal(strchr(shown[i], ' '), strchr(shown[j], ' '));
		emulate_profile_release(&p);
	}
	for (size_t i = 0; i < n; i++) {
		free(names[i]);
		free(shown[i]);
	}
	free(shown);
	free(names);
	check_fails("none of that name", emulate_profile_load(NULL, "vmm", &p, &err), ASSAY_E_NOTFOUND, &err, "base, io+meta+vm");
	check_fails("a library is none", emulate_profile_load(NULL, "knobs_hog.so", &p, &err), ASSAY_E_NOTFOUND, &err,
		    "there is no profile");
}

static void test_profile_directory(void **state)
{
	struct emulate_profile p;
	struct assay_error err;
	char **names, **none;
	size_t n, no = 0;

	(void)state;
	check_fails("nothing there", emulate_profile_names(".", &names, &n, &err), ASSAY_E_NOTFOUND, &err, "no profiles");
	scratch_put("b+c.yaml", "strings: 9\n");
	scratch_put("b.yaml", "strings: 7\n"); /* "b.yaml" sorts after "b+c.yaml", but the name "b" before "b+c" */
	scratch_put("a.yaml", "strings: 8\nwrong: 1\n");
	scratch_put("not one.yaml", "");
	check(emulate_profile_names(".", &names, &n, &err), &err);
	assert_int_equal(n, 3);
	assert_string_equal(names[0], "a");
	assert_string_equal(names[1], "b");
	assert_string_equal(names[2], "b+c");
	check(emulate_profile_load(".", names[2], &p, &err), &err);
	assert_int_equal(p.strings, 9);
	emulate_profile_release(&p);
	check_fails("its line", emulate_profile_load(".", "a", &p, &err), ASSAY_E_FORMAT, &err, "./a.yaml:2");
	check_fails("out of the directory", emulate_profile_load(".", "../a", &p, &err), ASSAY_E_NOTFOUND, &err, "a, b, b+c");
	check_fails("no directory", emulate_profile_names("nowhere", &none, &no, &err), ASSAY_E_IO, &err, "nowhere");
	for (size_t i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

/* ---- the libraries change no result ---- */

static const char samples[][40] = {
	"", "a", "b", "ab", "abc", "abd", "ABC", "abcabcabc", "\xff\x01z", "a long text, longer than 32 bytes"
};

static void *open_library(const char *name)
{
	void *library = NULL;

	for (size_t i = 0; i < emulate_data_n; i++) {
		struct assay_error err;
		char *path;

		if (strcmp(emulate_data[i].name, name) != 0)
			continue;
		check(emulate_write(name, emulate_data[i].bytes, (size_t)(emulate_data[i].end - emulate_data[i].bytes), 0755, &err), &err);
		path = mem_format("./%s", name);
		library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		free(path);
	}
	if (!library)
		fail_msg("%s: %s", name, dlerror());
	return library;
}

/* Looks up a library function. ISO C has no cast from an object pointer to a function pointer. */
#define FIND(function, library, name)                                                                                                      \
	do {                                                                                                                               \
		void *symbol = dlsym(library, name);                                                                                       \
                                                                                                                                           \
		assert_non_null(symbol);                                                                                                   \
		memcpy(&(function), &symbol, sizeof(symbol));                                                                              \
	} while (0)

static int sign(int x)
{
	return (x > 0) - (x < 0);
}

static void check_searches(void *library, const char *a, const char *b)
{
	size_t (*length)(const char *), (*bounded)(const char *, size_t);
	int (*compare)(const char *, const char *), (*compare_n)(const char *, const char *, size_t);
	int (*compare_bytes)(const void *, const void *, size_t);
	char *(*find)(const char *, int), *(*find_last)(const char *, int);
	void *(*find_byte)(const void *, int, size_t);

	FIND(length, library, "strlen");
	FIND(bounded, library, "strnlen");
	FIND(compare, library, "strcmp");
	FIND(compare_n, library, "strncmp");
	FIND(compare_bytes, library, "memcmp");
	FIND(find, library, "strchr");
	FIND(find_last, library, "strrchr");
	FIND(find_byte, library, "memchr");
	assert_int_equal(length(a), strlen(a));
	assert_int_equal(bounded(a, 2), strnlen(a, 2));
	assert_int_equal(sign(compare(a, b)), sign(strcmp(a, b)));
	for (size_t n = 0; n < 12; n++)
		assert_int_equal(sign(compare_n(a, b, n)), sign(strncmp(a, b, n)));
	assert_int_equal(sign(compare_bytes(a, b, 40)), sign(memcmp(a, b, 40)));
	for (int c = 0; c < 256; c++) {
		assert_ptr_equal(find(a, c), strchr(a, c));
		assert_ptr_equal(find_last(a, c), strrchr(a, c));
		assert_ptr_equal(find_byte(a, c, 40), memchr(a, c, 40));
	}
}

static void check_copies(void *library, const char *a, const char *b)
{
	void *(*copy)(void *, const void *, size_t), *(*move)(void *, const void *, size_t), *(*fill)(void *, int, size_t);
	char *(*copy_text)(char *, const char *), *(*copy_n)(char *, const char *, size_t);
	char *(*add_text)(char *, const char *), *(*add_n)(char *, const char *, size_t);
	char got[100], expected[100];

	FIND(copy, library, "memcpy");
	FIND(move, library, "memmove");
	FIND(fill, library, "memset");
	FIND(copy_text, library, "strcpy");
	FIND(copy_n, library, "strncpy");
	FIND(add_text, library, "strcat");
	FIND(add_n, library, "strncat");
	assert_ptr_equal(fill(got, 'x', sizeof(got)), got);
	memset(expected, 'x', sizeof(expected));
	assert_memory_equal(got, expected, sizeof(got));
	assert_ptr_equal(copy(got + 3, a, 40), got + 3);
	memcpy(expected + 3, a, 40);
	assert_memory_equal(got, expected, sizeof(got));
	for (size_t to = 0; to < 20; to += 5) { /* overlapping moves in both directions */
		assert_ptr_equal(move(got + to, got + 10, 30), got + to);
		memmove(expected + to, expected + 10, 30);
		assert_memory_equal(got, expected, sizeof(got));
	}
	assert_ptr_equal(copy_text(got, a), got);
	assert_string_equal(got, a);
	assert_ptr_equal(add_text(got, b), got);
	assert_int_equal(strlen(got), strlen(a) + strlen(b));
	assert_string_equal(got + strlen(a), b);
	assert_ptr_equal(add_n(got, b, 2), got);
	assert_int_equal(strlen(got), strlen(a) + strlen(b) + strnlen(b, 2));
	memset(got, 'x', sizeof(got));
	assert_ptr_equal(copy_n(got, a, 5), got);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(got[i], i < strlen(a) ? a[i] : 0);
	assert_int_equal(got[5], 'x');
}

static void test_string_library(void **state)
{
	void *library;

	(void)state;
	setenv("ASSAY_KNOB_STRINGS", "3", 1);
	library = open_library("knobs_string.so");
	for (size_t i = 0; i < COUNT(samples); i++) {
		for (size_t j = 0; j < COUNT(samples); j++) {
			check_searches(library, samples[i], samples[j]);
			check_copies(library, samples[i], samples[j]);
		}
	}
	dlclose(library);
}

static size_t comparisons;

static int by_number(const void *a, const void *b)
{
	int x, y;

	comparisons++;
	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return (x > y) - (x < y);
}

static void test_compare_library(void **state)
{
	void (*sort)(void *, size_t, size_t, int (*)(const void *, const void *));
	void *(*search)(const void *, const void *, size_t, size_t, int (*)(const void *, const void *));
	int numbers[50], absent = 1;
	void *library;

	(void)state;
	setenv("ASSAY_KNOB_COMPARE", "7", 1);
	library = open_library("knobs_compare.so");
	FIND(sort, library, "qsort");
	FIND(search, library, "bsearch");
	for (int i = 0; i < 50; i++)
		numbers[i] = i * 37 % 50 * 2;
	comparisons = 0;
	sort(numbers, 50, sizeof(int), by_number);
	assert_in_range(comparisons, 7 * 49, 7 * 50 * 50);
	assert_int_equal(comparisons % 7, 0);
	for (int i = 0; i < 50; i++) {
		assert_int_equal(numbers[i], 2 * i);
		assert_ptr_equal(search(&numbers[i], numbers, 50, sizeof(int), by_number), &numbers[i]);
	}
	assert_null(search(&absent, numbers, 50, sizeof(int), by_number));
	assert_null(search(&absent, numbers, 0, sizeof(int), by_number));
	dlclose(library);
}

static void test_malloc_library(void **state)
{
	void *(*get)(size_t), *(*get_zeroed)(size_t, size_t), *(*change)(void *, size_t);
	void (*give)(void *);
	void *library;
	char *p;

	(void)state;
	setenv("ASSAY_KNOB_MALLOC", "5", 1);
	library = open_library("knobs_malloc.so");
	FIND(get, library, "malloc");
	FIND(get_zeroed, library, "calloc");
	FIND(change, library, "realloc");
	FIND(give, library, "free");
	give(NULL);
	p = get(10);
	assert_non_null(p);
	memcpy(p, "123456789", 10);
	p = change(p, 100000);
	assert_string_equal(p, "123456789");
	give(p);
	p = get_zeroed(3, 1000);
	for (size_t i = 0; i < 3000; i++)
		assert_int_equal(p[i], 0);
	give(p);
	dlclose(library);
}

/* ---- state ---- */

#define HEAD "assay-emulated-1 0123abcd\n"

static void test_state(void **state)
{
	static const struct {
		const char *what, *text;
		enum assay_status status;
		bool laboratory;
		const char *boot, *part; /* part of an error message */
	} rows[] = {
		{ "nothing", "", ASSAY_OK, false, "", NULL },
		{ "a head", HEAD, ASSAY_OK, false, "", NULL },
		{ "a fleet", HEAD "laboratory\nboot x\n", ASSAY_OK, true, "x", NULL },
		{ "torn at the end", HEAD "laboratory\nboot 1", ASSAY_OK, true, "", NULL },
		{ "no head", "laboratory\n", ASSAY_E_CORRUPT, false, "", "state:1" },
		{ "another's head", "assay-emulated-2 0123abcd\n", ASSAY_E_CORRUPT, false, "", "state:1" },
		{ "no tag", "assay-emulated-1 0123abcX\n", ASSAY_E_CORRUPT, false, "", "state:1" },
		{ "a tag that is too long", "assay-emulated-1 0123abcdef\n", ASSAY_E_CORRUPT, false, "", "state:1" },
		{ "unknown", HEAD "user root\n", ASSAY_E_CORRUPT, false, "", "state:2" },
		{ "a boot without an id", HEAD "boot \n", ASSAY_E_CORRUPT, false, "", "state:2" },
		{ "an id that is too long", HEAD "boot 0123456789012345678901234567890123456789012345678901234567890123\n", ASSAY_E_CORRUPT,
		  false, "", "state:2" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct emulate_state s;
		struct assay_error err = { .text = "" };
		enum assay_status st = emulate_state_parse("state", rows[i].text, strlen(rows[i].text), &s, &err);

		check_fails(rows[i].what, st, rows[i].status, &err, rows[i].part);
		assert_int_equal(s.laboratory, rows[i].laboratory);
		assert_string_equal(s.boot, rows[i].boot);
		assert_string_equal(s.tag, !st && *rows[i].text ? "0123abcd" : "");
	}
}

/* Checks that a written state is read back unchanged. */
static void test_state_file(void **state)
{
	struct emulate_state s;
	struct assay_error err;

	(void)state;
	check(emulate_state_read("state", &s, &err), &err); /* the file does not exist */
	assert_true(!*s.tag && !s.laboratory && !*s.boot);
	check(emulate_state_write("state", "0123abcd", true, &err), &err);
	check(emulate_state_read("state", &s, &err), &err);
	assert_string_equal(s.tag, "0123abcd");
	assert_true(s.laboratory && emulate_state_is_of_this_boot(&s));
	s.boot[0] ^= 1;
	assert_false(emulate_state_is_of_this_boot(&s));
	check(emulate_state_write("state", "0123abcd", false, &err), &err);
	check(emulate_state_read("state", &s, &err), &err);
	assert_true(s.laboratory && !*s.boot && !emulate_state_is_of_this_boot(&s));
}

/* Checks that a process is identified by its start time, and that a zombie does not count as alive. */
static void test_process(void **state)
{
	struct process self, again, p;
	siginfo_t info;
	pid_t child = fork();

	(void)state;
	if (!child)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	assert_true(process_read(child, &p));
	assert_true(p.id == child && p.parent == getpid() && p.session == getsid(0) && p.group == getpgrp());
	assert_false(p.alive);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_false(process_read(child, &p));
	assert_true(process_read(getpid(), &self) && process_read(getpid(), &again));
	assert_true(self.alive && self.start_ticks > 0 && self.start_ticks == again.start_ticks);
}

static void *sleep_on(void *none)
{
	for (;;)
		pause();
	return none;
}

/* Checks a process whose first thread has ended while another thread runs. */
static void test_process_of_threads(void **state)
{
	struct process p;
	siginfo_t info;
	pid_t child = fork();

	(void)state;
	if (!child) {
		pthread_t thread;

		pthread_create(&thread, NULL, sleep_on, NULL);
		syscall(SYS_exit, 0);
	}
	do
		assert_true(process_read(child, &p));
	while (p.state != 'Z');
	kill(child, SIGKILL);
	assert_true(p.alive);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	assert_true(process_read(child, &p));
	assert_false(p.alive);
	waitpid(child, NULL, 0);
}

/* ---- keys ---- */

static void test_key(void **state)
{
	struct assay_error err;
	struct stat info;
	char *first, *again, *other, *line;

	(void)state;
	check(emulate_key_make("key", "someone", &first, &err), &err);
	check(emulate_key_make("key", "someone", &again, &err), &err);
	check(emulate_key_make("other", "someone", &other, &err), &err);
	assert_string_equal(first, again); /* the existing key is kept */
	assert_string_not_equal(first, other);
	assert_int_equal(stat("key", &info), 0);
	assert_int_equal(info.st_mode & 07777, 0600);
	line = scratch_text("key.pub");
	assert_int_equal(strncmp(line, first, strlen(first)), 0);
	free(line);
	free(again);
	assert_int_equal(unlink("key.pub"), 0); /* a private key without its public key is replaced */
	check(emulate_key_make("key", "someone", &again, &err), &err);
	assert_string_not_equal(first, again);
	free(first);
	free(again);
	free(other);
}

int suite_emulate(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_profile),
		cmocka_unit_test(test_builtin_profiles),
		SCRATCH_TEST(test_profile_directory),
		SCRATCH_TEST(test_string_library),
		SCRATCH_TEST(test_compare_library),
		SCRATCH_TEST(test_malloc_library),
		cmocka_unit_test(test_state),
		SCRATCH_TEST(test_state_file),
		cmocka_unit_test(test_process),
		cmocka_unit_test(test_process_of_threads),
		SCRATCH_TEST(test_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
