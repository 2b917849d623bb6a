/* What is slower around a command, and that it is given back: files of a machine that is played, whoever is killed; quota, processors,
 * network, storage and page walks of this one. */
#include "fleet/helper/surroundings.h"
#include "tests/scratch.h"
#include "tests/fleet/helper_session.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>

#define CPUFREQ	  "machine/sys/devices/system/cpu/cpufreq/"
#define FAST	  CPUFREQ "policy0/scaling_max_freq"
#define SCHEMATA  "machine/sys/fs/resctrl/schemata"
#define NOBODY	  65534
#define SHOW	  "cat " CPUFREQ "policy?/scaling_max_freq "
#define AS_IT_WAS "    L3:0=fffff;1=ff0\n    MB:0=100;1=90\n"

static void play(const char *path, const char *text)
{
	char directory[256];

	for (const char *at = path; (at = strchr(at, '/')); at++) {
		snprintf(directory, sizeof(directory), "%.*s", (int)(at - path), path);
		mkdir(directory, 0755);
	}
	scratch_put(path, text);
}

static int machine_enter(void **state)
{
	char root[4096];

	if (session_enter(state) || !getcwd(root, sizeof(root) - 16))
		return 1;
	chmod(".", 0755);
	memcpy(root + strlen(root), "/machine", sizeof("/machine"));
	setenv("ASSAY_MACHINE_ROOT", root, 1);
	play("machine/run/utmp", "");
	play(FAST, "3500000\n");
	play(CPUFREQ "policy0/cpuinfo_min_freq", "800000\n");
	play(CPUFREQ "policy1/scaling_max_freq", "3000000\n");
	play(CPUFREQ "policy1/cpuinfo_min_freq", "2500000\n");
	play(SCHEMATA, AS_IT_WAS);
	play("machine/sys/fs/resctrl/info/MB/min_bandwidth", "50\n");
	play("machine/sys/fs/resctrl/info/L3/min_cbm_bits", "2\n");
	play("machine/sys/devices/system/node/has_memory", "0-1\n");
	play("machine/sys/devices/system/node/node0/cpulist", "0\n");
	play("machine/sys/devices/system/node/node1/cpulist", "1\n");
	play("machine/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0-1\n");
	play("machine/sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "0-1\n");
	return 0;
}

static int machine_leave(void **state)
{
	unsetenv("ASSAY_MACHINE_ROOT");
	return scratch_leave(state);
}

static void shaped_request(struct helper_request *request, const char *script, unsigned shape, unsigned level)
{
	shell_request(request, script);
	helper_request_shape(request, &(struct shaped){ shape, level });
}

static void check_file(const char *path, const char *expected)
{
	char *text = scratch_text(path);

	assert_string_equal(text, expected);
	free(text);
}

static size_t journals(void)
{
	DIR *dir = opendir("machine/run");
	struct dirent *entry;
	size_t n = 0;

	while ((entry = readdir(dir)))
		n += strncmp(entry->d_name, "assay-shape-", 12) == 0;
	closedir(dir);
	return n;
}

static void wait_for(const char *path, const char *expected)
{
	int64_t end = now_ms() + SESSION_PATIENCE_MS;

	for (bool there = false; !there; sleep_ms(5)) {
		char *text = scratch_text(path);

		there = strcmp(text, expected) == 0;
		free(text);
		if (!there && now_ms() > end)
			fail_msg("%s has not become '%s'", path, expected);
	}
}

static void test_written_and_given_back(void **state)
{
	static const struct {
		unsigned shape, level;
		const char *during, *frequency, *schemata;
	} rows[] = {
		{ SHAPE_FREQUENCY, 50, "17500002500000" AS_IT_WAS, "3500000", AS_IT_WAS },
		{ SHAPE_FREQUENCY, 0, "3500000\n3000000\n" AS_IT_WAS, "3500000\n", AS_IT_WAS },
		{ SHAPE_BANDWIDTH, 40, "3500000\n3000000\nMB:0=60;1=54\n", "3500000\n", "MB:0=100;1=90\n" },
		{ SHAPE_BANDWIDTH, 90, "3500000\n3000000\nMB:0=50;1=50\n", "3500000\n", "MB:0=100;1=90\n" },
		{ SHAPE_WAYS, 50, "3500000\n3000000\nL3:0=3ff;1=f0\n", "3500000\n", "L3:0=fffff;1=ff0\n" },
		{ SHAPE_WAYS, 99, "3500000\n3000000\nL3:0=3;1=30\n", "3500000\n", "L3:0=fffff;1=ff0\n" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct helper_request request;

		scratch_put(FAST, "3500000\n");
		scratch_put(CPUFREQ "policy1/scaling_max_freq", "3000000\n");
		scratch_put(SCHEMATA, AS_IT_WAS); /* played files keep the last line alone */
		shaped_request(&request, SHOW SCHEMATA, rows[i].shape, rows[i].level);
		check_output(&request, rows[i].during);
		check_file(FAST, rows[i].frequency);
		check_file(SCHEMATA, rows[i].schemata);
		assert_int_equal(journals(), 0);
	}
}

/* Whoever has the journal open as its standard output. */
static pid_t find_keeper(void)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	pid_t keeper = 0;

	while ((entry = readdir(proc))) {
		char path[300], target[4096];
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/%s/fd/1", entry->d_name);
		n = readlink(path, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = '\0';
		if (strstr(target, getenv("ASSAY_MACHINE_ROOT")) && strstr(target, "/run/assay-shape-"))
			keeper = (pid_t)strtol(entry->d_name, NULL, 10);
	}
	closedir(proc);
	return keeper;
}

enum killed { HELPER, WORKER, BOTH, ALL };

static void test_given_back_after_sigkill(void **state)
{
	(void)state;
	for (enum killed killed = HELPER; killed <= ALL; killed++) {
		struct helper_request request;
		struct session s;
		pid_t worker, keeper;

		shaped_request(&request, "exec sleep 4243", SHAPE_FREQUENCY, 50);
		session_start(&s, &request);
		session_begun(&s);
		check_file(FAST, "1750000");
		worker = child_of(s.helper);
		for (int64_t end = now_ms() + SESSION_PATIENCE_MS; (keeper = find_keeper()) <= 0; sleep_ms(2))
			assert_true(now_ms() < end);
		if (killed != WORKER)
			kill(s.helper, SIGSTOP); /* so that it does not give back between the two */
		if (killed == ALL)
			kill(keeper, SIGKILL);
		if (killed != HELPER)
			kill(worker, SIGKILL);
		if (killed != WORKER)
			kill(s.helper, SIGKILL);
		session_end(&s);
		session_release(&s);
		none_left(SESSION_PATIENCE_MS);
		if (killed == ALL) { /* then the next run does */
			check_file(FAST, "1750000");
			assert_int_equal(journals(), 1);
			shell_request(&request, "true");
			check_output(&request, "");
			check_file(FAST, "3500000");
		}
		wait_for(FAST, "3500000");
		while (find_keeper() > 0)
			sleep_ms(5);
		assert_int_equal(journals(), 0);
	}
}

/* What is owed to a helper that is alive stays. */
static void test_others_leave_it(void **state)
{
	struct helper_request request;
	struct session s;

	(void)state;
	shaped_request(&request, "exec sleep 4243", SHAPE_FREQUENCY, 50);
	session_start(&s, &request);
	session_begun(&s);
	machine_sweep(machine_root());
	check_file(FAST, "1750000");
	assert_int_equal(journals(), 1);
	session_close(&s.in);
	session_end(&s);
	session_release(&s);
	check_file(FAST, "3500000");
}

static void refused_as(unsigned shape, unsigned level, uid_t user, const char *part)
{
	struct helper_request request;
	struct session s;

	shaped_request(&request, "true", shape, level);
	session_start_as(&s, &request, user);
	session_end(&s);
	if (!s.answer.refusal || !strstr(s.answer.refusal, part))
		fail_msg("%s: '%s' is not in '%s'", shapes[shape].name, part, s.answer.refusal ? s.answer.refusal : "(not refused)");
	session_release(&s);
}

static void test_refused(void **state)
{
	(void)state;
	if (geteuid() == 0) {
		refused_as(SHAPE_FREQUENCY, 0, NOBODY, "it needs root");
		refused_as(SHAPE_BANDWIDTH, 50, NOBODY, "it needs root");
		refused_as(SHAPE_QUOTA, 50, NOBODY, "it needs root");
		refused_as(SHAPE_NETWORK, 0, NOBODY, "it needs root");
	}
	refused_as(SHAPE_FREQUENCY, 100, 0, "99 per cent");
	scratch_put(SCHEMATA, "L3DATA:0=ff\n");
	refused_as(SHAPE_WAYS, 50, 0, "resctrl has no cache ways");
	refused_as(SHAPE_BANDWIDTH, 0, 0, "mount -t resctrl");
	unlink(FAST);
	unlink(CPUFREQ "policy1/scaling_max_freq");
	refused_as(SHAPE_FREQUENCY, 50, 0, "scaling_max_freq");
	if (geteuid() == 0) { /* nowhere to keep what stands there */
		play(FAST, "3500000\n");
		rename("machine/run", "machine/gone");
		refused_as(SHAPE_FREQUENCY, 50, 0, "cannot keep");
		check_file(FAST, "3500000\n");
	}
	scratch_put("machine/sys/devices/system/node/has_memory", "0\n");
	refused_as(SHAPE_DISTANCE, 1, 0, "one node");
	scratch_put("machine/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0\n");
	scratch_put("machine/sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "1\n");
	refused_as(SHAPE_NEIGHBOUR, 1, 0, "two threads");
}

/* As a machine with two threads a core and two nodes would have it. */
static void test_placement(void **state)
{
	cpu_set_t here;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(here), &here), 0);
	if (!CPU_ISSET(0, &here) || !CPU_ISSET(1, &here))
		return;
	for (unsigned level = 0; level < 2; level++) {
		const struct shaped neighbour = { SHAPE_NEIGHBOUR, level }, distance = { SHAPE_DISTANCE, level };
		struct surroundings s;
		char why[SHAPE_WHY_BYTES];

		assert_true(surroundings_take(machine_root(), &neighbour, 1, &s, why));
		assert_true(CPU_ISSET(0, &s.own) && !CPU_ISSET(1, &s.own));
		assert_int_equal(CPU_COUNT(&s.busy), level);
		assert_true(!level == !CPU_ISSET(1, &s.busy));
		assert_int_equal(s.node, -1);
		assert_int_equal(surroundings_disturb(&s, getpid()), 0);
		assert_int_equal(s.n_threads, level);
		surroundings_quiet(&s);
		assert_true(surroundings_take(machine_root(), &distance, 1, &s, why));
		assert_true(CPU_COUNT(&s.own) == 1 && CPU_ISSET(0, &s.own));
		assert_int_equal(s.node, level);
	}
}

/* ---- of this machine ---- */

/* The first number that it prints; -1: it was refused, for want of rights or of a controller. */
static long long number_of(const char *script, unsigned shape, unsigned level)
{
	struct helper_request request;
	struct assay_error err;
	struct session s;
	long long n = -1;
	char *text;
	size_t size;

	shaped_request(&request, script, shape, level);
	session_run(&s, &request);
	if (s.answer.refusal && (geteuid() != 0 || strstr(s.answer.refusal, "control group")))
		print_message("%s: %s\n", shapes[shape].name, s.answer.refusal);
	else if (s.answer.refusal)
		fail_msg("%s: %s", shapes[shape].name, s.answer.refusal);
	else {
		check(spool_text(&s.answer.out, 1 << 20, &text, &size, &err), &err);
		n = strtoll(text, NULL, 10);
		free(text);
	}
	session_release(&s);
	return n;
}

static void test_cores(void **state)
{
	cpu_set_t here;
	long long n;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(here), &here), 0);
	n = CPU_COUNT(&here);
	if (n < 2)
		return;
	assert_int_equal(number_of("nproc", SHAPE_CORES, 0), n);
	assert_int_equal(number_of("nproc", SHAPE_CORES, 50), n / 2);
	assert_int_equal(number_of("sh -c nproc", SHAPE_CORES, 99), 1);
}

