/* Which code is where. Numbers of functions in the sample file, by the place from where they call __tsan_func_entry(): one in each. Names
 * are looked up once for each function, in the symbol table of the program or library.
 *
 * And where a thread's time goes, by a clock of the kernel's (cpu-clock, in user space), which notes the place at each CLOCK_PERIOD_NS of a
 * processor's time in memory that we look at wherever the owner of what happens changes. So what the program does in libraries that were
 * not built for the emulation, and in which nothing counts, is known by function and library. Nothing interrupts the program. Where the
 * kernel refuses the clock, or system calls are filtered (the filter might end the program), nothing is known. */
#include "runs/inside/emulate/emulation.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SITES		65536u	    /* in all threads; three quarters are used, functions beyond that are not selected */
#define LIST_BYTES	(64u << 20) /* of a file with selected functions; what is not used takes no memory */
#define CLOCK_PERIOD_NS 999983u
#define RING_BYTES	16384u /* of samples: a second's */
#define RING_PAGE	4096u
#define PLACES_FOUND	8192u /* of a thread; three quarters are used */
#define PLACE_SHIFT	4
#define LIBRARIES	64u /* that are told apart */
#define LIBRARY_BYTES	64u
#define PLACES_ALL	65536u /* of the process */

struct site {
	uintptr_t address; /* 0: free */
	struct function function;
};

static struct site *sites; /* [SITES], by hash */
static uint32_t n_sites;
static const char *selected; /* names separated by commas or blanks, NULL: all */

/* ---- the list ---- */

/* The next name: the last word of a line "f ADDRESS MODULE NAME", else what stands between commas and blanks. */
static const char *next_name(const char *at, size_t *length)
{
	const char *name = at + strspn(at, ", \t\r\n");

	while (*name == '#')
		name += strcspn(name, "\n"), name += strspn(name, ", \t\r\n");
	*length = strcspn(name, ", \t\r\n");
	if (*length == 1 && *name == 'f') {
		for (int i = 0; i < 3 && name[*length] == ' '; i++) {
			name += *length + 1;
			*length = strcspn(name, " \r\n");
		}
	}
	return name;
}

/* "_sub_I_00099_0": with this gcc registers a file with the sanitizer whose hooks ours are; it is nobody's function. */
static bool is_registration(const char *function)
{
	bool begins = strncmp(function, "_sub_I_", 7) == 0 || strncmp(function, "_sub_D_", 7) == 0;

	return begins && function[7] >= '0' && function[7] <= '9';
}

/* NAME, NAME.constprop.0 and NAME.part.1 select each other: each build has its own clones. */
static bool is_selected(const char *function)
{
	size_t base = strcspn(function, "."), length;

	if (!selected)
		return true;
	for (const char *name = next_name(selected, &length); length > 0; name = next_name(name + length, &length)) {
		size_t named = strcspn(name, ".");

		if ((named < length ? named : length) == base && memcmp(name, function, base) == 0)
			return true;
	}
	return false;
}

static int read_list(const char *path, char *text)
{
	long file = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0), got = 0;
	int failed = file < 0 ? errno : 0;
	size_t n = 0;

	while (file >= 0 && n < LIST_BYTES && (got = syscall(SYS_read, (int)file, text + n, LIST_BYTES - n)) > 0)
		n += (size_t)got;
	if (got < 0 || n == LIST_BYTES)
		failed = got < 0 ? errno : EFBIG;
	if (file >= 0)
		syscall(SYS_close, (int)file);
	return failed;
}

int functions_select(const char *list)
{
	char *text;

	selected = list;
	if (!list || *list != '@')
		return 0;
	text = pages_map(LIST_BYTES + 1);
	selected = text;
	return text ? read_list(list + 1, text) : ENOMEM;
}

/* ---- symbols ---- */

struct module {
	uintptr_t address; /* looked for */
	uintptr_t base;	   /* of the module in which it lies */
	uintptr_t start, end;
	const char *path; /* "": the program */
	char build_id[RECORD_BUILD_ID_BYTES];
	bool found;
};

static int look_at_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct module *m = arg;

	(void)size;
	m->start = UINTPTR_MAX;
	m->end = 0;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD)
			continue;
		m->found |= m->address - start < p->p_memsz;
		m->start = start < m->start ? start : m->start;
		m->end = start + p->p_memsz > m->end ? start + p->p_memsz : m->end;
	}
	if (!m->found)
		return 0;
	m->base = info->dlpi_addr;
	m->path = info->dlpi_name;
	record_module_id(info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum, m->build_id);
	return 1;
}

