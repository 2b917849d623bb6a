/* A chain of programs. Each computes for some microseconds, starts a child that does the same and exits, and replaces itself by the next
 * one with execve(). `chain FILE LINKS US`: the last one appends to FILE the CPU time of the computations by its own clock, and the
 * wall-clock time, CPU time and run-queue delay of the whole chain. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

__attribute__((noinline)) static double compute(double s)
{
	double from = seconds(CLOCK_PROCESS_CPUTIME_ID), now;
	volatile uint64_t x = 1;

	do {
		for (int i = 0; i < 20000; i++)
			x = x * 6364136223846793005u + 1442695040888963407u;
		now = seconds(CLOCK_PROCESS_CPUTIME_ID);
	} while (now - from < s);
	return now - from;
}

/* Returns the run-queue delay of a process, s. */
static double delay_s(pid_t pid)
{
	unsigned long long delay = 0;
	char path[64];
	FILE *accounts;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)pid);
	accounts = fopen(path, "r");
	if (accounts && fscanf(accounts, "%*u %llu", &delay) != 1)
		delay = 0;
	if (accounts)
		fclose(accounts);
	return (double)delay / 1e9;
}

static double used(int who)
{
	struct rusage usage;

	getrusage(who, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv)
{
	double us = argc > 3 ? atof(argv[3]) : 0, computed, began = argc > 5 ? atof(argv[5]) : seconds(CLOCK_MONOTONIC);
	int left = argc > 2 ? atoi(argv[2]) : 0;
	char links[32], sum[32], since[32], waited[32];
	double delay = argc > 6 ? atof(argv[6]) : 0; /* run-queue delay of the children; a process keeps its own across execve() */
	siginfo_t ended;
	pid_t child;

	if (left < 0) { /* a child */
		compute(us / 1e6);
		return 0;
	}
	computed = (argc > 4 ? atof(argv[4]) : 0) + compute(us / 1e6) + us / 1e6;
	if ((child = vfork()) == 0) {
		execl(argv[0], argv[0], argv[1], "-1", argv[3], (char *)NULL);
		_exit(127);
	}
	if (child < 0 || waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT) != 0)
		return 1;
	delay += delay_s(child);
	if (waitpid(child, NULL, 0) != child)
		return 1;
	if (left == 0) {
		FILE *out = fopen(argv[1], "a");

		if (!out)
			return 1;
		fprintf(out, "computed,%.6f\nwall,%.6f\ncpu,%.6f\ndelay,%.6f\n", computed, seconds(CLOCK_MONOTONIC) - began,
			used(RUSAGE_SELF) + used(RUSAGE_CHILDREN), delay + delay_s(getpid()));
		return fclose(out) != 0;
	}
	snprintf(links, sizeof(links), "%d", left - 1);
	snprintf(sum, sizeof(sum), "%.6f", computed);
	snprintf(since, sizeof(since), "%.9f", began);
	snprintf(waited, sizeof(waited), "%.9f", delay);
	execl(argv[0], argv[0], argv[1], links, argv[3], sum, since, waited, (char *)NULL);
	return 1;
}
