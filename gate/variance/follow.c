#include "gate/variance/follow.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/order.h"
#include "fleet/cgroup/process.h"
#include "gate/variance/stored_runs.h"
#include "runs/inside/record/record_pack.h"
#include "runs/inside/record/record_system.h"
#include "runs/inside/samples/samples.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define PAGE_BYTES	  4096u
#define POLL_S		  .5   /* interval between two checks of growing files, s */
#define CLOCK_ERROR_MAX_S 3600 /* largest tolerated error of real time, s */
#define IDLE_WINDOWS_MAX  4    /* number of windows without a call after which a process on another host counts as ended */

/* A chunk of a record file that the current window or a later one needs. */
struct place {
	uint64_t index;
	uint32_t thread;
	double begun_s; /* end of its first call, s since the file's start; NaN if there is no call yet */
};

struct followed_file {
	char *path, *clock;	     /* `clock` is the id of the kernel; "" if unknown */
	struct record_header header; /* the header that was read last */
	bool known;		     /* the header was checked: this is a record file */
	bool refused;		     /* the reason for excluding the file was reported */
	bool on_this_host;	     /* the process runs on this host */
	bool has_ended;
	struct timespec written; /* modification time at the last check */
	double written_s;	 /* monotonic time of the first check that saw this modification time, s */
	uint64_t process_ticks;	 /* start of the process by this host's kernel; 0 if there is no such process */
	struct place *places;	 /* array of n elements */
	size_t n, capacity;
	uint64_t seen; /* number of chunks found so far */
};

struct follow_state {
	const char *const *names; /* [n_names], files and directories */
	size_t n_names;
	double window_s;
	struct followed_file *files; /* [n], sorted by path */
	size_t n, capacity;
	struct fragments_clock first; /* start of the first process, if a process is known */
	double first_s;		      /* the same start by the monotonic clock, s, because real time can be set */
	bool has_started;
	bool waits;	      /* the note about waiting for records was reported */
	uint64_t windows;     /* number of windows so far */
	bool ran;	      /* a process was running at the end of the last window */
	double first_later_s; /* start of the first call after the last window, s; INFINITY if there is none */
	double next_s;	      /* latest end of the next window, by the monotonic clock, s */
	char host[65], *clock;
};