struct symbol {
	const char *name; /* in the file */
	uint64_t start, bytes;
	void *file; /* mapped; MAP_FAILED: it could not be */
	size_t file_bytes;
};

/* The symbol of the function that has this address, from the table of this type. False: there is none. */
static bool symbol_in(const char *file, size_t bytes, uint32_t type, uint64_t address, struct symbol *out)
{
	const ElfW(Ehdr) *header = (const void *)file;
	const ElfW(Shdr) * sections;

	if (header->e_shoff > bytes || (bytes - header->e_shoff) / sizeof(*sections) < header->e_shnum || header->e_shoff % 8)
		return false;
	sections = (const void *)(file + header->e_shoff);
	for (size_t i = 0; i < header->e_shnum; i++) {
		const ElfW(Shdr) *table = &sections[i], *strings;
		const ElfW(Sym) * symbols;

		if (table->sh_type != type || table->sh_link >= header->e_shnum)
			continue;
		strings = &sections[table->sh_link];
		if (table->sh_offset > bytes || table->sh_size > bytes - table->sh_offset || strings->sh_offset > bytes ||
		    strings->sh_size == 0 || strings->sh_size > bytes - strings->sh_offset ||
		    file[strings->sh_offset + strings->sh_size - 1] != '\0' || table->sh_offset % 8)
			return false;
		symbols = (const void *)(file + table->sh_offset);
		for (size_t k = 0; k < table->sh_size / sizeof(*symbols); k++) {
			if ((symbols[k].st_info & 15) == STT_FUNC && symbols[k].st_name < strings->sh_size &&
			    address >= symbols[k].st_value && address - symbols[k].st_value < symbols[k].st_size) {
				out->name = file + strings->sh_offset + symbols[k].st_name;
				out->start = symbols[k].st_value;
				out->bytes = symbols[k].st_size;
				return true;
			}
		}
	}
	return false;
}

/* The symbol at the module's address; symbol_close() it. Without one: name "?", no bytes. */
static struct symbol symbol_open(const struct module *m)
{
	long file = syscall(SYS_openat, AT_FDCWD, *m->path ? m->path : "/proc/self/exe", O_RDONLY | O_CLOEXEC, 0);
	uint64_t address = m->address - m->base;
	struct symbol symbol = { .name = "?", .start = address, .file = MAP_FAILED };
	struct stat status;

	if (file >= 0 && fstat((int)file, &status) == 0 && status.st_size >= (off_t)sizeof(ElfW(Ehdr))) {
		symbol.file_bytes = (size_t)status.st_size;
		symbol.file = mmap(NULL, symbol.file_bytes, PROT_READ, MAP_PRIVATE, (int)file, 0);
	}
	if (file >= 0)
		syscall(SYS_close, (int)file);
	if (symbol.file != MAP_FAILED && memcmp(symbol.file, ELFMAG, SELFMAG) == 0 &&
	    !symbol_in(symbol.file, symbol.file_bytes, SHT_SYMTAB, address, &symbol))
		symbol_in(symbol.file, symbol.file_bytes, SHT_DYNSYM, address, &symbol);
	return symbol;
}

static void symbol_close(const struct symbol *symbol)
{
	if (symbol->file != MAP_FAILED)
		munmap(symbol->file, symbol->file_bytes);
}

static struct function function_new(const struct module *m)
{
	struct symbol symbol = symbol_open(m);
	struct function function = { NONE, record_is_library(symbol.name) };

	if (is_selected(symbol.name) && !is_registration(symbol.name))
		function.number = record_function(&runtime.writer, symbol.start, m->build_id, symbol.name);
	symbol_close(&symbol);
	return function;
}

struct code function_code(uintptr_t pc)
{
	struct module m = { .address = pc };
	struct code code = { .start = 0, .end = 0 };
	struct symbol symbol;

	dl_iterate_phdr(look_at_module, &m);
	if (!m.found)
		return code;
	symbol = symbol_open(&m);
	code.start = symbol.bytes ? m.base + symbol.start : m.base;
	code.end = symbol.bytes ? code.start + symbol.bytes : m.base;
	for (const char *c = symbol.name; *c; c++)
		code.name = (code.name ^ (unsigned char)*c) * 0x100000001b3u; /* FNV */
	symbol_close(&symbol);
	return code;
}

