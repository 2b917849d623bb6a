/* Tests cgroups. Files in a directory simulate a kernel that has only version 2, such as Debian 12. They show where groups are created and
 * which values are written. Killing is tested on real groups if this machine can mount a hierarchy of version 2. */
#include "fleet/cgroup/cgroup.h"
#include "tests/scratch.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- places for groups ---- */

static char *here(const char *below)
{
	char directory[4096];

	assert_non_null(getcwd(directory, sizeof(directory)));
	return mem_format("%s/%s", directory, below);
}

static void make_parents(const char *path)
{
	char *copy = mem_string(path);

	for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(copy, 0755);
		*slash = '/';
	}
	free(copy);
}

/* Creates a group of the simulated hierarchy. `controllers` are available, `handed_on` are enabled for child groups; NULL: no such file. */
static void play(const char *directory, const char *controllers, const char *handed_on, bool may_move)
{
	static const char *const names[] = { "cgroup.controllers", "cgroup.subtree_control", "cgroup.procs" };
	const char *const texts[] = { controllers, handed_on, may_move ? "" : NULL };

	for (size_t i = 0; i < 3; i++) {
		char *path = mem_format("%s/%s", directory, names[i]);

		make_parents(path);
		if (texts[i])
			scratch_put(path, texts[i]);
		free(path);
	}
}

static struct cgroup_parents find(const char *type, const char *options, const char *mount, const char *self)
{
	char *directory = here(mount), *mounts = mem_format("%s %s %s rw%s 0 0\n", type, directory, type, options);
	struct cgroup_parents places;

	scratch_put("mounts", mounts);
	if (self)
		scratch_put("self", self);
	cgroup_parents_find(&(struct cgroup_sources){ "mounts", self ? "self" : NULL }, &places);
	free(directory);
	free(mounts);
	return places;
}

static void check_place(const char *what, const char *place, const char *below)
{
	char *expected = below ? here(below) : NULL;

	if ((place == NULL) != (below == NULL) || (place && strcmp(place, expected) != 0))
		fail_msg("%s: '%s', not '%s'", what, place ? place : "none", expected ? expected : "none");
	free(expected);
}

#define BOTH "cpu memory pids"

static void test_places_of_version_2(void **state)
{
	static const struct {
		const char *what, *self, *memory, *pids;
	} rows[] = {
		{ "at the root: there", "0::/\n", "v2", "v2" },
		{ "not asked where we are", NULL, "v2", "v2" },
		{ "a service: beside it, in its slice", "0::/system.slice/ssh.service\n", "v2/system.slice", "v2/system.slice" },
		{ "a session: in the slice of its user", "0::/user.slice/user-0.slice/session-1.scope\n", "v2/user.slice/user-0.slice",
		  "v2/user.slice/user-0.slice" },
		{ "the slice hands on one of them only", "0::/half.slice/x.service\n", "v2", "v2/half.slice" },
		{ "the slice lets nobody in: the next one above", "0::/closed.slice/x.service\n", "v2", "v2" },
		{ "below a group that is not mounted here", "0::/docker/0123456789\n", "v2", "v2" },
		{ "the other version's lines do not count", "4:memory:/system.slice/ssh.service\n0::/\n", "v2", "v2" },
		{ "nothing is said", "", "v2", "v2" },
	};

	(void)state;
	play("v2", BOTH, BOTH, true);
	play("v2/system.slice", BOTH, BOTH, true);
	play("v2/system.slice/ssh.service", BOTH, "", true);
	play("v2/user.slice", BOTH, BOTH, true);
	play("v2/user.slice/user-0.slice", BOTH, "memory pids", true);
	play("v2/user.slice/user-0.slice/session-1.scope", "memory pids", "", true);
	play("v2/half.slice", "pids", "pids", true);
	play("v2/half.slice/x.service", "pids", "", true);
	play("v2/closed.slice", BOTH, BOTH, false);
	play("v2/closed.slice/x.service", BOTH, "", true);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct cgroup_parents places = find("cgroup2", "", "v2", rows[i].self);

		check_place(rows[i].what, places.memory, rows[i].memory);
		check_place(rows[i].what, places.pids, rows[i].pids);
		assert_int_equal(places.version, 2);
		cgroup_parents_release(&places);
	}
}

/* Checks that a controller that is available but not enabled for child groups gets enabled. */
static void test_handing_on(void **state)
{
	struct cgroup_parents places;
	char *text;

	(void)state;
	play("v2", BOTH, "", true);
	places = find("cgroup2", "", "v2", "0::/\n");
	check_place("asked for", places.memory, "v2");
	cgroup_parents_release(&places);
	text = scratch_text("v2/cgroup.subtree_control");
	assert_memory_equal(text, "+pids", 5); /* only the last write is visible in a regular file */
	free(text);
	/* A version 2 hierarchy next to version 1 has no memory and pids controllers. */
	play("beside", "hugetlb", "", true);
	places = find("cgroup2", "", "beside", "0::/\n");
	assert_null(places.memory);
	assert_null(places.pids);
	assert_int_equal(places.version, 0);
	cgroup_parents_release(&places);
}

