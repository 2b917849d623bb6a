/* The process of an emulated host, from the fork until it executes sshd: namespaces and slowdowns. */
#include "base/clock.h"
#include "base/digest.h"
#include "base/mem.h"
#include "fleet/emulate/kernel_calls.h"
#include "fleet/cgroup/process.h"
#include "fleet/emulate/emulate_site.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS_MAX	256
#define SLICE_NS	2000000
#define CACHE_LINE	64
#define GENERATIONS_MAX 8
#define DESCRIPTORS	700 /* high descriptor numbers, because programs may expect the low ones to be free */

/* ---- memory load generator ---- */

/* The second process of an emulated host, which slows down the host's memory. It sleeps until a program on the host announces itself
 * (fleet/emulate/knobs/knobs_hog.c), and works until the last such program has ended. So hosts that wait for their turn cause no load. It
 * walks through memory to remove other programs' data from the caches. It also marks the programs' pages as unused to cause page walks. */

struct load_generator {
	int socket;
	struct pollfd clients[CLIENTS_MAX]; /* pidfds of the programs that have announced themselves */
	pid_t pids[CLIENTS_MAX];
	nfds_t n;
	size_t bytes, at;
	unsigned percent;
	unsigned char *memory; /* NULL while the generator sleeps */
	int64_t walk_ns;       /* time between two markings of the pages, ns; 0 for no markings */
};

/* Adds a program that announces itself. The kernel supplies its pid and user. Ignores programs of users other than this one and root. */
static void load_add_client(struct load_generator *load_generator, const struct ucred *who)
{
	long fd;

	if (load_generator->n == CLIENTS_MAX || (who->uid != geteuid() && who->uid != 0))
		return;
	fd = syscall(SYS_pidfd_open, who->pid, 0);
	if (fd < 0)
		return;
	load_generator->pids[load_generator->n] = who->pid;
	load_generator->clients[load_generator->n++] = (struct pollfd){ .fd = (int)fd, .events = POLLIN };
}

static void load_receive(struct load_generator *load_generator, int flags)
{
	char control[CMSG_SPACE(sizeof(struct ucred))] __attribute__((aligned(8))), byte;
	struct iovec part = { &byte, 1 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };

	while (recvmsg(load_generator->socket, &message, flags) >= 0) {
		const struct cmsghdr *c = CMSG_FIRSTHDR(&message);
		struct ucred who;

		if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS) {
			memcpy(&who, CMSG_DATA(c), sizeof(who));
			load_add_client(load_generator, &who);
		}
		message.msg_controllen = sizeof(control);
		flags = MSG_DONTWAIT;
	}
}

static void load_drop_ended(struct load_generator *load_generator)
{
	if (poll(load_generator->clients, load_generator->n, 0) <= 0)
		return;
	for (nfds_t i = 0; i < load_generator->n;) {
		if (!load_generator->clients[i].revents) {
			i++;
			continue;
		}
		close(load_generator->clients[i].fd);
		load_generator->clients[i] = load_generator->clients[--load_generator->n];
		load_generator->pids[i] = load_generator->pids[load_generator->n];
	}
}

/* Walks through memory for slice_ns, one cache line per step. */
static void load_walk_memory(struct load_generator *load_generator, int64_t slice_ns)
{
	int64_t end = clock_monotonic_ns() + slice_ns;

	while (clock_monotonic_ns() < end) {
		for (int i = 0; i < 4096; i++) {
			load_generator->memory[load_generator->at]++;
			load_generator->at += CACHE_LINE;
			if (load_generator->at >= load_generator->bytes)
				load_generator->at = 0;
		}
	}
}

static void load_sleep(int64_t ns)
{
	struct timespec rest = { ns / 1000000000, ns % 1000000000 };

	if (ns > 0)
		nanosleep(&rest, NULL);
}