struct function function_at(uintptr_t site)
{
	struct module m = { .address = site };
	struct function function = { .number = NONE };
	size_t i = (site * 0x9e3779b97f4a7c15u) >> 48;

	threads_lock();
	if (!sites)
		sites = pages_map(SITES * sizeof(*sites));
	while (sites && sites[i].address != 0 && sites[i].address != site)
		i = (i + 1) % SITES;
	if (sites && sites[i].address == site) {
		function = sites[i].function;
	} else if (sites && n_sites < SITES / 4 * 3) {
		dl_iterate_phdr(look_at_module, &m);
		if (m.found)
			function = function_new(&m);
		sites[i] = (struct site){ site, function };
		n_sites++;
	}
	threads_unlock();
	return function;
}

/* Has a function there been called that was built for the emulation? */
static bool functions_called_in(uintptr_t start, uintptr_t end)
{
	bool found = false;

	threads_lock();
	for (size_t i = 0; sites && i < SITES && !found; i++)
		found = sites[i].address >= start && sites[i].address < end;
	threads_unlock();
	return found;
}

/* ---- the clock ---- */

/* In a thread, of a callee: 16 bytes of code. In the process, of a function: first the same, then a library. */
struct clock_place {
	uintptr_t where;    /* address >> PLACE_SHIFT, or a library's number */
	uint32_t of, count; /* count 0: free */
};

/* What counts, and what does not count here because it counts elsewhere: our own work, and waiting. */
enum { LIBRARY_COUNTED, LIBRARY_LEFT_OUT, LIBRARY_PROGRAM /* not built for the emulation */, LIBRARY_FIRST };

static struct clock_now none, *nows; /* nows [THREADS] */
static uint32_t n_nows;
static struct clock_place *all;				       /* [PLACES_ALL], of threads that have ended */
static uint32_t n_all, n_libraries = LIBRARY_FIRST, clockless; /* clockless: threads */
static char libraries[LIBRARIES][LIBRARY_BYTES] = { [LIBRARY_COUNTED] = "counted", [LIBRARY_PROGRAM] = "program" };

/* Our own code, which the archive has in a section of its own; our tests have none. */
extern const char __start_assay_emulate[] __attribute__((weak)), __stop_assay_emulate[] __attribute__((weak));

/* ---- from the clock to places ---- */

static bool is_filtered(void)
{
	return record_system_call(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0, 0) != 0;
}

/* Under no lock: each thread comes once. */
static struct clock_now *now_new(void)
{
	struct clock_now *page = pages_map(THREADS * sizeof(*nows)), *before = NULL;
	uint32_t i;

	if (page && (__atomic_load_n(&nows, __ATOMIC_ACQUIRE) ||
		     record_system_call(SYS_madvise, (long)page, THREADS * sizeof(*nows), MADV_WIPEONFORK, 0, 0, 0) != 0 ||
		     !__atomic_compare_exchange_n(&nows, &before, page, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)))
		munmap(page, THREADS * sizeof(*nows));
	i = nows ? __atomic_fetch_add(&n_nows, 1, __ATOMIC_RELAXED) : THREADS;
	return i < THREADS ? &nows[i] : &none;
}

static struct perf_event_mmap_page *ring_open(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = CLOCK_PERIOD_NS,
		.sample_type = PERF_SAMPLE_IP,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	long file = is_filtered() ? -1 : record_system_call(SYS_perf_event_open, (long)&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC, 0);
	void *ring;

	if (file < 0)
		return NULL;
	ring = mmap(NULL, RING_PAGE + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, (int)file, 0);
	record_system_call(SYS_close, file, 0, 0, 0, 0, 0); /* the mapping keeps it */
	return ring == MAP_FAILED ? NULL : ring;
}

/* places[size], by hash, of which *n are used. */
static void place_add(struct clock_place *places, uint32_t size, uint32_t *n, const struct clock_place *more)
{
	uint64_t hash = (more->where ^ (uint64_t)more->of << 48) * 0x9e3779b97f4a7c15u;

	for (uint64_t i = hash >> 32; places; i++) {
		struct clock_place *place = &places[i % size];

		if (place->count == 0 && *n >= size / 4 * 3)
			return;
		if (place->count == 0) {
			*place = (struct clock_place){ .where = more->where, .of = more->of };
			++*n;
		}
		if (place->where == more->where && place->of == more->of) {
			place->count += more->count;
			return;
		}
	}
}

