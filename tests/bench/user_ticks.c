/* A library to preload. Samples where a program computes, by the kernel's timer of user time. The timer is at most one tick late and
 * fires only at ticks that interrupt user code. Appends "FILE OFFSET" per tick to the file that USER_TICKS names. Needs no perf events;
 * records no callers. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define REGIONS_MAX 256
#define HIGH_FD	    700		    /* programs expect low file descriptor numbers */
#define SIGNAL	    (SIGRTMIN + 9)  /* a signal that programs do not use */
#define USER_TIME   ((clockid_t)-7) /* CPUCLOCK_VIRT of the process */

static struct region {
	uintptr_t begin, end, offset;
	char file[128];
} regions[REGIONS_MAX];
static size_t n_regions;
static int out = -1;
static char maps[1 << 16];

/* Reads the executable regions from /proc/self/maps, lines "start-end r-xp offset device inode file". */
static void regions_read(void)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t size = 0;
	ssize_t n;

	while (fd >= 0 && size < sizeof(maps) - 1 && (n = read(fd, maps + size, sizeof(maps) - 1 - size)) > 0)
		size += (size_t)n;
	if (fd >= 0)
		close(fd);
	maps[size] = '\0';
	n_regions = 0;
	for (char *line = maps, *end; (end = strchr(line, '\n')) && n_regions < REGIONS_MAX; line = end + 1) {
		struct region *region = &regions[n_regions];
		char *rest, *file;

		*end = '\0';
		region->begin = strtoul(line, &rest, 16);
		region->end = strtoul(rest + 1, &rest, 16);
		region->offset = strtoul(rest + 6, &rest, 16);
		if (rest - line < 10 || !strstr(line, " r-xp ")) /* the file name follows the last space */
			continue;
		file = strrchr(line, ' ') + 1;
		snprintf(region->file, sizeof(region->file), "%s", *file ? file : "?");
		n_regions++;
	}
}

static const struct region *region_at(uintptr_t at)
{
	for (size_t i = 0; i < n_regions; i++)
		if (at >= regions[i].begin && at < regions[i].end)
			return &regions[i];
	return NULL;
}

static void on_tick(int number, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	const struct region *region = region_at(at);
	char line[192];
	int n;

	(void)number;
	(void)info;
	if (!region)
		regions_read();
	region = region ? region : region_at(at);
	/* The kernel delivers a delayed tick at the instruction after a system call. That time was spent in the kernel. */
	if (region && at >= region->begin + 2 && memcmp((const char *)at - 2, "\x0f\x05", 2) == 0)
		return;
	n = snprintf(line, sizeof(line), "%s %lx\n", region ? region->file : "?", region ? at - region->begin + region->offset : at);
	if (write(out, line, (size_t)n) < 0)
		_exit(126);
}

static void begin(void)
{
	const struct itimerspec often = { { 0, 1000000 }, { 0, 1000000 } }; /* 1 ms, in effect every tick */
	struct sigevent how = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGNAL };
	timer_t timer;

	if (timer_create(USER_TIME, &how, &timer) || timer_settime(timer, 0, &often, NULL))
		_exit(126);
}

__attribute__((constructor)) static void user_ticks(void)
{
	struct sigaction action = { .sa_sigaction = on_tick, .sa_flags = SA_SIGINFO | SA_RESTART };
	const char *path = getenv("USER_TICKS");
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;

	if (fd < 0)
		return;
	out = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);
	close(fd);
	regions_read();
	sigaction(SIGNAL, &action, NULL);
	pthread_atfork(NULL, NULL, begin);
	begin();
}