/* Marks the pages of a process and its descendants as unused. The descendants may not have announced themselves. */
static void mark_unused(int pid, int depth)
{
	char path[64], text[1024];
	int fd;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/clear_refs", pid);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	n = write(fd, "1", 1);
	close(fd);
	if (n != 1 || depth >= GENERATIONS_MAX)
		return;
	process_text(text, sizeof(text), "/proc/%d/task/%d/children", pid, pid);
	for (char *at = text, *end; (pid = (int)strtol(at, &end, 10)) > 0 && *end == ' ';
	     at = end) /* a number without a space after it is incomplete */
		mark_unused(pid, depth + 1);
}

/* Works for its share of a time slice, rests for the remainder, then marks pages as unused. */
static void load_work(struct load_generator *load_generator)
{
	int64_t slice_ns = load_generator->walk_ns   ? load_generator->walk_ns
			   : load_generator->percent ? SLICE_NS * 100 / (int64_t)load_generator->percent
						     : SLICE_NS;
	int64_t busy_ns = slice_ns / 100 * (int64_t)load_generator->percent;

	if (busy_ns)
		load_walk_memory(load_generator, busy_ns);
	load_sleep(slice_ns - busy_ns);
	for (nfds_t i = 0; load_generator->walk_ns && i < load_generator->n; i++)
		mark_unused((int)load_generator->pids[i], 0);
}

