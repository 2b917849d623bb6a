/* Tests the facts of a host: parsed from a text, and read from this machine by the real helper. */
#include "tests/scratch.h"
#include "tests/fleet/helper_session.h"
#include "fleet/agent/facts.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif
#include <math.h>
#include <sys/utsname.h>

static void test_rows(void **state)
{
	static const struct {
		const char *what, *text, *fault;
	} rows[] = {
		{ "nothing", "", NULL },
		{ "unknown names", "new_thing some text\nkernel 6.1\n", NULL },
		{ "no last line end", "kernel 6.1", NULL },
		{ "every bound", "has_pmu 1\nperf_event_paranoid -1\nload1 0\n", NULL },
		{ "no value", "kernel\n", "'kernel' is not a fact" },
		{ "empty value", "kernel \n", "'kernel ' is not a fact" },
		{ "no name", " 6.1\n", "is not a fact" },
		{ "empty line", "kernel 6\n\nsockets 1\n", "is not a fact" },
		{ "twice", "kernel 6\nkernel 6\n", "'kernel' twice" },
		{ "number twice", "sockets 1\nsockets 1\n", "'sockets' twice" },
		{ "no number", "sockets x\n", "'x' for its sockets" },
		{ "out of range", "sockets 0\n", "'0' for its sockets" },
		{ "huge", "load1 1e300\n", "load1" },
		{ "not a number", "load1 nan\n", "load1" },
		{ "terminal", "sockets \033[31m\n", "'?[31m'" },
		{ "no text", "kernel \377\n", "are not text" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct assay_error err = { .text = "" };
		struct facts facts;
		enum assay_status st = facts_parse(rows[i].text, strlen(rows[i].text), &facts, &err);

		check_fails(rows[i].what, st, rows[i].fault ? ASSAY_E_FORMAT : ASSAY_OK, &err, rows[i].fault ? rows[i].fault : "");
		facts_release(&facts);
	}
}

static void test_values(void **state)
{
	static const char text[] = "cpu_model A  B (tm)\nvirtual kvm\nsockets 2\nload1 0.25\ntemperature_c -3.5\n"
				   "clock_ms 1795169398624\n";
	struct assay_error err;
	struct facts facts;

	(void)state;
	check(facts_parse(text, sizeof(text) - 1, &facts, &err), &err);
	assert_string_equal(facts.cpu_model, "A  B (tm)");
	assert_string_equal(facts.virtual_machine, "kvm");
	assert_null(facts.kernel);
	assert_true(facts.sockets == 2 && facts.load1 == .25 && facts.temperature_c == -3.5 && facts.clock_ms == 1795169398624.);
	assert_true(isnan(facts.memory_bytes) && isnan(facts.has_pmu));
	facts_release(&facts);
}

/* Checks that the helper's facts are equal to the values that this process reads itself. */
static void test_this_machine(void **state)
{
	struct helper_request request;
	struct assay_error err;
	struct utsname name;
	struct facts facts;
	struct session s;

	(void)state;
	helper_request_init(&request, "facts");
	session_run(&s, &request);
	check(facts_parse(s.answer.result_text, strlen(s.answer.result_text), &facts, &err), &err);
	assert_int_equal(uname(&name), 0);
	assert_string_equal(facts.kernel, name.release);
	assert_string_equal(facts.architecture, name.machine);
	assert_string_equal(facts.hostname, name.nodename);
	assert_true(facts.uid == geteuid());
	assert_true(facts.cpus_online == (double)sysconf(_SC_NPROCESSORS_ONLN));
	assert_true(facts.memory_bytes == (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE));
	assert_true(facts.memory_available_bytes <= facts.memory_bytes);
	assert_true(isnan(facts.sockets) || facts.sockets * facts.cores_per_socket * facts.threads_per_core <= facts.cpus_online);
	/* The cache size that stress-ng uses is at least the size that the C library knows. */
	assert_true(sysconf(_SC_LEVEL3_CACHE_SIZE) <= 0 || isnan(facts.last_cache_bytes) ||
		    facts.last_cache_bytes >= (double)sysconf(_SC_LEVEL2_CACHE_SIZE));
	assert_true(fabs(facts.clock_ms / 1000 - (double)time(NULL)) < 60);
	assert_true(facts.steal_ticks < facts.total_ticks && facts.total_ticks > 0);
	assert_non_null(facts.virtual_machine);
#ifdef __x86_64__
	unsigned a = 0, b, c, d, family;

	assert_true(__get_cpuid(1, &a, &b, &c, &d));
	family = (a >> 8 & 0xf) == 0xf ? 0xf + (a >> 20 & 0xff) : a >> 8 & 0xf;
	assert_true(facts.cpu_family == family && facts.cpu_model_number == ((a >> 4 & 0xf) | (a >> 12 & 0xf0)) &&
		    facts.cpu_stepping == (a & 0xf));
#endif
#ifdef __GLIBC__
	char libc[64];

	assert_true(confstr(_CS_GNU_LIBC_VERSION, libc, sizeof(libc)) > 0);
	assert_string_equal(facts.libc, libc);
#endif
	facts_release(&facts);
	session_release(&s);
}

int suite_facts(void)
{
	const struct CMUnitTest tests[] = {
		SESSION_TEST(test_rows),
		SESSION_TEST(test_values),
		SESSION_TEST(test_this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
