#include "gate/profile/sampled.h"

#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define Z	  1.6448536269514722 /* 90 % on both sides */
#define COVERED	  .9		     /* of the processor's time: samples are late now and then */
#define SHOWN_MIN .005		     /* of the time: smaller classes are for programs only */

/* ---- classes ---- */

/* Names separated by blanks; '*' at the end of one: anything. */
struct class_row {
	const char *class, *names;
};

/* Of the kernel, by system call. A file, a pipe and a socket are read by the same calls. */
static const struct class_row kernel_classes[] = {
	{ "reading and writing",
	  "read write pread64 pwrite64 readv writev preadv* pwritev* sendfile* copy_file_range splice tee vmsplice fsync "
	  "fdatasync sync syncfs sync_file_range truncate ftruncate fallocate readahead fadvise64 lseek io_submit "
	  "io_getevents io_uring_*" },
	{ "names and attributes of files",
	  "open openat* creat close close_range stat fstat lstat newstat newfstat newlstat newfstatat statx access faccessat* getdents* "
	  "rename* link linkat unlink* symlink* readlink* mkdir* rmdir mknod* chmod fchmod* chown fchown* lchown utime* futimesat statfs "
	  "fstatfs fcntl dup dup2 dup3 flock ioctl umask getcwd chdir fchdir setxattr getxattr listxattr inotify_*" },
	{ "mapping memory",
	  "mmap* munmap mprotect mremap madvise brk msync mincore mlock* munlock* mbind shmat shmget shmdt memfd_create" },
	{ "page faults", "page_fault" },
	{ "processes and signals",
	  "clone* fork vfork execve* exit exit_group wait4 waitid kill tkill tgkill rt_sig* sigaltstack prctl arch_prctl "
	  "set_tid_address set_robust_list rseq getpid gettid getppid getrusage prlimit64 getrlimit setrlimit" },
	{ "synchronisation", "futex* sched_* membarrier semop semtimedop semget semctl eventfd* msgsnd msgrcv mq_*" },
	{ "network and pipes", "socket* bind listen accept* connect send sendto sendmsg sendmmsg recv* shutdown getsockopt setsockopt "
			       "getsockname getpeername pipe*" },
	{ "waiting for events", "poll ppoll select pselect6 epoll_* timerfd_* signalfd* pause" },
	{ "time", "nanosleep clock_* gettimeofday settimeofday time times timer_* getitimer setitimer alarm" },
	{ "interrupts", "interrupt" },
	{ "entering and leaving the kernel", "boundary" },
	{ "switching between processes", "schedule" },
};

/* Of user space, by the file's name without its directory. */
static const struct class_row library_classes[] = {
	{ "C library", "libc.so* libc-2*" },
	{ "dynamic linker", "ld-linux* ld-2* ld.so*" },
	{ "mathematics library", "libm.so* libm-2* libmvec*" },
	{ "C++ library", "libstdc++* libc++* libgcc_s*" },
	{ "compression", "libz.so* libzstd* liblzma* libbz2* liblz4* libsnappy* libbrotli* libdeflate*" },
	{ "cryptography", "libcrypto* libssl* libgcrypt* libgnutls* libnettle* libhogweed* libsodium*" },
	{ "linear algebra", "libopenblas* libblas* liblapack* libmkl* libcublas*" },
	{ "threads", "libpthread* libgomp* libomp* libtbb*" },
	{ "memory allocator", "libjemalloc* libtcmalloc* libmimalloc*" },
	{ "clock (vDSO)", "[vdso]" },
	{ "generated code", "//anon anon_inode* memfd:*" },
};

static bool is_named(const char *names, const char *name)
{
	size_t length = strlen(name);

	while (*names) {
		size_t n = strcspn(names, " ");
		bool open = names[n - 1] == '*';

		if (open ? length >= n - 1 && strncmp(names, name, n - 1) == 0 : length == n && strncmp(names, name, n) == 0)
			return true;
		names += n + (names[n] == ' ');
	}
	return false;
}

static const char *class_in(const struct class_row *rows, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (is_named(rows[i].names, name))
			return rows[i].class;
	return NULL;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] && strcmp(path, "//anon") != 0 ? slash + 1 : path;
}

