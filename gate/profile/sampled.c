#include "gate/profile/sampled.h"

#include "base/mem.h"
#include "base/text.h"
#include "fleet/emulate/kernel_calls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct class_row { /* `names` is in the format of code_name_matches() */
	const char *class, *names;
};

/* The classes of the kernel's work with their system calls, also under the names of the C library's functions. */
#define NAME(call) #call " "
static const struct class_row kernel_classes[] = {
	{ "file data", KERNEL_DATA(NAME) "transfer preadv* pwritev* sendfile* lseek64 pread pwrite posix_fadvise* posix_fallocate* "
					 "ftruncate64 truncate64 io_uring_*" },
	{ "file metadata", KERNEL_METADATA(NAME) KERNEL_OLD_METADATA(NAME) /* other names of such calls: */
	  "open64 openat* stat64 fstat64 lstat64 fstatat* newstat newfstat newlstat faccessat* getdents* rename* unlink* symlink* "
	  "readlink* mkdir* mknod* fchmod* fchown* utime* inotify_*" },
	{ "mapping memory", KERNEL_MAPPING(NAME) "mmap* mlock* munlock*" },
	{ "page faults", "page_fault" },
	{ "processes and signals", KERNEL_PROCESSES(NAME) KERNEL_OLD_PROCESSES(NAME) "clone* execve* rt_sig*" },
	{ "synchronisation",
	  KERNEL_SYNCHRONISATION(NAME) KERNEL_OLD_SYNCHRONISATION(NAME) "futex* lll_* pthread_* sem_* sched_* eventfd* mq_*" },
	{ "network and pipes", KERNEL_NETWORK(NAME) KERNEL_OLD_NETWORK(NAME) "socket* accept* send recv* pipe*" },
	{ "waiting for events", KERNEL_EVENTS(NAME) KERNEL_OLD_EVENTS(NAME) "epoll_* timerfd_* signalfd*" },
	{ "time", KERNEL_TIME(NAME) KERNEL_OLD_TIME(NAME) "clock_* timer_*" },
	{ "interrupts", "interrupt" },
	{ "entering and leaving the kernel", "boundary" },
	{ "system call filters", "filter" },
	{ "switching between processes", "schedule" },
};

static const char *find_class_of_call(const char *name)
{
	for (size_t i = 0; i < sizeof(kernel_classes) / sizeof(kernel_classes[0]); i++)
		if (code_name_matches(kernel_classes[i].names, name))
			return kernel_classes[i].class;
	return "other work";
}

const char *sampled_kernel_class(const char *name)
{
	for (size_t i = 0; i < sizeof(kernel_classes) / sizeof(kernel_classes[0]); i++)
		if (strcmp(kernel_classes[i].class, name) == 0)
			return kernel_classes[i].class;
	return "other work";
}

static const char *base_name(const char *path)
{
	return strcmp(path, "//anon") == 0 ? path : text_file_name(path);
}

/* Adds samples to a class, which is added if necessary. Returns the index of the class. */
static size_t class_add(struct sampled *s, const char *name, bool kernel, uint64_t count)
{
	size_t i = 0;

	while (i < s->n && (s->classes[i].kernel != kernel || strcmp(s->classes[i].name, name) != 0))
		i++;
	if (i == s->n && s->n >= SAMPLED_CLASSES_MAX - 2) { /* the last two entries are for "other work" and "other code" */
		name = kernel ? "other work" : "other code";
		for (i = 0; i < s->n && (s->classes[i].kernel != kernel || strcmp(s->classes[i].name, name) != 0);)
			i++;
	}
	if (i == s->n) {
		snprintf(s->classes[i].name, sizeof(s->classes[i].name), "%s", name);
		s->classes[i].kernel = kernel;
		s->n++;
	}
	s->classes[i].count += count;
	*(kernel ? &s->kernel : &s->user) += count;
	return i;
}

/* Adds samples to a function. Returns false if the list of functions is full. */
static bool function_add(struct sampled *s, const struct code_place *place, const char *file, size_t class, uint64_t count)
{
	struct sampled_function *f = s->functions, *end = s->functions + s->n_functions;

	while (f < end && (f->class != class || strcmp(f->name, place->name) != 0 || strcmp(f->file, file) != 0))
		f++;
	if (f == s->functions + SAMPLED_FUNCTIONS_MAX)
		return false;
	if (f == end) {
		*f = (struct sampled_function){ .class = class, .is_class_from_callers = place->is_class_from_callers };
		snprintf(f->name, sizeof(f->name), "%s", place->name);
		snprintf(f->file, sizeof(f->file), "%s", file);
		s->n_functions++;
	}
	f->count += count;
	return true;
}

