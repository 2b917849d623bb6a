/* Finds the modules of this process and the listed functions in them, and patches their code. The compiler left five bytes of no-ops at the
 * start of functions. They become a jump to a stub (x86-64).
 *
 * Also measures the cost of measuring. An empty function is called through stubs and hooks like the program's functions, often enough for a
 * median without interruptions. runs/inside/samples/samples.c subtracts this cost. The cost if only one of many calls is measured is found
 * separately, because such calls take another path through the hooks. */
#include "runs/inside/probe/probe.h"

#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- sites: places for a jump ---- */

enum probe_site { PROBE_SITE_NONE, PROBE_SITE_FREE, PROBE_SITE_JUMP };

struct probe_patch {
	uintptr_t site;
	uint32_t number;
};

struct probe_range {
	uintptr_t low, high;
	int protection; /* protection flags, as for mmap() */
};

#define PROBE_STUBS 2u

struct probe_stubs {
	unsigned char *memory;
	size_t bytes;
	void (*at[PROBE_STUBS])(void);
};

#if defined(__x86_64__)
#define SITE_BYTES	 5u
#define STUB_BYTES	 64u
#define PAGE_BYTES	 4096u
#define JUMP		 0xe9u
#define NEAR_SEARCH_STEP (1u << 20)
#define NEAR_LIMIT	 (2000u << 20) /* maximum distance of a relative jump, less a margin */

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

/* Classifies the first 9 bytes of a function. *site: place for the jump. */
static enum probe_site site_at(uintptr_t function, uintptr_t *site)
{
	static const unsigned char endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const unsigned char by_gcc[] = { 0x90, 0x90, 0x90, 0x90, 0x90 }, by_clang[] = { 0x0f, 0x1f, 0x44, 0x00, 0x08 };
	const unsigned char *at = (const unsigned char *)function;

	if (memcmp(at, endbr, sizeof(endbr)) == 0)
		at += sizeof(endbr);
	*site = (uintptr_t)at;
	if (memcmp(at, by_gcc, SITE_BYTES) == 0 || memcmp(at, by_clang, SITE_BYTES) == 0)
		return PROBE_SITE_FREE;
	return *at == JUMP ? PROBE_SITE_JUMP : PROBE_SITE_NONE;
}

/* ---- stubs ---- */

static unsigned char *stub_put(unsigned char *to, const void *bytes, size_t n)
{
	memcpy(to, bytes, n);
	return to + n;
}

static unsigned char *stub_put_value(unsigned char *to, int32_t value)
{
	return stub_put(to, &value, sizeof(value));
}

/* Appends the 32-bit distance to `target`. The distance must be the last part of its instruction. */
static unsigned char *stub_put_distance(unsigned char *to, uintptr_t target)
{
	return stub_put_value(to, (int32_t)(target - ((uintptr_t)to + sizeof(int32_t))));
}

static int32_t thread_offset(const void *variable)
{
	uintptr_t here;

	__asm__("mov %%fs:0, %0" : "=r"(here));
	return (int32_t)((uintptr_t)variable - here);
}

static unsigned char *stub_put_countdown(unsigned char *at, uint32_t number)
{
	if (number < PROBE_TLS_FUNCTIONS) {
		at = stub_put(at, "\x64\xff\x0c\x25", 4); /* decl %fs:OFFSET */
		return stub_put_value(at, thread_offset(&probe_near[number]));
	}
	at = stub_put(at, "\x41\x53", 2);	      /* push %r11 */
	at = stub_put(at, "\x64\x4c\x8b\x1c\x25", 5); /* mov %fs:OFFSET, %r11 */
	at = stub_put_value(at, thread_offset(&probe_far));
	at = stub_put(at, "\x41\xff\x8b", 3); /* decl OFFSET(%r11) */
	at = stub_put_value(at, (int32_t)(number * sizeof(int32_t)));
	return stub_put(at, "\x41\x5b", 2); /* pop %r11 */
}