static double now_s(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double monotonic_s(void)
{
	return now_s(CLOCK_MONOTONIC);
}

static void sleep_s(double s)
{
	struct timespec t = { (time_t)s, (long)(fmod(s, 1) * 1e9) };

	nanosleep(&t, NULL);
}

/* Returns the id of this host's kernel as in record files; NULL if unknown. */
static char *get_kernel_id(void)
{
	struct buf id = BUF_INIT;
	struct assay_error ignored;
	char *clock = NULL;

	if (!file_read("/proc/sys/kernel/random/boot_id", PAGE_BYTES, &id, &ignored) && id.size >= 8)
		clock = mem_bytes(id.bytes, 8);
	buf_release(&id);
	return clock;
}

struct follow_state *follow_new(const char *const *names, size_t n, double window_s)
{
	struct follow_state *f = mem_new(1, sizeof(*f));
	struct utsname host;

	f->names = names;
	f->n_names = n;
	f->window_s = window_s;
	f->clock = get_kernel_id();
	if (uname(&host) == 0)
		memcpy(f->host, host.nodename, sizeof(f->host) - 1);
	return f;
}

void follow_free(struct follow_state *f)
{
	for (size_t i = 0; f && i < f->n; i++)
		mem_free(f->files[i].path, f->files[i].clock, f->files[i].places);
	if (f)
		mem_free(f->files, f->clock);
	free(f);
}

double follow_lag(const struct follow_state *f, const struct follow_window *w)
{
	return monotonic_s() - f->first_s - w->to_s;
}

static struct fragments_clock process_start(const struct followed_file *f)
{
	return (struct fragments_clock){ f->header.started_ns, f->header.started_ticks, 1 / (double)f->header.ticks_per_s, f->clock };
}

/* Sets the start of the first process, which is the origin of windows, unless a window was already read. */
static void first_find(struct follow_state *all, const struct followed_file *f)
{
	const struct fragments_clock now = { (uint64_t)(now_s(CLOCK_REALTIME) * 1e9), record_ticks(), 0, all->clock };
	const struct fragments_clock began = process_start(f);

	if (all->windows || (all->has_started && fragments_since(&all->first, &began) >= 0))
		return;
	all->first = began;
	all->first_s = monotonic_s() - fragments_since(&began, &now);
}

static bool process_find(uint64_t pid, struct process *out)
{
	return pid <= INT32_MAX && process_read((long)pid, out);
}

/* Returns the start of the file's process by this host's kernel; 0 if the process is gone. Another process can have its id by now. A
 * comparison of real times shows this, but only at first, because real time can be set later. */
static uint64_t process_begin(const struct record_header *h)
{
	double machine_s = now_s(CLOCK_REALTIME) - now_s(CLOCK_BOOTTIME), began_s;
	struct process now;

	if (!process_find(h->pid, &now))
		return 0;
	began_s = machine_s + (double)now.start_ticks / (double)sysconf(_SC_CLK_TCK);
	return began_s > (double)h->started_ns / 1e9 + CLOCK_ERROR_MAX_S ? 0 : now.start_ticks;
}

/* Reports whether the process has ended. Valid only in the name space of the process. */
static bool has_ended(const struct followed_file *f)
{
	struct process now;

	if (!f->header.pid || f->header.pid > INT32_MAX || (kill((pid_t)f->header.pid, 0) != 0 && errno == ESRCH))
		return true;
	return process_find(f->header.pid, &now) && (!now.alive || now.start_ticks != f->process_ticks);
}

/* Appends n bytes of the file from `offset` on. Bytes after the end of the file are zeros. */
static void part_add(int file, uint64_t offset, size_t n, struct buf *out)
{
	char *bytes = mem_new(n + 1, 1);
	size_t at = 0;
	ssize_t got = 1;

	for (; at < n && got > 0; at += got > 0 ? (size_t)got : 0)
		got = pread(file, bytes + at, n - at, (off_t)(offset + at));
	buf_add(out, bytes, n);
	free(bytes);
}

static uint64_t chunk_offset(const struct followed_file *f, uint64_t chunk)
{
	return (uint64_t)f->header.header_bytes + f->header.names_bytes_max + chunk * f->header.chunk_bytes;
}

/* Makes a record file from the given chunks only. Reads the names after the chunks, so that all names used in chunks are included. */
static void bytes_make(const struct followed_file *f, int file, const struct buf *chunks, size_t n, struct buf *out)
{
	struct record_header h = f->header;
	uint64_t names, damage;

	if (pread(file, &h, sizeof(h), 0) != sizeof(h))
		h = f->header;
	damage = h.check ^ record_header_check(&h);
	names = h.names_bytes < f->header.names_bytes_max ? h.names_bytes : f->header.names_bytes_max;
	h.names_bytes = names;
	h.names_bytes_max = (uint32_t)(names / PAGE_BYTES + 1) * PAGE_BYTES;
	h.header_bytes = PAGE_BYTES;
	h.chunk_bytes = f->header.chunk_bytes;
	h.n_counters = f->header.n_counters;
	h.chunks = n;
	h.check = record_header_check(&h) ^ damage;
	buf_add(out, (const char *)&h, sizeof(h));
	part_add(file, UINT64_C(1) << 62, PAGE_BYTES - sizeof(h), out); /* appends zeros: this offset is beyond the end of the file */
	part_add(file, f->header.header_bytes, (size_t)names, out);
	part_add(file, UINT64_C(1) << 62, h.names_bytes_max - (size_t)names, out);
	buf_add(out, chunks->bytes ? chunks->bytes : "", chunks->size);
}

/* Opens a file without blocking: opening a pipe without a writer would block. */
static int file_open(const char *path, bool *regular)
{
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat info;

	*regular = file < 0 || (fstat(file, &info) == 0 && S_ISREG(info.st_mode));
	return file;
}

/* Checks header and names in the same way as samples_parse() does for whole files. */
static bool is_known(struct follow_state *all, struct followed_file *f, int file, struct assay_error *err)
{
	struct buf none = BUF_INIT, bytes = BUF_INIT;
	struct samples s;
	const char *host, *clock;

	if (pread(file, &f->header, sizeof(f->header), 0) != sizeof(f->header) || f->header.header_bytes > RECORD_NAMES_BYTES_MAX ||
	    f->header.names_bytes_max > RECORD_NAMES_BYTES_MAX) {
		assay_fail(err, ASSAY_E_FORMAT, "%s: not a record file", f->path);
		return false;
	}
	bytes_make(f, file, &none, 0, &bytes);
	if (memcmp(f->header.magic, RECORD_MAGIC, sizeof(f->header.magic)) == 0 && f->header.version != RECORD_VERSION_PACKED) {
		assay_fail(err, ASSAY_E_FORMAT, "%s: only records of calls can be followed", f->path);
	} else if (samples_parse(f->path, bytes.bytes, bytes.size, &s, err) == ASSAY_OK) {
		host = samples_info(&s, "host");
		clock = samples_info(&s, "boot");
		f->clock = mem_string(clock ? clock : host ? host : "");
		f->on_this_host = !host || strcmp(host, all->host) == 0;
		f->process_ticks = f->on_this_host ? process_begin(&f->header) : 0;
		f->known = true;
		samples_release(&s);
	}
	buf_release(&bytes);
	return f->known;
}

static void place_inspect(const struct followed_file *f, int file, struct place *p)
{
	unsigned char bytes[sizeof(struct record_chunk) + RECORD_PACKED_BYTES(RECORD_COUNTERS_MAX)] = { 0 };
	uint64_t state[RECORD_PACK_STATE(RECORD_COUNTERS_MAX)];
	union {
		struct record_sample sample;
		uint64_t words[sizeof(struct record_sample) / sizeof(uint64_t) + RECORD_COUNTERS_MAX];
	} first;
	struct record_chunk chunk;
	ssize_t n = pread(file, bytes, sizeof(bytes), (off_t)chunk_offset(f, p->index));

	memcpy(&chunk, bytes, sizeof(chunk));
	if (n < (ssize_t)sizeof(chunk) || chunk.magic != RECORD_CHUNK_MAGIC || !chunk.samples)
		return;
	record_pack_reset(state, chunk.thread);
	if (!record_unpack(bytes + sizeof(chunk), (size_t)n - sizeof(chunk), f->header.n_counters, state, &first.sample))
		return;
	p->thread = chunk.thread;
	p->begun_s =
	    ((double)first.sample.start + (double)first.sample.duration - (double)f->header.started_ticks) / (double)f->header.ticks_per_s;
}

/* Returns the time since the file last changed, s. */
static double seconds_since_change(struct followed_file *f, const struct stat *info)
{
	if (f->written.tv_sec != info->st_mtim.tv_sec || f->written.tv_nsec != info->st_mtim.tv_nsec) {
		f->written = info->st_mtim;
		f->written_s = monotonic_s();
	}
	return fmax(now_s(CLOCK_REALTIME) - (double)info->st_mtim.tv_sec - (double)info->st_mtim.tv_nsec / 1e9,
		    monotonic_s() - f->written_s);
}

/* Adds new chunks and updates `has_ended`. Returns false if another file has replaced this one. */
static bool file_inspect(struct follow_state *all, struct followed_file *f, int file)
{
	struct record_header h;
	struct stat info;
	uint64_t end;
	double quiet;

	if (pread(file, &h, sizeof(h), 0) != sizeof(h) || fstat(file, &info) != 0 || !h.ticks_per_s ||
	    memcmp(&h, &f->header, RECORD_CHECKED_BYTES) != 0)
		return false;
	end = info.st_size < (off_t)SAMPLES_FILE_BYTES_MAX ? (uint64_t)info.st_size : SAMPLES_FILE_BYTES_MAX;
	if (f->seen && chunk_offset(f, f->seen - 1) >= end)
		return false;
	f->header.chunks = h.chunks;
	f->header.ticks_per_s = h.ticks_per_s;
	f->header.level = h.level;
	for (; f->seen < h.chunks && chunk_offset(f, f->seen) < end; f->seen++)
		mem_append(f->places, f->n, &f->capacity, (struct place){ .index = f->seen, .begun_s = (double)NAN });
	for (size_t i = 0; i < f->n; i++)
		if (isnan(f->places[i].begun_s))
			place_inspect(f, file, &f->places[i]);
	quiet = seconds_since_change(f, &info);
	f->has_ended =
	    h.finished == 1 || (f->on_this_host ? quiet > all->window_s && has_ended(f) : quiet > IDLE_WINDOWS_MAX * all->window_s);
	return true;
}

ORDER_BY(files_order, struct followed_file, BY_TEXT(path))

static enum assay_status files_find(struct follow_state *f, struct assay_error *err)
{
	char **paths;
	size_t n, before = f->n;
	enum assay_status st = record_files_list(f->names, f->n_names, &paths, &n, err);

	for (size_t i = 0; !st && i < n; i++) {
		const struct followed_file key = { .path = paths[i] };

		if (before && bsearch(&key, f->files, before, sizeof(key), files_order))
			continue;
		mem_append(f->files, f->n, &f->capacity, (struct followed_file){ .path = mem_string(paths[i]) });
	}
	if (f->n > before)
		qsort(f->files, f->n, sizeof(*f->files), files_order);
	file_names_free(paths, n);
	return st;
}

/* Reports the reason for not reading a file, once per file. */
static void file_refuse(struct followed_file *f, const char *why, follow_note *remark)
{
	if (!f->refused)
		remark("cannot read '%s': %s", f->path, why);
	f->refused = true;
}

/* Stops following a file that is no record file or was replaced. Unread chunks are lost. */
static void drop_file(struct followed_file *f, const char *why, follow_note *remark)
{
	file_refuse(f, why, remark);
	f->has_ended = true;
	f->known = false;
}

static void file_follow(struct follow_state *all, struct followed_file *f, follow_note *remark)
{
	struct assay_error err = { .text = "" };
	struct stat info = { .st_size = 0 };
	bool regular;
	int file = file_open(f->path, &regular);

	if (file < 0 && f->known && errno != EMFILE && errno != ENFILE)
		drop_file(f, errno == ENOENT ? "it is gone" : strerror(errno), remark);
	else if (file < 0 && errno != ENOENT)
		file_refuse(f, strerror(errno), remark);
	else if (!regular)
		drop_file(f, "it is not a regular file", remark);
	else if (file >= 0 && !f->known && !is_known(all, f, file, &err) && !f->refused) {
		/* A new file can be incomplete. */
		f->refused = fstat(file, &info) == 0 && seconds_since_change(f, &info) > all->window_s;
		if (f->refused)
			remark("%s", err.text);
	}
	if (file >= 0 && f->known && !file_inspect(all, f, file))
		drop_file(f, "it was truncated or replaced", remark);
	if (file >= 0)
		close(file);
}

/* Updates all files. Returns the number of processes that have not ended. */
static size_t files_inspect(struct follow_state *f, follow_note *remark)
{
	size_t running = 0;

	for (size_t i = 0; i < f->n; i++) {
		struct followed_file *one = &f->files[i];

		if (!one->has_ended)
			file_follow(f, one, remark);
		if (!one->known)
			continue;
		running += !one->has_ended;
		first_find(f, one);
		if (!f->has_started)
			f->next_s = monotonic_s() + f->window_s;
		f->has_started = true;
	}
	return running;
}

ORDER_BY(places_order, struct place, BY_ASC(thread) BY_ASC(index))

/* Removes chunks whose calls all ended before from_s: the thread's next chunk starts by then. Chunks without calls have thread 0. */
static void places_forget(struct followed_file *f, double from_s)
{
	size_t n = 0;

	order_sort(f->places, f->n, places_order);
	for (size_t i = 0; i < f->n; i++) {
		size_t next = i + 1;

		while (next < f->n && isnan(f->places[next].begun_s))
			next++;
		if (isnan(f->places[i].begun_s)
			? f->has_ended
			: next < f->n && f->places[next].thread == f->places[i].thread && f->places[next].begun_s <= from_s)
			continue;
		f->places[n++] = f->places[i];
	}
	f->n = n;
}

/* Appends a record file with the calls that ended before the end of the window. Returns its number of records. */
static size_t file_take(struct follow_state *all, struct followed_file *f, const struct follow_window *w, struct buf *out)
{
	const struct fragments_clock began = process_start(f);
	double began_s = fragments_since(&all->first, &began);
	bool regular;
	int file = file_open(f->path, &regular);
	struct buf chunks = BUF_INIT;
	size_t n = 0, records = 0;

	places_forget(f, w->from_s - began_s);
	for (size_t i = 0; file >= 0 && i < f->n; i++) {
		struct record_chunk chunk;

		if (isnan(f->places[i].begun_s))
			continue;
		if (f->places[i].begun_s + began_s > w->to_s) {
			all->first_later_s = fmin(all->first_later_s, f->places[i].begun_s + began_s);
			continue;
		}
		part_add(file, chunk_offset(f, f->places[i].index), f->header.chunk_bytes, &chunks);
		memcpy(&chunk, chunks.bytes + chunks.size - f->header.chunk_bytes, sizeof(chunk));
		records += chunk.samples < f->header.chunk_bytes ? (size_t)chunk.samples : 0;
		n++;
	}
	if (n)
		bytes_make(f, file, &chunks, n, out);
	if (file >= 0)
		close(file);
	buf_release(&chunks);
	return records;
}

/* Reports and excludes files that are no longer record files. */
static void drop_damaged(struct follow_state *f, const struct fragments_file *files, size_t n, follow_note *remark)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; files[i].st && k < f->n; k++)
			if (f->files[k].path == files[i].name) {
				f->files[k].known = false;
				f->files[k].has_ended = true;
				remark("%s", files[i].reason);
			}
}