static _Noreturn void load_run(struct load_generator *load_generator)
{
	for (;;) {
		load_receive(load_generator, load_generator->n ? MSG_DONTWAIT : 0);
		load_drop_ended(load_generator);
		if (load_generator->n && load_generator->bytes && !load_generator->memory) {
			load_generator->memory =
			    mmap(NULL, load_generator->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			if (load_generator->memory == MAP_FAILED)
				_Exit(1);
		} else if (!load_generator->n && load_generator->memory) {
			munmap(load_generator->memory, load_generator->bytes);
			load_generator->memory = NULL;
		}
		if (load_generator->n)
			load_work(load_generator);
	}
}

static enum assay_status listen_as(const char *name, int *fd, struct assay_error *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t n = strlen(name);
	int on = 1;

	ASSAY_BUG_IF(n + 1 > sizeof(address.sun_path));
	memcpy(address.sun_path + 1, name, n); /* the address is abstract: it starts with a NUL and has no file */
	*fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (*fd < 0 || setsockopt(*fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) ||
	    bind(*fd, (const struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n)))
		return assay_fail_errno(err, errno, "cannot listen for programs that use the memory load generator");
	return ASSAY_OK;
}

static bool load_generator_is_needed(const struct emulate_profile *profile)
{
	return profile->hog_mib || profile->page_walks || profile->interrupts || profile->page_faults;
}

/* Forks the load generator of a host, which closes `channel` and ends with its parent. It also keeps the host's events open. */
static enum assay_status load_start(const struct emulate_site *site, const struct emulate_host *host, int channel, struct assay_error *err)
{
	const struct emulate_profile *p = host->profile;
	struct load_generator load_generator = { .bytes = (size_t)p->hog_mib << 20,
						 .percent = p->hog_percent,
						 .walk_ns = p->page_walks ? 1000000000 / (int64_t)p->page_walks : 0 };
	char *name = mem_format("assay-%s-%s", site->tag, host->identity->name);
	enum assay_status st = listen_as(name, &load_generator.socket, err);
	pid_t parent = getpid(), pid = st ? -1 : fork();

	free(name);
	if (pid == 0) {
		prctl(PR_SET_NAME, "assay-hog", 0, 0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		if (getppid() != parent)
			_Exit(1);
		close(channel); /* the host's events stay open in this process; sshd would close their descriptors */
		load_run(&load_generator);
	}
	if (!st && pid < 0)
		st = assay_fail_errno(err, errno, "cannot start the second process of the host");
	if (load_generator.socket >= 0)
		close(load_generator.socket);
	return st;
}

/* ---- system-call filters ---- */

/* Slows down the system calls of a class. A seccomp(2) filter, in classic BPF (McCanne and Jacobson, USENIX Winter 1993), allows all calls.
 * Before a call of the class, it divides a number by three, as often as the profile says. For all other calls, the kernel caches the
 * filter's result. Works on x86-64 and aarch64. */

#if defined(__x86_64__)
#define ARCHITECTURE		AUDIT_ARCH_X86_64
#define OLD_SYSTEM_CALLS(calls) calls(NUMBER)
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#define OLD_SYSTEM_CALLS(calls)
#else
#error "the numbers of system calls are known for x86-64 and aarch64"
#endif

/* Reads from all kinds of descriptors are in the class `data`. */
#define NUMBER(name) SYS_##name,
#define NUMBERS(...)                                                                                                                       \
	{                                                                                                                                  \
		(const short[]){ __VA_ARGS__ }, sizeof((const short[]){ __VA_ARGS__ }) / sizeof(short)                                     \
	}
static const struct {
	const short *calls;
	size_t n;
} classes[] = { [EMULATE_CALLS_DATA] = NUMBERS(KERNEL_DATA(NUMBER)),
		[EMULATE_CALLS_METADATA] = NUMBERS(KERNEL_METADATA(NUMBER) OLD_SYSTEM_CALLS(KERNEL_OLD_METADATA)),
		[EMULATE_CALLS_MAPPING] = NUMBERS(KERNEL_MAPPING(NUMBER)),
		[EMULATE_CALLS_PROCESSES] = NUMBERS(KERNEL_PROCESSES(NUMBER) OLD_SYSTEM_CALLS(KERNEL_OLD_PROCESSES)),
		[EMULATE_CALLS_SYNCHRONISATION] = NUMBERS(KERNEL_SYNCHRONISATION(NUMBER) OLD_SYSTEM_CALLS(KERNEL_OLD_SYNCHRONISATION)),
		[EMULATE_CALLS_NETWORK] = NUMBERS(KERNEL_NETWORK(NUMBER) OLD_SYSTEM_CALLS(KERNEL_OLD_NETWORK)),
		[EMULATE_CALLS_EVENTS] = NUMBERS(KERNEL_EVENTS(NUMBER) OLD_SYSTEM_CALLS(KERNEL_OLD_EVENTS)),
		[EMULATE_CALLS_TIME] = NUMBERS(KERNEL_TIME(NUMBER) OLD_SYSTEM_CALLS(KERNEL_OLD_TIME)) };

static size_t filter_put(struct sock_filter *f, unsigned code, unsigned k)
{
	*f = (struct sock_filter)BPF_STMT((unsigned short)code, k);
	return 1;
}

static size_t filter_jump_if(struct sock_filter *f, unsigned k, unsigned yes, unsigned no)
{
	*f = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, k, (unsigned char)yes, (unsigned char)no);
	return 1;
}

static size_t filter_allow(struct sock_filter *f)
{
	return filter_put(f, BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
}

/* Appends instructions that allow all calls except those of the list. For these the filter continues. Returns their number. */
static size_t filter_only(struct sock_filter *f, const short *calls, size_t n)
{
	size_t at = 0;

	for (size_t i = 0; i < n; i++)
		at += filter_jump_if(f + at, (unsigned)calls[i], (unsigned)(n - i), 0);
	return at + filter_allow(f + at);
}

/* Appends instructions that allow the calls of all lists. For other calls the filter continues. Returns their number. */
static size_t filter_add_allowed_calls(struct sock_filter *f)
{
	size_t at = 0;

	for (size_t c = 0; c < sizeof(classes) / sizeof(*classes); c++) {
		size_t n = classes[c].n;

		for (size_t i = 0; i < n; i++)
			at += filter_jump_if(f + at, (unsigned)classes[c].calls[i], (unsigned)(n - 1 - i), i + 1 == n);
		at += filter_allow(f + at);
	}
	return at;
}

/* Builds a filter and returns its number of instructions. Division is the slowest instruction: it keeps the filter short, so that it uses
 * little of the caches. An argument of the call is loaded, because otherwise the kernel would cache the result of the filter. */
static size_t filter_build(unsigned which, unsigned divisions, struct sock_filter f[BPF_MAXINSNS])
{
	size_t at = 0;

	if (divisions == 0)
		return filter_allow(f);
	/* Numbers of calls differ on other architectures, whose calls are allowed. */
	at += filter_put(f + at, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
	at += filter_jump_if(f + at, ARCHITECTURE, 1, 0);
	at += filter_allow(f + at);
	at += filter_put(f + at, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	at += which == EMULATE_CALLS_OTHER ? filter_add_allowed_calls(f + at) : filter_only(f + at, classes[which].calls, classes[which].n);
	at += filter_put(f + at, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args));
	at += filter_put(f + at, BPF_ALU | BPF_AND | BPF_K, 0); /* makes the time of the divisions independent of the argument */
	for (unsigned i = 0; i < divisions && at + 1 < BPF_MAXINSNS; i++)
		at += filter_put(f + at, BPF_ALU | BPF_DIV | BPF_K, 3);
	return at + filter_allow(f + at);
}

/* Adds a filter for a class to this thread and its descendants, until they end. Without root's rights, the thread can no longer use
 * set-user-ID programs. Returns 0 or an errno; ENOMEM: the thread's filters leave no room. Without SPEC_ALLOW, some kernels also turn off
 * speculation of the CPU, which slows down everything. */
static int filter_add(unsigned which, unsigned divisions)
{
	static struct sock_filter filter[BPF_MAXINSNS];
	struct sock_fprog program = { (unsigned short)filter_build(which, divisions, filter), filter };
	long failed = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program);

	if (failed && errno == EACCES && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) /* the process has no CAP_SYS_ADMIN */
		failed = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program);
	return failed ? errno : 0;
}

/* Installs the profile's system-call filters for this process and all its descendants, permanently. Sets no_new_privs if this is needed. */
static enum assay_status emulate_filter_install(const struct emulate_profile *profile, struct assay_error *err)
{
	for (unsigned which = 0; which < EMULATE_CLASSES; which++) {
		int errnum = profile->divisions[which] ? filter_add(which, profile->divisions[which]) : 0;

		if (errnum == ENOMEM)
			return assay_fail(err, ASSAY_E_IO,
					  "the kernel has no space for a system call filter with %u more divisions: this process already "
					  "has filters; lower the profile's system_calls",
					  profile->divisions[which]);
		if (errnum)
			return assay_fail_errno(err, errnum, "cannot install a system-call filter");
	}
	return ASSAY_OK;
}

/* ---- events ---- */

/* Opens a software event of perf_event_open(2) that is never read. Such events slow down computing, if the CPU clock overflows at a given
 * rate, and page faults, if each triggers several events. Each event costs as much as a sample. */

static int event_open(uint64_t config, uint64_t period)
{
	struct perf_event_attr event = {
		.size = sizeof(event),
		.type = PERF_TYPE_SOFTWARE,
		.config = config,
		.sample_period = period,
		.sample_type = PERF_SAMPLE_IP | (config == PERF_COUNT_SW_PAGE_FAULTS ? PERF_SAMPLE_CALLCHAIN : 0),
		.inherit = 1,
		.exclude_hv = 1,
	};
	long fd = syscall(SYS_perf_event_open, &event, 0, -1, -1, 0UL);

	if (fd < 0 && errno == EACCES) {
		event.exclude_kernel = 1;
		fd = syscall(SYS_perf_event_open, &event, 0, -1, -1, 0UL);
	}
	return (int)fd;
}

/* Opens an event and keeps its descriptor. The event ends with the last process that has the descriptor. Returns 0 or an errno. */
static int event_keep(uint64_t config, uint64_t period)
{
	int low = event_open(config, period), fd = low < 0 ? -1 : fcntl(low, F_DUPFD, DESCRIPTORS), errnum = errno;

	if (low < 0)
		return errnum;
	if (fd >= 0)
		close(low);
	return 0;
}

int emulate_events_refused(void)
{
	int fd = event_open(PERF_COUNT_SW_PAGE_FAULTS, 1), errnum = fd < 0 ? errno : 0;

	if (fd >= 0)
		close(fd);
	return errnum;
}

/* Starts a host's events for this process and its descendants. They end with the last process that has their descriptors. Returns 0 or an
 * errno. */
static int emulate_events_start(unsigned interrupts_a_second, unsigned a_page_fault)
{
	int failed = interrupts_a_second ? event_keep(PERF_COUNT_SW_CPU_CLOCK, 1000000000u / interrupts_a_second) : 0;

	for (unsigned i = 0; !failed && i < a_page_fault; i++)
		failed = event_keep(PERF_COUNT_SW_PAGE_FAULTS, 1);
	return failed;
}

/* ---- the process that becomes sshd ---- */

enum assay_status emulate_write(const char *path, const char *bytes, size_t n, unsigned mode, struct assay_error *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);
	int failed = fd < 0 || fchmod(fd, mode) || write(fd, bytes, n) != (ssize_t)n, errnum = errno;

	if (fd >= 0)
		close(fd);
	return failed ? assay_fail_errno(err, errnum, "cannot write '%s'", path) : ASSAY_OK;
}

