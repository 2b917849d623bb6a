/* The command 'assay record': runs a program and records its calls, functions, counters or features. */
#include "base/buf.h"
#include "base/clock.h"
#include "base/command.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "fleet/cgroup/stops.h"
#include "runs/commands/runs_commands.h"
#include "runs/inside/features/run_features.h"
#include "runs/inside/instrument/countable_here.h"
#include "runs/inside/instrument/foreground.h"
#include "runs/inside/instrument/site.h"
#include "runs/inside/record/record.h"
#include "runs/inside/samples/samples.h"
#include "runs/running/instrument.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define RECORD_MIN_BYTES    (256u << 10) /* disk space that a file needs before its first record, bytes */
#define STATUS_BYTES_MAX    (1u << 20)
#define REASON_BYTES	    160
#define FUNCTIONS_MAX	    64u
#define FUNCTION_NAME_BYTES 60u
#define PAGE		    4096u
#define STUB_BYTES	    16u
#define STUB_TARGET	    "assay_interpose_function"
#define SAMPLES		    ".samples"
#define ENTRIES		    9u /* number of entries of the dynamic section */

enum { CMD_RECORD_CALLS, CMD_RECORD_FUNCTIONS, CMD_RECORD_COUNTERS, CMD_RECORD_FEATURES };

struct arguments {
	struct cli_list words;
	const char *output; /* output directory */
	int kind;
	struct cli_list calls; /* library functions of --call. This and the next two lines are for CMD_RECORD_CALLS */
	double overhead;       /* allowed share of a thread's time */
	bool context, progressive;
	struct cli_list functions; /* for CMD_RECORD_FUNCTIONS and CMD_RECORD_COUNTERS */
	struct cli_list modules;   /* this and the next three lines are for CMD_RECORD_FUNCTIONS */
	const char *counters, *library, *list, *input;
	double budget; /* allowed share of a function's time; negative for the library's default */
	int64_t seed;  /* negative for a random seed */
	int64_t nodes; /* this and the next line are for CMD_RECORD_COUNTERS; 0 for the default */
	bool full;
};

/* ---- library for the functions of --call ---- */

/* Writes a library that exports the functions of --call and passes their calls to libassay-interpose.so. It is preloaded into the program
 * (runs/inside/interpose/interpose_functions.c). x86-64 only. */

static size_t name_bytes(const char *item)
{
	return strcspn(item, ":");
}

static bool is_valid_item(const char *item)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
	size_t n = name_bytes(item);

	return n && n <= FUNCTION_NAME_BYTES && strspn(item, letters) == n && !(item[0] >= '0' && item[0] <= '9') &&
	       (!item[n] || (item[n + 1] >= '1' && item[n + 1] <= '6' && !item[n + 2]));
}

/* Checks items[n], which must be "NAME" or "NAME:N". N, from 1 to 6, is the argument that measures the work of a call. ASSAY_E_USAGE: an
 * item has another form, or two items name the same function. */
static enum assay_status called_functions_check(const char *const *items, size_t n, struct assay_error *err)
{
#if !defined(__x86_64__)
	if (n)
		return assay_fail(err, ASSAY_E_USAGE, "--call works only on x86-64");
#endif
	if (n > FUNCTIONS_MAX)
		return assay_fail(err, ASSAY_E_USAGE, "at most %u functions can be named by --call", FUNCTIONS_MAX);
	for (size_t i = 0; i < n; i++) {
		if (!is_valid_item(items[i]))
			return assay_fail(err, ASSAY_E_USAGE,
					  "--call %s: expected a function name, or NAME:N, where argument N (1 to 6) is the amount of work",
					  items[i]);
		for (size_t k = 0; k < i; k++)
			if (name_bytes(items[k]) == name_bytes(items[i]) && memcmp(items[k], items[i], name_bytes(items[i])) == 0)
				return assay_fail(err, ASSAY_E_USAGE, "--call names '%s' twice", items[i]);
	}
	return ASSAY_OK;
}

/* Offsets of the parts, which are equal in the file and in memory. */
struct elf_layout {
	size_t hash, symbols, relocation, texts, stubs, dynamic, table, end;
};

static struct elf_layout elf_layout_compute(size_t n, size_t text_bytes)
{
	struct elf_layout p = { .hash = sizeof(Elf64_Ehdr) + 4 * sizeof(Elf64_Phdr) };

	p.symbols = p.hash + (n + 6) / 2 * 2 * sizeof(uint32_t);
	p.relocation = p.symbols + (n + 2) * sizeof(Elf64_Sym);
	p.texts = p.relocation + sizeof(Elf64_Rela);
	p.stubs = (p.texts + text_bytes + STUB_BYTES - 1) / STUB_BYTES * STUB_BYTES;
	p.dynamic = (p.stubs + n * STUB_BYTES + PAGE - 1) / PAGE * PAGE;
	p.table = p.dynamic + ENTRIES * sizeof(Elf64_Dyn);
	p.end = p.table + sizeof(uint64_t);
	return p;
}

static void put_at(struct buf *file, size_t at, const void *what, size_t n)
{
	memcpy(file->bytes + at, what, n);
}

static void headers_put(struct buf *file, const struct elf_layout *p)
{
	const Elf64_Ehdr elf = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
				 .e_type = ET_DYN,
				 .e_machine = EM_X86_64,
				 .e_version = EV_CURRENT,
				 .e_phoff = sizeof(elf),
				 .e_ehsize = sizeof(elf),
				 .e_phentsize = sizeof(Elf64_Phdr),
				 .e_phnum = 4,
				 .e_shentsize = sizeof(Elf64_Shdr) };
	size_t code = p->stubs + (p->dynamic - p->stubs), data = p->end - p->dynamic;
	const Elf64_Phdr parts[4] = {
		{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = code, .p_memsz = code, .p_align = PAGE },
		{ .p_type = PT_LOAD,
		  .p_flags = PF_R | PF_W,
		  .p_offset = p->dynamic,
		  .p_vaddr = p->dynamic,
		  .p_paddr = p->dynamic,
		  .p_filesz = data,
		  .p_memsz = data,
		  .p_align = PAGE },
		{ .p_type = PT_DYNAMIC,
		  .p_flags = PF_R | PF_W,
		  .p_offset = p->dynamic,
		  .p_vaddr = p->dynamic,
		  .p_paddr = p->dynamic,
		  .p_filesz = data - sizeof(uint64_t),
		  .p_memsz = data - sizeof(uint64_t),
		  .p_align = 8 },
		{ .p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W, .p_align = 16 }, /* without this entry, stacks become executable */
	};

	put_at(file, 0, &elf, sizeof(elf));
	put_at(file, sizeof(elf), parts, sizeof(parts));
}

