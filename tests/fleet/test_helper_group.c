/* Tests the helper with a cgroup: only processes that exceed its limits are ended, no process escapes, and the cgroup is removed, whichever
 * process is killed. Uses the cgroups of this machine. If the user may create none, the helper reports that and runs the command anyway. */
#include "fleet/cgroup/cgroup.h"
#include "tests/scratch.h"
#include "tests/fleet/helper_session.h"

#include <sys/stat.h>

#define MEMORY	(64u << 20)
#define GONE_MS SESSION_PATIENCE_MS

static struct cgroup_parents places_here(void)
{
	static const struct cgroup_sources sources = { "/proc/mounts", "/proc/self/cgroup" };
	struct cgroup_parents places;

	cgroup_parents_find(&sources, &places);
	return places;
}

/* Returns the number of cgroups of this helper in the usual places. Their names contain its process id, as others may run here. */
static size_t groups_of(pid_t helper)
{
	struct cgroup_parents places = places_here();
	const char *const both[] = { places.memory, places.pids };
	char name[64];
	size_t n = 0;

	snprintf(name, sizeof(name), "-%d-", (int)helper);
	for (size_t i = 0; i < 2; i++) {
		DIR *dir = both[i] ? opendir(both[i]) : NULL;
		struct dirent *entry;

		while (dir && (entry = readdir(dir)))
			n += strncmp(entry->d_name, "assay-run-", 10) == 0 && strstr(entry->d_name, name);
		if (dir)
			closedir(dir);
	}
	cgroup_parents_release(&places);
	return n;
}

static bool have_groups(void)
{
	struct cgroup_parents places = places_here();
	bool any = places.memory || places.pids;

	cgroup_parents_release(&places);
	if (!any)
		print_message("this user can have no control groups here: not tested\n");
	return any;
}

static void group_request(struct helper_request *request, const char *script, int64_t memory_bytes, int64_t processes)
{
	shell_request(request, script);
	helper_request_number(request, HELPER_CGROUP, 1);
	if (memory_bytes)
		helper_request_number(request, HELPER_MEMORY, memory_bytes);
	if (processes)
		helper_request_number(request, HELPER_PIDS, processes);
}

static void no_group_left(pid_t helper)
{
	int64_t end = now_ms() + GONE_MS;

	while (groups_of(helper) > 0) {
		if (now_ms() > end)
			fail_msg("%zu control groups are left", groups_of(helper));
		sleep_ms(5);
	}
}

static void test_runs_in_it(void **state)
{
	struct helper_request request;
	struct session s;
	char *text = NULL, *name;
	size_t n = 0;
	struct assay_error err;

	(void)state;
	if (!have_groups())
		return;
	group_request(&request, "cat /proc/self/cgroup", MEMORY, 20);
	session_run(&s, &request);
	assert_true(s.answer.result.cgroup == 1 || s.answer.result.cgroup == 2);
	assert_int_equal(s.answer.result.oom_kills, 0);
	assert_int_equal(s.answer.result.refused_processes, 0);
	check(spool_text(&s.answer.out, 1u << 20, &text, &n, &err), &err);
	name = strstr(text, "/assay-run-");
	assert_non_null(name);
	no_group_left((pid_t)strtol(strchr(name + 11, '-') + 1, NULL, 10));
	free(text);
	session_release(&s);
	/* A request for a cgroup without limits, then one for no cgroup. */
	group_request(&request, "true", 0, 0);
	session_run(&s, &request);
	assert_true(s.answer.result.cgroup > 0);
	session_release(&s);
	shell_request(&request, "grep -q assay-run- /proc/self/cgroup");
	session_run(&s, &request);
	assert_int_equal(s.answer.result.exit_status, 1);
	assert_int_equal(s.answer.result.cgroup, -1);
	session_release(&s);
}

/* Checks that a process that exceeds the memory limit is killed, and that the command continues and reports that. */
static void test_memory(void **state)
{
	struct helper_request request;
	struct session s;

	(void)state;
	if (!have_groups())
		return;
	group_request(&request, "head -c 300m /dev/zero | tail -c 300m | wc -c; echo \"still here\"", MEMORY, 20);
	session_run(&s, &request);
	assert_int_equal(s.answer.result.exit_status, 0);
	assert_true(s.answer.result.oom_kills >= 1);
	check_spool(&s.answer.out, "0\nstill here\n", 13);
	session_release(&s);
}

static void test_processes(void **state)
{
	struct helper_request request;
	struct session s;

	(void)state;
	if (!have_groups())
		return;
	group_request(&request, "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 1000 & done", 0, 4);
	session_run(&s, &request);
	assert_true(s.answer.result.refused_processes >= 1);
	assert_int_equal(s.answer.result.leftovers, 3); /* and the shell is the fourth process */
	assert_int_equal(s.answer.result.survivors, 0);
	session_release(&s);
	none_left(0);
}

