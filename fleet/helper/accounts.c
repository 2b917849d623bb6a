#include "fleet/helper/accounts.h"

#include "base/clock.h"
#include "fleet/helper/climate.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define TEXT_BYTES 512

/* Totals of the host, of which the difference is the command's and that of whatever else ran meanwhile. */
static const char *const totals[ACCOUNTS_TOTALS] = { "crowded_ns",   "io_stalled_ns", "memory_stalled_ns",
						     "throttled_ns", "processes",     "steal_ns" };

/* A small file of /proc; "" when there is none. */
static void read_text(const char *path, char text[TEXT_BYTES])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, TEXT_BYTES - 1);

	text[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
}

/* The number behind a word in such a file; -1: it is not there. */
static int64_t read_number(const char *path, const char *word)
{
	char text[TEXT_BYTES];
	const char *at;

	read_text(path, text);
	at = strstr(text, word);
	return at ? (int64_t)strtoull(at + strlen(word), NULL, 10) : -1;
}

/* For how long, since the host was started, something there was kept waiting for this. */
static int64_t pressure_ns(const char *path)
{
	int64_t us = read_number(path, "total=");

	return us < 0 ? -1 : 1000 * us;
}

/* For how long what runs in the control group at a path below a root was held back, for that group or one around it had used up its share
 * of the processors: newer kernels say so, older ones say it of each group. */
static int64_t throttled_below(const char *root, char *group, const char *word, int64_t unit_ns)
{
	char file[2 * TEXT_BYTES];
	char *end = strcmp(group, "/") == 0 ? group : group + strlen(group);
	int64_t ns, sum = -1;

	snprintf(file, sizeof(file), "%s%s/cpu.stat.local", root, group);
	ns = read_number(file, word);
	if (ns >= 0)
		return unit_ns * ns;
	for (; end; end = strrchr(group, '/')) {
		*end = '\0';
		snprintf(file, sizeof(file), "%s%s/cpu.stat", root, group);
		ns = read_number(file, word);
		if (ns >= 0)
			sum = (sum < 0 ? 0 : sum) + unit_ns * ns;
	}
	return sum;
}

static int64_t throttled_ns(void)
{
	char text[8 * TEXT_BYTES], *rest = text, *line;
	int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	int64_t ns = -1;

	if (fd >= 0)
		close(fd);
	text[size > 0 ? size : 0] = '\0';
	while (ns < 0 && (line = strsep(&rest, "\n"))) { /* "0::/PATH", or, of version 1, "4:cpu,cpuacct:/PATH" */
		char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;

		if (!path)
			continue;
		*path++ = '\0';
		if (!controllers[1])
			ns = throttled_below("/sys/fs/cgroup", path, "throttled_usec ", 1000);
		else if (strncmp(controllers + 1, "cpu,", 4) == 0 || strcmp(controllers + 1, "cpu") == 0)
			ns = throttled_below("/sys/fs/cgroup/cpu", path, "throttled_time ", 1);
	}
	return ns;
}

/* The number that the process begun last has got: they ascend, until all have been used. */
static int64_t last_process(void)
{
	char text[TEXT_BYTES];
	const char *last;

	read_text("/proc/loadavg", text);
	last = strrchr(text, ' ');
	return last ? (int64_t)strtoull(last, NULL, 10) : -1;
}

/* The line of all processors in /proc/stat, in ticks; false: the host does not say. */
static bool read_ticks(unsigned long long ticks[8])
{
	char text[TEXT_BYTES], *at = text;

	read_text("/proc/stat", text);
	if (strncmp(at, "cpu ", 4) != 0)
		return false;
	at += 4;
	for (int i = 0; i < 8; i++)
		ticks[i] = strtoull(at, &at, 10);
	return true;
}

/* For how long a hypervisor had something else on the processors of this host, on the average of them; and for how long they were not
 * idle, all together: the kernel takes that by its clock, but says it by ticks. A container's file system that stands in for /proc would
 * show its own work alone. */
static void read_processors(int64_t *stolen_ns, int64_t *busy_ns)
{
	unsigned long long ticks[8] = { 0 };
	long hz = sysconf(_SC_CLK_TCK), processors = sysconf(_SC_NPROCESSORS_ONLN);
	bool known = hz > 0 && processors > 0 && read_ticks(ticks);
	int64_t tick_ns = known ? 1000000000 / hz : 0;
	struct statfs on;

	*stolen_ns = known ? (int64_t)ticks[7] * tick_ns / processors : -1;
	*busy_ns = -1;
	if (known && statfs("/proc/stat", &on) == 0 && on.f_type == PROC_SUPER_MAGIC)
		*busy_ns = processors * clock_monotonic_ns() - (int64_t)(ticks[3] + ticks[4]) * tick_ns;
}

static void read_totals(int64_t to[ACCOUNTS_TOTALS], int64_t *busy_ns)
{
	to[0] = pressure_ns("/proc/pressure/cpu");
	to[1] = pressure_ns("/proc/pressure/io");
	to[2] = pressure_ns("/proc/pressure/memory");
	to[3] = throttled_ns();
	to[4] = last_process();
	read_processors(&to[5], busy_ns);
}

/* What those that we have waited for have read and written, with what their children did: the kernel adds that to what this process did,
 * which is that of its only thread. Of a process that has ended the kernel would tell root alone. */