static void dynamic_put(struct buf *file, const struct elf_layout *p)
{
	const Elf64_Dyn entries[ENTRIES] = { { DT_HASH, { p->hash } },
					     { DT_SYMTAB, { p->symbols } },
					     { DT_STRTAB, { p->texts } },
					     { DT_STRSZ, { p->stubs - p->texts } },
					     { DT_SYMENT, { sizeof(Elf64_Sym) } },
					     { DT_RELA, { p->relocation } },
					     { DT_RELASZ, { sizeof(Elf64_Rela) } },
					     { DT_RELAENT, { sizeof(Elf64_Rela) } },
					     { DT_NULL, { 0 } } };
	const Elf64_Rela leads = { .r_offset = p->table, .r_info = ELF64_R_INFO(1, R_X86_64_GLOB_DAT) };

	put_at(file, p->dynamic, entries, sizeof(entries));
	put_at(file, p->relocation, &leads, sizeof(leads));
}

/* Writes a hash table with one bucket, whose chain contains all defined symbols. */
static void hash_put(struct buf *file, const struct elf_layout *p, size_t n)
{
	uint32_t words[2 + 1 + FUNCTIONS_MAX + 2] = { 1, (uint32_t)n + 2, 2 };

	for (size_t i = 2; i + 1 < n + 2; i++)
		words[3 + i] = (uint32_t)i + 1;
	put_at(file, p->hash, words, (3 + n + 2) * sizeof(*words));
}

/* Writes "mov $number, %r11d; jmp *table(%rip)". */
static void stub_put(struct buf *file, size_t at, uint32_t number, size_t table)
{
	unsigned char code[STUB_BYTES] = { 0x41, 0xbb, 0, 0, 0, 0, 0xff, 0x25 };
	uint32_t far = (uint32_t)(table - (at + 12));

	memcpy(code + 2, &number, sizeof(number));
	memcpy(code + 8, &far, sizeof(far));
	put_at(file, at, code, sizeof(code));
}

/* Writes the library for items[n]. */
static enum assay_status call_library_write(const char *path, const char *const *items, size_t n, struct assay_error *err)
{
	Elf64_Sym symbol = { .st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE) };
	struct buf texts = BUF_INIT, file = BUF_INIT;
	enum assay_status st;
	struct elf_layout p;
	char *zeros;

	buf_add(&texts, "\0" STUB_TARGET, sizeof("\0" STUB_TARGET));
	for (size_t i = 0; i < n; i++) {
		buf_add(&texts, items[i], name_bytes(items[i]));
		buf_add(&texts, "", 1);
	}
	p = elf_layout_compute(n, texts.size);
	zeros = mem_new(p.end, 1);
	buf_add(&file, zeros, p.end);
	free(zeros);
	headers_put(&file, &p);
	dynamic_put(&file, &p);
	hash_put(&file, &p, n);
	put_at(&file, p.texts, texts.bytes, texts.size);
	put_at(&file, p.symbols + sizeof(symbol), &symbol, sizeof(symbol));
	symbol.st_name += sizeof(STUB_TARGET);
	for (size_t i = 0; i < n; i++) {
		symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
		symbol.st_shndx = 1; /* any nonzero index, which marks a defined symbol; the file has no sections */
		symbol.st_value = p.stubs + i * STUB_BYTES;
		symbol.st_size = STUB_BYTES;
		put_at(&file, p.symbols + (i + 2) * sizeof(symbol), &symbol, sizeof(symbol));
		stub_put(&file, symbol.st_value, (uint32_t)i, p.table);
		symbol.st_name += (uint32_t)name_bytes(items[i]) + 1;
	}
	st = file_replace(path, file.bytes, file.size, 0644, err);
	buf_release(&texts);
	buf_release(&file);
	return st;
}

/* Writes the library for the functions of --call into the output directory. *path is NULL if there are none. The caller frees it. */
static enum assay_status write_functions(const struct arguments *a, char **path, struct assay_error *err)
{
	const char *directory = getenv("ASSAY_INTERPOSE_DIRECTORY"); /* absolute path */
	struct buf names = BUF_INIT;
	enum assay_status st;

	*path = NULL;
	if (!a->calls.n)
		return ASSAY_OK;
	*path = mem_format("%s/functions.so", directory);
	st = call_library_write(*path, (const char *const *)a->calls.items, a->calls.n, err);
	for (size_t i = 0; i < a->calls.n; i++)
		buf_format(&names, "%s%s", i ? "," : "", a->calls.items[i]);
	foreground_set_variable("ASSAY_INTERPOSE_FUNCTIONS", names.bytes);
	buf_release(&names);
	return st;
}

/* Passes on the number of seccomp filters of this process. Processes with more filters are not recorded: the kernel might kill them. */
static void report_filters(void)
{
	static const char *const keys[] = { "\nSeccomp_filters:", "\nSeccomp:" }; /* the second key is for kernels before Linux 5.9 */
	struct buf status = BUF_INIT;
	struct assay_error ignored;
	const char *line = NULL;
	char digits[24];

	if (!file_read("/proc/self/status", STATUS_BYTES_MAX, &status, &ignored))
		for (size_t i = 0; i < 2 && !line; i++)
			line = strstr(status.bytes, keys[i]);
	if (line) {
		snprintf(digits, sizeof(digits), "%lu", strtoul(strchr(line, ':') + 1, NULL, 10));
		foreground_set_variable("ASSAY_INTERPOSE_FILTERS", digits);
	}
	buf_release(&status);
}

static void set_environment(const struct arguments *a, const char *library, const char *functions)
{
	char *preload = mem_format("%s%s%s", functions ? functions : "", functions ? ":" : "", library);
	char *ppm = mem_format("%.0f", a->overhead * 1e6), *run = mem_format("%lld", (long long)clock_real_ms());

	foreground_preload(preload);
	report_filters();
	foreground_set_variable("ASSAY_INTERPOSE_RUN", run);
	foreground_set_variable("ASSAY_INTERPOSE_OVERHEAD_PPM", ppm);
	foreground_set_variable("ASSAY_INTERPOSE_CONTEXT", a->context ? "1" : "0");
	foreground_set_variable("ASSAY_INTERPOSE_PROGRESSIVE", a->progressive ? "1" : "0");
	mem_free(preload, ppm, run);
}