static uint64_t ring_word(const struct thread *t, uint64_t at)
{
	const char *data = (const char *)t->clock_ring + RING_PAGE;

	return *(const uint64_t *)(const void *)(data + at % RING_BYTES);
}

/* What had no room was where the last one was that had: nothing of ours has run since. */
void clock_take(struct thread *t)
{
	uint64_t head = __atomic_load_n(t->clock->head, __ATOMIC_ACQUIRE);

	BUSY_HERE();
	while (t->clock->taken < head) {
		uint64_t word = ring_word(t, t->clock->taken), at = t->clock->taken + sizeof(word);
		struct clock_place place = { .of = t->owner, .count = 1 };
		struct perf_event_header record;

		memcpy(&record, &word, sizeof(record));
		if (record.type == PERF_RECORD_SAMPLE)
			t->clock_last = ring_word(t, at) >> PLACE_SHIFT;
		else
			place.count = record.type == PERF_RECORD_LOST ? (uint32_t)ring_word(t, at + sizeof(word)) : 0;
		place.where = t->clock_last;
		if (place.count)
			place_add(t->clock_places, PLACES_FOUND, &t->n_clock_places, &place);
		t->clock->taken = record.size ? t->clock->taken + record.size : head;
	}
	__atomic_store_n(&t->clock_ring->data_tail, head, __ATOMIC_RELEASE);
	busy_end();
}
_Static_assert(sizeof(struct perf_event_header) == sizeof(uint64_t), "records are made of words");

void clock_end(struct thread *t)
{
	void *ring = t->clock_ring;

	*t->clock = (struct clock_now){ .head = NULL };
	t->clock_ring = NULL;
	if (ring)
		munmap(ring, RING_PAGE + RING_BYTES);
}

static void places_forget(struct thread *t)
{
	if (t->n_clock_places)
		memset(t->clock_places, 0, PLACES_FOUND * sizeof(*t->clock_places));
	t->n_clock_places = 0;
}

void clock_begin(struct thread *t, bool forked)
{
	if (forked) {
		n_all = clockless = 0;
		if (all)
			memset(all, 0, PLACES_ALL * sizeof(*all));
		if (!t)
			return;
		places_forget(t);
	}
	if (!t->clock)
		t->clock = now_new();
	if (!t->clock_places)
		t->clock_places = pages_map(PLACES_FOUND * sizeof(*t->clock_places));
	t->clock_ring = t->clock != &none && t->clock_places ? ring_open() : NULL;
	if (t->clock_ring)
		*t->clock = (struct clock_now){ .head = (const uint64_t *)&t->clock_ring->data_head };
	else
		__atomic_fetch_add(&clockless, 1, __ATOMIC_RELAXED);
}

void clock_add(struct thread *t)
{
	all = all ? all : pages_map(PLACES_ALL * sizeof(*all));
	for (uint32_t i = 0; i < PLACES_FOUND && t->n_clock_places; i++) {
		struct clock_place place = t->clock_places[i];

		place.of = t->callees[place.of].function.number;
		if (place.count)
			place_add(all, PLACES_ALL, &n_all, &place);
	}
	places_forget(t);
}

/* ---- from places to libraries ---- */

#define CODES_KNOWN 64u

/* Where all of it is the same: code[start, end). */
struct clock_code {
	uintptr_t start, end;
	uint32_t library;
};

static bool begins_with(const char *name, const char *const words[], size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strncmp(name, words[i], strlen(words[i])) == 0)
			return true;
	return false;
}

/* Their calls count, at a price; their time is beside it. */
static bool is_priced(const char *name)
{
	static const char *const priced[] = { "libc.so", "libm.so", "libmvec.so" };

	return begins_with(name, priced, sizeof(priced) / sizeof(priced[0]));
}