#define GROUP(controller) "p=$(awk -F: '$2 ~ /(^|,)" controller "(,|$)/ || $2 == \"\" { print $3; exit }' /proc/self/cgroup); "
#define BURN		  "i=0; while [ $i -lt 60000 ]; do i=$((i + 1)); done; "

static void test_quota(void **state)
{
	static const char script[] = GROUP("cpu") BURN
	    "cat /sys/fs/cgroup/cpu$p/cpu.stat /sys/fs/cgroup$p/cpu.stat 2>/dev/null | sed -n 's/^nr_throttled //p' | head -n 1";
	long long none = number_of(script, SHAPE_QUOTA, 0), throttled = number_of(script, SHAPE_QUOTA, 98);

	(void)state;
	if (none < 0)
		return;
	assert_int_equal(none, 0);
	if (throttled < 10)
		fail_msg("it was throttled %lld times", throttled);
}

static void test_storage(void **state)
{
	struct helper_request request;
	struct assay_error err;
	struct session s;
	char *text;
	size_t size;

	(void)state;
	shaped_request(&request,
		       GROUP("blkio") "cat /sys/fs/cgroup/blkio$p/blkio.throttle.write_bps_device /sys/fs/cgroup$p/io.max 2>/dev/null",
		       SHAPE_STORAGE, 20);
	session_run(&s, &request);
	if (s.answer.refusal) { /* no rights, no controller, or a directory that no device has */
		print_message("%s\n", s.answer.refusal);
		assert_non_null(strstr(s.answer.refusal, "control group"));
	} else {
		check(spool_text(&s.answer.out, 1 << 20, &text, &size, &err), &err);
		assert_non_null(strstr(text, "50000000"));
		free(text);
	}
	session_release(&s);
}

