/* The counting program (fleet/counting/) is asked about this machine as about any host; here it is put into memory and executed from
 * there. And small programs in pairs: one does what some counters are about, the other does not. */
#include "runs/inside/instrument/countable_here.h"

#include "base/file.h"
#include "base/mem.h"
#include "fleet/agent/program.h"
#include "runs/inside/instrument/foreground.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define REPORT_BYTES_MAX 65536u

#define LINE_BYTES 64u
#define THREADS	   2u
#define INCREMENTS 2000000u
#define NODES	   (1u << 19) /* of 64 bytes: 32 MiB, more than most caches hold */
#define STEPS	   2000000u
#define BRANCHES   4000000u
#define PAGES	   16384u
#define PAUSES	   200u
#define MOVES_FROM 3.0 /* times as many in the bad program */
#define GOOD_LEAST 50  /* counts that the good program is granted: small numbers prove nothing */

/* A file in memory with these bytes; -1 on failure. */
static int file_of_bytes(const char *name, const char *bytes, size_t n)
{
	int file = memfd_create(name, MFD_CLOEXEC);

	while (file >= 0 && n) {
		ssize_t wrote = write(file, bytes, n);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0) {
			close(file);
			return -1;
		}
		bytes += wrote;
		n -= (size_t)wrote;
	}
	return file;
}

/* Sets words[0]. The program writes to `out`. *status as of waitpid(). */
static enum assay_status run_counting(const char **words, int out, int *status, struct assay_error *err)
{
	const char *bytes;
	size_t n;
	int program;
	enum assay_status st;
	char path[64];

	counting_program(PROGRAM_ARCHITECTURE, &bytes, &n);
	program = file_of_bytes("counting", bytes, n);
	if (program < 0)
		return assay_fail_errno(err, errno, "cannot put the counting program into memory");
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), program);
	words[0] = path;
	st = foreground_run((char *const *)(uintptr_t)words, out, status, err);
	close(program);
	return st;
}

enum assay_status countable_here_plan(const struct counting_events *events, struct counting_plan *out, struct assay_error *err)
{
	const char *words[3 + COUNTING_EVENTS_MAX] = { NULL, "plan" };
	int file = file_of_bytes("plan", "", 0), status = 0;
	struct buf answer = BUF_INIT;
	enum assay_status st;
	char path[64];

	if (file < 0)
		return assay_fail_errno(err, errno, "cannot make a file in memory");
	for (size_t i = 0; i < events->n; i++)
		words[2 + i] = events->names[i];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	st = run_counting(words, file, &status, err);
	if (!st && status != 0)
		st = assay_fail(err, ASSAY_E_IO, "the counting program ended with status %#x", (unsigned)status);
	if (!st)
		st = file_read(path, REPORT_BYTES_MAX, &answer, err);
	if (!st)
		st = counting_plan_parse(answer.bytes ? answer.bytes : "", answer.size, out, err);
	close(file);
	buf_release(&answer);
	return st;
}

/* ---- do counters tell the truth? ---- */

static const struct countable_pair pairs[] = {
	{ COUNTABLE_COHERENCE, NULL, "padded", "shared", "two threads that count in one cache line, against two lines" },
	{ COUNTABLE_CACHE, NULL, "array", "chase", "a chase through 32 MiB, against going through it in order" },
	{ COUNTABLE_TLB, NULL, "array", "chase", "a chase through 32 MiB, against going through it in order" },
	{ COUNTABLE_BRANCH, "PAPI_BR_MSP", "steady", "random", "branches on random bits, against the same ones in order" },
	{ COUNTABLE_FLOAT, NULL, "integers", "floats", "a sum of floating-point numbers, against one of integers" },
	{ COUNTABLE_STALL, NULL, "array", "chase", "a chase through 32 MiB, against going through it in order" },
	{ COUNTABLE_CYCLES, NULL, "little", "much", "work a hundred times as long" },
	{ COUNTABLE_WORK, NULL, "little", "much", "work a hundred times as long" },
	{ COUNTABLE_SOFTWARE, "perf::TASK-CLOCK", "little", "much", "work a hundred times as long" },
	{ COUNTABLE_SOFTWARE, "perf::PAGE-FAULTS", "little", "pages", "64 MiB of memory that is touched for the first time" },
	{ COUNTABLE_SOFTWARE, "perf::CONTEXT-SWITCHES", "little", "pauses", "200 pauses" },
};

