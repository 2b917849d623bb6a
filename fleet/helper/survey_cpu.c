/* The processor: what it is, how it is set, how warm it is, and whether it is a real one. */
#include "fleet/helper/survey.h"

#include <dirent.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#define CPU "/sys/devices/system/cpu"

/* The value of the first line "key : value" of /proc/cpuinfo. */
static bool cpuinfo_field(const char *info, const char *key, char *value, size_t n)
{
	size_t length = strlen(key);

	for (const char *line = info; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
		const char *at = line + length;

		if (strncmp(line, key, length) != 0)
			continue;
		at += strspn(at, " \t");
		if (*at != ':')
			continue;
		at += strspn(at, ": \t");
		snprintf(value, n, "%.*s", (int)strcspn(at, "\n"), at);
		return true;
	}
	return false;
}

/* Which of "a [b] c" is chosen. */
static bool chosen(const char *text, char *value, size_t n)
{
	const char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;

	if (!close)
		return false;
	snprintf(value, n, "%.*s", (int)(close - open - 1), open + 1);
	return true;
}

static long number_in(const char *path, long otherwise)
{
	char text[64];

	return survey_file(path, text, sizeof(text)) ? strtol(text, NULL, 10) : otherwise;
}

#define PLACES_MAX 65536

/* Sockets and cores, from where each online processor sits. */
static void topology(struct survey *survey)
{
	static struct {
		long package, core;
	} places[PLACES_MAX];
	size_t cpus = 0, cores = 0, sockets = 0, online = (size_t)sysconf(_SC_NPROCESSORS_ONLN);

	for (long cpu = 0, missing = 0; cpus < online && cores < PLACES_MAX && missing < 1024; cpu++) {
		bool new_core = true, new_socket = true;
		long package, core;
		char path[128];

		snprintf(path, sizeof(path), CPU "/cpu%ld/topology/physical_package_id", cpu);
		package = number_in(path, -2);
		snprintf(path, sizeof(path), CPU "/cpu%ld/topology/core_id", cpu);
		core = number_in(path, -2);
		missing = package == -2 ? missing + 1 : 0;
		if (package == -2 || core == -2)
			continue;
		for (size_t i = 0; i < cores; i++) {
			new_socket = new_socket && places[i].package != package;
			new_core = new_core && !(places[i].package == package && places[i].core == core);
		}
		if (new_core) {
			places[cores].package = package;
			places[cores++].core = core;
		}
		sockets += new_socket;
		cpus++;
	}
	if (cpus == 0)
		return;
	survey_number(survey, "sockets", (long long)sockets);
	survey_number(survey, "cores_per_socket", (long long)(cores / sockets));
	survey_number(survey, "threads_per_core", (long long)(cpus / cores));
}

static void identity(struct survey *survey)
{
	static char info[16384]; /* the first processor stands there whole */
	static const struct {
		const char *fact, *keys[3];
		bool number; /* elsewhere than on x86 it may be a text */
	} rows[] = {
		{ "cpu_model", { "model name", "cpu model", "Processor" }, false },
		{ "cpu_vendor", { "vendor_id", "CPU implementer", "vendor" }, false },
		{ "microcode", { "microcode", NULL, NULL }, false },
		{ "cpu_family", { "cpu family", NULL, NULL }, true },
		{ "cpu_model_number", { "model", NULL, NULL }, true },
		{ "cpu_stepping", { "stepping", NULL, NULL }, true },
	};
	char value[256];

	if (!survey_file("/proc/cpuinfo", info, sizeof(info)))
		return;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (size_t j = 0; j < 3 && rows[i].keys[j]; j++) {
			if (!cpuinfo_field(info, rows[i].keys[j], value, sizeof(value)))
				continue;
			if (!rows[i].number || value[strspn(value, "0123456789")] == '\0')
				survey_add(survey, rows[i].fact, value);
			break;
		}
	}
}

