/* Four processes, two per CPU, that take turns: each computes, writes and reads a file without the page cache, and passes a token
 * through a pipe. A comparison with the other processes shows the cause of a slowdown. Each logs how long its pieces took by its own
 * clock; the log is the truth for tests of `assay variance`.
 *
 *   four DIRECTORY TURNS       writes pid.I at once, starts when its input has a line, and writes log.I: kind, start and duration (ns) of
 *                              each piece
 *   four DIRECTORY TURNS net   sends a block to `four echo` at 10.77.I.2 instead of a file and receives a byte
 *   four spin | four walk      computes forever in registers, or over 64 MB of memory
 *
 * With RANKS defined, the processes are MPI ranks, as many as mpirun starts, and the token is a message. */
#define _GNU_SOURCE
#ifdef RANKS
#include <mpi.h>
#endif
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROCESSES 4
#define BLOCK	  4096
#define PORT	  7777
#ifndef ROUNDS /* work per piece */
#define ROUNDS 500000
#endif
#define NEAR 4096
#ifndef FAR /* range of every sixteenth read; a larger value makes the same work miss the caches */
#define FAR NEAR
#endif

struct piece {
	char kind;
	int64_t start, ns;
};

static uint32_t table[FAR];
static volatile uint32_t kept, masks[2] = { NEAR - 1, FAR - 1 }; /* volatile: the same instructions for any value */

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void pinned(int processor)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(processor, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		fail("sched_setaffinity");
}

static void compute(int rounds)
{
	uint32_t x = 1, near = masks[0], far = masks[1];

	for (int i = 0; i < rounds; i++)
		x = x * 1664525u + table[(x >> 8) & (i % 16 ? near : far)] + 1013904223u;
	kept = x;
}

static void piece_end(struct piece *p, char kind, int64_t start)
{
	*p = (struct piece){ .kind = kind, .start = start, .ns = now_ns() - start };
}

/* Returns the run-queue delay of this process according to the kernel, ns. */
static int64_t run_delay(void)
{
	FILE *in = fopen("/proc/self/schedstat", "r");
	long long delay = 0;

	if (!in || fscanf(in, "%*d %lld", &delay) != 1)
		fail("/proc/self/schedstat");
	fclose(in);
	return delay;
}

#ifdef RANKS
static void pass(int to, int gives)
{
	char c = 't';

	if (gives)
		MPI_Send(&c, 1, MPI_CHAR, to, 0, MPI_COMM_WORLD);
	else
		MPI_Recv(&c, 1, MPI_CHAR, to, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
#else
static void token(int file, int gives)
{
	char c = 't';

	if ((gives ? write(file, &c, 1) : read(file, &c, 1)) != 1)
		fail("token");
}
#define pass token
#endif

static struct sockaddr_in address_of(const char *host)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(PORT) };

	inet_pton(AF_INET, host, &address.sin_addr);
	return address;
}