static void read_io(unsigned long long io[4], bool *unknown)
{
	static const char *const names[] = { "rchar: ", "wchar: ", "syscr: ", "syscw: " };
	char all[TEXT_BYTES], own[TEXT_BYTES];

	read_text("/proc/self/io", all);
	read_text("/proc/thread-self/io", own);
	*unknown |= !*all || !*own;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *in_all = strstr(all, names[i]), *in_own = strstr(own, names[i]);

		io[i] =
		    in_all && in_own ? strtoull(in_all + strlen(names[i]), NULL, 10) - strtoull(in_own + strlen(names[i]), NULL, 10) : 0;
	}
}

void accounts_begin(struct accounts *accounts)
{
	*accounts = (struct accounts){ .delay_ns = 0 };
	read_io(accounts->io, &accounts->io_unknown);
	read_totals(accounts->totals, &accounts->busy_ns);
}

struct accounts_schedule accounts_schedule_of(pid_t id)
{
	char path[40], text[TEXT_BYTES], *at = text;
	struct accounts_schedule of;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)id);
	read_text(path, text);
	of.ran_ns = strtoull(at, &at, 10);
	of.delay_ns = strtoull(at, &at, 10);
	return of;
}

void accounts_add(struct accounts *accounts, pid_t id)
{
	struct accounts_schedule of = accounts_schedule_of(id);

	accounts->delay_ns += of.delay_ns;
}

int64_t accounts_ended_ns(pid_t id, int64_t started_ns, int64_t now_ns, uint64_t own_delay_ns)
{
	struct accounts_schedule of = accounts_schedule_of(id);
	int64_t late_ns = (int64_t)(accounts_schedule_of(getpid()).delay_ns - own_delay_ns);
	int64_t first = started_ns + (int64_t)(of.ran_ns + of.delay_ns), seen = now_ns - late_ns;

	first = first < now_ns ? first : now_ns;
	return seen > first ? seen : first;
}

void accounts_end(struct accounts *accounts)
{
	unsigned long long io[4];
	int64_t now[ACCOUNTS_TOTALS], busy_ns;

	read_io(io, &accounts->io_unknown);
	pmu_end(&accounts->pmu);
	accounts->frequency_khz = climate_frequency_khz("");
	accounts->temperature_mc = climate_temperature_mc("");
	for (int i = 0; i < 4; i++)
		accounts->io[i] = io[i] - accounts->io[i];
	read_totals(now, &busy_ns);
	accounts->busy_ns = accounts->busy_ns < 0 || busy_ns < 0 ? -1 : busy_ns > accounts->busy_ns ? busy_ns - accounts->busy_ns : 0;
	for (int i = 0; i < ACCOUNTS_TOTALS; i++)
		accounts->totals[i] = accounts->totals[i] < 0 || now[i] < accounts->totals[i] ? -1 : now[i] - accounts->totals[i];
}

void accounts_say(const struct accounts *accounts, const struct rusage *usage, char text[ACCOUNTS_BYTES])
{
	const unsigned long long *io = accounts->io;
	int64_t own_ns = 1000000000 * (int64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
			 1000 * (int64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
	struct timespec tick;
	int n = snprintf(text, ACCOUNTS_BYTES,
			 "minor_faults %ld\nmajor_faults %ld\nvoluntary_switches %ld\ninvoluntary_switches %ld\nrun_delay_ns %llu\n",
			 usage->ru_minflt, usage->ru_majflt, usage->ru_nvcsw, usage->ru_nivcsw, accounts->delay_ns);

	if (accounts->busy_ns >= 0)
		n += snprintf(text + n, ACCOUNTS_BYTES - (size_t)n, "foreign_ns %lld\n",
			      (long long)(accounts->busy_ns > own_ns ? accounts->busy_ns - own_ns : 0));
	if (accounts->others_delay_ns >= 0)
		n += snprintf(text + n, ACCOUNTS_BYTES - (size_t)n, "others_delay_ns %lld\n", (long long)accounts->others_delay_ns);
	if (!accounts->io_unknown)
		n += snprintf(text + n, ACCOUNTS_BYTES - (size_t)n,
			      "read_bytes %llu\nwrite_bytes %llu\nread_calls %llu\nwrite_calls %llu\n", io[0], io[1], io[2], io[3]);
	for (int i = 0; i < ACCOUNTS_TOTALS; i++)
		if (accounts->totals[i] >= 0)
			n += snprintf(text + n, ACCOUNTS_BYTES - (size_t)n, "%s %lld\n", totals[i], (long long)accounts->totals[i]);
	if (accounts->frequency_khz >= 0)
		n += snprintf(text + n, ACCOUNTS_BYTES - (size_t)n, "frequency_khz %lld\n", (long long)accounts->frequency_khz);
	if (accounts->temperature_mc >= 0)
		n += snprintf(text + n, ACCOUNTS_BYTES - (size_t)n, "temperature_mc %lld\n", (long long)accounts->temperature_mc);
	n += pmu_say(&accounts->pmu, text + n, ACCOUNTS_BYTES - (size_t)n);
	if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) == 0)
		snprintf(text + n, ACCOUNTS_BYTES - (size_t)n, "tick_ns %lld\n", (long long)tick.tv_sec * 1000000000 + tick.tv_nsec);
}