static void settings(struct survey *survey)
{
	char text[256], value[64];
	long setting;

	if (survey_file(CPU "/cpu0/cpufreq/scaling_governor", text, sizeof(text)))
		survey_add(survey, "governor", text);
	setting = number_in(CPU "/intel_pstate/no_turbo", -1);
	if (setting >= 0)
		survey_add(survey, "turbo", setting ? "off" : "on");
	else if ((setting = number_in(CPU "/cpufreq/boost", -1)) >= 0)
		survey_add(survey, "turbo", setting ? "on" : "off");
	if (survey_file(CPU "/smt/control", text, sizeof(text)))
		survey_add(survey, "smt", text);
	if (survey_file("/sys/kernel/mm/transparent_hugepage/enabled", text, sizeof(text)) && chosen(text, value, sizeof(value)))
		survey_add(survey, "thp", value);
}

static void temperature(struct survey *survey)
{
	DIR *zones = opendir("/sys/class/thermal");
	long highest = -1000000;
	struct dirent *entry;

	while (zones && (entry = readdir(zones))) {
		char path[320];
		long value;

		if (strncmp(entry->d_name, "thermal_zone", 12) != 0)
			continue;
		snprintf(path, sizeof(path), "/sys/class/thermal/%s/temp", entry->d_name);
		value = number_in(path, -1000000);
		if (value > highest)
			highest = value;
	}
	if (zones)
		closedir(zones);
	if (highest > -273000) {
		char text[32];

		snprintf(text, sizeof(text), "%.1f", (double)highest / 1000);
		survey_add(survey, "temperature_c", text);
	}
}

/* The hypervisor says its name in leaf 0x40000000, when the processor says that there is one. */
static bool hypervisor(char name[13])
{
#if defined(__x86_64__) || defined(__i386__)
	unsigned a, b, c, d;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 31 & 1))
		return false;
	__cpuid(0x40000000, a, b, c, d);
	memcpy(name, &b, 4);
	memcpy(name + 4, &c, 4);
	memcpy(name + 8, &d, 4);
	name[12] = 0;
	return true;
#else
	return survey_file("/sys/hypervisor/type", name, 13);
#endif
}

static void virtual_machine(struct survey *survey)
{
	static const struct {
		const char *signature, *name;
	} rows[] = {
		{ "KVMKVMKVM", "kvm" },       { "Linux KVM Hv", "kvm" },        { "Microsoft Hv", "hyper-v" },
		{ "VMwareVMware", "vmware" }, { "XenVMMXenVMM", "xen" },        { "xen", "xen" },
		{ "TCGTCGTCGTCG", "qemu" },   { "VBoxVBoxVBox", "virtualbox" }, { "bhyve bhyve", "bhyve" },
		{ "ACRNACRNACRN", "acrn" },
	};
	const char *name = "unknown";
	char signature[13];

	if (!hypervisor(signature)) {
		survey_add(survey, "virtual", "none");
		return;
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strncmp(signature, rows[i].signature, strlen(rows[i].signature)) == 0)
			name = rows[i].name;
	}
	survey_add(survey, "virtual", name);
}

/* Do hardware counters count? Virtual machines may offer the event and never move it. */
static bool pmu_counts(void)
{
	struct perf_event_attr event = { .type = PERF_TYPE_HARDWARE, .size = sizeof(event), .config = PERF_COUNT_HW_CPU_CYCLES };
	volatile unsigned work = 0;
	uint64_t cycles = 0;
	bool got;
	int fd;

	event.exclude_kernel = 1;
	event.exclude_hv = 1;
	fd = (int)syscall(SYS_perf_event_open, &event, 0, -1, -1, 0);
	if (fd < 0)
		return false;
	for (int i = 0; i < 100000; i++)
		work = work + 1;
	got = read(fd, &cycles, sizeof(cycles)) == (ssize_t)sizeof(cycles);
	close(fd);
	return got && cycles > 0;
}

void survey_processor(struct survey *survey)
{
	char text[64];

	identity(survey);
	topology(survey);
	survey_number(survey, "cpus_online", sysconf(_SC_NPROCESSORS_ONLN));
	settings(survey);
	temperature(survey);
	virtual_machine(survey);
	if (survey_file("/proc/sys/kernel/perf_event_paranoid", text, sizeof(text)))
		survey_add(survey, "perf_event_paranoid", text);
	survey_number(survey, "has_pmu", pmu_counts());
}