/* ---- observation of the recorded processes ---- */

struct watch {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t ending;
	bool runs, end;
	struct process_monitor *process_monitor;
};

static void *watch_run(void *of)
{
	struct watch *w = of;

	pthread_mutex_lock(&w->lock);
	while (!w->end) {
		int64_t left = process_monitor_poll(w->process_monitor);
		struct timespec at;

		clock_gettime(CLOCK_MONOTONIC, &at);
		left += at.tv_nsec;
		at.tv_sec += left / 1000000000;
		at.tv_nsec = left % 1000000000;
		while (!w->end && pthread_cond_clockwait(&w->ending, &w->lock, CLOCK_MONOTONIC, &at) != ETIMEDOUT)
			;
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

/* Starts a thread that writes observations into the sample files. If no thread can be started, there are no observations. */
static void watch_begin(struct watch *w, const char *directory)
{
	static const struct process_monitor_offsets words = RECORD_MONITOR_OFFSETS;

	*w = (struct watch){ .process_monitor = process_monitor_new(directory, &words) };
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->ending, NULL);
	w->runs = w->process_monitor && pthread_create(&w->thread, NULL, watch_run, w) == 0;
}

static void watch_end(struct watch *w)
{
	pthread_mutex_lock(&w->lock);
	w->end = true;
	pthread_cond_signal(&w->ending);
	pthread_mutex_unlock(&w->lock);
	if (w->runs)
		pthread_join(w->thread, NULL);
	process_monitor_free(w->process_monitor);
}

/* ---- recorded processes ---- */

struct record_summary {
	size_t processes, killed, records;
	char **sites; /* [n_sites] call sites of all files; sorted and counted at the end */
	size_t n_sites, capacity;
	double calls; /* number of calls, estimated from the weights of the records */
	uint64_t dropped;
	uint64_t *pids, *children; /* pids: [processes] ids; children: [n_children] ids from fork() and waitpid() */
	size_t pids_capacity, n_children, children_capacity;
	uint64_t *executed; /* [n_executed] process ids, one per executed program */
	size_t n_executed, executed_capacity;
	size_t ranks, restricted; /* number of processes with a rank; number of processes that restricted their system calls */
	char *restricted_name;	  /* program of the first restricted process; NULL if unknown */
};

/* Adds the child processes that a file mentions. */
static void children_add(const struct samples *file, struct record_summary *sum)
{
	size_t n;
	uint64_t *children = samples_list_children(file, &n);

	for (size_t i = 0; i < n; i++)
		mem_append(sum->children, sum->n_children, &sum->children_capacity, children[i]);
	free(children);
}

static size_t count_pid(const uint64_t *pids, size_t n, uint64_t pid)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += pids[i] == pid;
	return count;
}

/* Returns the number of child processes without a file. */
static size_t count_missing_children(const struct record_summary *sum)
{
	size_t missing = 0;

	for (size_t i = 0; i < sum->n_children; i++)
		missing += !count_pid(sum->pids, sum->processes, sum->children[i]);
	return missing;
}

/* Reports whether the process's last call executed another program, which starts a new file. */
static bool has_executed(const struct samples *file)
{
	const struct sample *last = NULL;

	for (size_t i = 0; i < file->n; i++)
		last = last && last->start_s > file->items[i].start_s ? last : &file->items[i];
	return last && !file->finished && strncmp(file->functions[last->function].name, "exec", 4) == 0;
}

/* Returns the number of executed programs without a file. Returns 0 if processes have ranks, because their launchers have no files. */
static size_t count_missing_executed(const struct record_summary *sum)
{
	size_t missing = 0;

	for (size_t i = 0; i < sum->n_executed && !sum->ranks; i++)
		missing += count_pid(sum->executed, i + 1, sum->executed[i]) >= count_pid(sum->pids, sum->processes, sum->executed[i]);
	return missing;
}

static void restricted_add(const struct samples *file, struct record_summary *sum)
{
	const char *program = samples_info(file, "program");

	if (!samples_info(file, "stopped"))
		return;
	if (!sum->restricted++ && program)
		sum->restricted_name = mem_string(program);
}

static void file_add(const char *path, struct record_summary *sum)
{
	struct samples file;
	struct assay_error err;

	if (samples_read(path, &file, &err)) {
		cli_note("%s", err.text);
		return;
	}
	mem_append(sum->pids, sum->processes, &sum->pids_capacity, file.pid);
	children_add(&file, sum);
	if (has_executed(&file))
		mem_append(sum->executed, sum->n_executed, &sum->executed_capacity, file.pid);
	restricted_add(&file, sum);
	sum->ranks += samples_info(&file, "rank") != NULL;
	sum->killed += !file.finished;
	sum->records += file.n;
	sum->dropped += file.dropped;
	for (size_t i = 0; i < file.n; i++)
		sum->calls += file.items[i].weight;
	for (size_t i = 0; i < file.n_functions; i++) {
		const struct samples_function *f = &file.functions[i];

		if (!f->n)
			continue;
		mem_append(sum->sites, sum->n_sites, &sum->capacity,
			   mem_format("%s %llx %s", f->module, (unsigned long long)f->address, f->name));
	}
	samples_release(&file);
}

/* Prints a note for each function of --call that was not called. */
static void report_uncalled_functions(const struct arguments *a, const struct record_summary *sum)
{
	for (size_t i = 0; i < a->calls.n; i++) {
		const char *name = a->calls.items[i];
		size_t n = strcspn(name, ":"), k = 0;

		for (; k < sum->n_sites; k++) {
			const char *site = strrchr(sum->sites[k], ' ') + 1;

			if (strncmp(site, name, n) == 0 && (!site[n] || site[n] == '<' || site[n] == ':'))
				break;
		}
		if (k == sum->n_sites)
			cli_note("'%.*s' was never recorded: no dynamically linked code called a function of this name in another module",
				 (int)n, name);
	}
}