/* The state of the parser. */
struct lines {
	struct sampled *sampled;
	const char *program;
	struct code *code;
	const char *path;		     /* path in the last line `user`; NULL if another line followed */
	uint64_t inode, left;		     /* inode of that file; number of its samples that no later line has located yet */
	struct sampled_sliced_class *sliced; /* class of the last line `user` or `kernel`; NULL if the list was full */
	double slice_ns, lasted_ns;
	size_t programs[SAMPLED_PROGRAMS], n_programs; /* index in sampled->programs of each program of the run */
	uint64_t transfers, file_samples,
	    end_samples; /* numbers of samples in reads and writes: of unknown kind; of files; of pipes and sockets */
};

static bool is_program(const struct lines *l, const char *path)
{
	return strcmp(base_name(path), base_name(l->program)) == 0;
}

static const char *file_name(const struct lines *l, const char *path)
{
	return l->sampled->program_name && is_program(l, path) ? l->sampled->program_name : base_name(path);
}

/* Sets out[] to the class of user code; if no table has the file, the class is named after the file. */
static void find_class_of_code(const struct lines *l, enum code_class class, const char *path, char *out, size_t size)
{
	const char *name = file_name(l, path);

	/* Two compared programs form one class, even if only one of their names is in the tables. */
	if (l->sampled->program_name && is_program(l, path) && class == code_class_of_file(base_name(path)))
		class = CODE_NONE;
	if (class != CODE_NONE || strcmp(path, "?") == 0)
		snprintf(out, size, "%s", class != CODE_NONE ? code_class_text(class) : "other code");
	else
		snprintf(out, size, "%s%s",
			 is_program(l, path)   ? SAMPLED_OWN_PREFIX
			 : strstr(name, ".so") ? "library "
					       : "",
			 TEXT_SANITIZED(name));
}

static struct sampled_sliced_class *find_sliced(struct sampled *s, const char *name, bool kernel)
{
	size_t i = 0;

	while (i < s->n_sliced && (s->sliced[i].kernel != kernel || strcmp(s->sliced[i].name, name) != 0))
		i++;
	if (i == SAMPLED_SLICED_MAX)
		return NULL;
	if (i == s->n_sliced) {
		s->sliced[s->n_sliced++].kernel = kernel;
		snprintf(s->sliced[i].name, sizeof(s->sliced[i].name), "%s", name);
	}
	return &s->sliced[i];
}

/* Distributes `count` samples over the parts between `from` and `to`, which are in units of parts. */
static void slice_spread(double *parts, double from, double to, double count)
{
	for (size_t k = (size_t)from; k < SAMPLED_SLICES && (double)k < to; k++)
		parts[k] += count * (fmin(to, (double)k + 1) - fmax(from, (double)k)) / (to - from);
}

static enum assay_status line_parse_slices(struct lines *l, const char *name, struct assay_error *err)
{
	double scale = l->lasted_ns > 0 ? SAMPLED_SLICES / l->lasted_ns * l->slice_ns : 0;
	size_t k = 0;

	if (!(scale > 0) || strspn(name, "0123456789,") != strlen(name) || strlen(name) > 16 * SAMPLED_SLICES)
		return assay_fail(err, ASSAY_E_FORMAT, "invalid slices");
	for (const char *at = name; *at && k < 2 * SAMPLED_SLICES; k++) {
		char *end;
		double count = (double)strtoull(at, &end, 10);

		if (count > 0 && l->sliced && (double)k * scale < SAMPLED_SLICES && !l->sampled->no_more_slices)
			slice_spread(l->sliced->count, (double)k * scale, fmin((double)(k + 1) * scale, SAMPLED_SLICES), count);
		at = *end ? end + 1 : end;
	}
	return ASSAY_OK;
}

static enum assay_status line_add_slice(struct lines *l, const char *name, int64_t count, struct assay_error *err)
{
	int64_t lasted;

	if (!text_parse_int64(name, &lasted) || count <= 0 || lasted <= 0 || lasted / count > SAMPLED_SLICES || l->lasted_ns > 0)
		return assay_fail(err, ASSAY_E_FORMAT, "an invalid time of samples");
	l->slice_ns = (double)count;
	l->lasted_ns = (double)lasted;
	if (!l->sampled->no_more_slices) {
		l->sampled->sliced_ns += l->lasted_ns;
		l->sampled->sliced_runs++;
	}
	return ASSAY_OK;
}

static enum assay_status line_add_program_samples(struct lines *l, const char *name, uint64_t count, struct assay_error *err)
{
	struct sampled *s = l->sampled;
	char shown[TEXT_SANITIZED_BYTES];
	size_t i = 0;

