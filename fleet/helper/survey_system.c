/* The system around the processor: kernel, C library, memory, disks, load, who we are. */
#include "fleet/helper/survey.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define LIBC_BYTES_MAX (64L << 20)

static void kernel(struct survey *survey)
{
	struct utsname name;

	if (uname(&name))
		return;
	survey_add(survey, "kernel", name.release);
	survey_add(survey, "architecture", name.machine);
	survey_add(survey, "hostname", name.nodename);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* "... release version 2.36." stands in the library itself; this program is static and has its own. */
static bool glibc_version(const char *path, char *value, size_t n)
{
	static const char words[] = "release version ";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const char *at = NULL;
	struct stat info;
	char *bytes;

	if (fd < 0)
		return false;
	if (fstat(fd, &info) || info.st_size <= 0 || info.st_size > LIBC_BYTES_MAX) {
		close(fd);
		return false;
	}
	bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (bytes == MAP_FAILED)
		return false;
	at = memmem(bytes, (size_t)info.st_size, words, sizeof(words) - 1);
	if (at) {
		size_t rest = (size_t)info.st_size - (size_t)(at - bytes) - (sizeof(words) - 1), length = 0;

		at += sizeof(words) - 1;
		while (length + 1 < rest && length < 16 && (is_digit(at[length]) || (at[length] == '.' && is_digit(at[length + 1]))))
			length++;
		snprintf(value, n, "glibc %.*s", (int)length, at);
	}
	munmap(bytes, (size_t)info.st_size);
	return at != NULL;
}

static void c_library(struct survey *survey, const char *machine)
{
	static const char *const patterns[] = {
		"/lib/%s-linux-gnu/libc.so.6", "/usr/lib/%s-linux-gnu/libc.so.6", "/lib64/libc.so.6",
		"/usr/lib64/libc.so.6",        "/lib/libc.so.6",                  "/usr/lib/libc.so.6",
	};
	char path[192], value[64];

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		const char *place = strchr(patterns[i], '%');

		if (place)
			snprintf(path, sizeof(path), "%.*s%s%s", (int)(place - patterns[i]), patterns[i], machine, place + 2);
		else
			snprintf(path, sizeof(path), "%s", patterns[i]);
		if (glibc_version(path, value, sizeof(value))) {
			survey_add(survey, "libc", value);
			return;
		}
	}
	snprintf(path, sizeof(path), "/lib/ld-musl-%s.so.1", machine);
	if (access(path, F_OK) == 0)
		survey_add(survey, "libc", "musl");
}

static void memory(struct survey *survey)
{
	static const struct {
		const char *fact, *key;
	} rows[] = { { "memory_bytes", "MemTotal:" }, { "memory_available_bytes", "MemAvailable:" } };
	char text[4096];

	if (!survey_file("/proc/meminfo", text, sizeof(text)))
		return;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *at = strstr(text, rows[i].key);

		if (at)
			survey_number(survey, rows[i].fact, strtoll(at + strlen(rows[i].key), NULL, 10) * 1024);
	}
}

/* Ticks since the start, of all processors: "cpu user nice system idle iowait irq softirq steal ..." (guest time is in user). */
static void load(struct survey *survey)
{
	long long total = 0, ticks = 0;
	char text[1024], *at = text;

	if (survey_file("/proc/loadavg", text, sizeof(text))) {
		text[strcspn(text, " ")] = 0;
		survey_add(survey, "load1", text);
	}
	if (!survey_file("/proc/stat", text, sizeof(text)) || strncmp(text, "cpu ", 4) != 0)
		return;
	at += 4;
	for (int i = 0; i < 8; i++) {
		ticks = strtoll(at, &at, 10);
		total += ticks;
	}
	survey_number(survey, "steal_ticks", ticks);
	survey_number(survey, "total_ticks", total);
}

static const char *filesystem_name(long type)
{
	static const struct {
		long type;
		const char *name;
	} rows[] = {
		{ 0x01021994, "tmpfs" }, { 0xEF53, "ext4" },      { 0x58465342, "xfs" },       { (long)0x9123683E, "btrfs" },
		{ 0x6969, "nfs" },       { 0x794C7630, "overlay" }, { 0x2FC12FC1, "zfs" },       { (long)0x858458F6, "ramfs" },
		{ 0x0BD00BD0, "lustre" }, { 0x65735546, "fuse" },   { (long)0xF2F52010, "f2fs" }, { 0x47504653, "gpfs" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].type == type)
			return rows[i].name;
	}
	return NULL;
}

static void disks(struct survey *survey)
{
	struct statfs info;
	const char *name;
	char text[32];

	if (statfs("/", &info) == 0)
		survey_number(survey, "disk_free_bytes", (long long)info.f_bavail * (long long)info.f_bsize);
	if (statfs("/tmp", &info) == 0) {
		name = filesystem_name((long)info.f_type & 0xFFFFFFFFL);
		snprintf(text, sizeof(text), "0x%lx", (unsigned long)info.f_type & 0xFFFFFFFFUL);
		survey_number(survey, "tmp_free_bytes", (long long)info.f_bavail * (long long)info.f_bsize);
		survey_add(survey, "tmp_filesystem", name ? name : text);
	}
	if (statfs("/dev/shm", &info) == 0 && info.f_type == 0x01021994)
		survey_number(survey, "shm_free_bytes", (long long)info.f_bavail * (long long)info.f_bsize);
}

static void board(struct survey *survey)
{
	static const struct {
		const char *fact, *paths[2];
	} rows[] = {
		{ "machine_id", { "/etc/machine-id", "/var/lib/dbus/machine-id" } },
		{ "board_name", { "/sys/class/dmi/id/board_name", "/sys/class/dmi/id/product_name" } },
		{ "board_serial", { "/sys/class/dmi/id/board_serial", "/sys/class/dmi/id/product_serial" } },
		{ "board_uuid", { "/sys/class/dmi/id/product_uuid", NULL } },
	};
	char text[256];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (survey_file(rows[i].paths[0], text, sizeof(text)) ||
		    (rows[i].paths[1] && survey_file(rows[i].paths[1], text, sizeof(text))))
			survey_add(survey, rows[i].fact, text);
	}
}

static void control_groups(struct survey *survey)
{
	if (access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0)
		survey_add(survey, "cgroup", "v2");
	else if (access("/sys/fs/cgroup/unified/cgroup.controllers", F_OK) == 0)
		survey_add(survey, "cgroup", "hybrid");
	else if (access("/sys/fs/cgroup/cpu", F_OK) == 0 || access("/sys/fs/cgroup/memory", F_OK) == 0)
		survey_add(survey, "cgroup", "v1");
}

void survey_system(struct survey *survey)
{
	struct timespec now;
	struct utsname name;

	clock_gettime(CLOCK_REALTIME, &now);
	survey_number(survey, "clock_ms", (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000);
	survey_number(survey, "uid", geteuid());
	kernel(survey);
	if (uname(&name) == 0)
		c_library(survey, name.machine);
	board(survey);
	memory(survey);
	load(survey);
	disks(survey);
	control_groups(survey);
}