/* Returns the number of distinct call sites, and frees the call sites. */
static size_t sites_count(struct record_summary *sum)
{
	size_t n = 0;

	order_sort(sum->sites, sum->n_sites, text_compare);
	for (size_t i = 0; i < sum->n_sites; i++)
		n += i == 0 || strcmp(sum->sites[i - 1], sum->sites[i]) != 0;
	mem_free_all(sum->sites, sum->n_sites);
	return n;
}

/* Reports whether the directory was removed or replaced since it was opened. */
static bool is_missing(const char *path, int directory)
{
	struct stat was, now;

	return directory >= 0 && fstat(directory, &was) == 0 &&
	       (stat(path, &now) != 0 || was.st_ino != now.st_ino || was.st_dev != now.st_dev);
}

/* Returns the number of running processes with the environment of this run, such as daemons. */
static size_t still_running(void)
{
	char *variable = mem_format("ASSAY_INTERPOSE_RUN=%s", getenv("ASSAY_INTERPOSE_RUN"));
	DIR *processes = opendir("/proc");
	size_t n = 0;

	for (struct dirent *entry; processes && (entry = readdir(processes));) {
		char *path = mem_format("/proc/%s/environ", entry->d_name);
		struct buf variables = BUF_INIT;
		struct assay_error ignored;

		if (*entry->d_name >= '0' && *entry->d_name <= '9' && !file_read(path, STATUS_BYTES_MAX, &variables, &ignored))
			n += variables.size && memmem(variables.bytes, variables.size, variable, strlen(variable) + 1) != NULL;
		buf_release(&variables);
		free(path);
	}
	if (processes)
		closedir(processes);
	free(variable);
	return n;
}

#define LOADER_BYTES 256

/* Reads the path of the program's dynamic linker, or "" if it has none. Returns false if the file cannot be read. */
static bool loader_read(int fd, const Elf64_Ehdr *head, char loader[LOADER_BYTES])
{
	Elf64_Phdr part;
	size_t n;

	*loader = '\0';
	for (size_t i = 0; i < head->e_phnum; i++) {
		if (pread(fd, &part, sizeof(part), (off_t)(head->e_phoff + i * sizeof(part))) != (ssize_t)sizeof(part))
			return false;
		if (part.p_type != PT_INTERP)
			continue;
		n = part.p_filesz < LOADER_BYTES ? part.p_filesz : LOADER_BYTES - 1;
		if (pread(fd, loader, n, (off_t)part.p_offset) != (ssize_t)n)
			return false;
		loader[n] = '\0';
	}
	return true;
}

/* Returns the reason why no library can be preloaded into a program, such as "is linked statically"; NULL if no reason is known. */
static const char *explain_no_preload(const char *file)
{
	Elf64_Ehdr head;
	char loader[LOADER_BYTES];
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	const char *why = NULL;

	if (fd >= 0 && read(fd, &head, sizeof(head)) == (ssize_t)sizeof(head) && memcmp(head.e_ident, ELFMAG, SELFMAG) == 0) {
		if (head.e_ident[EI_CLASS] != ELFCLASS64)
			why = "is a 32-bit program";
		else if (head.e_phentsize == sizeof(Elf64_Phdr) && loader_read(fd, &head, loader))
			why = !*loader ? "is linked statically" : strstr(loader, "/ld-musl") ? "uses another C library (musl)" : NULL;
	}
	if (fd >= 0)
		close(fd);
	return why;
}

/* Returns the most likely reason why there are no records. Long reasons are written to `why`. */
static const char *explain_no_records(const char *program, bool gone, size_t running, const struct record_summary *sum,
				      char why[REASON_BYTES])
{
	struct assay_error ignored;
	struct stat info = { .st_mode = 0 };
	struct rlimit size;
	const char *no_preload = NULL;
	char *path = NULL;

	if (!foreground_find_program(program, &path, &ignored)) {
		(void)!stat(path, &info);
		no_preload = explain_no_preload(path);
	}
	free(path);
	if (gone)
		return "there are no records: their directory was removed or moved during the run";
	if (sum->dropped)
		return "no call was recorded: no space for records (a limit on the size of files, or a full disk)";
	if (getrlimit(RLIMIT_FSIZE, &size) == 0 && size.rlim_cur < RECORD_MIN_BYTES)
		return "no call was recorded: the limit on the size of files (ulimit -f) leaves no space for records";
	if (sum->restricted)
		return "no call was recorded: the program restricted its system calls (seccomp) before the first call, or by its own "
		       "system call instructions, which the recorder would notice too late";
	if (info.st_mode & (S_ISUID | S_ISGID))
		return "no call was recorded: the program is set-user-ID or set-group-ID, and libraries cannot be preloaded into such "
		       "programs";
	if (no_preload) {
		snprintf(why, REASON_BYTES, "no call was recorded: the program %s, and no library of ours can be preloaded into it",
			 no_preload);
		return why;
	}
	if (running)
		return "no call was recorded yet: the program still runs in the background";
	return "no call was recorded: the program makes no recorded calls";
}

/* Prints a note about processes without records: forked children, and executed programs. */
static void missing_report(const char *directory, size_t children, size_t executed)
{
	size_t n = children + executed;
	struct stat info;
	bool closed = geteuid() == 0 && stat(directory, &info) == 0 && !(info.st_mode & S_IWOTH);
	char *user =
	    closed ? mem_format(", or ran as another user, who may not write into '%s' ('mkdir -m 1777 DIRECTORY' makes one for all users)",
				directory)
		   : mem_string("");

	if (n)
		cli_note("%zu process%s, forked or having executed another program, left no records and will be missing from the answers: "
			 "they made no call, or ran a program that is linked statically, has other privileges, has a stricter system call "
			 "filter (seccomp), or was started without LD_PRELOAD%s",
			 n, n == 1 ? "" : "es", user);
	free(user);
}

static enum assay_status report_step(const struct arguments *a, bool gone, struct assay_error *err)
{
	const char *directory = a->output;
	struct record_summary sum = { 0 };
	size_t n, sites, missing, executed, running = still_running();
	char why[REASON_BYTES];
	enum assay_status st = ASSAY_OK;
	char **names, *next;