	if (l->n_programs == SAMPLED_PROGRAMS)
		return assay_fail(err, ASSAY_E_FORMAT, "too many programs in samples");
	text_sanitize(name, shown);
	while (i < s->n_programs && strcmp(s->programs[i].name, shown) != 0)
		i++;
	if (i == SAMPLED_PROGRAMS)
		i = 0;
	if (i == s->n_programs)
		snprintf(s->programs[s->n_programs++].name, sizeof(s->programs[i].name), "%s", shown);
	s->programs[i].count += count;
	l->programs[l->n_programs++] = i;
	return ASSAY_OK;
}

static enum assay_status line_programs(struct lines *l, const char *name, struct assay_error *err)
{
	if (strspn(name, "0123456789,") != strlen(name) || strlen(name) > 16 * SAMPLED_PROGRAMS)
		return assay_fail(err, ASSAY_E_FORMAT, "invalid programs of samples");
	for (size_t k = 0; *name && k < l->n_programs; k++) {
		char *end;
		double count = (double)strtoull(name, &end, 10);

		if (l->sliced)
			l->sliced->in_program[l->programs[k]] += count;
		name = *end ? end + 1 : end;
	}
	return ASSAY_OK;
}

/* Adds those samples of the last file that no line has located. */
static void lines_flush(struct lines *l)
{
	char class[SAMPLED_NAME_BYTES];

	if (l->left > 0) {
		find_class_of_code(l, code_class_of_file(base_name(l->path)), l->path, class, sizeof(class));
		class_add(l->sampled, class, false, l->left);
		l->sampled->unnamed += l->code ? l->left : 0;
	}
	l->left = 0;
}

/* Returns the class of the system call that just returned to user code in `function`. The function's name identifies most calls, but not
 * the kind of a read or write. The time belongs to the kernel, because the sampling clock is delayed while interrupts are off, and then
 * hits one of the next two instructions. */
static const char *find_class_of_return_path(const char *function)
{
	const char *class = find_class_of_call(function + strspn(function, "_"));

	return strcmp(class, "other work") == 0 || strcmp(class, find_class_of_call("read")) == 0 ? find_class_of_call("boundary") : class;
}

/* Adds samples in a function of the file that the last line `user` names. */
static void line_samples_add(struct lines *l, const struct code_place *place, uint64_t count)
{
	char class[SAMPLED_NAME_BYTES];

	l->left -= count;
	find_class_of_code(l, place->class, l->path, class, sizeof(class));
	if (!function_add(l->sampled, place, TEXT_SANITIZED(file_name(l, l->path)), class_add(l->sampled, class, false, count), count) ||
	    !*place->name)
		l->sampled->unnamed += count;
	l->sampled->nameless += place->nameless ? count : 0;
}

static void place_add(struct lines *l, uint64_t offset, uint64_t count)
{
	struct code_place place;

	code_find_place(l->code, l->path, l->inode, offset, &place);
	if (!place.after_system_call) {
		line_samples_add(l, &place, count);
		return;
	}
	class_add(l->sampled, find_class_of_return_path(place.name), true, count);
	l->left -= count;
}

static enum assay_status line_place(struct lines *l, const char *name, uint64_t count, struct assay_error *err)
{
	char *end;
	uint64_t offset = strtoull(name, &end, 16);

	if (!l->path || *end || end == name || count > l->left)
		return assay_fail(err, ASSAY_E_FORMAT, "an invalid place in a file");
	if (l->code)
		place_add(l, offset, count);
	return ASSAY_OK;
}

/* Reads "FILE:LINE:BEGIN FUNCTION", which names a sampled function in the application's own files in a stored run (sampled_lines.h). */
static enum assay_status line_parse_source(struct lines *l, const char *name, uint64_t count, struct assay_error *err)
{
	const char *function = strchr(name, ' ');
	struct code_place place = { .class = CODE_NONE };

	if (!l->path || !function || !function[1] || count > l->left)
		return assay_fail(err, ASSAY_E_FORMAT, "an invalid source line");
	place.class = code_class_of_file(base_name(l->path));
	snprintf(place.name, sizeof(place.name), "%s", function + 1);
	line_samples_add(l, &place, count);
	return ASSAY_OK;
}

/* Adds samples in the kernel. `name` is the system call or other event that entered it. */
static void line_add_kernel_samples(struct lines *l, const char *name, uint64_t count)
{
	class_add(l->sampled, find_class_of_call(name), true, count);
	l->sliced = l->lasted_ns > 0 ? find_sliced(l->sampled, find_class_of_call(name), true) : NULL;
	l->transfers += strcmp(name, "transfer") == 0 ? count : 0;
	l->end_samples += strcmp(name, "pipe") == 0 || strcmp(name, "socket") == 0 ? count : 0;
	l->file_samples += code_name_matches("read write readv writev", name) ? count : 0;
}

