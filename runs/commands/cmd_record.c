/* assay record */
#include "base/clock.h"
#include "base/command.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/text.h"
#include "fleet/cgroup/stops.h"
#include "runs/commands/runs_commands.h"
#include "runs/inside/instrument/foreground.h"
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

#define RECORD_LEAST_BYTES  (256u << 10) /* what a file needs before its first record */
#define STATUS_BYTES_MAX    (1u << 20)
#define WHY_BYTES	    160
#define FUNCTIONS_MAX	    64u
#define FUNCTION_NAME_BYTES 60u
#define PAGE		    4096u
#define STUB_BYTES	    16u
#define LEADS_TO	    "assay_interpose_function"
#define SAMPLES		    ".samples"
#define ENTRIES		    9u /* of the dynamic section */

/* ---- a library of functions that are named ---- */

/* Functions of libraries whose calls are recorded because the user names them: a library to be preloaded that exports their names, and
 * leads all of them to libassay-interpose.so (runs/inside/interpose/interpose_functions.c). Only for commands; x86-64. */

static size_t name_bytes(const char *item)
{
	return strcspn(item, ":");
}

static bool item_is_right(const char *item)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
	size_t n = name_bytes(item);

	return n && n <= FUNCTION_NAME_BYTES && strspn(item, letters) == n && !(item[0] >= '0' && item[0] <= '9') &&
	       (!item[n] || (item[n + 1] >= '1' && item[n + 1] <= '6' && !item[n + 2]));
}

/* items [n]: "NAME", or "NAME:N", N the argument (1 to 6) that tells how much a call has to do. ASSAY_E_USAGE: not such words, or one
 * twice. */
static enum assay_status called_functions_check(const char *const *items, size_t n, struct assay_error *err)
{
#if !defined(__x86_64__)
	if (n)
		return assay_fail(err, ASSAY_E_USAGE, "functions can be named by --call on x86-64 alone");
#endif
	if (n > FUNCTIONS_MAX)
		return assay_fail(err, ASSAY_E_USAGE, "at most %u functions can be named by --call", FUNCTIONS_MAX);
	for (size_t i = 0; i < n; i++) {
		if (!item_is_right(items[i]))
			return assay_fail(
			    err, ASSAY_E_USAGE,
			    "--call %s: a function's name is needed, or NAME:N, N from 1 to 6 for the argument that tells how much it does",
			    items[i]);
		for (size_t k = 0; k < i; k++)
			if (name_bytes(items[k]) == name_bytes(items[i]) && memcmp(items[k], items[i], name_bytes(items[i])) == 0)
				return assay_fail(err, ASSAY_E_USAGE, "--call names '%s' twice", items[i]);
	}
	return ASSAY_OK;
}

/* Parts of the file, which are at the same places in memory. */
struct places {
	size_t hash, symbols, relocation, texts, stubs, dynamic, table, end;
};

static struct places places_of(size_t n, size_t text_bytes)
{
	struct places p = { .hash = sizeof(Elf64_Ehdr) + 4 * sizeof(Elf64_Phdr) };

	p.symbols = p.hash + (n + 6) / 2 * 2 * sizeof(uint32_t);
	p.relocation = p.symbols + (n + 2) * sizeof(Elf64_Sym);
	p.texts = p.relocation + sizeof(Elf64_Rela);
	p.stubs = (p.texts + text_bytes + STUB_BYTES - 1) / STUB_BYTES * STUB_BYTES;
	p.dynamic = (p.stubs + n * STUB_BYTES + PAGE - 1) / PAGE * PAGE;
	p.table = p.dynamic + ENTRIES * sizeof(Elf64_Dyn);
	p.end = p.table + sizeof(uint64_t);
	return p;
}

static void put(struct buf *file, size_t at, const void *what, size_t n)
{
	memcpy(file->bytes + at, what, n);
}