static enum assay_status window_take(struct follow_state *f, struct follow_window *w, follow_note *remark, struct assay_error *err)
{
	struct fragments_file *files = mem_new(f->n, sizeof(*files));
	struct fragments_window window = { .run_start = f->first, .from_s = w->from_s, .to_s = w->to_s };
	enum assay_status st = ASSAY_OK;
	size_t n = 0, records = 0;

	f->first_later_s = (double)INFINITY;
	for (size_t i = 0; i < f->n; i++) {
		struct buf bytes = BUF_INIT;

		if (f->files[i].known)
			records += file_take(f, &f->files[i], w, &bytes);
		if (!bytes.size)
			continue;
		files[n].name = f->files[i].path;
		files[n].n = bytes.size;
		files[n++].bytes = buf_take(&bytes);
	}
	while (records >> window.thin_log2 > FOLLOW_RECORDS_MAX)
		window.thin_log2++;
	st = n ? fragments_parse(files, n, &window, &w->fragments, err) : ASSAY_OK;
	drop_damaged(f, files, n, remark);
	for (size_t i = 0; i < n; i++) {
		free((void *)(uintptr_t)files[i].bytes);
		free(files[i].reason);
	}
	free(files);
	if (!st && n)
		f->first_later_s = fmin(f->first_later_s, w->fragments.next_s);
	return st;
}

