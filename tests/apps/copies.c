/* Reads and copies a file of 8 MiB without a loop of read() and write(): by sendfile, copy_file_range, a mapping and pread. Then waits
 * for a child that sleeps. Appends a line PART,SECONDS per part to the file in the argument, measured by the time stamp counter. Reads
 * the mapping twice: the first time with page faults, the second time without. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#define SIZE  ((size_t)8 << 20)
#define TIMES 24

enum { SENT, COPIED, MAPPED, FAULTED, LOOKED, READ, PARTS };
static const char *const names[PARTS] = { "sendfile", "copy_file_range", "mapping", "faults", "looking", "pread" };
static uint64_t ticks[PARTS];

static double seconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void must(int well, const char *what)
{
	if (!well) {
		perror(what);
		exit(1);
	}
}

static double delay_s(void)
{
	FILE *accounts = fopen("/proc/self/schedstat", "r");
	unsigned long long delay = 0;

	if (accounts && fscanf(accounts, "%*u %llu", &delay) != 1)
		delay = 0;
	if (accounts)
		fclose(accounts);
	return (double)delay / 1e9;
}

__attribute__((noinline)) static uint64_t look(const unsigned char *at)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < SIZE; i += 16)
		sum += at[i];
	return sum;
}

static uint64_t mapped(int from)
{
	uint64_t t0 = __rdtsc(), t1, t2, t3, sum;
	unsigned char *at = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, from, 0);

	must(at != MAP_FAILED, "mmap");
	must(madvise(at, SIZE, MADV_RANDOM) == 0, "madvise");
	t1 = __rdtsc();
	sum = look(at);
	t2 = __rdtsc();
	sum += look(at);
	t3 = __rdtsc();
	must(munmap(at, SIZE) == 0, "munmap");
	ticks[MAPPED] += t1 - t0 + (__rdtsc() - t3);
	ticks[FAULTED] += (t2 - t1) > (t3 - t2) ? (t2 - t1) - (t3 - t2) : 0;
	ticks[LOOKED] += 2 * (t3 - t2);
	return sum;
}

static void copied(int from, int to)
{
	static char block[65536];
	off_t at = 0;
	uint64_t t0 = __rdtsc(), t1, t2;

	must(lseek(to, 0, SEEK_SET) == 0, "lseek");
	for (size_t left = SIZE; left > 0;) {
		ssize_t n = sendfile(to, from, &at, left);

		must(n > 0, "sendfile");
		left -= (size_t)n;
	}
	t1 = __rdtsc();
	must(lseek(from, 0, SEEK_SET) == 0 && lseek(to, 0, SEEK_SET) == 0, "lseek");
	for (size_t left = SIZE; left > 0;) {
		ssize_t n = copy_file_range(from, NULL, to, NULL, left, 0);

		must(n > 0, "copy_file_range");
		left -= (size_t)n;
	}
	t2 = __rdtsc();
	for (off_t i = 0; i < (off_t)SIZE; i += (off_t)sizeof(block))
		must(pread(from, block, sizeof(block), i) == (ssize_t)sizeof(block), "pread");
	ticks[SENT] += t1 - t0;
	ticks[COPIED] += t2 - t1;
	ticks[READ] += __rdtsc() - t2;
}

int main(int argc, char **argv)
{
	double began = seconds(CLOCK_MONOTONIC), wall, slept;
	uint64_t first = __rdtsc(), sum = 0;
	char path[] = "/tmp/copies-XXXXXX", other[] = "/tmp/copies-XXXXXX";
	int from = mkstemp(path), to = mkstemp(other);
	FILE *out = argc > 1 ? fopen(argv[1], "a") : stdout;
	pid_t child;

	must(from >= 0 && to >= 0 && out, "mkstemp");
	unlink(path);
	unlink(other);
	must(posix_fallocate(from, 0, (off_t)SIZE) == 0, "posix_fallocate");
	for (int i = 0; i < TIMES; i++) {
		copied(from, to);
		sum += mapped(from);
	}
	slept = seconds(CLOCK_MONOTONIC);
	if ((child = vfork()) == 0) {
		execlp("sleep", "sleep", "0.15", (char *)NULL);
		_exit(1);
	}
	must(child > 0 && waitpid(child, NULL, 0) == child, "sleep");
	slept = seconds(CLOCK_MONOTONIC) - slept;
	wall = seconds(CLOCK_MONOTONIC) - began;
	for (int p = 0; p < PARTS; p++)
		fprintf(out, "%s,%.6f\n", names[p], (double)ticks[p] * wall / (double)(__rdtsc() - first));
	fprintf(out, "slept,%.6f\nwall,%.6f\ncpu,%.6f\ndelay,%.6f\n", slept, wall, seconds(CLOCK_PROCESS_CPUTIME_ID), delay_s());
	return fclose(out) != 0 || sum == 1;
}