/* Makes this process end with its parent. Sends its standard error to the host's log, by which `host down` finds the process. Closes all
 * other descriptors except `channel`: the channels of other hosts must close, and the terminal belongs to the user. */
static void leave_parent(const struct emulate_host *host, int channel, pid_t parent)
{
	char *path = mem_format("%s/sshd.log", host->directory);
	int log, null = open("/dev/null", O_RDWR | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (getppid() != parent || log < 0)
		_Exit(1);
	dup2(null, 0);
	dup2(null, 1);
	dup2(log, 2);
	close_range(3, (unsigned)channel - 1, 0);
	close_range((unsigned)channel + 1, ~0u, 0);
	setsid();
	signal(SIGPIPE, SIG_DFL);
	free(path);
}

static enum assay_status join_group(const char *fleet, const char *name, struct assay_error *err)
{
	char *directory = mem_format("%s/%s", fleet, name);
	int errnum = mkdir(directory, 0755) && errno != EEXIST ? errno : 0;

	/* A directory may have one of the two controllers, or both. */
	if (!errnum)
		errnum = cgroup_limit_memory(directory, EMULATE_MEMORY_BYTES);
	if (!errnum || errnum == ENOENT)
		errnum = cgroup_limit_processes(directory, EMULATE_PROCESSES);
	if (!errnum || errnum == ENOENT)
		errnum = cgroup_join(directory, 0);
	if (errnum)
		assay_fail_errno(err, errnum, "cannot use the cgroup '%s'", directory);
	free(directory);
	return errnum ? err->status : ASSAY_OK;
}

static enum assay_status join_groups(const struct emulate_site *site, const char *name, struct assay_error *err)
{
	const char *memory = site->groups.memory, *pids = site->groups.pids;
	enum assay_status st = memory ? join_group(memory, name, err) : ASSAY_OK;

	return !st && pids && !(memory && strcmp(memory, pids) == 0) ? join_group(pids, name, err) : st;
}

/* Mounts a tmpfs at the host's home, and a machine id. The mounts are private: unseen elsewhere, and removed after the last process. */
static enum assay_status mount_private(const struct emulate_site *site, const struct emulate_host *host, struct assay_error *err)
{
	char options[64], id[DIGEST_HEX_BYTES];
	char *home = mem_format("%s/home", host->directory);
	char *temporary = mem_format("%s/home/tmp", host->directory);
	char *machine = mem_format("%s/machine-id", host->directory);
	char *seed = mem_format("%s %s", site->tag, host->identity->name);
	enum assay_status st = ASSAY_OK;

	snprintf(options, sizeof(options), "size=%llu,mode=755", EMULATE_TMPFS_BYTES);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) || mount("assay", home, "tmpfs", MS_NOSUID | MS_NODEV, options) ||
	    mkdir(temporary, 01777) || chmod(temporary, 01777))
		st = assay_fail_errno(err, errno, "cannot mount a tmpfs on '%s'", home);
	/* If the machine has a machine id, each host gets another one. */
	digest_sha256(seed, strlen(seed), id);
	id[32] = '\n';
	if (!st && access("/etc/machine-id", F_OK) == 0) {
		st = emulate_write(machine, id, 33, 0444, err);
		if (!st && mount(machine, "/etc/machine-id", NULL, MS_BIND, NULL))
			st = assay_fail_errno(err, errno, "cannot mount on /etc/machine-id");
	}
	mem_free(seed, machine, temporary, home);
	return st;
}

