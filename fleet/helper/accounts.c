#include "fleet/helper/accounts.h"

#include "base/clock.h"
#include "fleet/cgroup/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define TEXT_BYTES	 512
#define TASK_BYTES	 4096 /* maximum size of a file below /proc/PID that is read */
#define POLL_INTERVAL_NS INT64_C(40000000)
#define COST_MAX	 200 /* polling takes at most 1/COST_MAX of the time */
#define PROCESSES	 256 /* maximum number of processes per poll */

/* ---- run-queue delays of threads other than the first ---- */

struct delay_poll {
	struct usage_delays *delays;
	pid_t processes[PROCESSES]; /* [n] processes to poll; children come after their parents */
	size_t n;
	uint64_t gained_ns; /* largest increase of a thread's delay since the last poll */
};

/* Returns the element with the thread's delay at the last poll. NULL if there are too many threads. */
static uint64_t *find_seen_delay(struct usage_delays *delays, pid_t thread)
{
	for (size_t i = 0; i < USAGE_THREADS_MAX; i++) {
		size_t at = ((size_t)thread + i) % USAGE_THREADS_MAX;

		if (delays->ids[at] == 0)
			delays->ids[at] = thread;
		if (delays->ids[at] == thread)
			return &delays->polled_delay_ns[at];
	}
	return NULL;
}

static void read_delay(struct delay_poll *delay_poll, pid_t process, pid_t thread)
{
	char text[TASK_BYTES], *delay;
	uint64_t now_ns, gained, *seen;

	if (!process_text(text, TASK_BYTES, "/proc/%d/task/%d/schedstat", (int)process, (int)thread) || !(delay = strchr(text, ' ')) ||
	    !(seen = find_seen_delay(delay_poll->delays, thread)))
		return;
	now_ns = strtoull(delay, NULL, 10);
	gained = now_ns < *seen ? now_ns : now_ns - *seen; /* a smaller value belongs to a new thread with the same id */
	*seen = now_ns;
	delay_poll->gained_ns = gained > delay_poll->gained_ns ? gained : delay_poll->gained_ns;
}

static void find_children(struct delay_poll *delay_poll, pid_t process, pid_t thread)
{
	char text[TASK_BYTES], *at = text, *end;

	if (!process_text(text, TASK_BYTES, "/proc/%d/task/%d/children", (int)process, (int)thread))
		return;
	for (long id; delay_poll->n < PROCESSES && (id = strtol(at, &end, 10)) > 0 && *end; at = end)
		delay_poll->processes[delay_poll->n++] = (pid_t)id;
}

/* Polls the threads of a process. If `ours`, it is a child of this process; then its first thread is excluded, and counted at its end. */
static void inspect_process(struct delay_poll *delay_poll, pid_t process, bool ours)
{
	char path[32];
	struct dirent *entry;
	DIR *threads;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)process);
	threads = opendir(path);
	while (threads && (entry = readdir(threads))) {
		pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);

		if (thread <= 0)
			continue;
		if (!ours || thread != process)
			read_delay(delay_poll, process, thread);
		find_children(delay_poll, process, thread);
	}
	if (threads)
		closedir(threads);
}

void usage_counters_poll(struct usage_counters *usage_counters, pid_t command, int64_t begun_ns, int64_t now_ns)
{
	struct usage_delays *delays = &usage_counters->delays;
	struct delay_poll delay_poll = { .delays = delays };
	int64_t pause_ns;
	size_t ours;

	delays->begun_ns = begun_ns;
	if (now_ns < (delays->next_ns ? delays->next_ns : begun_ns + POLL_INTERVAL_NS))
		return;
	find_children(&delay_poll, getpid(), getpid());
	if (delay_poll.n == 0) /* the kernel does not list children */
		delay_poll.processes[delay_poll.n++] = command;
	ours = delay_poll.n;
	for (size_t i = 0; i < delay_poll.n; i++)
		inspect_process(&delay_poll, delay_poll.processes[i], i < ours);
	delays->sum_ns += delay_poll.gained_ns;
	delays->last_ns = now_ns;
	pause_ns = COST_MAX * (clock_monotonic_ns() - now_ns);
	delays->next_ns = now_ns + (pause_ns > POLL_INTERVAL_NS ? pause_ns : POLL_INTERVAL_NS);
}