static void headers_put(struct buf *file, const struct places *p)
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
		{ .p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W, .p_align = 16 }, /* or stacks become executable */
	};

	put(file, 0, &elf, sizeof(elf));
	put(file, sizeof(elf), parts, sizeof(parts));
}

static void dynamic_put(struct buf *file, const struct places *p)
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

	put(file, p->dynamic, entries, sizeof(entries));
	put(file, p->relocation, &leads, sizeof(leads));
}

/* One bucket: all symbols are in one chain, behind those that are none and not here. */
static void hash_put(struct buf *file, const struct places *p, size_t n)
{
	uint32_t words[2 + 1 + FUNCTIONS_MAX + 2] = { 1, (uint32_t)n + 2, 2 };

	for (size_t i = 2; i + 1 < n + 2; i++)
		words[3 + i] = (uint32_t)i + 1;
	put(file, p->hash, words, (3 + n + 2) * sizeof(*words));
}

/* mov $number, %r11d; jmp *table(%rip) */
static void stub_put(struct buf *file, size_t at, uint32_t number, size_t table)
{
	unsigned char code[STUB_BYTES] = { 0x41, 0xbb, 0, 0, 0, 0, 0xff, 0x25 };
	uint32_t far = (uint32_t)(table - (at + 12));

	memcpy(code + 2, &number, sizeof(number));
	memcpy(code + 8, &far, sizeof(far));
	put(file, at, code, sizeof(code));
}

/* Writes the library. */
static enum assay_status called_functions_write(const char *path, const char *const *items, size_t n, struct assay_error *err)
{
	Elf64_Sym symbol = { .st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE) };
	struct buf texts = BUF_INIT, file = BUF_INIT;
	enum assay_status st;
	struct places p;
	char *zeros;

	buf_add(&texts, "\0" LEADS_TO, sizeof("\0" LEADS_TO));
	for (size_t i = 0; i < n; i++) {
		buf_add(&texts, items[i], name_bytes(items[i]));
		buf_add(&texts, "", 1);
	}
	p = places_of(n, texts.size);
	zeros = mem_new(p.end, 1);
	buf_add(&file, zeros, p.end);
	free(zeros);
	headers_put(&file, &p);
	dynamic_put(&file, &p);
	hash_put(&file, &p, n);
	put(&file, p.texts, texts.bytes, texts.size);
	put(&file, p.symbols + sizeof(symbol), &symbol, sizeof(symbol));
	symbol.st_name += sizeof(LEADS_TO);
	for (size_t i = 0; i < n; i++) {
		symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
		symbol.st_shndx = 1; /* it is here: there are no sections to be asked for */
		symbol.st_value = p.stubs + i * STUB_BYTES;
		symbol.st_size = STUB_BYTES;
		put(&file, p.symbols + (i + 2) * sizeof(symbol), &symbol, sizeof(symbol));
		stub_put(&file, symbol.st_value, (uint32_t)i, p.table);
		symbol.st_name += (uint32_t)name_bytes(items[i]) + 1;
	}
	st = file_replace(path, file.bytes, file.size, 0644, err);
	buf_release(&texts);
	buf_release(&file);
	return st;
}

struct arguments {
	struct cli_list words;
	const char *output;
	double overhead;
	bool progressive, context;
	struct cli_list functions;
};

/* What is recorded because the user names it: a library for that, in the directory. *path is NULL where there is nothing; free() it. */
static enum assay_status write_functions(const struct arguments *a, char **path, struct assay_error *err)
{
	const char *directory = getenv("ASSAY_INTERPOSE_DIRECTORY"); /* absolute */
	struct buf names = BUF_INIT;
	enum assay_status st;

	*path = NULL;
	if (!a->functions.n)
		return ASSAY_OK;
	*path = mem_format("%s/functions.so", directory);
	st = called_functions_write(*path, (const char *const *)a->functions.items, a->functions.n, err);
	for (size_t i = 0; i < a->functions.n; i++)
		buf_format(&names, "%s%s", i ? "," : "", a->functions.items[i]);
	foreground_set_variable("ASSAY_INTERPOSE_FUNCTIONS", names.bytes);
	buf_release(&names);
	return st;
}