/* Reports to the parent that the namespaces exist, then waits until the parent has made the network link. */
static void wait_for_link(int channel)
{
	char text[8];
	ssize_t n;

	if (send(channel, "r", 1, MSG_NOSIGNAL) != 1)
		_Exit(1);
	do {
		n = recv(channel, text, sizeof(text), 0);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		_Exit(1);
}

static enum assay_status enter_namespaces(const struct emulate_site *site, const struct emulate_host *host, int channel,
					  struct assay_error *err)
{
	enum assay_status st;
	char *lines;

	if (unshare(CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWNS))
		return assay_fail_errno(err, errno, "cannot make namespaces");
	if (sethostname(host->identity->name, strlen(host->identity->name)))
		return assay_fail_errno(err, errno, "cannot set the host name");
	st = mount_private(site, host, err);
	if (st)
		return st;
	wait_for_link(channel);
	lines = mem_format("link set lo up\naddr add %s/%d broadcast + dev eth0\nlink set eth0 up\n", host->identity->address,
			   EMULATE_NET_PREFIX);
	st = emulate_run_ip("set up the network interface", lines, err);
	free(lines);
	return st;
}

static enum assay_status become_sshd(const struct emulate_site *site, const struct emulate_host *host, struct assay_error *err)
{
	char *config = mem_format("%s/sshd_config", host->directory);
	char *log = mem_format("%s/sshd.log", host->directory);
	char *mark = mem_format("ASSAY_FLEET=%s-%s", site->tag, host->identity->name);
	char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", dash_d[] = "-D", dash_f[] = "-f",
	     dash_e[] = "-E";
	char *argv[] = { site->sshd, dash_d, dash_f, config, dash_e, log, NULL };
	char *environment[] = { path, mark, NULL };
	enum assay_status st;

	prctl(PR_SET_PDEATHSIG, 0); /* sshd must not end with this program */
	execve(site->sshd, argv, environment);
	st = assay_fail_errno(err, errno, "cannot run '%s'", site->sshd);
	mem_free(config, log, mark);
	return st;
}

_Noreturn void emulate_host_run(const struct emulate_site *site, const struct emulate_host *host, int channel, pid_t parent)
{
	struct assay_error err;
	char *key_line = NULL;
	enum assay_status st;

	leave_parent(host, channel, parent);
	st = emulate_key_make(host->key, host->identity->name, &key_line,
			      &err); /* hosts make their keys here, so that they do it in parallel */
	free(key_line);
	if (!st)
		st = join_groups(site, host->identity->name, &err);
	if (!st && site->namespaces)
		st = enter_namespaces(site, host, channel, &err);
	/* sshd inherits this setting. So orphans of its sessions become its children, and `host down` finds them as its descendants. */
	if (!st && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
		st = assay_fail_errno(&err, errno, "cannot become a subreaper");
	if (!st) /* emulate_up() has reported refused events; the load generator keeps the descriptors of accepted ones */
		emulate_events_start(host->profile->interrupts, host->profile->page_faults);
	if (!st && load_generator_is_needed(host->profile))
		st = load_start(site, host, channel, &err);
	if (!st)
		st = emulate_filter_install(host->profile, &err);
	if (!st)
		st = become_sshd(site, host, &err);
	send(channel, err.text, strlen(err.text), MSG_NOSIGNAL);
	_Exit(1);
}