/* Returns the delays of a command that has ended, ns; -1 if it was not polled. If several threads waited between two polls, only the
 * longest delay is counted, because the command lost at most that time. Extrapolates to the time after the last poll. */
static int64_t total_delays(const struct usage_delays *delays, int64_t ended_ns)
{
	int64_t known_ns = delays->last_ns - delays->begun_ns;

	if (delays->last_ns == 0 || known_ns <= 0)
		return -1;
	return (int64_t)((double)delays->sum_ns / (double)known_ns * (double)(ended_ns - delays->begun_ns));
}

/* ---- the PMU ---- */

static const struct {
	const char *name;
	uint64_t config;
} pmu_rows[PMU_EVENTS] = { { "instructions", PERF_COUNT_HW_INSTRUCTIONS }, { "cycles", PERF_COUNT_HW_CPU_CYCLES } };

/* Opens the events before the fork. Counting starts with the command's exec(). Without a PMU or permission, nothing is counted. */
static void pmu_open(struct pmu *pmu)
{
	*pmu = (struct pmu){ .open = true };
	for (size_t i = 0; i < PMU_EVENTS; i++) {
		struct perf_event_attr event = { .type = PERF_TYPE_HARDWARE,
						 .size = sizeof(event),
						 .config = pmu_rows[i].config,
						 .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
						 .inherit = 1,
						 .disabled = 1,
						 .enable_on_exec = 1,
						 .exclude_kernel = 1,
						 .exclude_hv = 1 };

		pmu->fds[i] = i > 0 && pmu->fds[0] < 0 ? -1 : (int)syscall(SYS_perf_event_open, &event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	}
}

/* Reads a counter. If the event was counted only for a part of the time, extrapolates the value. Returns -1 if it was not counted. */
static int64_t read_count(int fd)
{
	uint64_t told[3]; /* count; time for which the event was enabled; time for which it was counted, ns */

	if (fd < 0 || read(fd, told, sizeof(told)) != (ssize_t)sizeof(told) || told[2] == 0)
		return -1;
	return (int64_t)((double)told[0] * ((double)told[1] / (double)told[2]));
}

/* Reads and closes the counters. Call it after waiting for the command. */
static void pmu_end(struct pmu *pmu)
{
	for (size_t i = 0; pmu->open && i < PMU_EVENTS; i++)
		pmu->counts[i] = read_count(pmu->fds[i]);
	for (size_t i = 0; pmu->open && i < PMU_EVENTS; i++)
		if (pmu->fds[i] >= 0)
			close(pmu->fds[i]);
	pmu->known = pmu->open;
	pmu->open = false;
}

/* Writes lines "NAME COUNT" of the known counters. Returns the size of the text. */
static int pmu_write(const struct pmu *pmu, char *text, size_t n)
{
	int all = 0;

	for (size_t i = 0; pmu->known && i < PMU_EVENTS; i++)
		if (pmu->counts[i] >= 0)
			all += snprintf(text + all, n - (size_t)all, "%s %lld\n", pmu_rows[i].name, (long long)pmu->counts[i]);
	return all;
}

/* ---- clock rate and temperature ---- */

#define PROCESSORS_MAX	8  /* maximum number of CPUs to read */
#define ZONES_MAX	32 /* maximum number of thermal zones; some numbers may be missing */
#define CHIPS_MAX	32
#define SENSORS_MAX	16	/* maximum number of sensors per chip */
#define TEMPERATURE_MIN -273000 /* values outside this range are errors of the sensor */
#define TEMPERATURE_MAX 1000000

/* Returns the mean clock rate of the first eight CPUs; SENSOR_UNKNOWN if it is unknown. */
static int64_t climate_frequency_khz(const char *root)
{
	int64_t sum = 0, n = 0;

	for (int i = 0; i < PROCESSORS_MAX; i++) {
		char word[32];
		long long khz = 0;

		if (process_text(word, sizeof(word), "%s/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", root, i))
			khz = strtoll(word, NULL, 10);
		if (khz <= 0)
			break;
		sum += khz;
		n++;
	}
	return n ? sum / n : SENSOR_UNKNOWN;
}

static int64_t max_temperature(int64_t a, const char *path)
{
	char word[32], *end = word;
	long long b = process_text(word, sizeof(word), "%s", path) ? strtoll(word, &end, 10) : 0;

	return end != word && b > TEMPERATURE_MIN && b < TEMPERATURE_MAX && b > a ? b : a;
}

/* Reports whether a sensor chip measures CPUs. Other chips measure disks and boards. */
static bool is_processors(const char *name)
{
	static const char *const names[] = { "coretemp", "k10temp", "zenpower", "cpu_thermal" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == strcspn(name, "\n") && strncmp(names[i], name, strlen(names[i])) == 0)
			return true;
	return false;
}

int64_t sensor_temperature_mc(const char *root)
{
	int64_t warmest = SENSOR_UNKNOWN;
	char path[256], name[32];

	for (int i = 0; i < ZONES_MAX; i++) {
		snprintf(path, sizeof(path), "%s/sys/class/thermal/thermal_zone%d/temp", root, i);
		warmest = max_temperature(warmest, path);
	}
	for (int i = 0; i < CHIPS_MAX && warmest == SENSOR_UNKNOWN; i++) {
		process_text(name, sizeof(name), "%s/sys/class/hwmon/hwmon%d/name", root, i);
		if (!is_processors(name))
			continue;
		for (int k = 1; k <= SENSORS_MAX; k++) {
			snprintf(path, sizeof(path), "%s/sys/class/hwmon/hwmon%d/temp%d_input", root, i, k);
			warmest = max_temperature(warmest, path);
		}
	}
	return warmest;
}

/* ---- counters of the kernel, per process and of the host ---- */

/* Counters of the whole host. Their increase during a command includes all processes. */
static const char *const totals[USAGE_TOTALS] = { "crowded_ns", "io_stalled_ns", "memory_stalled_ns", "throttled_ns", "processes",
						  "steal_ns",	"busy_ns" };

/* Returns the number after `word` in a file; -1 if it is missing. */
static int64_t read_number(const char *path, const char *word)
{
	char text[TEXT_BYTES];
	const char *at;

	process_text(text, TEXT_BYTES, "%s", path);
	at = strstr(text, word);
	return at ? (int64_t)strtoull(at + strlen(word), NULL, 10) : -1;
}

/* Returns the time since boot in which a process waited for this resource, ns; -1 if it is unknown. */
static int64_t pressure_ns(const char *path)
{
	int64_t us = read_number(path, "total=");

	return us < 0 ? -1 : 1000 * us;
}

size_t usage_find_cgroup(const char *controller, char path[PATH_MAX])
{
	char text[8 * TEXT_BYTES], *rest = text, *line;
	size_t n = strlen(controller), top = 0;

	process_text(text, sizeof(text), "/proc/self/cgroup");
	while (!top && (line = strsep(&rest, "\n"))) { /* "0::/PATH"; in version 1 "4:cpu,cpuacct:/PATH" */
		char *controllers = strchr(line, ':'), *group = controllers ? strchr(++controllers, ':') : NULL;
		bool v2 = group == controllers;

		if (!group || (!v2 && (strncmp(controllers, controller, n) != 0 || (controllers[n] != ',' && controllers[n] != ':'))))
			continue;
		top = (size_t)snprintf(path, PATH_MAX, "/sys/fs/cgroup%s%s", v2 ? "" : "/", v2 ? "" : controller);
		snprintf(path + top, PATH_MAX - top, "%s", strcmp(group, ":/") == 0 ? "" : group + 1);
	}
	return top;
}

/* Returns the time in which this cgroup's processes were throttled, because this cgroup or one around it had used up its CPU quota. Newer
 * kernels report the sum. Older kernels report a time for each of these cgroups. -1 if it is unknown. */
static int64_t throttled_ns(void)
{
	char group[PATH_MAX], file[PATH_MAX + 20], *end;
	size_t top = usage_find_cgroup("cpu", group);
	int64_t ns, sum = -1;

	snprintf(file, sizeof(file), "%s/cpu.stat.local", group);
	ns = top ? read_number(file, "throttled_usec ") : -1;
	if (ns >= 0)
		return 1000 * ns;
	for (end = top ? group + strlen(group) : NULL; end; end = strrchr(group + top, '/')) {
		*end = '\0';
		snprintf(file, sizeof(file), "%s/cpu.stat", group);
		ns = read_number(file, "throttled_usec ");
		ns = ns >= 0 ? 1000 * ns : read_number(file, "throttled_time "); /* version 1 */
		sum = ns < 0 ? sum : ns + (sum < 0 ? 0 : sum);
	}
	return sum;
}

/* Returns the pid of the last process that was started; -1 if it is unknown. Pids ascend until they wrap. */
static int64_t last_process(void)
{
	char text[TEXT_BYTES];
	const char *last;

	process_text(text, TEXT_BYTES, "/proc/loadavg");
	last = strrchr(text, ' ');
	return last ? (int64_t)strtoull(last, NULL, 10) : -1;
}

/* Reads times since boot: the CPU time that a hypervisor took (mean per CPU) and the CPU time that was used (sum). -1 if unknown. In a
 * container, another file system may replace /proc/stat and show only the container's own work. */
static void read_processors(int64_t *stolen_ns, int64_t *busy_ns)
{
	enum { IDLE = 3, IOWAIT = 4, STEAL = 7 }; /* indices in the line of all CPUs, which starts with user, nice, system */
	long hz = sysconf(_SC_CLK_TCK), processors = sysconf(_SC_NPROCESSORS_ONLN);
	char text[TEXT_BYTES], *at = text + 4;
	int64_t ns[STEAL + 1] = { 0 };
	struct statfs on;

	*stolen_ns = *busy_ns = -1;
	process_text(text, TEXT_BYTES, "/proc/stat");
	if (hz <= 0 || processors <= 0 || strncmp(text, "cpu ", 4) != 0)
		return;
	for (int i = 0; i <= STEAL; i++)
		ns[i] = (int64_t)strtoull(at, &at, 10) * (1000000000 / hz);
	*stolen_ns = ns[STEAL] / processors;
	if (statfs("/proc/stat", &on) == 0 && on.f_type == PROC_SUPER_MAGIC)
		*busy_ns = processors * clock_monotonic_ns() - ns[IDLE] - ns[IOWAIT];
}

static void read_totals(int64_t to[USAGE_TOTALS])
{
	to[0] = pressure_ns("/proc/pressure/cpu");
	to[1] = pressure_ns("/proc/pressure/io");
	to[2] = pressure_ns("/proc/pressure/memory");
	to[3] = throttled_ns();
	to[4] = last_process();
	read_processors(&to[5], &to[6]);
}

/* Reads the I/O of the processes for which this process has waited, and of their children. The kernel adds it to this process's own I/O,
 * which is that of its only thread. The kernel reports the I/O of a single ended process only to root. */
static void read_io(unsigned long long io[4], bool *unknown)
{
	static const char *const names[] = { "rchar: ", "wchar: ", "syscr: ", "syscw: " };
	char all[TEXT_BYTES], own[TEXT_BYTES];

	process_text(all, TEXT_BYTES, "/proc/self/io");
	process_text(own, TEXT_BYTES, "/proc/thread-self/io");
	*unknown |= !*all || !*own;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *in_all = strstr(all, names[i]), *in_own = strstr(own, names[i]);

		io[i] =
		    in_all && in_own ? strtoull(in_all + strlen(names[i]), NULL, 10) - strtoull(in_own + strlen(names[i]), NULL, 10) : 0;
	}
}

