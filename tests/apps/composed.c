/* A program of known composition: does the given amount of each part, in turn, and reports how long each part has taken.
 *
 *   composed PART=WEIGHT... [seconds=S] [truth=FILE] [work=fixed] [order=after]
 *   composed getppid
 *
 * Weights are shares of the time. With fixed work, they are shares of the time on a reference machine of 2026; other machines take other
 * times. Parts take turns or run one after another. Appends a line per part to FILE or prints it:
 *
 *   process,part,wall_s,cpu_s,user_s,system_s,delay_s,calls_s,mapping_s,calls,touching_s
 *
 * wall: wall-clock time. cpu: exact CPU time of all its threads and children. user, system: differences of getrusage(); on kernels that
 * divide by ticks, only their sums over all parts are meaningful. delay: run-queue delay, without that of children. calls: time of the
 * main thread in system calls, waiting included, by the time stamp counter. mapping: the same, for calls that release memory. The wall
 * time outside calls is therefore the computing time of a part, independent of ticks. System calls do not use the C library, because the
 * mispredicted return from a library function would take the program's time. touching: upper limit of the program's own part in `calls`,
 * where the CPU looks up the address of a page that the kernel has just made.
 *
 * `beginning`: time before the first turn; its wall-clock time starts in main(), its CPU time includes the loader. `beside`: bookkeeping
 * and the end of the program. `composed getppid` prints the median time of a trivial system call, ns. For x86-64. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <malloc.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#define FUNCTION static __attribute__((noinline)) /* keeps the compiler from inlining the function */
#define TURN_NS	 5000000
#define WORDS	 (1 << 10)
#define CACHED	 (1 << 18) /* number of 4-byte elements to visit */
#define STREAM	 (16 << 20)
#define TEXT	 4096
#define SORTED	 2048
#define SLOTS	 1024
#define FILES	 32
#define BLOCK	 (64 << 10)
#define BLOCKS	 64
#define FAULTS	 512
#define MAPPED	 (256 << 10)
#define PAGE	 4096
#define MESSAGE	 512

static volatile uint64_t sink;
static uint64_t state = 88172645463325252u;
static char directory[128];
static struct {
	uint64_t calls, mapping, touching, n; /* times in ticks of the time stamp counter; n: number of calls */
} inside;
static uint64_t reading; /* duration of reading the time stamp counter, in ticks */

static void must(int holds, const char *what)
{
	if (!holds) {
		perror(what);
		exit(1);
	}
}

static inline uint64_t drawn(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return state >> 33;
}

static void *memory(size_t bytes)
{
	void *at = aligned_alloc(64, bytes);

	must(at != NULL, "memory");
	return memset(at, 1, bytes);
}

/* Adds the time of `call` to inside.to. Everything between the two time stamps belongs to the kernel. */
#define CALLED(to, call)                                                                                                                   \
	do {                                                                                                                               \
		uint64_t from_ = __rdtsc();                                                                                                \
		call;                                                                                                                      \
		inside.to += __rdtsc() - from_ - reading;                                                                                  \
		inside.n++;                                                                                                                \
	} while (0)

/* Makes a system call and returns its result; negative on failure. */
static inline long kernel4(long number, long a, long b, long c, long d)
{
	register long fourth __asm__("r10") = d;
	long result;

	__asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth) : "rcx", "r11", "memory");
	return result;
}

static inline long kernel6(long number, long a, long b, long c, long d, long e, long f)
{
	register long fifth __asm__("r8") = e, sixth __asm__("r9") = f, fourth __asm__("r10") = d;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
			 : "rcx", "r11", "memory");
	return result;
}

static uint64_t reading_ticks(void)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 1000; i++) {
		uint64_t from = __rdtsc(), ticks = __rdtsc() - from;

		least = ticks < least ? ticks : least;
	}
	return least;
}

/* ---- parts that compute ---- */

FUNCTION void arithmetic(void)
{
	uint64_t a = drawn(), b = 3;

	for (int i = 0; i < 20000; i++) {
		a = a * 2862933555777941757u + b;
		b = (b ^ a) / ((a >> 60) + 3);
	}
	sink += b;
}

typedef float four __attribute__((vector_size(16)));
static four *vector_from, *vector_to;