/* Writes a stub. It counts down and returns to the code after the jump, but at the sampled call continues to probe_entry. The stub
 * preserves all registers except flags. `target` is the place that holds the address of probe_entry. */
static void stub_write(unsigned char *stub, const struct probe_patch *patch, const unsigned char *target)
{
	uintptr_t place = patch->site + SITE_BYTES;
	unsigned char *at = stub_put_countdown(stub, patch->number);

	at = stub_put(at, "\x78\x05", 2);				      /* js over the jmp */
	at = stub_put_distance(stub_put(at, "\xe9", 1), place);		      /* jmp PLACE */
	at = stub_put(at, "\x48\x8d\x64\x24\xf8", 5);			      /* lea -8(%rsp), %rsp */
	at = stub_put(at, "\x57\x56", 2);				      /* push %rdi; push %rsi */
	at = stub_put_distance(stub_put(at, "\x48\x8d\x3d", 3), place);	      /* lea PLACE(%rip), %rdi */
	at = stub_put(at, "\x48\x89\x7c\x24\x10", 5);			      /* mov %rdi, 16(%rsp) */
	at = stub_put_value(stub_put(at, "\xbf", 1), (int32_t)patch->number); /* mov $NUMBER, %edi */
	stub_put_distance(stub_put(at, "\xff\x25", 2), (uintptr_t)target);    /* jmp *TARGET(%rip) */
}