/* How many filters of system calls (seccomp) everything here has: what is given more is not recorded, for it might be killed. */
static void tell_filters(void)
{
	static const char *const keys[] = { "\nSeccomp_filters:", "\nSeccomp:" }; /* the latter alone before Linux 5.9 */
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
	tell_filters();
	foreground_set_variable("ASSAY_INTERPOSE_RUN", run);
	foreground_set_variable("ASSAY_INTERPOSE_OVERHEAD_PPM", ppm);
	foreground_set_variable("ASSAY_INTERPOSE_CONTEXT", a->context ? "1" : "0");
	foreground_set_variable("ASSAY_INTERPOSE_PROGRESSIVE", a->progressive ? "1" : "0");
	mem_free(preload, ppm, run);
}

/* ---- what processes are told from outside ---- */

struct watch {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t ending;
	bool runs, end;
	struct stops *stops;
};

static void *watch_run(void *of)
{
	struct watch *w = of;

	pthread_mutex_lock(&w->lock);
	while (!w->end) {
		int64_t left = stops_look(w->stops);
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

/* Where there can be no thread, nobody is told anything. */
static void watch_begin(struct watch *w, const char *directory)
{
	static const struct stops_words words = RECORD_STOPS;

	*w = (struct watch){ .stops = stops_new(directory, &words) };
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->ending, NULL);
	w->runs = w->stops && pthread_create(&w->thread, NULL, watch_run, w) == 0;
}

static void watch_end(struct watch *w)
{
	pthread_mutex_lock(&w->lock);
	w->end = true;
	pthread_cond_signal(&w->ending);
	pthread_mutex_unlock(&w->lock);
	if (w->runs)
		pthread_join(w->thread, NULL);
	stops_free(w->stops);
}

/* ---- what was recorded ---- */

struct recorded {
	size_t processes, killed, records;
	char **sites; /* [n_sites], of each file its own; sorted and counted at the end */
	size_t n_sites, capacity;
	double calls; /* estimated from the records' weights */
	uint64_t dropped;
	uint64_t *pids, *children; /* [processes], [n_children] that fork() and waitpid() have said */
	size_t pids_capacity, n_children, children_capacity;
	uint64_t *executed; /* [n_executed] processes, each as often as it has executed a program */
	size_t n_executed, executed_capacity;
	size_t ranks, restricted; /* processes that have a rank, and that have restricted their system calls */
	char *restricted_name;	  /* the first of their programs; NULL: not known */
};

/* Those of one process are not those of another one. */
static void children_add(const struct samples *file, struct recorded *sum)
{
	size_t n;
	uint64_t *children = samples_children(file, &n);

	for (size_t i = 0; i < n; i++)
		mem_append(sum->children, sum->n_children, &sum->children_capacity, children[i]);
	free(children);
}

static size_t count_of(const uint64_t *pids, size_t n, uint64_t pid)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += pids[i] == pid;
	return count;
}

/* How many of them have no file. */
static size_t children_missing(const struct recorded *sum)
{
	size_t missing = 0;

	for (size_t i = 0; i < sum->n_children; i++)
		missing += !count_of(sum->pids, sum->processes, sum->children[i]);
	return missing;
}

/* The last call of the process executed another program, which starts a file of its own. */
static bool has_executed(const struct samples *file)
{
	const struct sample *last = NULL;

	for (size_t i = 0; i < file->n; i++)
		last = last && last->start_s > file->items[i].start_s ? last : &file->items[i];
	return last && !file->finished && strncmp(file->functions[last->function].name, "exec", 4) == 0;
}

/* How many such files there are not. What starts ranks has none. */
static size_t executed_missing(const struct recorded *sum)
{
	size_t missing = 0;

	for (size_t i = 0; i < sum->n_executed && !sum->ranks; i++)
		missing += count_of(sum->executed, i + 1, sum->executed[i]) >= count_of(sum->pids, sum->processes, sum->executed[i]);
	return missing;
}