/* Its interface is its own, and passes no more than it may: 1 MiB, of which a quarter at once, in three seconds. */
static void test_network(void **state)
{
	(void)state;
	assert_true(number_of("grep -c : /proc/net/dev", SHAPE_NETWORK, 0) == 1 || geteuid() != 0);
	for (unsigned level = 0; level <= 3800; level += 3800) {
		struct helper_request request;
		struct session s;

		helper_request_init(&request, "run");
		helper_request_text(&request, HELPER_ARGUMENT, "/proc/self/exe");
		helper_request_text(&request, HELPER_ARGUMENT, "exercise");
		helper_request_text(&request, HELPER_ARGUMENT, "network");
		helper_request_text(&request, HELPER_ARGUMENT, "9600");
		helper_request_shape(&request, &(struct shaped){ SHAPE_NETWORK, level });
		session_run(&s, &request);
		if (s.answer.refusal) {
			assert_non_null(strstr(s.answer.refusal, "a network of its own"));
		} else {
			assert_int_equal(s.answer.result.exit_status, 0);
			if (level && s.answer.result.wall_ns < 1500000000)
				fail_msg("it took %lld ns", (long long)s.answer.result.wall_ns);
		}
		session_release(&s);
	}
}

/* ---- an interface that is named ---- */

#define ONE	   "assay-one"
#define DISCIPLINE "tc qdisc show dev " ONE " | cut -d ' ' -f 2,3"