const struct countable_pair *countable_here_pairs(size_t *n)
{
	*n = sizeof(pairs) / sizeof(pairs[0]);
	return pairs;
}

/* Counts a run of a plan of the program with that argument; values[run->events.n]. ASSAY_E_IO when nothing was counted. */
static enum assay_status count_program(const struct counting_run *run, const char *const *program, const char *argument, int64_t *values,
				       struct assay_error *err)
{
	const char *parent = getenv("TMPDIR"), *words[9 + COUNTING_EVENTS_MAX] = { NULL, "run" };
	char *path = mem_format("%s/assay-report-XXXXXX", parent && *parent ? parent : "/tmp"), *failed = NULL;
	int file = mkstemp(path), status = 0;
	struct buf report = BUF_INIT;
	enum assay_status st;
	size_t n = 2;

	if (file < 0) {
		st = assay_fail_errno(err, errno, "cannot make a file '%s'", path);
		free(path);
		return st;
	}
	words[n++] = path;
	words[n++] = run->family;
	for (size_t i = 0; i < run->events.n; i++)
		words[n++] = run->events.names[i];
	words[n++] = "--";
	for (size_t i = 0; i < 3; i++)
		words[n++] = program[i];
	words[n] = argument;
	st = run_counting(words, -1, &status, err);
	if (!st)
		st = file_read(path, REPORT_BYTES_MAX, &report, err);
	if (!st)
		st = counting_report_parse(report.bytes ? report.bytes : "", report.size, &run->events, values, &failed, err);
	if (!st && failed)
		st = assay_fail(err, ASSAY_E_IO, "nothing was counted: %s", failed);
	else if (!st && status != 0)
		st = assay_fail(err, ASSAY_E_IO, "'%s' ended with status %#x", program[0], (unsigned)status);
	close(file);
	unlink(path);
	mem_free(path, failed);
	buf_release(&report);
	return st;
}

static bool is_about(const struct countable_pair *pair, const char *event)
{
	return pair->event ? strcmp(pair->event, event) == 0 : countable_kind_of(event) == pair->kind;
}

static enum assay_status try_pair(const struct counting_run *run, const struct countable_pair *pair, const char *const *program,
				  struct countable_verdicts *out, struct assay_error *err)
{
	int64_t good[COUNTING_EVENTS_MAX], bad[COUNTING_EVENTS_MAX];
	enum assay_status st;
	bool any = false;

	for (size_t k = 0; k < run->events.n; k++)
		any = any || is_about(pair, run->events.names[k]);
	if (!any)
		return ASSAY_OK;
	st = count_program(run, program, pair->good, good, err);
	if (!st)
		st = count_program(run, program, pair->bad, bad, err);
	for (size_t k = 0; k < run->events.n && !st; k++) {
		if (!is_about(pair, run->events.names[k]))
			continue;
		mem_append(out->items, out->n, &out->capacity,
			   (struct countable_verdict){ run->events.names[k], pair->what, good[k], bad[k],
						       (double)bad[k] > MOVES_FROM * ((double)good[k] + GOOD_LEAST) });
	}
	return st;
}

enum assay_status countable_here_selftest(const struct counting_plan *plan, const char *const *program, struct countable_verdicts *out,
					  struct assay_error *err)
{
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; i < plan->n && !st; i++)
		for (size_t p = 0; p < sizeof(pairs) / sizeof(pairs[0]) && !st; p++)
			st = try_pair(&plan->runs[i], &pairs[p], program, out, err);
	return st;
}