static void *map_at(uintptr_t at, size_t bytes)
{
	void *got = mmap((void *)at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (got == (void *)at)
		return got;
	if (got != MAP_FAILED) /* an old kernel treats the address as a hint */
		munmap(got, bytes);
	return NULL;
}

/* Maps writable memory within reach of a jump from all of the module; NULL if there is none. Prefers memory below the module, because the
 * heap grows above it. Prefers memory next to the last such mapping, because large mappings may leave little free space near a module. */
static void *map_memory_near(struct probe_range module, size_t bytes)
{
	static uintptr_t last;
	uintptr_t reach = NEAR_LIMIT > module.high - module.low + bytes ? NEAR_LIMIT - (module.high - module.low) - bytes : 0;
	uintptr_t next = last - bytes;
	void *got = next + reach > module.low && next < module.high + reach ? map_at(next, bytes) : NULL;

	for (uintptr_t away = 0; !got && away < reach && module.low > away + bytes; away += NEAR_SEARCH_STEP)
		got = map_at(module.low - away - bytes, bytes);
	for (uintptr_t away = NEAR_SEARCH_STEP; !got && away < reach; away += NEAR_SEARCH_STEP)
		got = map_at(module.high + away, bytes);
	last = got ? (uintptr_t)got : last;
	return got;
}

/* ---- jumps ---- */

/* Writes a jump. Uses a single store if the jump lies in one word, because another thread may be about to execute it. */
static void jump_write(uintptr_t site, uintptr_t to)
{
	int32_t offset = (int32_t)(to - site - SITE_BYTES);
	uintptr_t word = site & ~(uintptr_t)7;
	unsigned char bytes[8];
	uint64_t value;

	if (site - word <= 8 - SITE_BYTES) {
		memcpy(bytes, (const void *)word, 8);
		bytes[site - word] = JUMP;
		memcpy(bytes + (site - word) + 1, &offset, 4);
		memcpy(&value, bytes, 8);
		__atomic_store_n((uint64_t *)word, value, __ATOMIC_RELEASE);
		return;
	}
	memcpy((void *)(site + 1), &offset, 4);
	__atomic_store_n((unsigned char *)site, JUMP, __ATOMIC_RELEASE);
}

/* Makes code writable. Returns 0 or an errno. Keeps it executable if possible, because other threads may execute these pages. */
static int make_writable(struct probe_range code)
{
	if (mprotect((void *)code.low, code.high - code.low, PROT_READ | PROT_WRITE | PROT_EXEC) == 0)
		return 0;
	return mprotect((void *)code.low, code.high - code.low, PROT_READ | PROT_WRITE) == 0 ? 0 : errno;
}

static unsigned char *stub_at(unsigned char *memory, size_t i)
{
	return memory + STUB_BYTES * (i + 1);
}

/* Makes executable stubs near `module`. *memory, *bytes: their mapping. Returns 0 or an errno. */
static int stubs_create(const struct probe_patch *patches, size_t n, struct probe_range module, unsigned char **memory, size_t *bytes)
{
	const uintptr_t entry = (uintptr_t)probe_entry;
	int failed;

	*bytes = (STUB_BYTES * (n + 1) + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
	*memory = map_memory_near(module, *bytes);
	if (!*memory)
		return ENOMEM;
	memcpy(*memory, &entry, sizeof(entry));
	for (size_t i = 0; i < n; i++)
		stub_write(stub_at(*memory, i), &patches[i], *memory);
	failed = mprotect(*memory, *bytes, PROT_READ | PROT_EXEC) ? errno : 0;
	if (failed)
		munmap(*memory, *bytes);
	return failed;
}

/* Makes stubs for functions 0, 1... that continue at `places` in this library. The caller unmaps out->memory. Returns false on failure. */
static bool stubs_at(const uintptr_t places[PROBE_STUBS], struct probe_stubs *out)
{
	struct probe_range module = { places[0] & ~(uintptr_t)(PAGE_BYTES - 1), (places[0] | (PAGE_BYTES - 1)) + 1, 0 };
	struct probe_patch patches[PROBE_STUBS];

	for (uint32_t i = 0; i < PROBE_STUBS; i++)
		patches[i] = (struct probe_patch){ places[i] - SITE_BYTES, i };
	if (stubs_create(patches, PROBE_STUBS, module, &out->memory, &out->bytes))
		return false;
	for (uint32_t i = 0; i < PROBE_STUBS; i++)
		out->at[i] = (void (*)(void))(uintptr_t)stub_at(out->memory, i);
	return true;
}

/* Writes a jump at each site. All sites are in `code`. The stubs are near `module`. Returns 0 or an errno. */
static int sites_patch(const struct probe_patch *patches, size_t n, struct probe_range module, struct probe_range code)
{
	unsigned char *memory;
	size_t bytes;
	int failed = stubs_create(patches, n, module, &memory, &bytes);

	if (failed)
		return failed;
	failed = make_writable(code);
	if (failed) {
		munmap(memory, bytes);
		return failed;
	}
	for (size_t i = 0; i < n; i++)
		jump_write(patches[i].site, (uintptr_t)stub_at(memory, i));
	mprotect((void *)code.low, code.high - code.low, code.protection);
	return 0;
}

#else
static enum probe_site site_at(uintptr_t function, uintptr_t *site)
{
	*site = function;
	return PROBE_SITE_NONE;
}

static int sites_patch(const struct probe_patch *patches, size_t n, struct probe_range module, struct probe_range code)
{
	(void)patches, (void)n, (void)module, (void)code;
	return ENOTSUP;
}

static bool stubs_at(const uintptr_t places[PROBE_STUBS], struct probe_stubs *out)
{
	(void)places, (void)out;
	return false;
}
#endif

/* ---- cost of measuring ---- */

#define ROUNDS	      17u
#define WARM_ROUNDS   2u /* number of first rounds whose results are not used; they fill caches and predictors */
#define NESTED	      4u /* number of measured calls that the calling function makes */
#define CALLS_BETWEEN 64 /* number of calls that are only counted before the measured one of many */
#define COLUMNS_MAX   (1 + RECORD_COUNTERS_MAX)
#define INNER	      0u /* numbers of the functions whose state the calibration borrows */
#define OUTER	      1u

/* Functions that are measured like the program's functions. */
struct calibration_functions {
	void (*inner)(void);
	void (*outer)(void); /* calls `inner` NESTED times */
};

/* Results of the rounds, by column: ticks, then counters. */
struct rounds {
	int64_t inside[2 * ROUNDS][COLUMNS_MAX]; /* duration of an empty call; even rows: all calls are measured, odd rows: one of many */
	int64_t around[2][ROUNDS][COLUMNS_MAX];	 /* cost of a measured call for its caller; [0] all calls are measured, [1] one of many */
};

/* Parts of the thread's state that the calibration changes and then restores. */
struct saved_thread_state {
	struct record_thread record;
	struct probe_state states[2];
	int32_t near[2];
	uint32_t n_functions_called;
	uint64_t nested, before, signals;
};

/* Samples of a round; they are not in the file. */
struct scratch {
	struct record_chunk chunk;
	_Alignas(8) unsigned char samples[(1 + NESTED) * (sizeof(struct record_sample) + RECORD_COUNTERS_MAX * sizeof(uint64_t))];
};

static struct calibration_functions called;

static void empty_function(void)
{
}

static void call_empty_functions(void)
{
	for (unsigned i = 0; i < NESTED; i++)
		called.inner();
}

void __cyg_profile_func_enter(void *function, void *site);
void __cyg_profile_func_exit(void *function, void *site);

static __attribute__((noinline)) void empty_instrumented_function(void)
{
	__cyg_profile_func_enter((void *)(uintptr_t)empty_function, NULL);
	__cyg_profile_func_exit((void *)(uintptr_t)empty_function, NULL);
}

static __attribute__((noinline)) void call_instrumented_functions(void)
{
	__cyg_profile_func_enter((void *)(uintptr_t)call_empty_functions, NULL);
	call_empty_functions();
	__cyg_profile_func_exit((void *)(uintptr_t)call_empty_functions, NULL);
}

static struct probe_frame *find_current_frame(const struct probe_thread *t)
{
	return t->depth ? probe_frame_at(t, t->depth - 1) : NULL;
}

static void borrow_thread_state(struct probe_thread *t, struct saved_thread_state *b)
{
	b->signals = record_signals_block();
	b->before = record_ticks();
	b->record = t->record;
	b->n_functions_called = t->n_functions_called;
	b->nested = t->depth ? find_current_frame(t)->nested : 0;
	for (uint32_t i = 0; i < 2; i++) {
		b->states[i] = t->states[i];
		b->near[i] = t->near[i];
	}
	if (t->n_functions_called < 2)
		t->n_functions_called = 2;
}

static void return_thread_state(struct probe_thread *t, const struct saved_thread_state *b)
{
	t->record = b->record;
	t->n_functions_called = b->n_functions_called;
	for (uint32_t i = 0; i < 2; i++) {
		t->states[i] = b->states[i];
		t->near[i] = b->near[i];
	}
	if (t->depth)
		find_current_frame(t)->nested = b->nested;
	t->paused += record_ticks() - b->before;
	record_signals_restore(b->signals);
}

/* Prepares a round, so that the next call of each function is measured. */
static void round_begin(struct probe_thread *t, struct scratch *scratch, bool rare)
{
	for (uint32_t i = 0; i < 2; i++) {
		t->states[i] = (struct probe_state){ .mean = 1, .mean_high = UINT64_MAX, .level = rare };
		t->near[i] = 0;
	}
	scratch->chunk.samples = 0;
	t->record.chunk = &scratch->chunk;
	t->record.next = scratch->samples;
	t->record.end = scratch->samples + sizeof(scratch->samples);
}

/* Returns a column of sample i; INT64_MAX if it was not counted. */
static int64_t counter_difference(const struct scratch *scratch, size_t i, size_t column)
{
	const unsigned char *at = scratch->samples + i * probe.writer.sample_bytes;
	uint64_t value;

	if (probe.writer.options.brief)
		return (int64_t)((const struct record_brief *)(const void *)at)->duration;
	value = column ? ((const struct record_sample *)(const void *)at)->counters[column - 1]
		       : ((const struct record_sample *)(const void *)at)->duration;
	return value <= INT64_MAX ? (int64_t)value : INT64_MAX;
}

static bool measure_inside(struct probe_thread *t, struct scratch *scratch, bool rare, int64_t *inside)
{
	round_begin(t, scratch, rare);
	if (rare) {
		t->near[INNER] = CALLS_BETWEEN;
		for (unsigned i = 0; i < CALLS_BETWEEN; i++)
			called.inner();
	}
	called.inner();
	for (size_t c = 0; c < 1 + probe.n_counters && scratch->chunk.samples == 1; c++)
		inside[c] = counter_difference(scratch, 0, c);
	return scratch->chunk.samples == 1;
}

static bool measure_around(struct probe_thread *t, struct scratch *scratch, bool rare, int64_t *around)
{
	int64_t without[COLUMNS_MAX];
	size_t measured;

	round_begin(t, scratch, rare);
	t->near[INNER] = INT32_MAX; /* calls of `inner` are only counted */
	called.outer();
	for (size_t c = 0; c < 1 + probe.n_counters && scratch->chunk.samples == 1; c++)
		without[c] = counter_difference(scratch, 0, c);
	if (scratch->chunk.samples != 1)
		return false;
	round_begin(t, scratch, rare);
	t->near[INNER] = rare ? NESTED / 2 : 0;
	if (rare)
		t->states[INNER].level = PROBE_LEVEL_MAX;
	called.outer();
	measured = scratch->chunk.samples - 1;
	for (size_t c = 0; c < 1 + probe.n_counters && measured; c++) {
		int64_t with = counter_difference(scratch, measured, c);

		around[c] = with == INT64_MAX || without[c] == INT64_MAX ? INT64_MAX : (with - without[c]) / (int64_t)measured;
	}
	return measured > 0;
}

/* Computes the median of a column, and half the distance of its quartiles. Returns false if a row was not counted. */
static bool column_median(int64_t (*rows)[COLUMNS_MAX], size_t n, size_t column, int64_t *median, int64_t *spread)
{
	int64_t sorted[2 * ROUNDS];

	for (size_t i = 0; i < n; i++) {
		size_t k = i;

		for (; k && sorted[k - 1] > rows[i][column]; k--)
			sorted[k] = sorted[k - 1];
		sorted[k] = rows[i][column];
	}
	*median = sorted[n / 2] > 0 ? sorted[n / 2] : 0;
	*spread = (sorted[n * 3 / 4] - sorted[n / 4] + 1) / 2;
	return sorted[n - 1] != INT64_MAX;
}

static char *text_print_sanitized(char *at, const char *text)
{
	while (*text)
		*at++ = *text++;
	*at = '\0';
	return at;
}

/* Writes "MEDIAN SPREAD" of each column as the fact `key`. */
static void columns_write(const char *key, int64_t (*rows)[COLUMNS_MAX], size_t n)
{
	char text[COLUMNS_MAX * 48], number[24], *at = text;

	for (size_t c = 0; c < 1 + probe.n_counters; c++) {
		int64_t median, spread;

		if (!column_median(rows, n, c, &median, &spread))
			median = spread = 0;
		at = text_print_sanitized(text_print_sanitized(at, c ? " " : ""), record_format_number((uint64_t)median, 10, number));
		at = text_print_sanitized(text_print_sanitized(at, " "), record_format_number((uint64_t)spread, 10, number));
	}
	record_add_info(&probe.writer, key, text);
}

static void rounds_run(struct probe_thread *t, struct rounds *rounds, struct scratch *scratch)
{
	int64_t median, spread;

	for (size_t i = 0; i < ROUNDS + WARM_ROUNDS; i++) {
		size_t row = i < WARM_ROUNDS ? 0 : i - WARM_ROUNDS;

		for (size_t rare = 0; rare < 2; rare++)
			if (!measure_inside(t, scratch, rare, rounds->inside[2 * row + rare]) ||
			    !measure_around(t, scratch, rare, rounds->around[rare][row]))
				return;
	}
	columns_write("cost_inside", rounds->inside, 2 * ROUNDS);
	columns_write("cost_around", rounds->around[0], ROUNDS);
	columns_write("cost_around_rare", rounds->around[1], ROUNDS);
	if (column_median(rounds->inside, 2 * ROUNDS, 0, &median, &spread))
		probe.cost_inside = (uint64_t)median;
}

static void calibrate(struct probe_thread *t, struct calibration_functions functions)
{
	size_t bytes = sizeof(struct rounds) + sizeof(struct scratch);
	struct rounds *rounds = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct saved_thread_state saved_thread_state;

	if (rounds == MAP_FAILED)
		return;
	called = functions;
	borrow_thread_state(t, &saved_thread_state);
	rounds_run(t, rounds, (struct scratch *)(void *)(rounds + 1));
	return_thread_state(t, &saved_thread_state);
	munmap(rounds, bytes);
}

/* Measures the cost once, with the kind of hooks that the first found functions have, because a program is built in one way. */
static void calibrate_once(bool instrumented)
{
	struct probe_thread *t = probe_self;
	struct calibration_functions functions = { empty_instrumented_function, call_instrumented_functions };
	struct probe_stubs stubs = { .bytes = 0 };

	if (probe.calibrated || !t || t->busy || !t->states)
		return;
	probe.calibrated = true;
	if (instrumented) {
		if (!probe_instrumented_add((uintptr_t)empty_function, INNER) ||
		    !probe_instrumented_add((uintptr_t)call_empty_functions, OUTER))
			return;
	} else {
		const uintptr_t places[PROBE_STUBS] = { (uintptr_t)empty_function, (uintptr_t)call_empty_functions };

		if (!stubs_at(places, &stubs))
			return;
		functions = (struct calibration_functions){ stubs.at[INNER], stubs.at[OUTER] };
	}
	calibrate(t, functions);
	if (stubs.bytes)
		munmap(stubs.memory, stubs.bytes);
}

/* ---- modules ---- */

#define SEGMENTS_MAX	16
#define MODULE_BYTES	256
#define PATCHES_AT_ONCE 512

struct module {
	uintptr_t base;
	char id[RECORD_BUILD_ID_BYTES]; /* build-id; "" if none */
	char name[MODULE_BYTES];	/* "=" and the last component of the path */
	struct probe_range whole;
	struct probe_range code[SEGMENTS_MAX];
	size_t n_code;
};

static const char *last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void segment_inspect(struct module *m, const ElfW(Phdr) * p)
{
	uintptr_t low = m->base + p->p_vaddr, high = low + p->p_memsz;

	if (p->p_type != PT_LOAD)
		return;
	low &= ~(uintptr_t)4095;
	high = (high + 4095) & ~(uintptr_t)4095;
	if (!m->whole.high || low < m->whole.low)
		m->whole.low = low;
	if (high > m->whole.high)
		m->whole.high = high;
	if (p->p_flags & PF_X && m->n_code < SEGMENTS_MAX)
		m->code[m->n_code++] =
		    (struct probe_range){ low, high,
					  (p->p_flags & PF_R ? PROT_READ : 0) | (p->p_flags & PF_W ? PROT_WRITE : 0) | PROT_EXEC };
}

static void module_inspect(const struct dl_phdr_info *info, struct module *m)
{
	char self[1024];
	const char *path = info->dlpi_name;
	ssize_t n;

	memset(m, 0, sizeof(*m));
	m->base = info->dlpi_addr;
	for (size_t i = 0; i < info->dlpi_phnum; i++)
		segment_inspect(m, &info->dlpi_phdr[i]);
	record_module_id(m->base, info->dlpi_phdr, info->dlpi_phnum, m->id);
	if (!path || !*path) { /* the program itself */
		n = readlink("/proc/self/exe", self, sizeof(self) - 1);
		self[n > 0 ? n : 0] = '\0';
		path = self;
	}
	path = last_component(path);
	n = (ssize_t)strlen(path);
	if (n > 0 && n < MODULE_BYTES - 1) {
		m->name[0] = '=';
		memcpy(m->name + 1, path, (size_t)n + 1);
	}
}

/* ---- functions ---- */

static bool any_patched, any_instrumented;

static bool is_entry_of_module(const struct module *m, const struct probe_entry *e)
{
	return (m->id[0] && strcmp(e->module, m->id) == 0) || (m->name[0] && strcmp(e->module, m->name) == 0);
}

static const struct probe_range *find_code_range(const struct module *m, uintptr_t address)
{
	for (size_t i = 0; i < m->n_code; i++)
		if (address >= m->code[i].low && address < m->code[i].high && m->code[i].high - address >= 16)
			return &m->code[i];
	return NULL;
}

static uint64_t function_seed(uint64_t address)
{
	return (address + 1) * 0x9e3779b97f4a7c15u + probe.seed * 0xd1342543de82ef95u;
}

/* Returns the function's number, and assigns it if needed; UINT32_MAX if there is no number left or no file. */
static uint32_t function_number(struct probe_entry *e, uintptr_t address)
{
	if (e->number == UINT32_MAX && probe.writer.header) {
		uint32_t number = record_add_function(&probe.writer, e->address, e->module, e->name);

		if (number != UINT32_MAX) {
			probe.functions[number] = (struct probe_function){ function_seed(e->address), address };
			e->number = number;
		}
	}
	return e->number;
}

/* Reports that not all listed functions can be measured. Prints only once, because each new library causes another search of the list. */
static void report_full_list(const struct probe_entry *e)
{
	static bool said;

	if (!said)
		probe_report("no room for more functions, select fewer: not measured are others, and ", e->name, 0);
	said = true;
}

static void module_patch(const struct module *m, const struct probe_range *code, const struct probe_patch *patches, size_t n)
{
	int failed = n ? sites_patch(patches, n, m->whole, *code) : 0;

	any_patched = any_patched || (n && !failed);
	if (failed && !probe.patching_refused) {
		probe.patching_refused = failed;
		probe_report("the system refuses to let this program's code be changed (build it with -finstrument-functions instead): ",
			     m->name + 1, failed);
		record_add_info(&probe.writer, "patching", "refused");
	}
}

/* Patches the listed functions whose code lies in this segment. */
static void segment_scan(const struct module *m, const struct probe_range *code, const struct probe_list *list)
{
	struct probe_patch patches[PATCHES_AT_ONCE];
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++) {
		struct probe_entry *e = &list->items[i];
		uintptr_t address = m->base + e->address, site;
		enum probe_site found;

		if (!is_entry_of_module(m, e) || find_code_range(m, address) != code)
			continue;
		found = site_at(address, &site);
		if (found == PROBE_SITE_JUMP && e->number != UINT32_MAX)
			continue; /* the jump was written by an earlier search */
		if (function_number(e, address) == UINT32_MAX)
			report_full_list(e);
		else if (found == PROBE_SITE_FREE)
			patches[n++] = (struct probe_patch){ site, e->number };
		else if (probe_instrumented_add(address, e->number))
			any_instrumented = true;
		else
			report_full_list(e);
		if (n == PATCHES_AT_ONCE) {
			module_patch(m, code, patches, n);
			n = 0;
		}
	}
	module_patch(m, code, patches, n);
}

static int module_scan(struct dl_phdr_info *info, size_t size, void *list)
{
	struct module m;

	(void)size;
	module_inspect(info, &m);
	for (size_t i = 0; i < m.n_code; i++)
		segment_scan(&m, &m.code[i], list);
	return 0;
}

/* Reports whether any listed function is in this module. */
static int module_has(struct dl_phdr_info *info, size_t size, void *data)
{
	const struct probe_list *list = data;
	struct module m;

	(void)size;
	module_inspect(info, &m);
	for (size_t i = 0; i < list->n; i++)
		if (is_entry_of_module(&m, &list->items[i]) && find_code_range(&m, m.base + list->items[i].address))
			return 1;
	return 0;
}

/* Searches twice. probe_open_file() may load libraries, so it must not run while dl_iterate_phdr() holds the loader's lock. */
void probe_modules_scan(const struct probe_list *list)
{
	struct probe_list copy = *list;

	if (dl_iterate_phdr(module_has, &copy) && probe_open_file())
		dl_iterate_phdr(module_scan, &copy);
	if (any_patched || any_instrumented)
		calibrate_once(!any_patched);
}