static void vectors_begin(void)
{
	vector_from = memory(WORDS * sizeof(four));
	vector_to = memory(WORDS * sizeof(four));
}

FUNCTION void vectors(void)
{
	for (int n = 0; n < 32; n++) {
		for (int i = 0; i < WORDS; i++)
			vector_to[i] = vector_to[i] * .5f + vector_from[i];
	}
	sink += (uint64_t)vector_to[7][1];
}

static uint8_t *outcomes;

static void branches_begin(void)
{
	outcomes = memory(PAGE);
	for (int i = 0; i < PAGE; i++)
		outcomes[i] = drawn() & 1;
}

FUNCTION void branches(void)
{
	unsigned at = (unsigned)drawn();

	for (int i = 0; i < 10000; i++) {
		at = at * 1664525 + 1013904223;
		if (outcomes[at >> 20]) /* the upper 12 bits */
			__asm__ volatile("" : "+r"(at));
		else
			sink += at;
	}
}

static uint32_t *following;

static void caches_begin(void)
{
	following = memory(CACHED * sizeof(*following));
	for (uint32_t i = 0; i < CACHED; i++)
		following[i] = i;
	for (uint32_t i = CACHED - 1; i > 0; i--) { /* link all elements in one circle */
		uint32_t j = (uint32_t)(drawn() % i), kept = following[i];

		following[i] = following[j];
		following[j] = kept;
	}
}

FUNCTION void caches(void)
{
	static uint32_t at;

	for (int i = 0; i < 20000; i++)
		at = following[at];
	sink += at;
}

static uint64_t *stream;

static void memory_begin(void)
{
	stream = memory(STREAM);
}

FUNCTION void memory_part(void)
{
	static size_t from;
	size_t n = STREAM / sizeof(*stream);

	for (size_t i = 0; i < n / 64; i++)
		stream[(from + i + n / 2) % n] = stream[(from + i) % n] + 1;
	from = (from + n / 64) % n;
}

static char *text, *copy;

static void strings_begin(void)
{
	text = memory(TEXT);
	copy = memory(TEXT);
	for (int i = 0; i < TEXT - 1; i++)
		text[i] = (char)('a' + drawn() % 25);
	text[TEXT - 1] = '\0';
}

FUNCTION void strings(void)
{
	for (int i = 0; i < 64; i++) {
		size_t at = drawn() % 256;

		strcpy(copy, text + at); /* NOLINT: measured on purpose */
		sink += strlen(copy) + (uint64_t)(strchr(copy, 'z') != NULL) + (uint64_t)strcmp(copy, text + at);
		sink += (uint64_t)(strstr(copy, "zz") != NULL);
	}
}

static int *sorted, *unsorted;

static void sorting_begin(void)
{
	sorted = memory(SORTED * sizeof(int));
	unsorted = memory(SORTED * sizeof(int));
	for (int i = 0; i < SORTED; i++)
		unsorted[i] = (int)drawn();
}

static int by_value(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

FUNCTION void sorting(void)
{
	memcpy(sorted, unsorted, SORTED * sizeof(int));
	unsorted[drawn() % SORTED] = (int)drawn();
	qsort(sorted, SORTED, sizeof(int), by_value);
	sink += (uint64_t)sorted[SORTED / 2];
}

static void *slots[SLOTS];

static void allocation_begin(void)
{
	mallopt(M_TRIM_THRESHOLD, 1 << 30); /* keeps malloc() from returning memory to the kernel */
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	for (int i = 0; i < SLOTS; i++)
		slots[i] = malloc(2048);
}

FUNCTION void allocation(void)
{
	for (int i = 0; i < 1000; i++) {
		uint64_t one = drawn();

		free(slots[one % SLOTS]);
		slots[one % SLOTS] = malloc(16 + (one >> 10) % 4000);
	}
}

/* ---- parts that use the kernel ---- */

static int data_file;

static void data_begin(void)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/data", directory);
	data_file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	copy = copy ? copy : memory(TEXT);
	must(data_file >= 0 && ftruncate(data_file, (off_t)BLOCK * BLOCKS) == 0, path);
}

