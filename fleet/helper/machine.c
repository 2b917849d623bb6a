#include "fleet/helper/surroundings.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define JOURNALS      "/run"
#define JOURNAL	      "assay-shape-"
#define JOURNAL_BYTES (1u << 20)
#define VALUE_BYTES   4096
#define CLAIMS	      100
#define BUCKET	      "bucket:" /* begins what stands in the journal for an interface: nanoseconds a byte, 0 as it was */

const char *machine_root(void)
{
	const char *root = getenv("ASSAY_MACHINE_ROOT");

	return root ? root : "";
}

/* ---- files of the kernel ---- */

static int put_value(const char *path, const char *text)
{
	bool bucket = strncmp(path, BUCKET, strlen(BUCKET)) == 0;
	int fd = bucket ? -1 : open(path, O_WRONLY | O_TRUNC | O_CLOEXEC), errnum = 0;

	if (bucket)
		return network_slow(path + strlen(BUCKET), (unsigned)strtoul(text, NULL, 10));
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		errnum = errno;
	if (fd >= 0)
		close(fd);
	return errnum;
}

static bool get_value(const char *path, char text[VALUE_BYTES])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, VALUE_BYTES - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* Of a file in the same directory as `path`, or below it; 0: it does not say. */
static unsigned long number_beside(const char *path, const char *name)
{
	char beside[VALUE_BYTES], text[VALUE_BYTES];

	snprintf(beside, sizeof(beside), "%.*s/%s", (int)(strrchr(path, '/') - path), path, name);
	return get_value(beside, text) ? strtoul(text, NULL, 10) : 0;
}

/* ---- what is written ---- */

static unsigned long lessened(unsigned long value, unsigned level, unsigned long least)
{
	unsigned long left = value / 100 * (100 - level) + value % 100 * (100 - level) / 100;

	return left > least ? left : least;
}

/* So many of its lowest ones: resctrl wants them side by side. */
static unsigned long narrowed(unsigned long mask, unsigned level, unsigned long least)
{
	unsigned long left = lessened((unsigned long)__builtin_popcountl(mask), level, least ? least : 1), narrow = 0;

	for (unsigned bit = 0; bit < 8 * sizeof(mask) && left; bit++) {
		if (mask >> bit & 1) {
			narrow |= 1ul << bit;
			left--;
		}
	}
	return narrow;
}

/* The line of a resource in schemata, "MB:0=100;1=100": as it is, and with each value lessened. False: there is none. */
static bool schemata_line(const char *path, const char *text, enum shape_means means, unsigned level, char was[VALUE_BYTES],
			  char is[VALUE_BYTES])
{
	bool mask = means == SHAPE_RESCTRL_L3;
	const char *name = mask ? "L3:" : "MB:", *at = text;
	unsigned long least = number_beside(path, mask ? "info/L3/min_cbm_bits" : "info/MB/min_bandwidth");
	size_t n = 3;

	while ((at = strstr(at, name)) && at > text && at[-1] != '\n' && at[-1] != ' ')
		at++;
	if (!at)
		return false;
	snprintf(was, VALUE_BYTES, "%.*s\n", (int)strcspn(at, "\n"), at);
	snprintf(is, VALUE_BYTES, "%s", name);
	for (at = was + 3; *at && n < VALUE_BYTES - 40;) {
		char *value, *end;
		unsigned long domain = strtoul(at, &value, 10), number;

		if (value == at || *value != '=')
			return false;
		number = strtoul(value + 1, &end, mask ? 16 : 10);
		if (mask)
			n += (size_t)snprintf(is + n, VALUE_BYTES - n, "%lu=%lx%c", domain, narrowed(number, level, least), *end);
		else
			n += (size_t)snprintf(is + n, VALUE_BYTES - n, "%lu=%lu%c", domain, lessened(number, level, least), *end);
		at = end + (*end != '\0');
	}
	return !*at && n > 3;
}

static bool new_value(const char *path, enum shape_means means, unsigned level, char was[VALUE_BYTES], char is[VALUE_BYTES])
{
	char text[VALUE_BYTES];

	if (!get_value(path, text))
		return false;
	if (means != SHAPE_CPUFREQ)
		return schemata_line(path, text, means, level, was, is);
	snprintf(was, VALUE_BYTES, "%.*s", (int)strcspn(text, "\n"), text);
	snprintf(is, VALUE_BYTES, "%lu", lessened(strtoul(was, NULL, 10), level, number_beside(path, "cpuinfo_min_freq")));
	return strtoul(was, NULL, 10) > 0;
}

/* ---- the journal: a path and what stood there, a NUL behind each ---- */

struct changes {
	char *journal, *values; /* [n_journal], [n_values]: a path and what is to stand there */
	size_t n_journal, n_values;
};

static void add_texts(char **to, size_t *n, const char *path, const char *value)
{
	size_t first = strlen(path) + 1, second = strlen(value) + 1;

	*to = realloc(*to, *n + first + second);
	if (!*to)
		abort();
	memcpy(*to + *n, path, first);
	memcpy(*to + *n + first, value, second);
	*n += first + second;
}