	file_list_names(directory, SAMPLES, &names, &n, err); /* a removed directory has no records */
	for (size_t i = 0; i < n; i++) {
		char *path = mem_format("%s/%s", directory, names[i]);

		file_add(path, &sum);
		free(path);
	}
	file_names_free(names, n);
	report_uncalled_functions(a, &sum);
	sites = sites_count(&sum);
	missing = count_missing_children(&sum);
	executed = count_missing_executed(&sum);
	mem_free(sum.pids, sum.children, sum.executed);
	if (sum.dropped)
		cli_note("%llu records were dropped: no space for them", (unsigned long long)sum.dropped);
	if (gone && sum.records)
		cli_note("the directory was removed or moved during the run, with all earlier records");
	if (!sum.records)
		st = foreground_fail_no_output(directory, explain_no_records(a->words.items[0], gone, running, &sum, why), err);
	missing_report(directory, missing, executed);
	if (running)
		cli_note("%zu process%s still running in the background: what %s from now on goes into '%s', too", running,
			 running == 1 ? " of it is" : "es of it are", running == 1 ? "it does" : "they do", directory);
	if (sum.restricted)
		cli_note("%zu process%s (%s) restricted %s system calls (seccomp, or no new privileges) and %s recorded only until then, "
			 "or not at all if they used their own system call instructions; most programs have an option to run without it",
			 sum.restricted, sum.restricted == 1 ? "" : "es", sum.restricted_name ? sum.restricted_name : "?",
			 sum.restricted == 1 ? "its" : "their", sum.restricted == 1 ? "was" : "were");
	free(sum.restricted_name);
	if (st)
		return st;
	cli_note("%zu record%s of about %.0f calls at %zu call site%s in '%s', from %zu process%s", sum.records, text_plural(sum.records),
		 fmax(sum.calls, (double)sum.records), sites, text_plural(sites), directory, sum.processes, sum.processes == 1 ? "" : "es");
	if (sum.killed)
		cli_note("%zu of these processes did not exit normally: they were killed, called _exit(), or executed another program",
			 sum.killed);
	next = text_format_command((const char *const[]){ "timeline", directory, NULL });
	cli_note("next: %s", next);
	free(next);
	return ASSAY_OK;
}

static enum assay_status record_calls(const struct arguments *a, struct assay_error *err)
{
	char *library = NULL, *functions = NULL, *path = NULL, **before;
	size_t n_before;
	enum assay_status st = called_functions_check((const char *const *)a->calls.items, a->calls.n, err), ended;
	struct assay_error program;
	struct watch watch;
	int directory = -1, status = 0;

	if (!st)
		st = foreground_find_program(a->words.items[0], &path, err);
	if (!st)
		st = instrument_find_library(INSTRUMENT_RECORDER, &library, err);
	if (!st)
		st = foreground_make_directory(a->output, 0755, "ASSAY_INTERPOSE_DIRECTORY", err);
	if (!st) {
		file_list_names(a->output, SAMPLES, &before, &n_before, &program);
		file_names_free(before, n_before);
		if (n_before)
			st = assay_fail(err, ASSAY_E_CONFLICT, "'%s' already has the records of a run: name another directory with -o",
					a->output);
	}
	if (!st)
		st = write_functions(a, &functions, err);
	if (!st) {
		directory = open(a->output, O_PATH | O_DIRECTORY | O_CLOEXEC);
		set_environment(a, library, functions);
		watch_begin(&watch, a->output);
		st = foreground_run(a->words.items, -1, &status, err);
		watch_end(&watch);
	}
	if (!st) {
		ended = foreground_check_end(a->words.items[0], status, &program);
		st = report_step(a, is_missing(a->output, directory), err);
		if (ended) { /* records from before the failure are kept */
			if (st)
				cli_note("%s", err->text);
			st = ended;
			*err = program;
		}
	}
	if (directory >= 0)
		close(directory);
	foreground_raise_signal();
	mem_free(library, functions, path);
	return st;
}

/* ---- sample files of a program ---- */

struct outcome {
	size_t files, samples;
	double bytes;		 /* size of the files on disk */
	uint64_t dropped, calls; /* calls: number of all calls, sampled or only counted */
	uint64_t unsimulated;	 /* number of threads that were not simulated */
	bool unfinished;	 /* an emulated process has not written its samples, because it has not ended normally */
	bool shares;		 /* the program shares memory with other processes */
	char *drop_reason;	 /* reason for dropped samples, from the first file that has one */
};

static void count_file(const char *directory, const char *name, struct outcome *outcome)
{
	char *path = mem_format("%s/%s", directory, name);
	struct samples samples;
	struct assay_error err;
	enum assay_status st = samples_read(path, &samples, &err);
	struct stat info = { .st_blocks = 0 };

	if (!st)
		stat(path, &info);
	free(path);
	if (st) {
		cli_note("%s", err.text);
		return;
	}
	outcome->files++;
	outcome->bytes += 512 * (double)info.st_blocks;
	outcome->unfinished |= samples.back_end == RECORD_EMULATED && !samples.finished;
	outcome->samples += samples.n;
	outcome->dropped += samples.dropped;
	for (size_t i = 0; i < samples.n_calls; i++)
		outcome->calls += samples.calls[i].calls;
	if (samples.dropped && !outcome->drop_reason && samples_info(&samples, "dropped"))
		outcome->drop_reason = mem_string(samples_info(&samples, "dropped"));
	outcome->shares |= samples_info_number(&samples, SAMPLES_SHARED_BYTES) > 0;
	outcome->unsimulated += samples_info_number(&samples, SAMPLES_THREADS_UNSEEN);
	samples_release(&samples);
}

static enum assay_status refuse_samples(const char *directory, struct assay_error *err)
{
	struct assay_error ignored;
	enum assay_status st = ASSAY_OK;
	char **names = NULL;
	size_t n = 0;

	file_list_names(directory, ".samples", &names, &n, &ignored);
	if (n)
		st = assay_fail(err, ASSAY_E_USAGE,
				"'%s' has %zu sample file%s of an earlier run: name another directory with -o, or remove the files",
				directory, n, text_plural(n));
	file_names_free(names, n);
	return st;
}

static const char *explain_no_samples(const struct outcome *outcome, const char *no_file, const char *no_call)
{
	if (outcome->dropped)
		return "no sample could be kept";
	if (!outcome->files)
		return no_file;
	return outcome->unfinished ? "the program's samples are lost or not yet written: it did not exit normally, executed another "
				     "program (exec*()), or left a process that writes them at its end (daemon())"
				   : no_call;
}