void usage_counters_begin(struct usage_counters *usage_counters, bool pmu)
{
	*usage_counters = (struct usage_counters){ .delay_ns = 0 };
	read_io(usage_counters->io, &usage_counters->is_io_unknown);
	read_totals(usage_counters->totals);
	if (pmu)
		pmu_open(&usage_counters->pmu);
}

struct usage_schedule usage_read_schedule(pid_t id)
{
	char text[TEXT_BYTES], *at = text;
	struct usage_schedule of;

	process_text(text, TEXT_BYTES, "/proc/%d/schedstat", (int)id);
	of.ran_ns = strtoull(at, &at, 10);
	of.delay_ns = strtoull(at, &at, 10);
	return of;
}

void usage_counters_end(struct usage_counters *usage_counters)
{
	unsigned long long io[4];
	int64_t now[USAGE_TOTALS];

	read_io(io, &usage_counters->is_io_unknown);
	pmu_end(&usage_counters->pmu);
	usage_counters->frequency_khz = climate_frequency_khz("");
	usage_counters->temperature_mc = sensor_temperature_mc("");
	for (int i = 0; i < 4; i++)
		usage_counters->io[i] = io[i] - usage_counters->io[i];
	read_totals(now);
	for (int i = 0; i < USAGE_TOTALS; i++)
		usage_counters->totals[i] =
		    usage_counters->totals[i] < 0 || now[i] < usage_counters->totals[i] ? -1 : now[i] - usage_counters->totals[i];
}

