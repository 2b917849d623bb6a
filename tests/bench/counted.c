/* A program that does each thing as often as it is told, whatever time that takes, so that counts can be held against it.
 *
 *   counted THING=N... [limit=SECONDS]
 *
 * Things: data, metadata, mapping, processes, synchronisation, network, events, time, other (system calls by class), allocations (with
 * releases: N of both together), comparisons (bsearch), loops (a million steps of arithmetic each). They take turns. limit: it stops when
 * it has used so much of the processor's time. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TURN 64

static int file, ends[2];
static volatile uint64_t sink;

static void data(void)
{
	static char bytes[256];

	if (pread(file, bytes, sizeof(bytes), 0) < 0)
		abort();
}

static void metadata(void)
{
	if (access("/", F_OK))
		abort();
}

static void mapping(void)
{
	static void *at;

	if (!at)
		at = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	else
		sink += (uint64_t)mprotect(at, 4096, sink % 2 ? PROT_READ : PROT_READ | PROT_WRITE);
}

static void processes(void)
{
	sink += (uint64_t)syscall(SYS_getppid);
}

static void synchronisation(void)
{
	static int word;

	syscall(SYS_futex, &word, 1, 1, NULL, NULL, 0); /* wakes nobody */
}

static void network(void)
{
	char byte = 0;
	static int sent;

	if ((sent++ % 2 ? recv(ends[1], &byte, 1, 0) : send(ends[0], &byte, 1, 0)) != 1)
		abort();
}

static void events(void)
{
	struct pollfd wait = { ends[1], POLLIN, 0 };

	poll(&wait, 1, 0);
}

static void time_part(void)
{
	struct timespec now;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
}

static void other(void)
{
	sink += (uint64_t)syscall(SYS_getuid);
}

static void allocations(void)
{
	static void *volatile block;

	if (block) {
		free(block);
		block = NULL;
	} else {
		block = malloc(100);
	}
}

static int compare(const void *a, const void *b)
{
	return *(const char *)a - *(const char *)b;
}

static void comparisons(void)
{
	/* By a pointer: compilers put their own bsearch in its place. */
	static void *(*volatile search)(const void *, const void *, size_t, size_t, int (*)(const void *, const void *)) = bsearch;

	sink += search("x", "x", 1, 1, compare) != NULL;
}

static void loops(void)
{
	for (unsigned i = 0; i < 1000000; i++)
		sink += i ^ sink >> 3;
}

static struct thing {
	const char *name;
	void (*once)(void);
	unsigned long left;
} things[] = { { "data", data, 0 },
	       { "metadata", metadata, 0 },
	       { "mapping", mapping, 0 },
	       { "processes", processes, 0 },
	       { "synchronisation", synchronisation, 0 },
	       { "network", network, 0 },
	       { "events", events, 0 },
	       { "time", time_part, 0 },
	       { "other", other, 0 },
	       { "allocations", allocations, 0 },
	       { "comparisons", comparisons, 0 },
	       { "loops", loops, 0 } };
#define THINGS (sizeof(things) / sizeof(things[0]))

int main(int argc, char **argv)
{
	double limit = 0;
	int more = 1;

	for (int i = 1; i < argc; i++) {
		char *value = strchr(argv[i], '=');

		if (!value)
			return 2;
		*value++ = '\0';
		if (strcmp(argv[i], "limit") == 0)
			limit = atof(value);
		for (size_t t = 0; t < THINGS; t++)
			if (strcmp(things[t].name, argv[i]) == 0)
				things[t].left = strtoul(value, NULL, 10);
	}
	file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (file < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	while (more && !(limit > 0 && (double)clock() / CLOCKS_PER_SEC > limit)) {
		more = 0;
		for (size_t t = 0; t < THINGS; t++) {
			unsigned long turn = strcmp(things[t].name, "loops") == 0 ? 1 : TURN;

			for (; turn && things[t].left; turn--, things[t].left--)
				things[t].once();
			more |= things[t].left > 0;
		}
	}
	return 0;
}