/* Without a helper, which would give back what others owe. Returns its status. */
static int run_shell(const char *script, char *said, size_t size)
{
	int ends[2], status;
	ssize_t n;
	pid_t child;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	child = fork();
	if (child == 0) {
		dup2(ends[1], STDOUT_FILENO);
		execl("/bin/sh", "sh", "-c", script, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	n = read(ends[0], said, size - 1);
	said[n > 0 ? n : 0] = '\0';
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

/* Two interfaces that are each other's end, in a namespace of the test's own. False: there can be none here. */
static bool network_enter(int *before)
{
	char said[64];

	*before = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (geteuid() != 0 || unshare(CLONE_NEWNET))
		return false;
	setenv("ASSAY_INTERFACE", ONE, 1);
	return run_shell("ip link add " ONE " type veth peer name assay-two && ip link set " ONE " up && ip link set assay-two up", said,
			 sizeof(said)) == 0;
}

static void network_leave(int before)
{
	unsetenv("ASSAY_INTERFACE");
	assert_true(geteuid() != 0 || setns(before, CLONE_NEWNET) == 0);
	close(before);
}

static void check_discipline(const char *expected)
{
	char said[64];

	assert_int_equal(run_shell(DISCIPLINE, said, sizeof(said)), 0);
	if (strncmp(said, expected, strlen(expected)) != 0)
		fail_msg("'%s' is not '%s'", said, expected);
}

/* 1 MiB of frames, of which a quarter passes at once, takes 200 ms at 256 ns a byte; then it is as it was. */
static void test_interface(void **state)
{
	struct helper_request request;
	int before;

	(void)state;
	if (network_enter(&before)) {
		for (unsigned level = 0; level <= 256; level += 256) {
			struct session s;

			helper_request_init(&request, "run");
			helper_request_text(&request, HELPER_ARGUMENT, "/proc/self/exe");
			helper_request_text(&request, HELPER_ARGUMENT, "exercise");
			helper_request_text(&request, HELPER_ARGUMENT, "interface");
			helper_request_text(&request, HELPER_ARGUMENT, "9600");
			helper_request_shape(&request, &(struct shaped){ SHAPE_INTERFACE, level });
			session_run(&s, &request);
			assert_null(s.answer.refusal);
			assert_int_equal(s.answer.result.exit_status, 0);
			if ((s.answer.result.wall_ns > 150000000) != (level > 0))
				fail_msg("at %u it took %lld ns", level, (long long)s.answer.result.wall_ns);
			session_release(&s);
			check_discipline("noqueue 0:");
			assert_int_equal(journals(), 0);
		}
		shaped_request(&request, DISCIPLINE, SHAPE_INTERFACE, 40);
		check_output(&request, "tbf a55a:\n");
	}
	network_leave(before);
}

/* A queue that somebody has put there is neither replaced nor taken away. */
static void test_interface_of_others(void **state)
{
	int before;

	(void)state;
	if (network_enter(&before)) {
		char said[64];

		assert_int_equal(run_shell("tc qdisc add dev " ONE " root handle 7: pfifo limit 50", said, sizeof(said)), 0);
		refused_as(SHAPE_INTERFACE, 40, 0, "queueing discipline of its own");
		check_discipline("pfifo 7:");
		refused_as(SHAPE_INTERFACE, 40, NOBODY, "it needs root");
		setenv("ASSAY_INTERFACE", "assay-none", 1);
		refused_as(SHAPE_INTERFACE, 0, 0, "No such device");
		unsetenv("ASSAY_INTERFACE");
		refused_as(SHAPE_INTERFACE, 0, 0, "no interface is named");
		assert_int_equal(journals(), 0);
	}
	network_leave(before);
}

/* With helper, worker and keeper gone, the next run does. */
static void test_interface_after_sigkill(void **state)
{
	int before;

	(void)state;
	for (enum killed killed = network_enter(&before) ? BOTH : ALL + 1; killed <= ALL; killed++) {
		struct helper_request request;
		struct session s;
		pid_t keeper;

		shaped_request(&request, "exec sleep 4243", SHAPE_INTERFACE, 40);
		session_start(&s, &request);
		session_begun(&s);
		check_discipline("tbf a55a:");
		for (int64_t end = now_ms() + SESSION_PATIENCE_MS; (keeper = find_keeper()) <= 0; sleep_ms(2))
			assert_true(now_ms() < end);
		kill(s.helper, SIGSTOP);
		if (killed == ALL)
			kill(keeper, SIGKILL);
		kill(child_of(s.helper), SIGKILL);
		kill(s.helper, SIGKILL);
		session_end(&s);
		session_release(&s);
		none_left(SESSION_PATIENCE_MS);
		if (killed == ALL) {
			check_discipline("tbf a55a:");
			shell_request(&request, "true");
			check_output(&request, "");
		}
		while (find_keeper() > 0)
			sleep_ms(5);
		check_discipline("noqueue 0:");
		assert_int_equal(journals(), 0);
	}
	network_leave(before);
}

/* Its own pages, which it does not touch while it waits; libraries are others' too. */
static void test_page_walks(void **state)
{
	static const char script[] =
	    "x=$(head -c 3000000 /dev/zero | tr '\\0' x); sleep .7; sed -n 's/^Referenced: *//p' /proc/$$/smaps_rollup";
	long long none = number_of(script, SHAPE_WALKS, 0), forgotten = number_of(script, SHAPE_WALKS, 1000);

	(void)state;
	if (none < 0)
		return;
	if (none < 3000 || forgotten > none - 2500)
		fail_msg("%lld KiB are known as used, and %lld when they are forgotten", none, forgotten);
}

static void test_names(void **state)
{
	unsigned set = 0;

	(void)state;
	assert_true(shapes_named("quota,numa", &set));
	assert_int_equal(set, 1u << SHAPE_QUOTA | 1u << SHAPE_DISTANCE);
	assert_false(shapes_named("quota,processor", &set));
	assert_false(shapes_named("", &set));
	assert_false(shapes_named("quota,", &set));
	set = 0;
	assert_true(shapes_named("all", &set));
	assert_true(set >> SHAPE_CORES & 1 && !(set >> SHAPE_WALKS & 1));
}

#define MACHINE_TEST(name) cmocka_unit_test_setup_teardown(name, machine_enter, machine_leave)

int suite_surroundings(void)
{
	const struct CMUnitTest tests[] = {
		MACHINE_TEST(test_written_and_given_back),
		MACHINE_TEST(test_given_back_after_sigkill),
		MACHINE_TEST(test_others_leave_it),
		MACHINE_TEST(test_refused),
		MACHINE_TEST(test_placement),
		MACHINE_TEST(test_interface),
		MACHINE_TEST(test_interface_of_others),
		MACHINE_TEST(test_interface_after_sigkill),
		SESSION_TEST(test_cores),
		SESSION_TEST(test_quota),
		SESSION_TEST(test_storage),
		SESSION_TEST(test_network),
		SESSION_TEST(test_page_walks),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
