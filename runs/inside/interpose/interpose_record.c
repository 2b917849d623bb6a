/* Call sites, which of their calls are recorded, and what is written about one. */
#include "runs/inside/interpose/interpose.h"
#include "runs/inside/record/record_writer.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define SITES_MAX	 4096u	/* of a process; a power of 2 */
#define THREAD_SITES_MAX 1024u	/* of a thread; a power of 2 */
#define GAP_TICKS	 25000u /* about 10 microseconds, a hundred times what a record costs, between two of a site */
#define WEIGHT_LOG2_MAX	 16u
#define CHUNK_BYTES	 8192u	 /* a thread that makes few calls has one all the same */
#define NAMES_BYTES	 131072u /* of each process, however short: about 1,800 sites */
#define KINDS_MAX	 1024u
#define KIND_TICKS	 2000000u /* after which a descriptor is looked at again: libc closes and opens some unseen */

struct interpose_site {
	uintptr_t address;
	const char *name; /* NULL: the place is free */
	uint64_t calls;
	uint64_t last;	 /* ticks of the last record */
	uint32_t number; /* of the file's function */
	uint32_t skip;	 /* calls not to record */
	uint32_t weight_log2;
};

struct thread_state {
	struct record_thread record;
	struct interpose_site *sites; /* [THREAD_SITES_MAX]; NULL: none yet */
	uint32_t n_sites;
	bool busy;  /* within this file: what a signal's handler calls meanwhile is not recorded */
	bool ended; /* the thread's destructors have run */
};

/* Of all threads: numbers by site. A place is taken by its address, and of use once its number is there. */
struct shared_site {
	uintptr_t address;
	const char *name;
	uint32_t number_and_1;
};

static struct record_writer writer;
static struct shared_site shared_sites[SITES_MAX];
static pthread_key_t at_end;
static _Thread_local struct thread_state mine __attribute__((tls_model("initial-exec")));
static uint64_t kinds[KINDS_MAX]; /* ticks << 3 | kind */

static uint32_t place_in(uintptr_t address, uint32_t size)
{
	return (uint32_t)((address * 0x9e3779b97f4a7c15u) >> 40) & (size - 1);
}

/* The site's address in the module's file, and the module's build-id. UINT32_MAX: there is no room. */
static uint32_t site_name(uintptr_t address, const char *name)
{
	char id[RECORD_BUILD_ID_BYTES] = "";
	struct dl_find_object found;
	uintptr_t base = 0;

	if (_dl_find_object((void *)address, &found) == 0) {
		const Elf64_Ehdr *elf = found.dlfo_map_start;

		base = found.dlfo_link_map->l_addr;
		if (memcmp(elf->e_ident, ELFMAG, SELFMAG) == 0)
			record_module_id(base, (const Elf64_Phdr *)(const void *)((const char *)elf + elf->e_phoff), elf->e_phnum, id);
	}
	return record_function(&writer, address - base, *id ? id : "-", name);
}