static enum assay_status report_samples(const char *directory, const char *no_file, const char *no_call, struct assay_error *err)
{
	struct outcome outcome = { 0 };
	struct assay_error ignored;
	char **names = NULL, *command;
	size_t n = 0;

	file_list_names(directory, ".samples", &names, &n, &ignored);
	for (size_t i = 0; i < n; i++)
		count_file(directory, names[i], &outcome);
	file_names_free(names, n);
	if (outcome.dropped)
		cli_note("%llu samples were dropped: %s (docs/probe.md)", (unsigned long long)outcome.dropped,
			 outcome.drop_reason ? outcome.drop_reason : "the file gives no reason");
	if (outcome.shares)
		cli_note("the program maps memory that other processes may share: sharing between processes is not simulated");
	if (outcome.unsimulated)
		cli_note("%llu thread%s not simulated or counted: more ran at once than the emulation follows",
			 (unsigned long long)outcome.unsimulated, outcome.unsimulated > 1 ? "s were" : " was");
	free(outcome.drop_reason);
	if (!outcome.samples && !outcome.dropped && outcome.calls)
		return assay_fail(err, ASSAY_E_NODATA,
				  "%llu call%s of selected functions, of which none could be measured (docs/probe.md says which cannot be)",
				  (unsigned long long)outcome.calls, text_plural(outcome.calls));
	if (!outcome.samples)
		return foreground_fail_no_output(directory, explain_no_samples(&outcome, no_file, no_call), err);
	command = text_format_command((const char *const[]){ "inspect", directory, NULL });
	cli_note("%zu sample%s in %zu file%s of '%s', %.1f MiB: %s shows them, 'assay detect OLD NEW' compares those of two builds",
		 outcome.samples, text_plural(outcome.samples), outcome.files, text_plural(outcome.files), directory,
		 outcome.bytes / (1 << 20), command);
	free(command);
	return ASSAY_OK;
}

/* ---- functions ---- */

/* Opens the modules with the selected functions: *n of modules[1 + a->modules.n], which the caller releases. With --module, the program
 * itself may be a script that starts the measured program. */
static enum assay_status modules_open(const struct arguments *a, const char *program, struct site_module *modules, size_t *n,
				      struct assay_error *err)
{
	struct assay_error ignored;
	enum assay_status st = site_module_open(program, &modules[0], a->modules.n ? &ignored : err);

	*n = !st;
	if (!st && !a->modules.n)
		st = site_module_check(&modules[0], err);
	else if (a->modules.n)
		st = ASSAY_OK;
	for (size_t i = 0; i < a->modules.n && !st; i++) {
		st = site_module_open(a->modules.items[i], &modules[*n], err);
		if (!st)
			st = site_module_check(&modules[(*n)++], err);
	}
	return st;
}

static enum assay_status list_make(const struct arguments *a, const char *program, struct buf *list, struct assay_error *err)
{
	struct site_module *modules = mem_new(1 + a->modules.n, sizeof(*modules));
	struct site_selection selection = { .items = NULL };
	size_t n = 0;
	enum assay_status st = modules_open(a, program, modules, &n, err);

	for (size_t i = 0; i < a->functions.n && !st; i++)
		st = site_selection_add(&selection, a->functions.items[i], err);
	if (!st && !selection.n)
		st = assay_fail(err, ASSAY_E_NODATA, "no function is selected: the list is empty");
	if (!st)
		st = site_list(modules, n, &selection, SITE_USE_PROBE, list, NULL, err);
	mem_release_all(modules, n, site_module_release);
	site_selection_release(&selection);
	return st;
}

static enum assay_status plan_make(const struct arguments *a, struct counting_plan *plan, struct assay_error *err)
{
	struct counting_events events;
	enum assay_status st = ASSAY_OK;

	if (strcmp(a->counters, "default") == 0)
		countable_add_default_events(countable_local_pmu(), &events);
	else
		st = counting_events_parse(a->counters, &events, err);
	if (st)
		return st;
	st = countable_plan_local(&events, plan, err);
	if (!st && plan->none)
		cli_note("no hardware counters: %s", plan->none);
	else if (!st && strcmp(a->counters, "default") != 0)
		for (size_t i = 0; i < plan->n_absent; i++)
			cli_note("not counted: %s: %s", plan->absent[i].event, plan->absent[i].reason);
	counting_events_release(&events);
	return st;
}

/* Finds the probe's library: the file `given`, or the installed library if `given` is NULL. The caller frees *path. */
static enum assay_status find_library(const char *given, char **path, struct assay_error *err)
{
	enum assay_status st;

	if (given) {
		*path = realpath(given, NULL);
		return *path ? ASSAY_OK : assay_fail_errno(err, errno, "cannot find the probe's library '%s'", given);
	}
	st = instrument_find_library(INSTRUMENT_LIBRARY, path, err);
	return st ? assay_add_context(err, "--library takes another") : ASSAY_OK;
}

static enum assay_status set_preload(const struct arguments *a, struct assay_error *err)
{
	char *library = NULL;
	enum assay_status st = find_library(a->library, &library, err);

	if (st)
		return st;
	foreground_preload(library);
	free(library);
	return ASSAY_OK;
}

/* Sets the same seed for all runs that the counters need, because their measurements are joined call by call. */
static void set_seed(int64_t seed)
{
	struct timespec now;
	char *text;

	clock_gettime(CLOCK_REALTIME, &now);
	text = mem_format("%lld", (long long)(seed < 0 ? (now.tv_sec * 1000003 + now.tv_nsec) & UINT32_MAX : seed));
	foreground_set_variable("ASSAY_PROBE_SEED", text);
	free(text);
}

static enum assay_status run_all(const struct arguments *a, struct assay_error *err)
{
	struct counting_plan plan = { .runs = NULL };
	enum assay_status st = a->counters ? plan_make(a, &plan, err) : ASSAY_OK;

	if (!st)
		st = set_preload(a, err);
	for (size_t i = 0; i < (plan.n ? plan.n : 1) && !st; i++) {
		char *counters = plan.n ? instrument_counters_value(&plan.runs[i]) : NULL;

		foreground_set_variable("ASSAY_PROBE_COUNTERS", counters);
		st = foreground_run_checked(a->words.items, err);
		free(counters);
	}
	counting_plan_release(&plan);
	return st;
}