/* Writes each value; the first error number, with its path. */
static int put_all(const char *texts, size_t n, const char **path)
{
	int failed = 0;

	for (const char *at = texts; n > 0 && texts[n - 1] == '\0' && at < texts + n;) {
		const char *value = at + strlen(at) + 1;
		int errnum = value < texts + n ? put_value(at, value) : 0;

		if (errnum && !failed) {
			failed = errnum;
			*path = at;
		}
		at = value < texts + n ? value + strlen(value) + 1 : value;
	}
	return failed;
}

/* What was given back stands there no more, for all that have it open. */
static void pay(int file)
{
	struct stat is;
	char *texts = NULL;
	const char *path;

	if (fstat(file, &is) == 0 && is.st_size > 0 && is.st_size <= JOURNAL_BYTES && (texts = malloc((size_t)is.st_size)) &&
	    pread(file, texts, (size_t)is.st_size, 0) == is.st_size)
		put_all(texts, (size_t)is.st_size, &path);
	if (ftruncate(file, 0))
		put_all("", 0, &path);
	free(texts);
}

static bool is_there(int file)
{
	struct stat is;

	return fstat(file, &is) == 0 && S_ISREG(is.st_mode) && is.st_nlink == 1 && is.st_uid == geteuid();
}

/* Who sweeps between the making and the lock may take it for one that nobody has: then there is another name. */
static int journal_make(const char *root, struct machine *m)
{
	int errnum = EEXIST;

	for (unsigned i = 0; i < CLAIMS && errnum == EEXIST; i++) {
		if (asprintf(&m->journal, "%s" JOURNALS "/" JOURNAL "%d-%u", root, (int)getpid(), i) < 0)
			abort();
		m->file = open(m->journal, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		errnum = m->file < 0 ? errno : 0;
		if (!errnum && flock(m->file, LOCK_EX | LOCK_NB) == 0 && is_there(m->file))
			return 0;
		if (m->file >= 0)
			close(m->file);
		m->file = -1;
		errnum = errnum ? errnum : EEXIST;
		free(m->journal);
		m->journal = NULL;
	}
	return errnum;
}

void machine_sweep(const char *root)
{
	char path[VALUE_BYTES];
	DIR *directory;

	snprintf(path, sizeof(path), "%s" JOURNALS, root);
	directory = opendir(path);
	for (struct dirent *entry; directory && (entry = readdir(directory));) {
		int file = -1;

		if (strncmp(entry->d_name, JOURNAL, strlen(JOURNAL)) == 0)
			file = openat(dirfd(directory), entry->d_name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
		if (file >= 0 && flock(file, LOCK_EX | LOCK_NB) == 0 && is_there(file)) {
			pay(file);
			unlinkat(dirfd(directory), entry->d_name, 0);
		}
		if (file >= 0)
			close(file);
	}
	if (directory)
		closedir(directory);
}

/* ---- who gives back ---- */

static _Noreturn void keep(const char *journal, int file, int alive)
{
	static const int ignored[] = { SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGPIPE };
	char byte;

	setsid();
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	dup2(alive, STDIN_FILENO);
	dup2(file, STDOUT_FILENO);
	syscall(SYS_close_range, STDERR_FILENO, ~0u, 0);
	while (read(STDIN_FILENO, &byte, 1) < 0 && errno == EINTR)
		;
	pay(STDOUT_FILENO);
	unlink(journal);
	_exit(0);
}

/* It is no descendant of ours, which would end with what we run. */
static int start_keeper(struct machine *m)
{
	int ends[2], status = 0;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC))
		return errno;
	child = fork();
	if (child == 0) {
		pid_t keeper = fork();

		if (keeper == 0)
			keep(m->journal, m->file, ends[0]);
		_exit(keeper < 0);
	}
	close(ends[0]);
	m->alive = ends[1];
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return child < 0 || status ? EAGAIN : 0;
}

void machine_give_back(struct machine *m)
{
	if (!m->journal)
		return;
	pay(m->file);
	unlink(m->journal);
	close(m->file);
	if (m->alive >= 0)
		close(m->alive);
	free(m->journal);
	m->journal = NULL;
}

/* ---- taking ---- */

static bool refuse(char why[SHAPE_WHY_BYTES], const char *what, const char *path, int errnum)
{
	snprintf(why, SHAPE_WHY_BYTES, "cannot make it dearer: cannot %s '%.150s': %s%s", what, path, strerror(errnum),
		 geteuid() != 0 && (errnum == EACCES || errnum == EPERM) ? " (it needs root)"
		 : errnum == EEXIST && strncmp(path, BUCKET, strlen(BUCKET)) == 0
		     ? " (it has a queueing discipline of its own, which would be lost: 'tc qdisc show')"
		     : "");
	return false;
}

