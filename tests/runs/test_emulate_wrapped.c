/* Tests library functions in the emulation: the bytes that they copy, their allocations, and OpenMP teams of gcc and clang. */
#include "tests/runs/emulated_here.h"

#include <sched.h>

/* Functions of wrap.c and meetings.c. */
void *__wrap_memcpy(void *to, const void *from, size_t n);
void *__wrap_memmove(void *to, const void *from, size_t n);
void *__wrap_memset(void *to, int c, size_t n);
void *__wrap_memchr(const void *s, int c, size_t n);
int __wrap_memcmp(const void *a, const void *b, size_t n);
int __wrap_strcmp(const char *a, const char *b);
int __wrap_strncmp(const char *a, const char *b, size_t n);
size_t __wrap_strlen(const char *s);
size_t __wrap_strnlen(const char *s, size_t n);
char *__wrap_strcpy(char *to, const char *from);
char *__wrap_strncpy(char *to, const char *from, size_t n);
char *__wrap_strcat(char *to, const char *from);
char *__wrap_strncat(char *to, const char *from, size_t n);
char *__wrap_strchr(const char *s, int c);
char *__wrap_strstr(const char *s, const char *text);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t n);
char *__wrap_strndup(const char *s, size_t n);
void __wrap_free(void *at);
int __wrap_pthread_mutex_lock(pthread_mutex_t *lock);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *lock);
void __wrap_GOMP_parallel(void (*run)(void *), void *data, unsigned n, unsigned flags);
void __wrap_GOMP_barrier(void);
void *ompt_start_tool(unsigned version, const char *library);

/* The OpenMP library as meetings.c uses it: GOMP_barrier(), GOMP_parallel() and the callbacks of OMPT. */
void GOMP_parallel(void (*run)(void *), void *data, unsigned n, unsigned flags);
void GOMP_barrier(void);
int omp_get_num_threads(void);

static _Alignas(64) int cells[64];

/* ---- library functions, on blocks of memory that end exactly where they may read last ---- */

static __attribute__((noinline)) void memory(void)
{
	static const char text[] = "five words end here, now";
	char *exact = malloc(24), *other = malloc(24), *string = malloc(25);

	if (!exact || !other || !string)
		abort();
	__tsan_func_entry(__builtin_return_address(0));
	__wrap_memcpy(exact, text, 24); /* without a NUL */
	__wrap_memcpy(other, exact, 24);
	__wrap_memmove(other + 1, other, 23);
	__wrap_memset(other, 'f', 1);
	if (__wrap_memcmp(exact, other, 24) <= 0 || __wrap_memcmp(exact, exact, 24) || __wrap_strncmp(exact, exact, 24) ||
	    __wrap_strnlen(exact, 24) != 24 || __wrap_memchr(exact, 'x', 24) || __wrap_memchr(exact, ',', 100) != exact + 19)
		abort();
	__wrap_strcpy(string, text);
	if (__wrap_strlen(string) != 24 || __wrap_strcmp(string, text) || __wrap_strchr(string, 'q') ||
	    __wrap_strstr(string, "now") != string + 21)
		abort();
	__wrap_strncpy(string, exact, 12); /* the source has no NUL */
	string[12] = '\0';
	__wrap_strncat(string, exact + 12, 6);
	__wrap_strcat(string, "!");
	if (__wrap_strcmp(string, "five words end her!") != 0)
		abort();
	__tsan_func_exit();
	free(exact);
	free(other);
	free(string);
}

static __attribute__((noinline)) void heap(void)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	char *a, *b;

	__tsan_func_entry(__builtin_return_address(0));
	a = __wrap_malloc(300000);
	a = __wrap_realloc(a, 600000);
	__wrap_free(a);
	a = __wrap_calloc(3, 5);
	b = __wrap_strndup("not all of it", 7);
	__wrap_free(a);
	__wrap_free(b);
	__wrap_free(NULL);
	__wrap_pthread_mutex_lock(&lock);
	__wrap_pthread_mutex_unlock(&lock);
	__tsan_func_exit();
	__asm__ volatile("");
}

/* ---- OpenMP ---- */

static unsigned team_size, arrived;

int omp_get_num_threads(void)
{
	return (int)team_size;
}

void GOMP_barrier(void)
{
	unsigned before = __atomic_fetch_add(&arrived, 1, __ATOMIC_ACQ_REL);

	while (__atomic_load_n(&arrived, __ATOMIC_ACQUIRE) < (before / team_size + 1) * team_size)
		sched_yield();
}

struct share {
	void (*run)(void *);
	void *data;
};

static void *share_run(void *argument)
{
	struct share *share = argument;

	share->run(share->data);
	return NULL;
}

/* Runs a function in `n` threads. The calling thread is the first of them. */
static void team_run(void (*run)(void *), void *data, unsigned n)
{
	struct share share = { run, data };
	pthread_t threads[EMULATED_THREADS_MAX];

	team_size = n;
	for (unsigned i = 1; i < n; i++)
		if (pthread_create(&threads[i], NULL, share_run, &share))
			abort();
	run(data);
	for (unsigned i = 1; i < n; i++)
		pthread_join(threads[i], NULL);
}