/* ---- two threads ---- */

static _Alignas(2 * LINE_BYTES) volatile uint64_t counts[THREADS * 2 * LINE_BYTES / sizeof(uint64_t)];

static void *increment_counter(void *at)
{
	volatile uint64_t *count = at;

	for (unsigned i = 0; i < INCREMENTS; i++)
		++*count;
	return NULL;
}

static void work_increments(size_t distance)
{
	pthread_t threads[THREADS];
	size_t started = 0;

	while (started < THREADS &&
	       pthread_create(&threads[started], NULL, increment_counter, (void *)(uintptr_t)&counts[started * distance]) == 0)
		started++;
	for (size_t i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
}

/* ---- memory ---- */

struct node {
	uint32_t next;
	char rest[LINE_BYTES - sizeof(uint32_t)];
};

static uint32_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (uint32_t)(*state >> 16);
}

/* A cycle through all nodes, in order or in random order (Sattolo's algorithm). */
static void work_walk(size_t in_order)
{
	struct node *nodes = mem_new(NODES, sizeof(*nodes));
	uint64_t state = 88172645463325252u;
	volatile uint32_t at = 0;

	for (uint32_t i = 0; i < NODES; i++)
		nodes[i].next = in_order ? (i + 1) % NODES : i;
	for (uint32_t i = NODES - 1; i > 0; i--) {
		uint32_t other = random_next(&state) % i, next = nodes[i].next;

		if (in_order)
			continue;
		nodes[i].next = nodes[other].next;
		nodes[other].next = next;
	}
	for (unsigned i = 0; i < STEPS; i++)
		at = nodes[at].next;
	free(nodes);
}

/* ---- the processor ---- */

static void work_branches(size_t at_random)
{
	uint64_t state = 88172645463325252u;
	volatile uint64_t sum = 0;

	for (uint32_t i = 0; i < BRANCHES; i++) {
		uint32_t bit = random_next(&state) & 1;

		if ((at_random ? bit : i & 1) != 0)
			sum = sum + i;
		else
			sum = sum ^ i;
	}
}

static void work_integers(size_t times)
{
	volatile uint64_t sum = 0;

	for (size_t i = 0; i < times * BRANCHES; i++)
		sum = sum + i;
}

static void work_floats(size_t times)
{
	volatile double sum = 0;

	for (size_t i = 0; i < times * BRANCHES; i++)
		sum = sum + 1.5;
}

/* ---- the kernel ---- */

static void work_pages(size_t n)
{
	volatile char *memory = mmap(NULL, n * 4096u, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return;
	madvise((void *)(uintptr_t)memory, n * 4096u, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < n; i++)
		memory[i * 4096u] = 1;
	munmap((void *)(uintptr_t)memory, n * 4096u);
}

static void work_pauses(size_t n)
{
	const struct timespec pause = { 0, 20000 };

	for (size_t i = 0; i < n; i++)
		nanosleep(&pause, NULL);
}

bool countable_here_work(const char *name)
{
	static const struct {
		const char *name;
		void (*work)(size_t how);
		size_t how;
	} rows[] = {
		{ "padded", work_increments, 2 * LINE_BYTES / sizeof(uint64_t) },
		{ "shared", work_increments, 1 },
		{ "array", work_walk, true },
		{ "chase", work_walk, false },
		{ "steady", work_branches, false },
		{ "random", work_branches, true },
		{ "integers", work_integers, 1 },
		{ "floats", work_floats, 1 },
		{ "little", work_integers, 1 },
		{ "much", work_integers, 100 },
		{ "pages", work_pages, PAGES },
		{ "pauses", work_pauses, PAUSES },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(rows[i].name, name) != 0)
			continue;
		rows[i].work(rows[i].how);
		return true;
	}
	return false;
}