/* Checks that a fork bomb, in which every process forks forever, ends at its time limit. */
static void test_fork_bomb(void **state)
{
	struct helper_request request;
	struct session s;

	(void)state;
	if (!have_groups())
		return;
	if (access("/usr/bin/perl", X_OK)) {
		print_message("there is no perl: not tested\n");
		return;
	}
	group_request(&request, "exec perl -e 'fork while 1'", 0, 40);
	helper_request_number(&request, HELPER_TIMEOUT, 300);
	session_run(&s, &request);
	assert_int_equal(s.answer.result.timed_out, 1);
	assert_int_equal(s.answer.result.survivors, 0);
	session_release(&s);
	none_left(0);
	no_group_left(s.helper);
}

static void test_hang_up(void **state)
{
	struct helper_request request;
	struct session s;

	(void)state;
	if (!have_groups())
		return;
	group_request(&request, "sleep 1000 & setsid sleep 1000 & wait", MEMORY, 20);
	session_start(&s, &request);
	session_begun(&s);
	wait_marked(3);
	assert_true(groups_of(s.helper) > 0);
	session_close(&s.in);
	none_left(GONE_MS);
	no_group_left(s.helper);
	session_end(&s);
	session_release(&s);
}

static void test_worker_killed(void **state)
{
	struct helper_request request;
	struct session s;

	(void)state;
	if (!have_groups())
		return;
	group_request(&request, "sleep 1000 & wait", MEMORY, 20);
	session_start(&s, &request);
	session_begun(&s);
	wait_marked(2);
	kill(child_of(s.helper), SIGKILL);
	none_left(GONE_MS);
	no_group_left(s.helper);
	session_end(&s);
	session_release(&s);
}

/* Kills the helper and its worker at once, so that the cgroup and its processes stay. The next helper of the same owner removes them, one
 * of another owner does not. Returns false if another helper interfered, perhaps one of an older build that runs as root. */
static bool kill_both(void)
{
	struct helper_request request;
	struct session s;
	pid_t worker;
	bool there;

	group_request(&request, "setsid sleep 1000 & setsid sleep 1000 & wait", MEMORY, 20);
	session_start(&s, &request);
	session_begun(&s);
	wait_marked(3);
	worker = child_of(s.helper);
	kill(s.helper, SIGSTOP);
	kill(worker, SIGKILL);
	kill(s.helper, SIGKILL);
	session_end(&s);
	session_release(&s);
	while (marked() > 2) /* the command's first process dies with its parent */
		sleep_ms(2);
	session_owner = "another laboratory";
	group_request(&request, "true", MEMORY, 20);
	session_owner = NULL;
	session_run(&s, &request);
	session_release(&s);
	there = marked() == 2;
	group_request(&request, "true", MEMORY, 20);
	session_run(&s, &request);
	session_release(&s);
	none_left(GONE_MS);
	no_group_left(s.helper);
	return there;
}

static void test_both_killed(void **state)
{
	int tries = 0;

	(void)state;
	if (!have_groups())
		return;
	while (!kill_both()) {
		if (++tries == 20)
			fail_msg("a helper of another owner ends them");
	}
}

/* Checks that a cgroup whose owner is alive is not removed. */
static void test_two_at_once(void **state)
{
	struct helper_request request;
	struct session first, second;

	(void)state;
	if (!have_groups())
		return;
	group_request(&request, "echo ready; read line < pipe; echo \"$line\"", MEMORY, 20);
	assert_int_equal(mkfifo("pipe", 0600), 0);
	session_start(&first, &request);
	session_begun(&first);
	group_request(&request, "echo done > pipe", MEMORY, 20);
	session_run(&second, &request);
	assert_true(second.answer.result.cgroup > 0);
	session_release(&second);
	session_end(&first);
	assert_int_equal(first.answer.result.exit_status, 0);
	check_spool(&first.answer.out, "ready\ndone\n", 11);
	session_release(&first);
	no_group_left(first.helper);
}

/* Checks that a user without rights on cgroups gets a message, and that the command runs. */
static void test_without_rights(void **state)
{
	struct helper_request request;
	struct session s;

	(void)state;
	if (geteuid() != 0) {
		print_message("not root: no other user is tried\n");
		return;
	}
	assert_int_equal(chmod(".", 0755), 0);
	group_request(&request, "echo ran", MEMORY, 20);
	session_start_as(&s, &request, 65534);
	session_end(&s);
	assert_int_equal(s.answer.result.exit_status, 0);
	assert_int_equal(s.answer.result.cgroup, 0);
	check_spool(&s.answer.out, "ran\n", 4);
	session_release(&s);
}

int suite_helper_group(void)
{
	const struct CMUnitTest tests[] = {
		SESSION_TEST(test_runs_in_it),	SESSION_TEST(test_memory),	SESSION_TEST(test_processes),
		SESSION_TEST(test_fork_bomb),	SESSION_TEST(test_hang_up),	SESSION_TEST(test_worker_killed),
		SESSION_TEST(test_both_killed), SESSION_TEST(test_two_at_once), SESSION_TEST(test_without_rights),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