/* The number of a site that this thread has not seen yet; UINT32_MAX: there is no room, or another thread is just giving it one. */
static uint32_t shared_find(uintptr_t address, const char *name)
{
	uint32_t at = place_in(address, SITES_MAX);

	for (uint32_t i = 0; i < SITES_MAX; i++, at = (at + 1) & (SITES_MAX - 1)) {
		struct shared_site *s = &shared_sites[at];
		uintptr_t there = 0;

		if (__atomic_compare_exchange_n(&s->address, &there, address, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			s->name = name;
			__atomic_store_n(&s->number_and_1, site_name(address, name) + 1, __ATOMIC_RELEASE);
			return s->number_and_1 - 1;
		}
		if (there != address)
			continue;
		if (!__atomic_load_n(&s->number_and_1, __ATOMIC_ACQUIRE))
			return UINT32_MAX;
		if (s->name == name) /* else two calls at the ends of functions that return to the same place */
			return s->number_and_1 - 1;
	}
	return UINT32_MAX;
}

static bool sites_begin(void)
{
	int before = errno;
	void *at;

	if (mine.ended || !writer.header)
		return false;
	at = mmap(NULL, THREAD_SITES_MAX * sizeof(*mine.sites), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	errno = before;
	if (at == MAP_FAILED)
		return false;
	mine.sites = at;
	pthread_setspecific(at_end, at);
	return true;
}

static struct interpose_site *site_begin(struct interpose_site *s, uintptr_t address, const char *name)
{
	uint32_t number = mine.n_sites < THREAD_SITES_MAX * 3 / 4 ? shared_find(address, name) : UINT32_MAX;

	if (number == UINT32_MAX) {
		record_drop(&writer, &mine.record);
		return NULL;
	}
	mine.n_sites++;
	*s = (struct interpose_site){ .address = address, .name = name, .number = number };
	return s;
}

static struct interpose_site *site_find(uintptr_t address, const char *name)
{
	uint32_t at = place_in(address, THREAD_SITES_MAX);

	while (mine.sites[at].name && (mine.sites[at].address != address || mine.sites[at].name != name))
		at = (at + 1) & (THREAD_SITES_MAX - 1);
	return mine.sites[at].name ? &mine.sites[at] : site_begin(&mine.sites[at], address, name);
}

bool interpose_enter(struct interpose_call *call, const void *address, const char *name)
{
	struct interpose_site *s;

	if (!writer.header || !*writer.alive || mine.busy)
		return false;
	mine.busy = true;
	s = mine.sites || sites_begin() ? site_find((uintptr_t)address, name) : NULL;
	mine.busy = false;
	if (!s)
		return false;
	s->calls++;
	if (s->skip) {
		s->skip--;
		return false;
	}
	call->site = s;
	call->start = record_ticks();
	return true;
}

static enum interpose_kind kind_look(int file)
{
	struct stat now;
	int before = errno, failed = fstat(file, &now);

	errno = before;
	if (failed)
		return INTERPOSE_OTHER;
	switch (now.st_mode & S_IFMT) {
	case S_IFREG:
		return INTERPOSE_FILE;
	case S_IFIFO:
		return INTERPOSE_PIPE;
	case S_IFSOCK:
		return INTERPOSE_SOCKET;
	case S_IFCHR:
		return INTERPOSE_CHARACTER;
	case S_IFBLK:
		return INTERPOSE_BLOCK;
	default:
		return INTERPOSE_OTHER;
	}
}

static enum interpose_kind kind_of(int file, uint64_t now)
{
	uint64_t known;

	if (file < 0)
		return INTERPOSE_NONE;
	if ((uint32_t)file >= KINDS_MAX)
		return kind_look(file);
	known = __atomic_load_n(&kinds[file], __ATOMIC_RELAXED);
	if (!known || now - (known >> 3) > KIND_TICKS) {
		known = now << 3 | kind_look(file);
		__atomic_store_n(&kinds[file], known, __ATOMIC_RELAXED);
	}
	return known & 7;
}

/* Binary exponential back-off, and the way back. */
static void site_pace(struct interpose_site *s, uint64_t now)
{
	uint64_t gap = now - s->last;

	if (gap < GAP_TICKS && s->weight_log2 < WEIGHT_LOG2_MAX)
		s->weight_log2++;
	else if (gap > 4 * GAP_TICKS && s->weight_log2)
		s->weight_log2--;
	s->last = now;
	s->skip = (1u << s->weight_log2) - 1;
}

void interpose_leave(const struct interpose_call *call, int file, uint64_t size, int64_t result)
{
	uint64_t now = record_ticks();
	struct interpose_site *s = call->site;
	struct record_sample *sample;

	if (!mine.sites || !s->name || mine.busy) /* the thread has ended, or this is another process than the one that began the call */
		return;
	mine.busy = true;
	sample = record_begin(&writer, &mine.record);
	if (sample) {
		*sample = (struct record_sample){ .function = s->number,
						  .weight = 1u << s->weight_log2,
						  .ordinal = s->calls - 1,
						  .start = call->start,
						  .duration = now - call->start };
		sample->counters[0] = size;
		sample->counters[1] = kind_of(file, now);
		sample->counters[2] = result < 0 ? UINT64_MAX : (uint64_t)result;
		record_commit(&writer, &mine.record);
	}
	site_pace(s, now);
	mine.busy = false;
}

static void thread_end(void *sites)
{
	mine.ended = true;
	mine.sites = NULL;
	munmap(sites, THREAD_SITES_MAX * sizeof(*mine.sites));
}

static void process_forked(void)
{
	mine.busy = true;
	if (mine.sites) /* kept, for a handler may have forked while its thread was in a call that is being recorded */
		memset(mine.sites, 0, THREAD_SITES_MAX * sizeof(*mine.sites));
	mine.n_sites = 0;
	record_fork(&writer, &mine.record);
	mine.busy = false;
}

__attribute__((constructor)) static void interpose_start(void)
{
	static const char *const counters[] = { "size", "kind", "result" };
	const char *directory = getenv("ASSAY_INTERPOSE_DIRECTORY");
	const struct record_options options = {
		.directory = directory,
		.back_end = RECORD_TIME,
		.counters = counters,
		.n_counters = 3,
		.chunk_bytes = CHUNK_BYTES,
		.names_bytes_max = NAMES_BYTES,
	};
	int before = errno;

	if (directory && pthread_key_create(&at_end, thread_end) == 0 && record_open(&writer, &options) == 0) {
		record_program(&writer);
		record_info(&writer, "calls", "outside");
		pthread_atfork(NULL, NULL, process_forked);
	}
	errno = before;
}

__attribute__((destructor)) static void interpose_end(void)
{
	record_close(&writer);
}