static void test_places_of_version_1(void **state)
{
	struct cgroup_parents places;

	(void)state;
	play("v1", NULL, NULL, true);
	play("v1/own/group", NULL, NULL, true);
	play("v1/closed", NULL, NULL, false);
	places = find("cgroup", ",memory", "v1", "4:memory:/own/group\n3:pids:/\n");
	check_place("below our own", places.memory, "v1/own/group");
	assert_null(places.pids);
	assert_int_equal(places.version, 1);
	cgroup_parents_release(&places);
	places = find("cgroup", ",cpu,memory,pids", "v1", "4:cpu,memory,pids:/own/group\n");
	check_place("together", places.memory, "v1/own/group");
	check_place("together", places.pids, "v1/own/group");
	cgroup_parents_release(&places);
	places = find("cgroup", ",memory", "v1", "4:memory:/closed\n");
	check_place("not elsewhere", places.memory, NULL);
	cgroup_parents_release(&places);
	places = find("cgroup", ",memory", "v1", NULL);
	check_place("at the root", places.memory, "v1");
	cgroup_parents_release(&places);
}

/* Simulates a subtree that systemd delegates to a user. A service of the user finds it, a login session does not. */
static void delegated(void)
{
	static const char own[] = "0::/user.slice/user-9.slice/user@9.service/app.slice/x.service\n";
	struct cgroup_parents places;

	places = find("cgroup2", "", "v2", own);
	check_place("delegated", places.memory, "v2/user.slice/user-9.slice/user@9.service/app.slice");
	cgroup_parents_release(&places);
	places = find("cgroup2", "", "v2", "0::/user.slice/user-9.slice/session-3.scope\n");
	check_place("a session", places.memory, NULL);
	cgroup_parents_release(&places);
}

