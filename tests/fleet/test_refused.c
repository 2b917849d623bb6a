/* Tests the reasons why the kernel refuses to count, and the remedies. */
#include "fleet/counting/counting.h"
#include "fleet/counting/refused.h"
#include "tests/scratch.h"

#include <errno.h>

/* Checks the reason for given facts: the kernel setting, a container, or both. */
static void test_who_refuses(void **state)
{
	static const struct {
		struct refusal_facts facts;
		int errnum, most;
		const char *said;
	} rows[] = {
		{ { 3, false, false },
		  EACCES,
		  2,
		  "this user has no permission: kernel.perf_event_paranoid is 3, 2 would allow it ('sysctl kernel.perf_event_paranoid=2' "
		  "as root, or the capability CAP_PERFMON)" },
		{ { 2, false, true },
		  EACCES,
		  1,
		  "this user has no permission: kernel.perf_event_paranoid is 2, 1 would allow it ('sysctl kernel.perf_event_paranoid=1' "
		  "as root, or the capability CAP_PERFMON)" },
		{ { 2, false, true },
		  EPERM,
		  2,
		  "a filter of system calls (seccomp), as containers have, forbids it (docker run --cap-add PERFMON, "
		  "or another profile for it), for kernel.perf_event_paranoid=2 does not" },
		{ { 4, true, true },
		  EPERM,
		  2,
		  "a filter of system calls (seccomp), as containers have, forbids it (docker run --cap-add PERFMON, "
		  "or another profile for it), for kernel.perf_event_paranoid=4 does not" },
		{ { 3, false, true },
		  EPERM,
		  2,
		  "a filter of system calls (seccomp), as containers have, forbids it (docker run --cap-add PERFMON, "
		  "or another profile for it), and kernel.perf_event_paranoid is 3: 2 would be needed, too" },
		{ { 1, false, false },
		  EACCES,
		  1,
		  "a container or a security module forbids it (docker run --cap-add PERFMON, or another profile "
		  "for it), for kernel.perf_event_paranoid=1 does not" },
		{ { 3, false, false }, EMFILE, 2, "the kernel refuses: Too many open files" },
		{ { 3, false, false }, 9999, 2, "the kernel refuses: for no known reason" },
	};
	char why[COUNTING_REASON_BYTES];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		refusal_explain(&rows[i].facts, rows[i].errnum, rows[i].most, why, sizeof(why));
		assert_string_equal(why, rows[i].said);
	}
}

/* Checks that on this machine the reason is one of the two and fits into its buffer. */
static void test_here(void **state)
{
	char why[COUNTING_REASON_BYTES];

	(void)state;
	refusal_explain_process(EPERM, PARANOID_MAX_KERNEL_EVENTS, why, sizeof(why));
	assert_non_null(strstr(why, "forbids it"));
	refusal_explain_process(EACCES, -9, why, sizeof(why)); /* root is allowed with any setting */
	assert_non_null(strstr(why, "kernel.perf_event_paranoid"));
	assert_true(strlen(why) < sizeof(why) - 1);
}

int suite_refused(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_who_refuses), cmocka_unit_test(test_here) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