static enum assay_status line_add(struct lines *l, const char *where, const char *name, int64_t count, struct assay_error *err)
{
	struct sampled *s = l->sampled;

	if (strcmp(where, "at") == 0)
		return line_place(l, name, (uint64_t)count, err);
	if (strcmp(where, "line") == 0)
		return line_parse_source(l, name, (uint64_t)count, err);
	if (strcmp(where, "inode") == 0) {
		l->inode = (uint64_t)count;
		return ASSAY_OK;
	}
	if (strcmp(where, "slices") == 0)
		return line_parse_slices(l, name, err);
	if (strcmp(where, "programs") == 0)
		return line_programs(l, name, err);
	lines_flush(l);
	l->path = NULL;
	if (strcmp(where, "slice") == 0)
		return line_add_slice(l, name, count, err);
	if (strcmp(where, "program") == 0)
		return line_add_program_samples(l, name, (uint64_t)count, err);
	if (strcmp(where, "refused") == 0 || strcmp(where, "forbidden") == 0) {
		s->needs_more_rights = *where == 'f';
		snprintf(s->refused, sizeof(s->refused), "%s", name);
	} else if (strcmp(where, "period") == 0) {
		s->period_ns = count;
	} else if (strcmp(where, "lost") == 0) {
		s->lost += (uint64_t)count;
	} else if (strcmp(where, "maps_lost") == 0) {
		s->maps_lost += (uint64_t)count;
	} else if (strcmp(where, "processes") == 0) {
		s->processes += (uint64_t)count;
		s->has_per_process_clocks = s->has_per_process_clocks || strcmp(name, "whole") != 0;
	} else if (strcmp(where, "threads") == 0) {
		s->threads += (uint64_t)count;
	} else if (strcmp(where, "user") == 0) {
		char class[SAMPLED_NAME_BYTES];

		l->path = name;
		l->left = (uint64_t)count;
		l->inode = 0;
		find_class_of_code(l, code_class_of_file(base_name(name)), name, class, sizeof(class));
		l->sliced = l->lasted_ns > 0 ? find_sliced(s, class, false) : NULL;
	} else if (strcmp(where, "kernel") == 0 && strcmp(name, "not_allowed") == 0) {
		s->kernel_hidden = true;
	} else if (strcmp(where, "kernel") == 0 && strcmp(name, "not_named") == 0) {
		s->kernel_names_hidden = true;
	} else if (strcmp(where, "kernel") == 0) {
		line_add_kernel_samples(l, name, (uint64_t)count);
	} else {
		return assay_fail(err, ASSAY_E_FORMAT, "samples of an unknown place");
	}
	return ASSAY_OK;
}

/* Divides the samples in reads and writes of unknown kind between file data and pipes, in proportion to the samples of known kind. Before,
 * all of them counted as file data. */
static void lines_divide(struct lines *l)
{
	struct sampled *s = l->sampled;
	double end_samples =
	    l->end_samples ? (double)l->transfers * (double)l->end_samples / (double)(l->end_samples + l->file_samples) : 0;
	uint64_t moved;

	s->undivided += end_samples;
	moved = (uint64_t)fmin(floor(s->undivided), (double)l->transfers);
	s->undivided -= (double)moved;
	if (moved == 0)
		return;
	s->classes[class_add(s, find_class_of_call("read"), true, 0)].count -= moved;
	s->kernel -= moved;
	class_add(s, find_class_of_call("pipe"), true, moved);
}

static enum assay_status line_read(struct lines *l, char *line, struct assay_error *err)
{
	char *where = strchr(line, ' '), *name = where ? strchr(where + 1, ' ') : NULL;
	int64_t count;

	if (!name)
		return assay_fail(err, ASSAY_E_FORMAT, "an invalid line of samples");
	*where++ = *name++ = '\0';
	if (!text_parse_int64(line, &count) || count < 0 || (count > INT64_MAX / 4096 && strcmp(where, "inode") != 0))
		return assay_fail(err, ASSAY_E_FORMAT, "an invalid number of samples");
	return line_add(l, where, name, count, err);
}

enum assay_status sampled_add(struct sampled *sampled, const char *text, const char *program, struct code *code, struct assay_error *err)
{
	struct lines lines = { .sampled = sampled, .program = program, .code = code };
	char *copy = mem_string(text), *rest = copy, *line;
	enum assay_status st = ASSAY_OK;

	while (!st && (line = strsep(&rest, "\n")))
		st = *line ? line_read(&lines, line, err) : ASSAY_OK;
	lines_flush(&lines);
	lines_divide(&lines);
	free(copy);
	return st;
}