static bool refuse_missing(char why[SHAPE_WHY_BYTES], enum shape_means means)
{
	snprintf(
	    why, SHAPE_WHY_BYTES, "cannot make it dearer: %s",
	    means == SHAPE_CPUFREQ ? "no processor has a frequency that can be limited (scaling_max_freq): a virtual machine, or no driver"
	    : means == SHAPE_RESCTRL_MB
		? "resctrl has no memory bandwidth (MB) here: mount it ('mount -t resctrl resctrl /sys/fs/resctrl'), or the processor has "
		  "none"
		: "resctrl has no cache ways (L3) here: mount it ('mount -t resctrl resctrl /sys/fs/resctrl'), or the processor has none");
	return false;
}

static bool add_change(const char *path, const struct shaped *shaped, struct changes *out, char why[SHAPE_WHY_BYTES])
{
	enum shape_means means = shapes[shaped->shape].means;
	char was[VALUE_BYTES], is[VALUE_BYTES];

	if (!new_value(path, means, shaped->level, was, is))
		return refuse_missing(why, means);
	if (access(path, W_OK))
		return refuse(why, "write", path, errno);
	if (shaped->level > 0) {
		add_texts(&out->journal, &out->n_journal, path, was);
		add_texts(&out->values, &out->n_values, path, is);
	}
	return true;
}

/* As root only, by which the kernel would tell: then what is there is not ours. */
static bool add_interface(unsigned level, struct changes *out, char why[SHAPE_WHY_BYTES])
{
	const char *interface = getenv(SHAPE_INTERFACE_VARIABLE);
	char path[VALUE_BYTES], value[24];

	if (!interface || !*interface) {
		snprintf(why, SHAPE_WHY_BYTES,
			 "cannot make it dearer: no interface is named: " SHAPE_INTERFACE_VARIABLE
			 "=eth0 in the environment of the command");
		return false;
	}
	if (if_nametoindex(interface) == 0)
		return refuse(why, "find the interface", interface, ENODEV);
	if (geteuid() != 0)
		return refuse(why, "slow down the interface", interface, EPERM);
	snprintf(path, sizeof(path), BUCKET "%s", interface);
	snprintf(value, sizeof(value), "%u", level);
	if (level > 0) {
		add_texts(&out->journal, &out->n_journal, path, "0");
		add_texts(&out->values, &out->n_values, path, value);
	}
	return true;
}

static bool find_changes(const char *root, const struct shaped *shaped, struct changes *out, char why[SHAPE_WHY_BYTES])
{
	bool ok = true, any = false;
	char path[VALUE_BYTES];
	DIR *policies;

	if (shapes[shaped->shape].means == SHAPE_QDISC)
		return add_interface(shaped->level, out, why);
	if (shapes[shaped->shape].means != SHAPE_CPUFREQ) {
		snprintf(path, sizeof(path), "%s/sys/fs/resctrl/schemata", root);
		return add_change(path, shaped, out, why);
	}
	snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/cpufreq", root);
	policies = opendir(path);
	for (struct dirent *entry; ok && policies && (entry = readdir(policies));) {
		if (strncmp(entry->d_name, "policy", strlen("policy")) != 0)
			continue;
		snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/cpufreq/%s/scaling_max_freq", root, entry->d_name);
		if (access(path, F_OK) == 0)
			ok = any = add_change(path, shaped, out, why);
	}
	if (policies)
		closedir(policies);
	return ok && (any || refuse_missing(why, SHAPE_CPUFREQ));
}

static bool write_changes(const char *root, const struct changes *changes, struct machine *m, char why[SHAPE_WHY_BYTES])
{
	int errnum = journal_make(root, m);
	const char *path = NULL;

	if (errnum)
		return refuse(why, "keep what stands in the kernel's files below", *root ? root : "/run", errnum);
	if (pwrite(m->file, changes->journal, changes->n_journal, 0) != (ssize_t)changes->n_journal || (errnum = start_keeper(m)))
		refuse(why, "keep what stands in the kernel's files in", m->journal, errnum ? errnum : ENOSPC);
	else if ((errnum = put_all(changes->values, changes->n_values, &path)))
		refuse(why, "write", path, errnum);
	else
		return true;
	machine_give_back(m);
	return false;
}

bool machine_take(const char *root, const struct shaped *shaped, size_t n, struct machine *out, char why[SHAPE_WHY_BYTES])
{
	struct changes changes = { .n_journal = 0 };
	bool ok = true;

	*out = (struct machine){ .file = -1, .alive = -1 };
	for (size_t i = 0; ok && i < n; i++) {
		enum shape_means means = shapes[shaped[i].shape].means;

		if (means == SHAPE_CPUFREQ || means == SHAPE_RESCTRL_MB || means == SHAPE_RESCTRL_L3 || means == SHAPE_QDISC)
			ok = find_changes(root, &shaped[i], &changes, why);
	}
	if (ok && changes.n_values > 0)
		ok = write_changes(root, &changes, out, why);
	free(changes.journal);
	free(changes.values);
	return ok;
}