void GOMP_parallel(void (*run)(void *), void *data, unsigned n, unsigned flags)
{
	(void)flags;
	team_run(run, data, n);
}

static __attribute__((noinline)) void region(void *next)
{
	int *mine = &cells[__atomic_fetch_add((int *)next, 1, __ATOMIC_RELAXED) % 16];

	__tsan_func_entry(__builtin_return_address(0));
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < TIMES; i++)
			__tsan_write4(mine);
		__wrap_GOMP_barrier();
	}
	__tsan_func_exit();
	__asm__ volatile("");
}

typedef void callback(void);
typedef void implicit_task(int endpoint, void *parallel, void *task, unsigned threads, unsigned index, int flags);
typedef void sync_region(int kind, int endpoint, void *parallel, void *task, const void *code);

static callback *callbacks[32];

static int callback_set(int event, callback *function)
{
	callbacks[event] = function;
	return 5; /* ompt_set_always */
}

static callback *callback_lookup(const char *name)
{
	return strcmp(name, "ompt_set_callback") == 0 ? (callback *)callback_set : NULL;
}

static __attribute__((noinline)) void tool_writes(int *mine)
{
	__tsan_func_entry(__builtin_return_address(0));
	for (int i = 0; i < 3 * TIMES; i++)
		__tsan_write4(mine);
	__tsan_func_exit();
	__asm__ volatile("");
}

/* Makes the callbacks of clang's library in one thread: a task starts in the thread and ends at the barrier of the region. */
static void tool_region(void *parallel)
{
	implicit_task *implicit = (implicit_task *)callbacks[7];
	sync_region *sync = (sync_region *)callbacks[16];
	static int next;
	void *task = NULL;

	implicit(1, parallel, &task, team_size, 0, 0);
	tool_writes(&cells[32 + __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) % 16]);
	sync(3, 1, parallel, &task, NULL); /* an explicit barrier */
	GOMP_barrier();
	sync(3, 2, parallel, &task, NULL);
	sync(9, 1, parallel, &task, NULL);
	sync(9, 2, parallel, &task, NULL);
	implicit(2, NULL, &task, team_size, 0, 0);
}

static void tool(void)
{
	struct {
		int (*initialize)(callback *(*lookup)(const char *), int device, void *data);
		void (*finalize)(void *data);
	} *start = ompt_start_tool(50, "made up");
	void *parallel = NULL, *task = NULL;

	if (!start || !start->initialize(callback_lookup, 0, NULL))
		abort();
	((void (*)(void *, const void *, void *, unsigned, int, const void *))callbacks[3])(&task, NULL, &parallel, EMULATED_THREADS_MAX, 0,
											    NULL);
	team_run(tool_region, &parallel, EMULATED_THREADS_MAX);
	((void (*)(void *, void *, int, const void *))callbacks[4])(&parallel, &task, 0, NULL);
	start->finalize(NULL);
}

static void emulated(void)
{
	int next = 0;

	memory();
	heap();
	__wrap_GOMP_parallel(region, &next, EMULATED_THREADS_MAX, 0);
	tool();
}

/* Checks the copied bytes. mem*: 24 twice, 23, and 1 by memset. str*: 25, 12, 6 with a NUL, and 2. */
static void test_libraries(void **state)
{
	(void)state;
	assert_int_equal(calls(&parent, "memory"), 1);
	assert_true(sum(&parent, "memory", "emulated:copied_bytes") == 24 + 24 + 23 + 1 + 25 + 12 + 7 + 2);
	assert_true(sum(&parent, "heap", "emulated:allocations") == 4);
	assert_true(sum(&parent, "heap", "emulated:allocated_bytes") == 300000 + 600000 + 15 + 8);
	assert_true(sum(&parent, "heap", "emulated:atomics") == 2);
}

static void test_openmp(void **state)
{
	double accesses = EMULATED_THREADS_MAX * TIMES * 3;

	(void)state;
	assert_int_equal(calls(&parent, "region"), EMULATED_THREADS_MAX);
	assert_true(sum(&parent, "region", "emulated:accesses") == accesses);
	assert_true(sum(&parent, "region", "emulated:hitm_false_milli") / accesses > 100);
	assert_int_equal(calls(&parent, "tool_writes"), EMULATED_THREADS_MAX);
	assert_true(sum(&parent, "tool_writes", "emulated:hitm_false_milli") / accesses > 100);
}

static int tests(void)
{
	const struct CMUnitTest all[] = {
		cmocka_unit_test(test_libraries),
		cmocka_unit_test(test_openmp),
	};

	return cmocka_run_group_tests(all, NULL, NULL);
}

int main(int argc, char **argv)
{
	(void)argc;
	return emulated_main(argv, emulated, tests);
}