static void test_delegated_to_a_user(void **state)
{
	static const char *const theirs[] = { "", "/app.slice", "/app.slice/x.service" };
	pid_t child;
	int status;

	(void)state;
	if (geteuid() != 0) {
		print_message("not root: no other user is tried\n");
		return;
	}
	assert_int_equal(chmod(".", 0777), 0);
	play("v2", BOTH, BOTH, true);
	play("v2/user.slice/user-9.slice", BOTH, BOTH, true);
	play("v2/user.slice/user-9.slice/session-3.scope", BOTH, "", true);
	for (size_t i = 0; i < COUNT(theirs); i++) {
		static const char *const files[] = { "", "/cgroup.procs", "/cgroup.subtree_control" };
		char *group = mem_format("v2/user.slice/user-9.slice/user@9.service%s", theirs[i]);

		play(group, BOTH, i < 2 ? BOTH : "", true);
		for (size_t k = 0; k < COUNT(files); k++) {
			char *path = mem_format("%s%s", group, files[k]);

			assert_int_equal(chown(path, 65534, 65534), 0);
			free(path);
		}
		free(group);
	}
	unlink("mounts");
	unlink("self");
	child = fork();
	if (!child) {
		if (setuid(65534))
			_exit(99);
		delegated(); /* a failed assertion ends this process with another status */
		_exit(7);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
}

/* ---- limits and killing ---- */

static void check_file(const char *path, const char *expected)
{
	char *text = scratch_text(path);

	if (strcmp(text, expected) != 0)
		fail_msg("%s: '%s', not '%s'", path, text, expected);
	free(text);
}

static void test_limits(void **state)
{
	pid_t *pids;
	size_t n;

	(void)state;
	assert_int_equal(mkdir("g", 0755), 0);
	assert_int_equal(cgroup_limit_memory("g", 0), 0);
	assert_int_equal(cgroup_limit_memory("g", 4096), ENOENT);
	assert_int_equal(cgroup_limit_processes("g", 3), ENOENT);
	assert_int_equal(cgroup_join("g", 17), ENOENT);
	assert_int_equal(cgroup_oom_kills("g"), -1);
	assert_int_equal(cgroup_refused_processes("g"), -1);
	cgroup_list_processes("g", &pids, &n);
	assert_int_equal(n, 0);
	free(pids);

	scratch_put("g/memory.max", "");
	scratch_put("g/memory.swap.max", "");
	scratch_put("g/pids.max", "");
	scratch_put("g/cgroup.procs", "");
	assert_int_equal(cgroup_limit_memory("g", 1073741824), 0);
	assert_int_equal(cgroup_limit_processes("g", 512), 0);
	assert_int_equal(cgroup_join("g", 17), 0);
	check_file("g/memory.max", "1073741824");
	check_file("g/memory.swap.max", "0");
	check_file("g/pids.max", "512");
	check_file("g/cgroup.procs", "17");
	scratch_put("g/memory.events", "low 0\nhigh 0\nmax 7\noom 2\noom_kill 3\noom_group_kill 0\n");
	scratch_put("g/pids.events", "max 12\n");
	assert_int_equal(cgroup_oom_kills("g"), 3);
	assert_int_equal(cgroup_refused_processes("g"), 12);

	assert_int_equal(mkdir("one", 0755), 0);
	scratch_put("one/memory.limit_in_bytes", "");
	scratch_put("one/memory.memsw.limit_in_bytes", "");
	scratch_put("one/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
	assert_int_equal(cgroup_limit_memory("one", 65536), 0);
	check_file("one/memory.limit_in_bytes", "65536");
	check_file("one/memory.memsw.limit_in_bytes", "65536");
	assert_int_equal(cgroup_oom_kills("one"), 4);
}

static _Noreturn void pause_for_ever(void)
{
	for (;;)
		pause();
}

/* Checks that with cgroup.kill the helper sends no signals itself: the process that is listed in the simulated group survives. */
static void test_kill_played(void **state)
{
	pid_t child = fork();
	char text[32];
	int status;

	(void)state;
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* also if an assertion fails */
		pause_for_ever();
	}
	snprintf(text, sizeof(text), "%d\n", (int)child);
	assert_int_equal(mkdir("g", 0755), 0);
	scratch_put("g/cgroup.procs", text);
	scratch_put("g/cgroup.kill", "");
	scratch_put("g/pids.max", "max");
	assert_int_equal(cgroup_kill("g"), 1);
	check_file("g/cgroup.kill", "1");
	check_file("g/pids.max", "0ax"); /* a regular file keeps its old tail; a kernel file does not */
	assert_int_equal(kill(child, 0), 0);
	assert_int_equal(waitpid(child, &status, WNOHANG), 0);
	assert_int_equal(unlink("g/cgroup.kill"), 0);
	assert_int_equal(cgroup_kill("g"), 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* ---- owners of groups ---- */

static void test_claim_and_sweep(void **state)
{
	char *first, *second;
	int fd, fd2;

	(void)state;
	assert_int_equal(mkdir("place", 0755), 0);
	assert_int_equal(mkdir("place/x-other", 0755), 0);
	assert_int_equal(cgroup_create_owned("place", "g-", &first, &fd), 0);
	assert_int_equal(cgroup_create_owned("place", "g-", &second, &fd2), 0);
	assert_string_not_equal(first, second);
	assert_int_equal(cgroup_remove_orphans("place", "g-"), 0); /* both groups have an owner */
	close(fd);
	assert_int_equal(cgroup_remove_orphans("place", "g-"), 1);
	assert_int_equal(access(first, F_OK), -1);
	assert_int_equal(access(second, F_OK), 0);
	close(fd2);
	assert_int_equal(cgroup_remove_orphans("place", "g-"), 1);
	assert_int_equal(access("place/x-other", F_OK), 0);
	assert_int_equal(cgroup_remove_orphans("nowhere", "g-"), 0);
	assert_int_equal(cgroup_remove(first, 0), 0); /* a missing group is not an error */
	free(first);
	free(second);
	assert_int_equal(cgroup_create_owned("nowhere", "g-", &first, &fd), ENOENT);
}

/* ---- a real hierarchy of version 2 ---- */

/* Starts four processes in the group, each the child of the previous one. They die with this process. */
static void spawn_in(const char *group, bool own_session, int owner)
{
	pid_t child = fork();

	if (child)
		return;
	close(owner);
	if (cgroup_join(group, 0) || (own_session && setsid() < 0))
		_exit(1);
	for (int i = 0; i < 3; i++) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (fork() > 0)
			break;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pause_for_ever();
}

/* Tests a real hierarchy in a new mount namespace. Returns 77 if none can be mounted. */
static int kill_for_real(void)
{
	char *group, *below;
	pid_t *pids;
	size_t n = 0;
	int fd;

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) || mkdir("real", 0755) ||
	    mount("cgroup2", "real", "cgroup2", 0, NULL) || cgroup_create_owned("real", "assay-test-", &group, &fd))
		return 77;
	below = mem_format("%s/below", group);
	if (mkdir(below, 0755))
		return 77;
	spawn_in(group, false, fd);
	spawn_in(below, true, fd);
	for (int i = 0; i < 2000 && n < 8; i++) {
		usleep(1000);
		cgroup_list_processes(group, &pids, &n);
		free(pids);
	}
	assert_int_equal(n, 8);
	assert_int_equal(cgroup_remove(group, 10), EBUSY);
	close(fd); /* the owner is gone, so that another sweep removes the group */
	assert_int_equal(cgroup_remove_orphans("real", "assay-test-"), 1);
	assert_int_equal(access(group, F_OK), -1);
	free(group);
	free(below);
	return 0;
}

static void test_version_2_for_real(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	if (!child) {
		status = kill_for_real();
		_exit(status);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		print_message("no hierarchy of version 2 can be mounted here: not tested\n");
	else if (!WIFEXITED(status) || WEXITSTATUS(status))
		fail_msg("status %d", status);
}

int suite_cgroup(void)
{
	const struct CMUnitTest tests[] = {
		SCRATCH_TEST(test_places_of_version_2),
		SCRATCH_TEST(test_handing_on),
		SCRATCH_TEST(test_places_of_version_1),
		SCRATCH_TEST(test_delegated_to_a_user),
		SCRATCH_TEST(test_limits),
		SCRATCH_TEST(test_kill_played),
		SCRATCH_TEST(test_claim_and_sweep),
		SCRATCH_TEST(test_version_2_for_real),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