/* If the run has ended, skips windows without calls up to the next call. */
static void gap_skip(struct follow_state *f)
{
	double next = floor(f->first_later_s / (f->window_s / 2)) - 1;

	if (f->windows && !f->ran && isfinite(next) && next > (double)f->windows)
		f->windows = (uint64_t)next;
}

/* Returns the remaining time of the window, s. Without a known later call, the window ends half a window after the last: clocks can be
 * set. */
static double remaining_s(const struct follow_state *f, const struct follow_window *w)
{
	double left = f->next_s - monotonic_s();

	if (!f->has_started)
		return POLL_S;
	return f->windows && isinf(f->first_later_s) ? left : fmin(left, -follow_lag(f, w));
}

enum assay_status follow_next_window(struct follow_state *f, follow_note *remark, struct follow_window *out, bool *more,
				     struct assay_error *err)
{
	double from_s, left, late, step_s = f->window_s / 2;
	enum assay_status st;

	gap_skip(f);
	from_s = (double)f->windows * step_s;
	*out = (struct follow_window){ .from_s = from_s, .to_s = from_s + f->window_s };
	*more = false;
	for (;;) {
		st = files_find(f, err);
		if (st)
			return f->has_started ? err->status = ASSAY_E_IO : st; /* the directory existed before */
		out->running = files_inspect(f, remark);
		if (!f->has_started && !f->waits)
			remark("waiting for records in '%s'", f->names[0]);
		f->waits = true;
		left = remaining_s(f, out);
		if (left <= 0 || (f->has_started && !out->running))
			break;
		sleep_s(fmin(POLL_S, fmax(left, .01)));
	}
	if (f->windows && !f->ran && isinf(f->first_later_s)) {
		*out = (struct follow_window){ .running = 0 };
		return ASSAY_OK;
	}
	*more = true;
	f->windows++;
	f->ran = out->running;
	late = follow_lag(f, out);
	f->next_s = monotonic_s() + step_s - (late > 0 && late < step_s ? late : 0);
	return window_take(f, out, remark, err);
}