static void restricted_add(const struct samples *file, struct recorded *sum)
{
	const char *program = samples_info(file, "program");

	if (!samples_info(file, "stopped"))
		return;
	if (!sum->restricted++ && program)
		sum->restricted_name = mem_string(program);
}

static void file_add(const char *path, struct recorded *sum)
{
	struct samples file;
	struct assay_error err;

	if (samples_read(path, &file, &err)) {
		cli_remark("%s", err.text);
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

/* Functions that the user named, and that nobody called. */
static void functions_missing(const struct arguments *a, const struct recorded *sum)
{
	for (size_t i = 0; i < a->functions.n; i++) {
		const char *name = a->functions.items[i];
		size_t n = strcspn(name, ":"), k = 0;

		for (; k < sum->n_sites; k++) {
			const char *site = strrchr(sum->sites[k], ' ') + 1;

			if (strncmp(site, name, n) == 0 && (!site[n] || site[n] == '<' || site[n] == ':'))
				break;
		}
		if (k == sum->n_sites)
			cli_remark("'%.*s' was never recorded: no dynamically linked code called a function of that name in another module",
				   (int)n, name);
	}
}

/* How many different ones there are; they are released. */
static size_t sites_count(struct recorded *sum)
{
	size_t n = 0;

	order_sort(sum->sites, sum->n_sites, text_order);
	for (size_t i = 0; i < sum->n_sites; i++)
		n += i == 0 || strcmp(sum->sites[i - 1], sum->sites[i]) != 0;
	mem_free_all(sum->sites, sum->n_sites);
	return n;
}

/* Or another one is in its place. */
static bool is_gone(const char *path, int directory)
{
	struct stat was, now;

	return directory >= 0 && fstat(directory, &was) == 0 &&
	       (stat(path, &now) != 0 || was.st_ino != now.st_ino || was.st_dev != now.st_dev);
}

/* How many processes of this run go on, as those of a program that becomes a daemon do: they have our variable. */
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

/* The program's dynamic linker; "": it has none. False: it is no such file. */
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

/* Returns the reason for which no library can be preloaded into the program in that file, such as "is linked statically". NULL: the file
 * has no such reason, or is not machine code. */
static const char *why_no_preload(const char *file)
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

/* Why a program left nothing, as far as its file and what was dropped say. */
static const char *nothing_why(const char *program, bool gone, size_t running, const struct recorded *sum, char why[WHY_BYTES])
{
	struct assay_error ignored;
	struct stat info = { .st_mode = 0 };
	struct rlimit size;
	const char *no_preload = NULL;
	char *path = NULL;

	if (!foreground_find_program(program, &path, &ignored)) {
		(void)!stat(path, &info);
		no_preload = why_no_preload(path);
	}
	free(path);
	if (gone)
		return "there are no records: their directory was removed or moved while the program ran";
	if (sum->dropped)
		return "no call was recorded: there was no room for records (a limit on the size of files, or a full disk)";
	if (getrlimit(RLIMIT_FSIZE, &size) == 0 && size.rlim_cur < RECORD_LEAST_BYTES)
		return "no call was recorded: the limit on the size of files (ulimit -f) leaves no room for records";
	if (sum->restricted)
		return "no call was recorded: the program restricted its system calls (seccomp) before the first one, or does so by "
		       "instructions of its own, which the recorder would see too late";
	if (info.st_mode & (S_ISUID | S_ISGID))
		return "no call was recorded: the program is set-user-ID or set-group-ID, and no library is preloaded into such programs";
	if (no_preload) {
		snprintf(why, WHY_BYTES, "no call was recorded: the program %s, and no library of ours can be preloaded into it",
			 no_preload);
		return why;
	}
	if (running)
		return "no call was recorded yet: the program goes on in the background";
	return "no call was recorded: the program makes none that is recorded";
}

/* Of processes without records: children that were forked, and programs that were executed. */
static void missing_tell(const char *directory, size_t children, size_t executed)
{
	size_t n = children + executed;
	struct stat info;
	bool closed = geteuid() == 0 && stat(directory, &info) == 0 && !(info.st_mode & S_IWOTH);
	char *user =
	    closed ? mem_format(", or ran as another user, who may not write into '%s' ('mkdir -m 1777 DIRECTORY' makes one for all users)",
				directory)
		   : mem_string("");

	if (n)
		cli_remark("%zu process%s, forked or having executed another program, left no records and will be missing from the "
			   "answers: they made "
			   "no call, or ran a program that is linked statically, has other privileges or a stricter filter of system calls "
			   "(seccomp), or was started without LD_PRELOAD%s",
			   n, n == 1 ? "" : "es", user);
	free(user);
}

static enum assay_status tell(const struct arguments *a, bool gone, struct assay_error *err)
{
	const char *directory = a->output;
	struct recorded sum = { 0 };
	size_t n, sites, missing, executed, running = still_running();
	char why[WHY_BYTES];
	enum assay_status st = ASSAY_OK;
	char **names, *next;

	file_names(directory, SAMPLES, &names, &n, err); /* gone: nothing was recorded */
	for (size_t i = 0; i < n; i++) {
		char *path = mem_format("%s/%s", directory, names[i]);

		file_add(path, &sum);
		free(path);
	}
	file_names_free(names, n);
	functions_missing(a, &sum);
	sites = sites_count(&sum);
	missing = children_missing(&sum);
	executed = executed_missing(&sum);
	mem_free(sum.pids, sum.children, sum.executed);
	if (sum.dropped)
		cli_remark("%llu records were dropped: there was no room for them", (unsigned long long)sum.dropped);
	if (gone && sum.records)
		cli_remark("the directory was removed or moved while the program ran, and with it what had been recorded until then");
	if (!sum.records)
		st = foreground_left_nothing(directory, nothing_why(a->words.items[0], gone, running, &sum, why), err);
	missing_tell(directory, missing, executed);
	if (running)
		cli_remark("%zu process%s still running in the background: what %s from now on goes into '%s', too", running,
			   running == 1 ? " of it is" : "es of it are", running == 1 ? "it does" : "they do", directory);
	if (sum.restricted)
		cli_remark(
		    "%zu process%s (%s) restricted %s system calls (seccomp, or no new privileges) and %s recorded only until then, or, "
		    "where that is done by instructions of its own, not at all; most programs have an option to run without that",
		    sum.restricted, sum.restricted == 1 ? "" : "es", sum.restricted_name ? sum.restricted_name : "?",
		    sum.restricted == 1 ? "its" : "their", sum.restricted == 1 ? "was" : "were");
	free(sum.restricted_name);
	if (st)
		return st;
	cli_remark("%zu record%s of about %.0f calls at %zu call site%s in '%s', from %zu process%s", sum.records, text_plural(sum.records),
		   fmax(sum.calls, (double)sum.records), sites, text_plural(sites), directory, sum.processes,
		   sum.processes == 1 ? "" : "es");
	if (sum.killed)
		cli_remark("%zu of these processes did not exit normally: they were killed, called _exit(), or executed another program",
			   sum.killed);
	next = text_command((const char *const[]){ "timeline", directory, NULL });
	cli_remark("next: %s", next);
	free(next);
	return ASSAY_OK;
}

/* ---- the command ---- */

static enum assay_status record_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	const struct arguments *a = arguments;
	char *library = NULL, *functions = NULL, *path = NULL, **before;
	size_t n_before;
	enum assay_status st = called_functions_check((const char *const *)a->functions.items, a->functions.n, err), ended;
	struct assay_error program;
	struct watch watch;
	int directory = -1, status = 0;

	(void)lab;
	(void)d;
	if (!st)
		st = foreground_find_program(a->words.items[0], &path, err);
	if (!st)
		st = instrument_own_library(INSTRUMENT_RECORDER, &library, err);
	if (!st)
		st = foreground_make_directory(a->output, 0755, "ASSAY_INTERPOSE_DIRECTORY", err);
	if (!st) {
		file_names(a->output, SAMPLES, &before, &n_before, &program);
		file_names_free(before, n_before);
		if (n_before)
			st = assay_fail(err, ASSAY_E_CONFLICT,
					"'%s' already has the records of a run, and one directory holds one run: name another with -o",
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
		st = tell(a, is_gone(a->output, directory), err);
		if (ended) { /* records until then are kept */
			if (st)
				cli_remark("%s", err->text);
			st = ended;
			*err = program;
		}
	}
	if (directory >= 0)
		close(directory);
	foreground_end_as_told();
	mem_free(library, functions, path);
	return st;
}

/* 1%, or .01 */
static enum assay_status share_parse(const char *text, void *share, struct assay_error *err)
{
	size_t n = strlen(text);
	bool percent = n > 0 && text[n - 1] == '%';
	char *number = mem_format("%.*s", (int)(n - percent), text);
	double value = -1;
	bool is = text_double(number, &value);

	free(number);
	value = percent ? value / 100 : value;
	if (!is || !(value >= 0 && value <= 1))
		return assay_fail(err, ASSAY_E_USAGE, "a share from 0 to 1, or from 0%% to 100%%");
	*(double *)share = value;
	return ASSAY_OK;
}

static const struct arguments defaults = { .output = "records", .overhead = .01 };

static const struct cli_option options[] = {
	CLI_OPTION(TEXT, "output", "DIRECTORY", struct arguments, output,
		   "Directory for the records of this run (default: records); it is created if need be, its parents are not",
		   .letter = 'o'),
	CLI_PARSED(
	    "overhead", "SHARE", struct arguments, overhead, share_parse,
	    "How much of a thread's time may go into timing calls, as 1% or .01 (default: 1%; 0: time every call, and record as many "
	    "as fit in some 24 KB a second for each process)"),
	CLI_LIST("call", "NAME[:N]", struct arguments, functions,
		 "Also record where calls of this library function start and end; its argument N, from 1 to 6, tells how much work a call "
		 "has (repeatable)"),
	CLI_FLAG("context-aware", struct arguments, context,
		 "Tell call sites apart by the path of calls that led to them: a finer comparison, but each timed call costs more"),
	CLI_FLAG("progressive", struct arguments, progressive,
		 "Read only the coarsest counters of the operating system until 'assay timeline --follow' asks a slow process for finer "
		 "ones"),
	CLI_END
};

static const struct cli_option words[] = { CLI_WORDS("-- PROGRAM [ARG]", struct arguments, words, 1), CLI_END };

const struct command record_command = {
	.name = "record",
	.summary = "run a program and record its calls",
	.about =
	    "Runs a program and records its calls into the outside (input and output, waiting, synchronisation, processes, MPI): where "
	    "they are in the program, how much they had to do, how long they took, and how long the program computed between them. "
	    "'assay timeline' then tells where and when the run was slow. The program need not be built for it. Its threads and the "
	    "processes that it starts are recorded too, each process in a file of its own; under mpirun, these are the ranks.\n\n"
	    "Calls that come too often are sampled, and each record says how many it represents.",
	.examples = "  assay record -- ./myapp 1000\n"
		    "  assay record --call deflate --call compress2:4 -- ./myapp 1000\n"
		    "  assay record -o records --overhead 0.5% -- ./server --port 8080\n"
		    "  assay record -- mpirun -np 4 ./myapp 1000\n",
	.exit_status = "0 recorded, 1 the program or something else failed, 2 usage, 6 there was nothing to record.",
	.words = words,
	.options = options,
	.defaults = &defaults,
	.flags = CLI_NO_FORMAT,
	CLI_RUN(struct arguments, CLI_LAB_NONE, record_run),
};