void usage_counters_write(const struct usage_counters *usage_counters, const struct rusage *usage, int64_t ended_ns,
			  char text[USAGE_TEXT_BYTES])
{
	const unsigned long long *io = usage_counters->io;
	int64_t others_ns = total_delays(&usage_counters->delays, ended_ns);
	struct timespec tick;
	int n = snprintf(text, USAGE_TEXT_BYTES,
			 "minor_faults %ld\nmajor_faults %ld\nvoluntary_switches %ld\ninvoluntary_switches %ld\nrun_delay_ns %llu\n",
			 usage->ru_minflt, usage->ru_majflt, usage->ru_nvcsw, usage->ru_nivcsw, usage_counters->delay_ns);

	if (others_ns >= 0)
		n += snprintf(text + n, USAGE_TEXT_BYTES - (size_t)n, "others_delay_ns %lld\n",
			      (long long)(others_ns + usage_counters->reader_delay_ns));
	if (!usage_counters->is_io_unknown)
		n += snprintf(text + n, USAGE_TEXT_BYTES - (size_t)n,
			      "read_bytes %llu\nwrite_bytes %llu\nread_calls %llu\nwrite_calls %llu\n", io[0], io[1], io[2], io[3]);
	for (int i = 0; i < USAGE_TOTALS; i++)
		if (usage_counters->totals[i] >= 0)
			n += snprintf(text + n, USAGE_TEXT_BYTES - (size_t)n, "%s %lld\n", totals[i], (long long)usage_counters->totals[i]);
	if (usage_counters->frequency_khz >= 0)
		n += snprintf(text + n, USAGE_TEXT_BYTES - (size_t)n, "frequency_khz %lld\n", (long long)usage_counters->frequency_khz);
	if (usage_counters->temperature_mc >= 0)
		n += snprintf(text + n, USAGE_TEXT_BYTES - (size_t)n, "temperature_mc %lld\n", (long long)usage_counters->temperature_mc);
	n += pmu_write(&usage_counters->pmu, text + n, USAGE_TEXT_BYTES - (size_t)n);
	if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) == 0)
		snprintf(text + n, USAGE_TEXT_BYTES - (size_t)n, "tick_ns %lld\n", (long long)tick.tv_sec * 1000000000 + tick.tv_nsec);
}