/* Returns the level of counters that divides the cause further; RECORD_LEVEL_ALL if there is none. */
static enum record_level level_for_cause(enum loss_cause cause)
{
	static const enum record_level levels[LOSS_CAUSES] = { [LOSS_WAITING] = RECORD_LEVEL_CAUSES,
							       [LOSS_STOPPED] = RECORD_LEVEL_CAUSES,
							       [LOSS_PAGES] = RECORD_LEVEL_RESOURCES,
							       [LOSS_CALLS] = RECORD_LEVEL_RESOURCES,
							       [LOSS_PROCESSOR] = RECORD_LEVEL_RESOURCES };

	return levels[cause];
}

/* Returns the next level of counters of a process. The level rises if finer counters would divide a cause of much of its loss. It stays
 * while the process is slow, and falls after a window in which the process was not slow. */
static uint64_t choose_counter_level(const struct variance *v, size_t process, uint64_t level)
{
	bool slow = false;

	for (size_t r = 0; r < v->n_regions; r++) {
		const struct region *region = &v->regions[r];
		bool on_this_host = false;

		for (size_t i = 0; i < region->n; i++)
			on_this_host |= region->members[i].process == process;
		slow |= on_this_host;
		for (size_t i = 0; on_this_host && i < region->breakdown.n; i++)
			if (region->breakdown.parts[i].impact_s > BREAKDOWN_MAJOR * region->breakdown.loss_s &&
			    level_for_cause(region->breakdown.parts[i].cause) > level)
				return level + 1;
	}
	return slow || level == RECORD_LEVEL_TIMES ? level : level - 1;
}

static const struct followed_file *find_file(const struct follow_state *f, const struct fragment_process *p)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->files[i].known && f->files[i].header.pid == p->pid && f->files[i].header.started_ns == p->started_ns)
			return &f->files[i];
	return NULL;
}

size_t follow_change_levels(struct follow_state *f, const struct variance *v, struct follow_level *out)
{
	size_t n = 0;

	for (size_t p = 0; p < v->fragments.n_processes; p++) {
		const struct followed_file *one = find_file(f, &v->fragments.processes[p]);
		uint64_t level = one && one->on_this_host && !one->has_ended ? one->header.level : RECORD_LEVEL_ALL, next;
		int file;

		if (level == RECORD_LEVEL_ALL || level > RECORD_LEVEL_RESOURCES || (next = choose_counter_level(v, p, level)) == level)
			continue;
		file = open(one->path, O_WRONLY | O_CLOEXEC);
		if (file < 0)
			continue;
		if (pwrite(file, &next, sizeof(next), offsetof(struct record_header, level)) == sizeof(next))
			out[n++] = (struct follow_level){ p, (enum record_level)next };
		close(file);
	}
	return n;
}