FUNCTION void file_data(void)
{
	static char block[BLOCK];

	for (int i = 0; i < 8; i++) {
		off_t at = (off_t)(drawn() % BLOCKS) * BLOCK;

		long whole, little, written;

		CALLED(calls, whole = kernel4(SYS_pread64, data_file, (long)block, BLOCK, at));
		CALLED(calls, little = kernel4(SYS_pread64, data_file, (long)block, 512, at));
		CALLED(calls, written = kernel4(SYS_pwrite64, data_file, (long)block, PAGE, at));
		must(whole == BLOCK && little == 512 && written == PAGE, "data");
	}
}

FUNCTION void file_metadata(void)
{
	for (int i = 0; i < FILES; i++) {
		char path[256];
		struct stat about; /* large enough for the kernel's structure */
		long file, failed = 0;

		snprintf(path, sizeof(path), "%s/%d", directory, i);
		CALLED(calls, file = kernel4(SYS_openat, AT_FDCWD, (long)path, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
		CALLED(calls, failed |= kernel4(SYS_fstat, file, (long)&about, 0, 0));
		CALLED(calls, failed |= kernel4(SYS_close, file, 0, 0, 0));
		for (int j = 0; j < 8; j++)
			CALLED(calls, failed |= kernel4(SYS_stat, (long)path, (long)&about, 0, 0));
		if (i % 4 == 0)
			CALLED(calls, failed |= kernel4(SYS_unlink, (long)path, 0, 0, 0));
		must(file >= 0 && !failed, path);
	}
}

FUNCTION void mapping(void)
{
	for (int i = 0; i < 32; i++) {
		long at, failed = 0;

		CALLED(calls, at = kernel6(SYS_mmap, 0, MAPPED, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
		CALLED(calls, failed |= kernel4(SYS_mprotect, at + MAPPED / 2, MAPPED / 4, PROT_NONE, 0));
		CALLED(calls, failed |= kernel4(SYS_munmap, at, MAPPED, 0, 0));
		must(at > 0 && !failed, "mapping");
	}
}

static char *pages;
static uint64_t touch; /* ticks to access all FAULTS pages just after the kernel has made them */

static void faults_begin(void)
{
	pages = mmap(NULL, FAULTS * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(pages != MAP_FAILED, "mmap");
	madvise(pages, FAULTS * PAGE, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < FAULTS; i++) {
		uint64_t from;

		must(kernel4(SYS_madvise, (long)pages + (long)(i * PAGE), PAGE, MADV_POPULATE_WRITE, 0) == 0, "madvise");
		from = __rdtsc();
		((volatile char *)pages)[i * PAGE] = 1;
		_mm_lfence(); /* waits until the address is translated */
		touch += __rdtsc() - from - reading;
	}
	madvise(pages, FAULTS * PAGE, MADV_DONTNEED);
}

FUNCTION void faults(void)
{
	CALLED(calls, for (size_t i = 0; i < FAULTS; i++)((volatile char *)pages)[i * PAGE] = 1);
	CALLED(mapping, kernel4(SYS_madvise, (long)pages, FAULTS * PAGE, MADV_DONTNEED, 0));
	inside.touching += touch;
}

FUNCTION void processes(void)
{
	for (int i = 0; i < 4; i++) {
		pid_t child;

		CALLED(calls, if ((child = vfork()) == 0) _exit(0));
		must(child > 0, "vfork");
		CALLED(calls, must(kernel4(SYS_wait4, child, 0, 0, 0) == child, "wait4"));
	}
}

/* Two threads that take turns. */
static atomic_int turn;
static int peer_delays = -1;

static inline void futex(int what, int value)
{
	kernel6(SYS_futex, (long)&turn, what | FUTEX_PRIVATE_FLAG, value, 0, 0, 0);
}

static int delays_open(void)
{
	return open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
}

static void *locks_peer(void *nothing)
{
	peer_delays = delays_open();
	for (;;) {
		while (atomic_load(&turn) != 1)
			futex(FUTEX_WAIT, 0);
		atomic_store(&turn, 0);
		futex(FUTEX_WAKE, 1);
	}
	return nothing;
}

static void locks_begin(void)
{
	pthread_t peer;

	must(pthread_create(&peer, NULL, locks_peer, NULL) == 0, "pthread_create");
}

FUNCTION void locks(void)
{
	for (int i = 0; i < 16; i++) {
		atomic_store(&turn, 1);
		CALLED(calls, futex(FUTEX_WAKE, 1));
		while (atomic_load(&turn) != 0)
			CALLED(calls, futex(FUTEX_WAIT, 1));
	}
}

/* The two ends of a connection over the loopback interface. */
static int near_end, far_end;

static void sockets_begin(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(at);
	int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	near_end = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	must(bind(listening, (struct sockaddr *)&at, size) == 0 && listen(listening, 1) == 0, "listen");
	must(getsockname(listening, (struct sockaddr *)&at, &size) == 0, "getsockname");
	must(connect(near_end, (struct sockaddr *)&at, size) == 0, "connect");
	far_end = accept(listening, NULL, NULL);
	must(far_end >= 0, "accept");
}

/* Transfers messages by socket calls in one direction and by file calls in the other. */
FUNCTION void sockets(void)
{
	static char message[MESSAGE];

	for (int i = 0; i < 8; i++) {
		long sent, received, written, had;

		CALLED(calls, sent = kernel6(SYS_sendto, near_end, (long)message, MESSAGE, 0, 0, 0));
		CALLED(calls, received = kernel6(SYS_recvfrom, far_end, (long)message, MESSAGE, MSG_WAITALL, 0, 0));
		CALLED(calls, written = kernel4(SYS_write, far_end, (long)message, MESSAGE, 0));
		CALLED(calls, had = kernel4(SYS_read, near_end, (long)message, MESSAGE, 0));
		must(sent == MESSAGE && received == MESSAGE && written == MESSAGE && had == MESSAGE, "sockets");
	}
}

FUNCTION void sleeping(void)
{
	const struct timespec some = { .tv_nsec = 1000000 };

	CALLED(calls, kernel4(SYS_nanosleep, (long)&some, 0, 0, 0));
}

/* ---- the table of parts ---- */

struct spent {
	double wall, cpu, user, system, delay, calls, mapping, touching, n; /* s; calls, mapping, touching: ticks; n: calls */
};

static struct part {
	const char *name;
	void (*step)(void), (*begin)(void);
	double step_us; /* time of a step on the reference machine, for fixed work */
	double weight;
	struct spent spent;
	double steps; /* remaining steps of fixed work */
} parts[] = {
	{ .name = "arithmetic", .step_us = 100, .step = arithmetic },
	{ .name = "vectors", .step_us = 10, .step = vectors, .begin = vectors_begin },
	{ .name = "branches", .step_us = 48, .step = branches, .begin = branches_begin },
	{ .name = "caches", .step_us = 720, .step = caches, .begin = caches_begin },
	{ .name = "memory", .step_us = 16, .step = memory_part, .begin = memory_begin },
	{ .name = "strings", .step_us = 12, .step = strings, .begin = strings_begin },
	{ .name = "sorting", .step_us = 79, .step = sorting, .begin = sorting_begin },
	{ .name = "allocation", .step_us = 99, .step = allocation, .begin = allocation_begin },
	{ .name = "file-data", .step_us = 39, .step = file_data, .begin = data_begin },
	{ .name = "file-metadata", .step_us = 680, .step = file_metadata },
	{ .name = "mapping", .step_us = 230, .step = mapping },
	{ .name = "faults", .step_us = 910, .step = faults, .begin = faults_begin },
	{ .name = "processes", .step_us = 150, .step = processes },
	{ .name = "locks", .step_us = 65, .step = locks, .begin = locks_begin },
	{ .name = "sockets", .step_us = 77, .step = sockets, .begin = sockets_begin },
	{ .name = "sleeping", .step_us = 1100, .step = sleeping },
};
enum { PARTS = sizeof(parts) / sizeof(parts[0]) };

static int own_delays = -1;

static double clock_s(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double seconds_of(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static double delay_s(int file)
{
	char line[128];
	ssize_t n = file >= 0 ? pread(file, line, sizeof(line) - 1, 0) : 0;
	unsigned long long delay = 0;

	line[n > 0 ? n : 0] = '\0';
	sscanf(line, "%*u %llu", &delay);
	return (double)delay / 1e9;
}

static struct spent spent_now(void)
{
	struct rusage own, children;
	struct spent now;

	getrusage(RUSAGE_SELF, &own);
	getrusage(RUSAGE_CHILDREN, &children);
	now.wall = clock_s(CLOCK_MONOTONIC);
	now.user = seconds_of(own.ru_utime) + seconds_of(children.ru_utime);
	now.system = seconds_of(own.ru_stime) + seconds_of(children.ru_stime);
	now.cpu = clock_s(CLOCK_PROCESS_CPUTIME_ID) + seconds_of(children.ru_utime) + seconds_of(children.ru_stime);
	now.delay = delay_s(own_delays) + delay_s(peer_delays);
	now.calls = (double)inside.calls;
	now.mapping = (double)inside.mapping;
	now.touching = (double)inside.touching;
	now.n = (double)inside.n;
	return now;
}

static void spent_add(struct spent *to, const struct spent *from, const struct spent *until)
{
	to->wall += until->wall - from->wall;
	to->cpu += until->cpu - from->cpu;
	to->user += until->user - from->user;
	to->system += until->system - from->system;
	to->delay += until->delay - from->delay;
	to->calls += until->calls - from->calls;
	to->mapping += until->mapping - from->mapping;
	to->touching += until->touching - from->touching;
	to->n += until->n - from->n;
}

/* Returns the time of a part without its run-queue delay, s; at least its CPU time. */
static double own_s(const struct spent *spent)
{
	double wall = spent->wall - spent->delay;

	return wall > spent->cpu ? wall : spent->cpu;
}

static void turn_of(struct part *part)
{
	struct spent from = spent_now(), until;

	do
		part->step();
	while (--part->steps > 0 && clock_s(CLOCK_MONOTONIC) - from.wall < TURN_NS / 1e9);
	until = spent_now();
	spent_add(&part->spent, &from, &until);
}

static struct {
	double seconds;
	const char *truth;
	int fixed, after;
} asked = { .seconds = 1 };

static double steps_of(const struct part *part)
{
	return asked.fixed ? 1 + part->weight * asked.seconds * 1e6 / part->step_us : 1e18;
}

/* Returns the part that is furthest behind its share, or the first unfinished part for order=after; NULL if all are done. */
static struct part *part_next(double all_s)
{
	struct part *next = NULL;
	double most = -1e300;

	for (size_t i = 0; i < PARTS; i++) {
		double share =
		    asked.fixed ? 1 - parts[i].steps / steps_of(&parts[i]) : own_s(&parts[i].spent) / asked.seconds / parts[i].weight;
		double behind = asked.fixed ? -share : (all_s / asked.seconds - share) * parts[i].weight;

		if (parts[i].weight <= 0 || parts[i].steps < 1 || (!asked.fixed && share >= 1 && asked.after) || (next && asked.after))
			continue;
		if (behind > most) {
			next = &parts[i];
			most = behind;
		}
	}
	return next;
}

static void say(FILE *out, const char *name, const struct spent *s, double tick_s)
{
	fprintf(out, "%d,%s,%.6f,%.6f,%.6f,%.6f,%.6f,%.6f,%.6f,%.0f,%.6f\n", (int)getpid(), name, s->wall, s->cpu, s->user, s->system,
		s->delay, s->calls * tick_s, s->mapping * tick_s, s->n, s->touching * tick_s);
}

/* Writes all lines by one write(), because other processes may append to the same file. */
static void say_all(const char *path, const struct spent *beginning, const struct spent *beside, double tick_s)
{
	char *lines = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&lines, &size);
	int to = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : STDOUT_FILENO;

	must(out != NULL && to >= 0, path ? path : "memory");
	for (size_t i = 0; i < PARTS; i++) {
		if (parts[i].weight > 0)
			say(out, parts[i].name, &parts[i].spent, tick_s);
	}
	say(out, "beginning", beginning, tick_s);
	say(out, "beside", beside, tick_s);
	fclose(out);
	must(write(to, lines, size) == (ssize_t)size, "truth");
	free(lines);
}

/* Releases large memory before the exit, because nothing can measure the time that the exit would take. */
static void parts_end(void)
{
	char path[256];

	free(stream);
	free(following);
	if (pages)
		munmap(pages, FAULTS * PAGE);

	for (int i = 0; i < FILES; i++) {
		snprintf(path, sizeof(path), "%s/%d", directory, i);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/data", directory);
	unlink(path);
	rmdir(directory);
}

/* Reads `word` if it is an option of the program. Reports whether it is one. */
static int option_read(const char *word)
{
	const char *is = strchr(word, '=');

	if (is && strncmp(word, "seconds=", 8) == 0)
		asked.seconds = atof(is + 1);
	else if (is && strncmp(word, "truth=", 6) == 0)
		asked.truth = is + 1;
	else if (strcmp(word, "work=fixed") == 0)
		asked.fixed = 1;
	else if (strcmp(word, "order=after") == 0)
		asked.after = 1;
	else
		return 0;
	return 1;
}

/* Reads the weights. Returns their sum, or 0 if an argument is neither a part nor an option. */
static double weights_read(int argc, char **argv)
{
	double sum = 0;

	for (int i = 1; i < argc; i++) {
		char *is = strchr(argv[i], '=');
		size_t length = is ? (size_t)(is - argv[i]) : 0, p = 0;

		if (option_read(argv[i]))
			continue;
		while (p < PARTS && !(is && strlen(parts[p].name) == length && strncmp(parts[p].name, argv[i], length) == 0))
			p++;
		if (p == PARTS || !(atof(is + 1) > 0))
			return 0;
		sum += parts[p].weight = atof(is + 1);
	}
	return sum;
}

/* Runs parts until all are done or the time is over. */
static void parts_run(void)
{
	struct part *part;

	for (double all = 0, before; (asked.fixed || all < asked.seconds) && (part = part_next(all)); all += own_s(&part->spent) - before) {
		before = own_s(&part->spent);
		turn_of(part);
	}
}

static int compare_ticks(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int getppid_say(void)
{
	static uint64_t took[20001];
	double began = clock_s(CLOCK_MONOTONIC);
	uint64_t ticks = __rdtsc();

	reading = reading_ticks();
	for (size_t i = 0; i < sizeof(took) / sizeof(took[0]); i++) {
		uint64_t from = __rdtsc();

		kernel4(SYS_getppid, 0, 0, 0, 0);
		took[i] = __rdtsc() - from - reading;
	}
	qsort(took, sizeof(took) / sizeof(took[0]), sizeof(took[0]), compare_ticks);
	return printf("%.1f\n", (double)took[10000] * (clock_s(CLOCK_MONOTONIC) - began) / (double)(__rdtsc() - ticks) * 1e9) < 0;
}

int main(int argc, char **argv)
{
	struct spent beginning, from, until, beside = { 0 };
	const struct spent none = { 0 };
	double sum, began = clock_s(CLOCK_MONOTONIC);
	uint64_t ticks = __rdtsc();
	const char *place = getenv("TMPDIR");

	if (argc == 2 && strcmp(argv[1], "getppid") == 0)
		return getppid_say();
	sum = weights_read(argc, argv);
	if (!(sum > 0)) {
		fprintf(stderr, "usage: %s PART=WEIGHT... [seconds=S] [truth=FILE] [work=fixed] [order=after]; parts:", argv[0]);
		for (size_t i = 0; i < PARTS; i++)
			fprintf(stderr, " %s", parts[i].name);
		fputs("\n", stderr);
		return 2;
	}
	reading = reading_ticks();
	snprintf(directory, sizeof(directory), "%.100s/composed-XXXXXX", place ? place : "/tmp");
	must(mkdtemp(directory) != NULL, directory);
	own_delays = delays_open();
	for (size_t i = 0; i < PARTS; i++) {
		parts[i].weight /= sum;
		parts[i].steps = steps_of(&parts[i]);
		if (parts[i].weight > 0 && parts[i].begin)
			parts[i].begin();
	}
	beginning = from = spent_now();
	beginning.wall -= began;
	parts_run();
	parts_end();
	until = spent_now();
	spent_add(&beside, &from, &until);
	for (size_t i = 0; i < PARTS; i++)
		spent_add(&beside, &parts[i].spent, &none);
	say_all(asked.truth, &beginning, &beside, (until.wall - began) / (double)(__rdtsc() - ticks));
	return 0;
}
