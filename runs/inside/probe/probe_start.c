/* Start and end of the probe. Reads the environment and patches the program. Does nothing if ASSAY_PROBE_LIST is not set. */
#include "runs/inside/probe/probe.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#define BUDGET_PPM	30000u /* default of the allowed overhead */
#define BUDGET_PPM_MAX	1000000u
#define COST_SAMPLED_NS 150u /* cost of both hooks and the sample; 45 ns in a loop, more if the program uses the caches */
#define COST_COUNTED_NS 1u
#define COST_READS	16u /* number of counter readings per round; their mean is the cost */
#define COST_ROUNDS	3u
#define STACK_BYTES_MAX (1u << 30) /* assumed size of the first stack if it has no limit, bytes; other mappings are farther away */

struct probe probe;

static struct probe_list list;
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;
static const char *counter_names[RECORD_COUNTERS_MAX];
static enum record_back_end back_end;

void probe_report(const char *text, const char *more, int errnum)
{
	const char *why = errnum ? strerrordesc_np(errnum) : NULL;
	struct iovec parts[] = {
		{ (void *)(uintptr_t) "assay-probe: ", 13 },
		{ (void *)(uintptr_t)text, strlen(text) },
		{ (void *)(uintptr_t)more, strlen(more) },
		{ (void *)(uintptr_t) ": ", why ? 2 : 0 },
		{ (void *)(uintptr_t)(why ? why : ""), why ? strlen(why) : 0 },
		{ (void *)(uintptr_t) "\n", 1 },
	};
	ssize_t ignored = writev(2, parts, 6);

	(void)ignored;
}

/* Converts a fraction such as "0.03" to millionths. Returns the default for invalid text. */
static uint64_t budget_from(const char *text)
{
	double value = text ? strtod(text, NULL) : BUDGET_PPM / 1e6;

	if (!(value >= 0) || value > BUDGET_PPM_MAX / 1e6)
		value = BUDGET_PPM / 1e6;
	return (uint64_t)(value * 1e6 + .5);
}

/* Returns the seed, which is random by default. With a fixed seed, all runs would measure the same calls and agree on a biased mean. */
static uint64_t seed_from(const char *text)
{
	return text ? strtoull(text, NULL, 10) : record_ticks() & UINT32_MAX;
}

static uint64_t counters_cost(void)
{
	uint64_t values[RECORD_COUNTERS_MAX], before = record_ticks();

	for (unsigned i = 0; i < COST_READS; i++)
		probe_counters_read(probe_self, values);
	return (record_ticks() - before) / COST_READS;
}

/* Returns the cost of the fastest round, because other programs may have used the CPU during the others. */
static uint64_t counters_cost_least(void)
{
	uint64_t least = UINT64_MAX;

	for (unsigned i = 0; i < COST_ROUNDS; i++) {
		uint64_t took = counters_cost();

		least = took < least ? took : least;
	}
	return least;
}

/* Sets the costs of a sampled call (with the counters of this run) and of a counted call, in ticks of this machine. */
static void costs_measure(uint64_t ticks_per_s)
{
	probe.cost_sampled = COST_SAMPLED_NS * ticks_per_s / 1000000000u;
	probe.cost_counted = COST_COUNTED_NS * ticks_per_s / 1000000000u;
	if (probe_self && probe_self->counting)
		probe.cost_sampled += 2 * counters_cost_least();
}

static void program_write(void)
{
	record_add_program(&probe.writer);
	record_add_info(&probe.writer, "probe", PROBE_VERSION);
	record_add_info_number(&probe.writer, "budget_ppm", probe.budget_ppm);
	record_add_info_number(&probe.writer, "seed", probe.seed);
	record_add_info_number(&probe.writer, "cost_sampled_ticks", probe.cost_sampled);
	if (secure_getenv("ASSAY_PROBE_INPUT"))
		record_add_info(&probe.writer, "input", secure_getenv("ASSAY_PROBE_INPUT"));
	probe_report_no_counters();
}

