#include "fleet/helper/attached.h"

#include "fleet/cgroup/process.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROCESSES_MAX 65536
#define TEXT_BYTES    4096

enum { USER_TICKS, SYSTEM_TICKS, MINOR, MAJOR, DELAY_NS, VOLUNTARY, INVOLUNTARY, PEAK_KIB, IO, COUNTS = IO + 4 };

struct attached {
	const char *ids;
	unsigned long long before[COUNTS];
	bool io_unknown; /* counters of some process are not readable */
};

/* Reports whether the process is in the list "12,345". */
static bool is_listed(const char *ids, pid_t id)
{
	for (const char *at = ids; *at; at += strcspn(at, ","), at += *at == ',')
		if (strtol(at, NULL, 10) == id)
			return true;
	return false;
}

/* Sets *out to the listed processes and their descendants; free() it. Returns the number of them. */
static size_t attached_find(const char *ids, pid_t **out)
{
	static struct process all[PROCESSES_MAX];
	size_t n = 0, found = 0;
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	bool more = true;

	while (proc && n < PROCESSES_MAX && (entry = readdir(proc)))
		n += process_read(strtol(entry->d_name, NULL, 10), &all[n]);
	if (proc)
		closedir(proc);
	for (size_t i = 0; i < n; i++)
		all[i].is_marked = is_listed(ids, all[i].id);
	while (more) {
		more = false;
		for (size_t i = 0; i < n; i++)
			for (size_t k = 0; k < n && !all[i].is_marked; k++)
				more |= all[i].is_marked = all[k].is_marked && all[k].id == all[i].parent;
	}
	*out = malloc((n + 1) * sizeof(**out));
	if (!*out)
		abort();
	for (size_t i = 0; i < n; i++)
		if (all[i].is_marked)
			(*out)[found++] = all[i].id;
	return found;
}

static unsigned long long value_of(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

/* Adds the delays and context switches of the process's threads. Returns the number of threads. */
static size_t add_threads(pid_t id, unsigned long long counts[COUNTS])
{
	char path[64], text[TEXT_BYTES], *at;
	struct dirent *entry;
	size_t n = 0;
	DIR *threads;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)id);
	threads = opendir(path);
	while (threads && (entry = readdir(threads))) {
		if (*entry->d_name == '.')
			continue;
		process_text(text, sizeof(text), "%s/%s/schedstat", path, entry->d_name);
		strtoull(text, &at, 10);
		counts[DELAY_NS] += strtoull(at, NULL, 10);
		process_text(text, sizeof(text), "%s/%s/status", path, entry->d_name);
		counts[VOLUNTARY] += value_of(text, "\nvoluntary_ctxt_switches:");
		counts[INVOLUNTARY] += value_of(text, "\nnonvoluntary_ctxt_switches:");
		n++;
	}
	if (threads)
		closedir(threads);
	return n;
}

/* Adds a process's counters, with those of children that it has waited for: fields 10 to 17 of stat, after the name in parentheses. */
static void add_process(pid_t id, unsigned long long counts[COUNTS], bool *io_unknown)
{
	static const char *const io[] = { "rchar:", "wchar:", "syscr:", "syscw:" };
	static const int fields[] = { MINOR, MINOR, MAJOR, MAJOR, USER_TICKS, SYSTEM_TICKS, USER_TICKS, SYSTEM_TICKS };
	char text[TEXT_BYTES], *at;
	unsigned long long peak;

	process_text(text, sizeof(text), "/proc/%d/stat", (int)id);
	at = strrchr(text, ')');
	if (!at || strlen(at) < 4)
		return;
	at += 3;
	for (int field = 4; field < 10; field++)
		strtoll(at, &at, 10);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		counts[fields[i]] += strtoull(at, &at, 10);
	process_text(text, sizeof(text), "/proc/%d/status", (int)id);
	peak = value_of(text, "\nVmHWM:");
	counts[PEAK_KIB] = peak > counts[PEAK_KIB] ? peak : counts[PEAK_KIB];
	*io_unknown |= !process_text(text, sizeof(text), "/proc/%d/io", (int)id);
	for (int i = 0; i < 4; i++)
		counts[IO + i] += value_of(text, io[i]);
}

struct attached *attached_begin(const char *ids, struct sampler *sampler)
{
	struct attached *attached = calloc(1, sizeof(*attached));
	size_t n;
	pid_t *found;

	if (!attached)
		abort();
	attached->ids = ids;
	n = attached_find(ids, &found);
	for (size_t i = 0; i < n; i++) {
		size_t threads = add_threads(found[i], attached->before);

		add_process(found[i], attached->before, &attached->io_unknown);
		if (sampler)
			sampler_attach(sampler, found[i], threads);
	}
	free(found);
	return attached;
}

void attached_end(const struct attached *attached, struct rusage *usage, struct usage_counters *counters)
{
	const unsigned long long *before = attached->before, us = 1000000 / (unsigned long long)sysconf(_SC_CLK_TCK);
	unsigned long long counts[COUNTS] = { 0 }, used[COUNTS];
	bool io_unknown = attached->io_unknown;
	pid_t *found;
	size_t n = attached_find(attached->ids, &found);

	for (size_t i = 0; i < n; i++) {
		add_threads(found[i], counts);
		add_process(found[i], counts, &io_unknown);
	}
	free(found);
	for (int i = 0; i < COUNTS; i++) /* a thread that ended takes its delay with it */
		used[i] = counts[i] > before[i] ? counts[i] - before[i] : 0;
	*usage = (struct rusage){ .ru_utime = { .tv_sec = (time_t)(used[USER_TICKS] * us / 1000000),
						.tv_usec = (suseconds_t)(used[USER_TICKS] * us % 1000000) },
				  .ru_stime = { .tv_sec = (time_t)(used[SYSTEM_TICKS] * us / 1000000),
						.tv_usec = (suseconds_t)(used[SYSTEM_TICKS] * us % 1000000) } };
	usage->ru_minflt = (long)used[MINOR];
	usage->ru_majflt = (long)used[MAJOR];
	usage->ru_nvcsw = (long)used[VOLUNTARY];
	usage->ru_nivcsw = (long)used[INVOLUNTARY];
	usage->ru_maxrss = (long)counts[PEAK_KIB];
	counters->delay_ns = used[DELAY_NS];
	counters->is_io_unknown = io_unknown;
	memcpy(counters->io, used + IO, sizeof(counters->io));
}

void attached_free(struct attached *attached)
{
	free(attached);
}