/* The class of user code; of a file that no row knows, its own name. */
static void class_of_file(const char *path, const char *program, char *out, size_t size)
{
	const char *name = base_name(path), *class = class_in(library_classes, sizeof(library_classes) / sizeof(library_classes[0]), name);
	char shown[TEXT_SHOWN_BYTES];

	if (class || strcmp(path, "?") == 0)
		snprintf(out, size, "%s", class ? class : "other code");
	else
		snprintf(out, size, "%s%s",
			 strcmp(name, base_name(program)) == 0 ? "own code of "
			 : strstr(name, ".so")		       ? "library "
							       : "",
			 text_shown(name, shown));
}

/* ---- counting ---- */

static void class_add(struct sampled *s, const char *name, bool kernel, uint64_t count)
{
	size_t i = 0;

	while (i < s->n && (s->classes[i].kernel != kernel || strcmp(s->classes[i].name, name) != 0))
		i++;
	if (i == s->n && s->n >= SAMPLED_CLASSES_MAX - 2) { /* the last two are the rest of either */
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
}

static enum assay_status line_add(struct sampled *s, char *line, const char *program, struct assay_error *err)
{
	char *where = strchr(line, ' '), *name = where ? strchr(where + 1, ' ') : NULL, class[sizeof(s->classes[0].name)];
	int64_t count;

	if (!name)
		return assay_fail(err, ASSAY_E_FORMAT, "a line of samples that makes no sense");
	*where++ = *name++ = '\0';
	if (!text_int64(line, &count) || count < 0 || count > INT64_MAX / 4096)
		return assay_fail(err, ASSAY_E_FORMAT, "a number of samples that makes no sense");
	if (strcmp(where, "refused") == 0 || strcmp(where, "forbidden") == 0) {
		s->forbidden = *where == 'f';
		snprintf(s->refused, sizeof(s->refused), "%s", name);
	} else if (strcmp(where, "period") == 0) {
		s->period_ns = count;
	} else if (strcmp(where, "lost") == 0) {
		s->lost += (uint64_t)count;
	} else if (strcmp(where, "processes") == 0) {
		s->processes += (uint64_t)count;
	} else if (strcmp(where, "user") == 0) {
		class_of_file(name, program, class, sizeof(class));
		class_add(s, class, false, (uint64_t)count);
	} else if (strcmp(where, "kernel") == 0 && strcmp(name, "not_allowed") == 0) {
		s->kernel_hidden = true;
	} else if (strcmp(where, "kernel") == 0 && strcmp(name, "not_named") == 0) {
		s->kernel_unnamed = true;
	} else if (strcmp(where, "kernel") == 0) {
		const char *found = class_in(kernel_classes, sizeof(kernel_classes) / sizeof(kernel_classes[0]), name);

		class_add(s, found ? found : "other work", true, (uint64_t)count);
	} else {
		return assay_fail(err, ASSAY_E_FORMAT, "samples of an unknown place");
	}
	return ASSAY_OK;
}

enum assay_status sampled_add(struct sampled *sampled, const char *text, const char *program, struct assay_error *err)
{
	char *copy = mem_string(text), *rest = copy, *line;
	enum assay_status st = ASSAY_OK;

	while (!st && (line = strsep(&rest, "\n")))
		st = *line ? line_add(sampled, line, program, err) : ASSAY_OK;
	free(copy);
	return st;
}

bool sampled_divide(const struct sampled *s, uint64_t user, uint64_t kernel, double *user_s, double *sys_s)
{
	double cpu_s = *user_s + *sys_s, computing = (double)(s->user - user), all = computing + (double)(s->kernel - kernel);

	if (s->kernel_hidden || all <= 0.0 || all * (double)s->period_ns < COVERED * 1e9 * cpu_s)
		return false;
	*user_s = cpu_s * computing / all;
	*sys_s = cpu_s - *user_s;
	return true;
}

/* ---- the answer ---- */

/* Bounds of a share by counts, 90 % (Wilson, Journal of the American Statistical Association 22(158), 1927). */
static void wilson(double count, double all, double *low, double *high)
{
	double p = count / all, square = Z * Z / all, middle = (p + square / 2.0) / (1.0 + square),
	       reach = Z * sqrt(p * (1.0 - p) / all + square / (4.0 * all)) / (1.0 + square);

	*low = fmax(middle - reach, 0.0);
	*high = fmin(middle + reach, 1.0);
}

/* What the shares rest on. */
struct basis {
	const struct sampled *sampled;
	const struct levels *levels;
	double covered; /* the part of the processor's time that was sampled: (0, 1] */
};

static double class_share(const struct basis *b, const struct sampled_class *class)
{
	return b->levels->of[class->kernel ? LEVEL_KERNEL : LEVEL_COMPUTE].share * b->covered * (double)class->count /
	       (double)(class->kernel ? b->sampled->kernel : b->sampled->user);
}

static int compare_classes(const void *a, const void *b, void *basis)
{
	const struct sampled_class *x = a, *y = b;
	double p = class_share(basis, x), q = class_share(basis, y);

	return p != q ? (p < q) - (p > q) : strcmp(x->name, y->name);
}

/* Both uncertainties at once: how the level varies over runs, and how few samples there are. */
static void answer_class(const struct basis *b, const struct sampled_class *class, struct document *d)
{
	const struct sampled *s = b->sampled;
	const struct levels *levels = b->levels;
	size_t level = class->kernel ? LEVEL_KERNEL : LEVEL_COMPUTE;
	double share = class_share(b, class), low, high, of_low = levels->of[level].low, of_high = levels->of[level].high;

	wilson((double)class->count, (double)(class->kernel ? s->kernel : s->user), &low, &high);
	low *= b->covered * (isnan(of_low) ? levels->of[level].share : of_low);
	high *= b->covered * (isnan(of_high) ? levels->of[level].share : of_high);
	doc_row(d);
	if (share < SHOWN_MIN)
		doc_hide(d);
	doc_set(d, "level", "category");
	doc_showf(d, "share", "share", share, "%.1f %%", 100 * share);
	doc_showf(d, NULL, "90 % interval", low, "%.1f to %.1f %%", 100 * low, 100 * high);
	doc_set(d, "low", low);
	doc_set(d, "high", high);
	doc_show(d, "how", "how", "measured");
	doc_show(d, "name", "of that", class->name);
	doc_show(d, NULL, "where", class->kernel ? "in the kernel" : "computing");
	doc_set(d, "of", class->kernel ? "kernel" : "compute");
	doc_bar(d, "", share);
	doc_set(d, "verdict", levels->certain && levels->divided ? "trusted" : "indicative");
}

static void answer_missing(const struct sampled *s, struct document *d)
{
	if (*s->refused)
		doc_line(d, "Where in the code is not known: time cannot be sampled here (%s)%s", s->refused,
			 s->forbidden ? "; 'sysctl kernel.perf_event_paranoid=1' or the capability CAP_PERFMON allows it" : "");
	else if (s->kernel_hidden)
		doc_line(d, "What the kernel did is not known: 'sysctl kernel.perf_event_paranoid=1' or the capability CAP_PERFMON allows "
			    "that to be sampled");
	else if (s->kernel_unnamed && s->kernel > 0)
		doc_line(d, "What the kernel did is not known: it hides the addresses of its functions; 'sysctl kernel.kptr_restrict=0' "
			    "shows them");
	if (s->lost > 0)
		doc_line(d, "%llu sample%s lost", (unsigned long long)s->lost, s->lost == 1 ? " was" : "s were");
}

void sampled_answer(struct sampled *sampled, const struct levels *levels, double cpu_s, struct document *d)
{
	double samples = (double)(sampled->user + sampled->kernel), expected = cpu_s * 1e9 / (double)sampled->period_ns,
	       covered = samples >= COVERED * expected ? 1.0 : samples / expected,
	       left = (levels->of[LEVEL_COMPUTE].share + levels->of[LEVEL_KERNEL].share) * (1.0 - covered);
	struct basis basis = { sampled, levels, covered };

	if (sampled->period_ns <= 0) { /* refused */
		answer_missing(sampled, d);
		return;
	}
	qsort_r(sampled->classes, sampled->n, sizeof(sampled->classes[0]), compare_classes, &basis);
	doc_set(d, "samples", (int64_t)samples);
	doc_set(d, "not_sampled", left);
	doc_table(d, "categories");
	for (size_t i = 0; i < sampled->n; i++)
		answer_class(&basis, &sampled->classes[i], d);
	doc_end(d);
	if (left >= SHOWN_MIN)
		doc_line(d,
			 "%.1f %% of the time was not sampled: in processes that had a processor for less than %.0f ms, or have another "
			 "user's rights",
			 100 * left, (double)sampled->period_ns / 1e6);
	answer_missing(sampled, d);
}