static uint32_t library_number(const char *path)
{
	static const char *const left_out[] = { "libpthread.so", "libdl.so", "librt.so",   "ld-linux", "libgomp.", "libomp.",
						"libomp-",	 "libiomp",  "linux-vdso", "libpapi.", "libsde." };
	const char *slash = strrchr(path, '/');
	char name[LIBRARY_BYTES] = "";

	path = slash ? slash + 1 : path;
	for (size_t i = 0; i < LIBRARY_BYTES - 1 && path[i]; i++)
		name[i] = path[i] > ' ' && path[i] < 0x7f ? path[i] : '?';
	if (begins_with(name, left_out, sizeof(left_out) / sizeof(left_out[0])))
		return LIBRARY_LEFT_OUT;
	for (uint32_t i = LIBRARY_FIRST; i < n_libraries; i++)
		if (strcmp(libraries[i], name) == 0)
			return i;
	if (n_libraries == LIBRARIES)
		return LIBRARY_LEFT_OUT;
	memcpy(libraries[n_libraries], name, LIBRARY_BYTES);
	return n_libraries++;
}

static bool is_ours(uintptr_t address)
{
	return address >= (uintptr_t)__start_assay_emulate && address < (uintptr_t)__stop_assay_emulate;
}

/* The program's code calls the hooks directly: in each function that was built for the emulation at least that of its first block. */
static bool calls_hooks(uintptr_t start, uintptr_t end)
{
	for (const unsigned char *at = (const unsigned char *)start; (uintptr_t)at + 5 <= end; at++) {
		int32_t distance;

		memcpy(&distance, at + 1, sizeof(distance));
		if ((*at == 0xe8 || *at == 0xe9) && is_ours((uintptr_t)at + 5 + (uintptr_t)(intptr_t)distance))
			return true;
	}
	return false;
}

static struct clock_code code_at(uintptr_t address)
{
	struct module m = { .address = address };
	struct clock_code code = { address, address + 1, LIBRARY_LEFT_OUT }; /* it is not there any more, or was made at run time */

	if (is_ours(address))
		return (struct clock_code){ (uintptr_t)__start_assay_emulate, (uintptr_t)__stop_assay_emulate, LIBRARY_LEFT_OUT };
	dl_iterate_phdr(look_at_module, &m);
	if (!m.found)
		return code;
	if (*m.path) {
		code = (struct clock_code){ m.start, m.end, LIBRARY_COUNTED };
		code.library = functions_called_in(m.start, m.end) ? LIBRARY_COUNTED : library_number(m.path);
	} else {
		struct code function = function_code(address);

		code.library = LIBRARY_COUNTED;
		if (function.end > function.start) {
			code.start = function.start;
			code.end = function.end;
			code.library = calls_hooks(code.start, code.end) ? LIBRARY_COUNTED : LIBRARY_PROGRAM;
		}
	}
	return code;
}

/* ---- the file ---- */

static size_t append(char *line, size_t n, const char *text)
{
	size_t length = strlen(text);

	memcpy(line + n, text, length);
	line[n + length] = '\0';
	return n + length;
}

static void row_write(const struct clock_place *row)
{
	char line[LIBRARY_BYTES + 64], digits[24];
	size_t n = append(line, 0, row->of == NONE ? "-" : record_number(row->of, 10, digits));

	n = append(line, n, " ");
	n = append(line, n, record_number(row->count, 10, digits));
	n = append(line, n, is_priced(libraries[row->where]) ? " counted " : " ");
	append(line, n, libraries[row->where]);
	record_info(&runtime.writer, "clock", line);
}

/* After all threads' totals. */
void clock_write(void)
{
	struct clock_code codes[CODES_KNOWN] = { { .end = 0 } };
	struct clock_place *rows = pages_map(PLACES_ALL * sizeof(*rows));
	uint32_t n_codes = 0, n_rows = 0, k;

	record_info_number(&runtime.writer, "clock-period-ns", CLOCK_PERIOD_NS);
	record_info_number(&runtime.writer, "clock-threads-without", clockless);
	for (uint32_t i = 0; i < PLACES_ALL && n_all && rows; i++) {
		struct clock_place place = all[i];
		uintptr_t address = place.where << PLACE_SHIFT;

		if (place.count == 0)
			continue;
		for (k = 0; k < CODES_KNOWN && (address < codes[k].start || address >= codes[k].end); k++)
			;
		if (k == CODES_KNOWN) {
			k = n_codes++ % CODES_KNOWN;
			codes[k] = code_at(address);
		}
		place.where = codes[k].library;
		if (place.where != LIBRARY_LEFT_OUT)
			place_add(rows, PLACES_ALL, &n_rows, &place);
	}
	for (uint32_t i = 0; i < PLACES_ALL && n_rows; i++)
		if (rows[i].count)
			row_write(&rows[i]);
	if (rows)
		munmap(rows, PLACES_ALL * sizeof(*rows));
}