/* Returns the space for the names of the listed functions and a little more, bytes. More space would cost time at the start. */
static uint32_t names_bytes(void)
{
	size_t bytes = 16384;

	for (size_t i = 0; i < list.n; i++)
		bytes += 24 + strlen(list.items[i].module) + strlen(list.items[i].name);
	bytes = (bytes + 4095) / 4096 * 4096;
	return bytes < RECORD_NAMES_BYTES_MAX ? (uint32_t)bytes : RECORD_NAMES_BYTES_MAX;
}

bool probe_open_file(void)
{
	static bool tried;
	struct record_options options = {
		.directory = secure_getenv("ASSAY_PROBE_DIRECTORY"),
		.counters = counter_names,
		.names_bytes_max = names_bytes(),
	};
	int failed;

	if (tried)
		return probe.writer.header;
	tried = true;
	if (!options.directory)
		options.directory = ".";
	back_end = probe_counters_init(secure_getenv("ASSAY_PROBE_COUNTERS"), counter_names, &probe.n_counters);
	options.back_end = back_end;
	options.n_counters = probe.n_counters;
	options.brief = !probe.n_counters;
	probe.frame_bytes = (uint32_t)(sizeof(struct probe_frame) + probe.n_counters * sizeof(uint64_t));
	probe.functions = mmap(NULL, RECORD_FUNCTIONS_MAX * sizeof(probe.functions[0]), PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	/* These calls must precede record_open(): once the file exists, threads count the threads that they create. */
	probe_saved_init();
	probe_thread_init();
	probe.threads = 1;
	failed = probe.functions == MAP_FAILED ? ENOMEM : record_open(&probe.writer, &options);
	if (failed) {
		probe_report("cannot write samples, nothing is measured: ", options.directory, failed);
		return false;
	}
	probe_thread_begin(probe_stack());
	costs_measure(probe.writer.options.ticks_per_s);
	program_write();
	return true;
}

/* Resets the lock in a child of fork(), because the thread that held it may not exist there. */
static void loading_free(void)
{
	loading = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

void probe_scan_loaded(void)
{
	static __thread bool at_work PROBE_TLS; /* prevents a search of libraries that PAPI loads */

	if (!list.n || at_work)
		return;
	at_work = true;
	probe_child_begin(); /* first, because functions get their numbers in the file of this process */
	pthread_mutex_lock(&loading);
	probe_modules_scan(&list);
	pthread_mutex_unlock(&loading);
	at_work = false;
}

__attribute__((constructor)) static void probe_start(void)
{
	const char *path = secure_getenv("ASSAY_PROBE_LIST"), *version = secure_getenv("ASSAY_PROBE_VERSION");
	struct rlimit stack;

#ifdef ASSAY_PROBE_NOTHING
	return;
#endif
	if (!path)
		return;
	if (version && strcmp(version, PROBE_VERSION) != 0) {
		probe_report("this library is version " PROBE_VERSION " of the probe, nothing is measured: take the library that came with "
			     "the command, which wants version ",
			     version, 0);
		return;
	}
	probe.budget_ppm = budget_from(secure_getenv("ASSAY_PROBE_BUDGET"));
	probe.seed = seed_from(secure_getenv("ASSAY_PROBE_SEED"));
	if (!probe_list_read(path, &list))
		return;
	probe.first_thread = (uintptr_t)__builtin_thread_pointer();
	probe.stack_limit = getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur < STACK_BYTES_MAX ? stack.rlim_cur : STACK_BYTES_MAX;
	pthread_atfork(NULL, NULL, loading_free);
	probe_scan_loaded();
}

__attribute__((destructor)) static void probe_end(void)
{
	if (!probe.writer.header || probe.writer.header->pid != (uint64_t)getpid())
		return; /* a child of vfork(), which shares its parent's memory, must not end the parent's file */
	probe_threads_end();
	record_close(&probe.writer);
}