static enum assay_status list_write(const struct arguments *a, const struct buf *list, char **path, struct assay_error *err)
{
	enum assay_status st = file_make_directory(a->output, 0755, err);

	*path = NULL;
	if (st)
		return st;
	*path = mem_format("%s/functions.list", a->output);
	return file_replace(*path, list->bytes, list->size, 0644, err);
}

static enum assay_status measure_program(const struct arguments *a, const struct buf *list, struct assay_error *err)
{
	char *path = NULL, *absolute = NULL, *directory = NULL, budget[TEXT_DOUBLE_BYTES];
	enum assay_status st = refuse_samples(a->output, err), ended;
	struct assay_error program;

	if (!st)
		st = list_write(a, list, &path, err);
	if (!st) {
		absolute = realpath(path, NULL);
		directory = realpath(a->output, NULL);
		if (!absolute || !directory)
			st = assay_fail_errno(err, errno, "cannot find '%s'", a->output);
	}
	if (!st) {
		foreground_set_variable("ASSAY_PROBE_LIST", absolute);
		foreground_set_variable("ASSAY_PROBE_DIRECTORY", directory);
		foreground_set_variable("ASSAY_PROBE_VERSION", INSTRUMENT_VERSION);
		foreground_set_variable("ASSAY_PROBE_BUDGET", a->budget < 0 ? NULL : text_from_double(a->budget, budget));
		foreground_set_variable("ASSAY_PROBE_INPUT", a->input);
		set_seed(a->seed);
		ended = run_all(a, &program);
		st = report_samples(a->output, "no selected function was called", "no selected function was called", err);
		if (ended) { /* samples from before the failure are kept */
			st = ended;
			*err = program;
		}
	}
	mem_free(path, absolute, directory);
	return st;
}

static enum assay_status record_functions(const struct arguments *a, struct assay_error *err)
{
	struct buf list = BUF_INIT;
	char *program = NULL;
	enum assay_status st = foreground_find_program(a->words.items[0], &program, err);

	if (!st)
		st = list_make(a, program, &list, err);
	if (!st && a->list)
		st = file_replace(a->list, list.bytes, list.size, 0644, err);
	else if (!st)
		st = measure_program(a, &list, err);
	free(program);
	buf_release(&list);
	return st;
}

/* ---- counters ---- */

/* Returns the functions in the library's format, "NAME,..." or "@FILE"; NULL for all. The caller frees the text. */
static char *functions_text(const struct cli_list *functions)
{
	struct buf text = BUF_INIT;

	for (size_t i = 0; i < functions->n; i++)
		buf_format(&text, "%s%s", i ? "," : "", functions->items[i]);
	return text.bytes;
}

static enum assay_status record_counters(const struct arguments *a, struct assay_error *err)
{
	enum assay_status st = refuse_samples(a->output, err);
	char *nodes = mem_format("%lld", (long long)a->nodes), *functions = functions_text(&a->functions);

	if (!st)
		st = foreground_make_directory(a->output, 0755, "ASSAY_EMULATE_DIRECTORY", err);
	if (!st) {
		foreground_set_variable("ASSAY_EMULATE_FULL", a->full ? "1" : NULL);
		foreground_set_variable("ASSAY_EMULATE_FUNCTIONS", functions);
		foreground_set_variable("ASSAY_EMULATE_NODES", a->nodes ? nodes : NULL);
		st = foreground_run_checked(a->words.items, err);
	}
	if (!st)
		st = report_samples(a->output, "the program wrote no samples: it must be built by 'assay build --for counters'",
				    functions ? "none of the functions of --functions was called" : "no function was called", err);
	mem_free(nodes, functions);
	return st;
}

/* ---- features ---- */

/* Runs the program. If the program fails, returns the failure, but the features that it counted stay in the directory. */
static enum assay_status record_features(const struct arguments *a, struct assay_error *err)
{
	enum assay_status st = foreground_make_directory(a->output, 0700, "ASSAY_FEATURES_DIRECTORY", err);

	if (!st && run_features_count_files(a->output))
		st = assay_fail(err, ASSAY_E_CONFLICT, "'%s' already has the features of a run: name another directory with -o", a->output);
	if (!st) {
		st = foreground_run_checked(a->words.items, err);
		if (!st && !run_features_count_files(a->output))
			st = foreground_fail_no_output(
			    a->output, "the program counted nothing: it must be built by 'assay build --for features'", err);
	}
	if (!st) {
		char *command = text_format_command((const char *const[]){ "inspect", a->output, NULL });

		cli_note("%s shows the counts", command);
		free(command);
	}
	return st;
}

/* ---- command ---- */

static enum assay_status record_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	static enum assay_status (*const recorders[])(const struct arguments *a, struct assay_error *err) = {
		[CMD_RECORD_CALLS] = record_calls,
		[CMD_RECORD_FUNCTIONS] = record_functions,
		[CMD_RECORD_COUNTERS] = record_counters,
		[CMD_RECORD_FEATURES] = record_features,
	};
	const struct arguments *a = arguments;

	(void)lab;
	(void)d;
	return recorders[a->kind](a, err);
}

/* Parses a share such as "1%" or "0.01". */
static enum assay_status share_parse(const char *text, void *share, struct assay_error *err)
{
	size_t n = strlen(text);
	bool percent = n > 0 && text[n - 1] == '%';
	char *number = mem_format("%.*s", (int)(n - percent), text);
	double value = -1;
	bool is = text_parse_double(number, &value);

	free(number);
	value = percent ? value / 100 : value;
	if (!is || !(value >= 0 && value <= 1))
		return assay_fail(err, ASSAY_E_USAGE, "a share from 0 to 1, or from 0%% to 100%%");
	*(double *)share = value;
	return ASSAY_OK;
}

static const struct arguments defaults = { .overhead = .01, .budget = -1, .seed = -1 };

/* Refuses options of another kind of recording, and sets the default of -o. */
static enum assay_status options_check(void *arguments, struct assay_error *err)
{
	static const char *const outputs[] = { "records", "samples", "samples", "features" };
	struct arguments *a = arguments;
	bool of_calls = a->calls.n || a->context || a->progressive || a->overhead != defaults.overhead;
	bool of_functions = a->modules.n || a->counters || a->library || a->list || a->input || a->budget >= 0 || a->seed >= 0;

