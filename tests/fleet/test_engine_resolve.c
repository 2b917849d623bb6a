/* Checks that host names without an answer do not delay other hosts. The test replaces the C library's getaddrinfo() by a slow one. */
#include "base/clock.h"
#include "fleet/engine/session.h"
#include "tests/scratch.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <netdb.h>
#include <stdatomic.h>

#define SLOW_MS	   120000 /* much longer than anything here takes, even on a busy machine */
#define TIMEOUT_MS 5000	  /* much longer than a thread needs for a known name */

static atomic_bool enough; /* set at the end of the tests: waiting threads may end */

typedef int getaddrinfo_function(const char *, const char *, const struct addrinfo *, struct addrinfo **);

/* Waits for names "slow...", fails for names "none...", and returns 127.0.0.1 for all others. */
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
	return clock_monotonic_ns() / 1000000;
}

static void just_open(struct session *session, void *context)
{
	(void)context;
	session_open(session);
}

/* Runs hosts with these names. Nothing listens on port 1 of this machine, so that a resolved name gives "Connection refused". */
static void run_names(const char *const *names, size_t n, int64_t timeout_ms, const volatile sig_atomic_t *cancelled,
		      struct fleet_result *results)
{
	struct known_hosts *known = known_hosts_new();
	const struct fleet_options options = { .known = known, .connect_timeout_ms = timeout_ms, .fanout = n, .cancelled = cancelled };
	struct host *items = mem_new(n, sizeof(*items));
	const struct host **hosts = mem_new(n, sizeof(*hosts));
	struct assay_error err;

	for (size_t i = 0; i < n; i++) {
		char *name = (char *)(uintptr_t)names[i];

		items[i] = (struct host){ .name = name, .id = name, .address = name, .box = name, .port = 1 };
		hosts[i] = &items[i];
	}
	check(fleet_run_on_each_host(hosts, n, &options, just_open, NULL, results, &err), &err);
	for (size_t i = 0; i < n; i++)
		fleet_result_release(&results[i]);
	free(hosts);
	free(items);
	known_hosts_free(known);
}

static void expect_part(const struct fleet_result *result, const char *part)
{
	assert_int_equal(result->outcome, FLEET_UNREACHABLE);
	if (!strstr(result->message, part))
		fail_msg("'%s' is not in '%s'", part, result->message);
}

static void test_each_kind(void **state)
{
	static const char *const names[] = { "name", "none", "127.0.0.1", "::1" };
	struct fleet_result results[COUNT(names)];

	(void)state;
	run_names(names, COUNT(names), SLOW_MS, NULL, results);
	expect_part(&results[0], "cannot connect to name port 1: Connection refused");
	expect_part(&results[1], gai_strerror(EAI_NONAME));
	expect_part(&results[2], "cannot connect to 127.0.0.1 port 1");
	expect_part(&results[3], "cannot connect to ::1 port 1");
}

/* Checks many slow names, listed before the good ones. */
static void test_slow_names(void **state)
{
	const char *names[60];
	char texts[60][16];
	struct fleet_result results[60];
	int64_t started = now_ms();

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		snprintf(texts[i], sizeof(texts[i]), "%s%zu", i < 40 ? "slow" : "good", i);
		names[i] = texts[i];
	}
	run_names(names, COUNT(names), TIMEOUT_MS, NULL, results);
	assert_true(now_ms() - started < SLOW_MS / 2);
	for (size_t i = 0; i < COUNT(names); i++)
		expect_part(&results[i], i < 40 ? "no answer about this name within 5 s" : "Connection refused");
}

static void test_cancelled(void **state)
{
	static const char *const names[] = { "slow" };
	struct fleet_result results[1];
	volatile sig_atomic_t cancelled = 1;
	int64_t started = now_ms();

	(void)state;
	run_names(names, 1, SLOW_MS, &cancelled, results);
	assert_true(now_ms() - started < SLOW_MS / 2);
	assert_int_equal(results[0].outcome, FLEET_FAILED);
	assert_string_equal(results[0].message, "cancelled");
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
		cmocka_unit_test(test_cancelled),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	/* The remaining threads must release their memory, so that the leak check passes. */
	enough = true;
	for (int waited_ms = 0; threads() > 1 && waited_ms < SLOW_MS; waited_ms += 10)
		usleep(10 * 1000);
	return failed;
}