/* Connects to `four echo` of process `number`. Retries, because the server may not listen yet. */
static int connected(int number)
{
	struct sockaddr_in address;
	int file = -1, one = 1;
	char host[32];

	snprintf(host, sizeof(host), "10.77.%d.2", number);
	address = address_of(host);
	for (int i = 0; i < 100; i++) {
		file = socket(AF_INET, SOCK_STREAM, 0);
		if (file >= 0 && connect(file, (struct sockaddr *)&address, sizeof(address)) == 0)
			break;
		close(file);
		file = -1;
		usleep(20000);
	}
	if (file < 0 || setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		fail(host);
	return file;
}

static void echo(void)
{
	struct sockaddr_in address = address_of("0.0.0.0");
	int listening = socket(AF_INET, SOCK_STREAM, 0), one = 1, file;
	char block[BLOCK];

	if (listening < 0 || setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(listening, (struct sockaddr *)&address, sizeof(address)) || listen(listening, 1))
		fail("echo");
	while ((file = accept(listening, NULL, NULL)) >= 0) {
		setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		while (recv(file, block, BLOCK, MSG_WAITALL) == BLOCK && send(file, block, 1, 0) == 1)
			;
		close(file);
	}
}

/* Sends, writes or reads a block, depending on `net` and `t`. Returns the kind for the log. */
static char transfer(int file, int net, char *block, int t)
{
	if (net) {
		if (send(file, block, BLOCK, 0) != BLOCK || recv(file, block, 1, 0) != 1)
			fail("echo");
		return 'n';
	}
	if (t % 2 ? pread(file, block, BLOCK, 0) != BLOCK : pwrite(file, block, BLOCK, 0) != BLOCK)
		fail("data");
	return t % 2 ? 'r' : 'w';
}

/* Runs one process: takes turns, each with two kinds of work, and writes the log at the end. */
static void process_run(const char *directory, int number, int turns, int net, int from, int to)
{
	struct piece *log = calloc((size_t)turns * 3, sizeof(*log));
	char path[512], *block = aligned_alloc(BLOCK, BLOCK);
	int file, pieces = 0;
	FILE *out;

	snprintf(path, sizeof(path), "%s/data.%d", directory, number);
	file = net ? connected(number) : open(path, O_RDWR | O_CREAT | O_DIRECT, 0600);
	if (file < 0 || !log || !block)
		fail(path);
	memset(block, number, BLOCK);
	for (int i = 0; i < FAR; i++)
		table[i] = (uint32_t)i * 2654435761u;
	for (int t = 0; t < turns; t++) {
		int64_t start;

		start = now_ns();
		if (number % 2 || t)
			pass(from, 0);
		piece_end(&log[pieces++], 't', start);
		start = now_ns();
		compute(t % 2 ? ROUNDS : ROUNDS / 2);
		piece_end(&log[pieces++], t % 2 ? 'a' : 'b', start);
		start = now_ns();
		log[pieces].kind = transfer(file, net, block, t);
		piece_end(&log[pieces], log[pieces].kind, start);
		pieces++;
		if (!(number % 2 == 1 && t == turns - 1))
			pass(to, 1);
	}
	snprintf(path, sizeof(path), "%s/log.%d", directory, number);
	out = fopen(path, "w");
	for (int i = 0; i < pieces; i++)
		fprintf(out, "%c %lld %lld\n", log[i].kind, (long long)log[i].start, (long long)log[i].ns);
	fprintf(out, "d %lld %lld\n", (long long)now_ns(), (long long)run_delay());
	if (fclose(out))
		fail(path);
}

static void say_pid(const char *directory, int number)
{
	char path[512];
	FILE *out;

	snprintf(path, sizeof(path), "%s/pid.%d", directory, number);
	out = fopen(path, "w");
	if (!out || fprintf(out, "%d\n", (int)getpid()) < 0 || fclose(out))
		fail(path);
}

#ifdef RANKS
static void run(const char *directory, int turns, int net)
{
	char line[8];
	int rank, ranks;

	MPI_Init(NULL, NULL);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	pinned(ranks > 2 ? rank / 2 : rank);
	say_pid(directory, rank);
	if (rank == 0 && read(0, line, sizeof(line)) < 1)
		fail("standard input");
	MPI_Barrier(MPI_COMM_WORLD);
	process_run(directory, rank, turns, net, rank ^ 1, rank ^ 1);
	MPI_Finalize();
}
#else
static void run(const char *directory, int turns, int net)
{
	int pipes[PROCESSES][2], go[2], status, failed = 0;
	char line[8];

	if (pipe(go))
		fail("pipe");
	for (int i = 0; i < PROCESSES; i++)
		if (pipe(pipes[i]))
			fail("pipe");
	for (int i = 0; i < PROCESSES; i++) {
		pid_t child = fork();

		if (child < 0)
			fail("fork");
		if (!child) {
			pinned(i / 2);
			say_pid(directory, i);
			token(go[0], 0);
			process_run(directory, i, turns, net, pipes[i][0], pipes[i ^ 1][1]);
			exit(0);
		}
	}
	if (read(0, line, sizeof(line)) < 1)
		fail("standard input");
	for (int i = 0; i < PROCESSES; i++)
		token(go[1], 1);
	for (int i = 0; i < PROCESSES; i++)
		failed |= wait(&status) < 0 || status;
	exit(failed);
}
#endif

static void walk(void)
{
	size_t n = 64u << 20;
	volatile char *memory = malloc(n);

	for (;;)
		for (size_t i = 0; i < n; i += 64)
			memory[i]++;
}

int main(int argc, char **argv)
{
	while (argc == 2 && strcmp(argv[1], "spin") == 0)
		compute(ROUNDS);
	if (argc == 2 && strcmp(argv[1], "walk") == 0)
		walk();
	if (argc == 2 && strcmp(argv[1], "echo") == 0)
		echo();
	if (argc != 3 && argc != 4)
		return 2;
	run(argv[1], atoi(argv[2]), argc == 4);
}