	a->output = a->output ? a->output : outputs[a->kind];
#if !defined(__x86_64__)
	if (a->kind == CMD_RECORD_COUNTERS || a->kind == CMD_RECORD_FEATURES)
		return assay_fail(err, ASSAY_E_USAGE,
				  "not available for this architecture: the code added to programs exists only for x86-64");
#endif
	if (of_calls && a->kind != CMD_RECORD_CALLS)
		return assay_fail(err, ASSAY_E_USAGE, "--call, --overhead, --context-aware and --progressive need --for calls");
	if (of_functions && a->kind != CMD_RECORD_FUNCTIONS)
		return assay_fail(err, ASSAY_E_USAGE,
				  "--module, --counters, --budget, --seed, --input, --list and --library need --for functions");
	if ((a->full || a->nodes) && a->kind != CMD_RECORD_COUNTERS)
		return assay_fail(err, ASSAY_E_USAGE, "--full and --nodes need --for counters");
	if (a->functions.n && a->kind != CMD_RECORD_FUNCTIONS && a->kind != CMD_RECORD_COUNTERS)
		return assay_fail(err, ASSAY_E_USAGE, "--functions needs --for functions or --for counters");
	if (!a->functions.n && a->kind == CMD_RECORD_FUNCTIONS)
		return assay_fail(err, ASSAY_E_USAGE, "--functions NAME,...|@FILE is required by --for functions");
	return ASSAY_OK;
}

static const char *const kinds[] = { "calls", "functions", "counters", "features", NULL };
static const struct cli_option options[] = {
	CLI_CHOICE("for", kinds, struct arguments, kind, "What to record: calls (the default), functions, counters or features"),
	CLI_OPTION(
	    TEXT, "output", "DIRECTORY", struct arguments, output,
	    "Directory for the files of this run (default: records, samples or features); created if missing, in an existing directory",
	    .letter = 'o'),
	CLI_PARSED("overhead", "SHARE", struct arguments, overhead, share_parse,
		   "Calls: fraction of a thread's time to spend on timing them, as 1% or 0.01 (default: 1%; 0: time every call, and record "
		   "as many as fit in 24 KB per second and process)"),
	CLI_LIST(
	    "call", "NAME[:N]", struct arguments, calls,
	    "Calls: also record calls of this library function; its argument N, from 1 to 6, is the amount of work of a call (repeatable)"),
	CLI_FLAG("context-aware", struct arguments, context,
		 "Calls: distinguish call sites also by their call path: each timed call costs more"),
	CLI_FLAG("progressive", struct arguments, progressive,
		 "Calls: read only the coarsest counters until 'assay timeline --follow' asks a slow process for finer ones"),
	CLI_LIST("functions", "NAME,...|@FILE", struct arguments, functions,
		 "Functions and counters: only these functions, or those of a file ('assay changes --list' writes one); required for "
		 "functions (repeatable)"),
	CLI_LIST("module", "FILE", struct arguments, modules, "Functions: also search this shared library for them (repeatable)"),
	CLI_TEXT("counters", "NAME,...|default", struct arguments, counters,
		 "Functions: events to count besides time ('assay counters' lists them)"),
	CLI_REAL("budget", "F", struct arguments, budget, 0, 1,
		 "Functions: largest slowdown by the measurement, a fraction (default: 0.03; 0: measure every call)"),
	CLI_INTEGER("seed", "N", struct arguments, seed, 0, UINT32_MAX,
		    "Functions: seed of the choice of measured calls (default: a new one in each run; the files record it)"),
	CLI_TEXT("input", "NAME", struct arguments, input,
		 "Functions: name of the input, kept with the samples; samples of different inputs are never joined"),
	CLI_TEXT("list", "FILE", struct arguments, list,
		 "Functions: only write the list for the probe's library to FILE, for programs started in another way"),
	CLI_TEXT("library", "FILE", struct arguments, library,
		 "Functions: probe library to use (default: the one installed with this program)"),
	CLI_FLAG("full", struct arguments, full, "Counters: simulate all windows of time: slower, with less noise in short functions"),
	CLI_INTEGER("nodes", "N", struct arguments, nodes, 1, 64, "Counters: number of NUMA nodes to distribute threads over (default: 2)"),
	CLI_END
};

static const struct cli_option words[] = { CLI_ARGUMENTS("-- PROGRAM [ARG]", struct arguments, words, 1), CLI_END };

const struct command record_command = {
	.name = "record",
	.summary = "run a program and record its calls, functions, counters or features",
	.about = "Runs a program and records it. Each process writes its own files.\n\nCalls into libraries and the kernel (input and "
		 "output, waiting, synchronisation, processes, MPI): call site, amount of work, duration, and the computing time between "
		 "calls. 'assay timeline' then shows where and when the run was slow. The program needs no special build. Under mpirun, "
		 "the processes are the ranks. Very frequent calls are sampled, and each record states how many calls it "
		 "represents.\n\nFunctions: duration of calls of selected functions, and CPU events during them. Short functions are "
		 "sampled, so the program is hardly slower. 'assay inspect' shows whether the program is built for this. If counters need "
		 "several runs, the program is run several times.\n\nCounters: emulated counters of a program built by 'assay build --for "
		 "counters'. Long runs are simulated in one of sixteen windows of time, the same ones in all threads.\n\nFeatures: counts "
		 "of a program built by 'assay build --for features'. They are kept however the program ends, even if it is killed.",
	.examples = "  assay record -- ./myapp 1000\n"
		    "  assay record --call deflate --call compress2:4 -- ./myapp 1000\n"
		    "  assay record -o records --overhead 0.5% -- mpirun -np 4 ./myapp 1000\n"
		    "  assay record --for functions --functions insert,lookup --counters PAPI_TOT_INS -- ./myapp 1000\n"
		    "  assay record --for counters -o samples --functions work,merge -- ./main 4 1000\n"
		    "  assay record --for features -o features -- ./sort input\n",
	.exit_status = "0 recorded, 1 the program or the recording failed, 2 usage, 6 there was nothing to record.",
	.words = words,
	.options = options,
	.defaults = &defaults,
	.flags = CLI_NO_FORMAT,
	.check = options_check,
	CLI_RUN(struct arguments, CLI_LAB_NONE, record_run),
};
