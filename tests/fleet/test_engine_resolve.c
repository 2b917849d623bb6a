/* Names that never get an answer hold up no others. The C library's getaddrinfo is replaced by one that is slow on purpose. */
#include "fleet/engine/engine_resolve.h"
#include "tests/scratch.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <stdatomic.h>

#define SLOW_MS    30000 /* far from what anything here may take, however busy the machine */
#define TIMEOUT_MS 1000 /* far from what a thread needs for a name that is known */

static atomic_bool enough; /* the tests are over: who waits may go */

typedef int getaddrinfo_function(const char *, const char *, const struct addrinfo *, struct addrinfo **);

/* "slow..." waits, "none..." is not known, all others are 127.0.0.1. */
int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **out)
{
	getaddrinfo_function *real;
	void *symbol = dlsym(RTLD_NEXT, "getaddrinfo");
	struct in_addr number;

	memcpy(&real, &symbol, sizeof(real));
	if ((hints->ai_flags & AI_NUMERICHOST) || inet_pton(AF_INET, name, &number) == 1)
		return real(name, service, hints, out);
	for (int waited_ms = 0; strncmp(name, "slow", 4) == 0 && waited_ms < SLOW_MS && !enough; waited_ms += 10)
		usleep(10 * 1000);
	if (strncmp(name, "none", 4) == 0)
		return EAI_NONAME;
	return real("127.0.0.1", service, hints, out);
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void test_each_kind(void **state)
{
	struct engine_resolve_name names[] = { { .name = "name" }, { .name = "none" }, { .name = "10.1.2.3" }, { .name = "::1" } };

	(void)state;
	engine_resolve_all(names, COUNT(names), SLOW_MS, NULL);
	assert_non_null(names[0].found);
	assert_null(names[1].found);
	assert_string_equal(names[1].message, gai_strerror(EAI_NONAME));
	assert_int_equal(names[2].found->ai_family, AF_INET);
	assert_int_equal(names[3].found->ai_family, AF_INET6);
	engine_resolve_release(names, COUNT(names));
	engine_resolve_all(NULL, 0, TIMEOUT_MS, NULL);
}

/* More slow names than threads, in front of those that are well. */
static void test_slow_names(void **state)
{
	struct engine_resolve_name names[60];
	char texts[60][16];
	int64_t started = now_ms();

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		snprintf(texts[i], sizeof(texts[i]), "%s%zu", i < 40 ? "slow" : "good", i);
		names[i] = (struct engine_resolve_name){ .name = texts[i] };
	}
	engine_resolve_all(names, COUNT(names), TIMEOUT_MS, NULL);
	assert_true(now_ms() - started < SLOW_MS - 500);
	for (size_t i = 0; i < COUNT(names); i++) {
		if (i >= 40) {
			assert_non_null(names[i].found);
			continue;
		}
		assert_null(names[i].found);
		assert_string_equal(names[i].message, "no answer about this name within 1 s");
	}
	engine_resolve_release(names, COUNT(names));
}

/* So many that no more threads are started for them: still an end. */
static void test_nothing_but_slow_names(void **state)
{
	struct engine_resolve_name names[200];
	int64_t started = now_ms();

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++)
		names[i] = (struct engine_resolve_name){ .name = "slow" };
	engine_resolve_all(names, COUNT(names), 50, NULL);
	assert_true(now_ms() - started < SLOW_MS - 500);
	for (size_t i = 0; i < COUNT(names); i++)
		assert_null(names[i].found);
}

static void test_cancelled(void **state)
{
	struct engine_resolve_name names[] = { { .name = "slow" } };
	volatile sig_atomic_t cancelled = 1;
	int64_t started = now_ms();

	(void)state;
	engine_resolve_all(names, 1, SLOW_MS, &cancelled);
	assert_true(now_ms() - started < SLOW_MS / 2);
	assert_null(names[0].found);
}

static size_t threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	size_t n = 0;

	for (struct dirent *entry; tasks && (entry = readdir(tasks));)
		n += entry->d_name[0] != '.';
	if (tasks)
		closedir(tasks);
	return n;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_kind),
		cmocka_unit_test(test_slow_names),
		cmocka_unit_test(test_nothing_but_slow_names),
		cmocka_unit_test(test_cancelled),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	/* The threads that were left behind give back what they hold: nothing may leak. */
	enough = true;
	for (int waited_ms = 0; threads() > 1 && waited_ms < SLOW_MS; waited_ms += 10)
		usleep(10 * 1000);
	return failed;
}
