/* The second process of an emulated host, which makes its memory dearer: asleep until a program tells it that it has started there
 * (fleet/emulate/knobs/knobs_hog.c), busy until the last of these has ended. Hosts that only wait for their turn are quiet. It walks
 * through memory, which other programs then find less of in the caches; and it marks the programs' pages as not used, so that the
 * processor walks to each of them again. */
#include "fleet/emulate/emulate_site.h"

#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define GUESTS_MAX	256
#define SLICE_NS	2000000
#define CACHE_LINE	64
#define GENERATIONS_MAX 8

struct hog {
	int socket;
	struct pollfd guests[GUESTS_MAX]; /* descriptors of the processes that it works for */
	pid_t pids[GUESTS_MAX];
	nfds_t n;
	size_t bytes, at;
	unsigned percent;
	unsigned char *memory; /* NULL while asleep */
	int64_t walk_ns;       /* from one marking to the next; 0: none */
};

/* The sender's pid comes from the kernel. Only this user's programs, or root's, can wake it. */
static void hog_welcome(struct hog *hog, const struct ucred *who)
{
	long fd;

	if (hog->n == GUESTS_MAX || (who->uid != geteuid() && who->uid != 0))
		return;
	fd = syscall(SYS_pidfd_open, who->pid, 0);
	if (fd < 0)
		return;
	hog->pids[hog->n] = who->pid;
	hog->guests[hog->n++] = (struct pollfd){ .fd = (int)fd, .events = POLLIN };
}

static void hog_receive(struct hog *hog, int flags)
{
	char control[CMSG_SPACE(sizeof(struct ucred))] __attribute__((aligned(8))), byte;
	struct iovec part = { &byte, 1 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };

	while (recvmsg(hog->socket, &message, flags) >= 0) {
		const struct cmsghdr *c = CMSG_FIRSTHDR(&message);
		struct ucred who;

		if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS) {
			memcpy(&who, CMSG_DATA(c), sizeof(who));
			hog_welcome(hog, &who);
		}
		message.msg_controllen = sizeof(control);
		flags = MSG_DONTWAIT;
	}
}

static void part_with_ended(struct hog *hog)
{
	if (poll(hog->guests, hog->n, 0) <= 0)
		return;
	for (nfds_t i = 0; i < hog->n;) {
		if (!hog->guests[i].revents) {
			i++;
			continue;
		}
		close(hog->guests[i].fd);
		hog->guests[i] = hog->guests[--hog->n];
		hog->pids[i] = hog->pids[hog->n];
	}
}

/* Walks on for a slice of time, a cache line at a time. */
static void hog_walk(struct hog *hog, int64_t slice_ns)
{
	int64_t end = clock_monotonic_ns() + slice_ns;

	while (clock_monotonic_ns() < end) {
		for (int i = 0; i < 4096; i++) {
			hog->memory[hog->at]++;
			hog->at += CACHE_LINE;
			if (hog->at >= hog->bytes)
				hog->at = 0;
		}
	}
}

static void hog_rest(int64_t ns)
{
	struct timespec rest = { ns / 1000000000, ns % 1000000000 };

	if (ns > 0)
		nanosleep(&rest, NULL);
}

/* Its pages, and those of the processes below it, which a program need not have told of. */
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
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	fd = n == 1 && depth < GENERATIONS_MAX ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	for (char *at = text, *end; (pid = (int)strtol(at, &end, 10)) > 0 && *end == ' ';
	     at = end) /* a number that was cut off ends with none */
		mark_unused(pid, depth + 1);
}

/* For a slice of time: works as much of it as is asked, rests, marks. */
static void hog_work(struct hog *hog)
{
	int64_t slice_ns = hog->walk_ns ? hog->walk_ns : hog->percent ? SLICE_NS * 100 / (int64_t)hog->percent : SLICE_NS;
	int64_t busy_ns = slice_ns / 100 * (int64_t)hog->percent;

	if (busy_ns)
		hog_walk(hog, busy_ns);
	hog_rest(slice_ns - busy_ns);
	for (nfds_t i = 0; hog->walk_ns && i < hog->n; i++)
		mark_unused((int)hog->pids[i], 0);
}

static _Noreturn void hog_run(struct hog *hog)
{
	for (;;) {
		hog_receive(hog, hog->n ? MSG_DONTWAIT : 0);
		part_with_ended(hog);
		if (hog->n && hog->bytes && !hog->memory) {
			hog->memory = mmap(NULL, hog->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			if (hog->memory == MAP_FAILED)
				_Exit(1);
		} else if (!hog->n && hog->memory) {
			munmap(hog->memory, hog->bytes);
			hog->memory = NULL;
		}
		if (hog->n)
			hog_work(hog);
	}
}

static enum assay_status listen_as(const char *name, int *fd, struct assay_error *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t n = strlen(name);
	int on = 1;

	ASSAY_BUG_IF(n + 1 > sizeof(address.sun_path));
	memcpy(address.sun_path + 1, name, n); /* a leading NUL: no file */
	*fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (*fd < 0 || setsockopt(*fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) ||
	    bind(*fd, (const struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n)))
		return assay_fail_errno(err, errno, "cannot listen for programs that want the memory hog");
	return ASSAY_OK;
}

bool emulate_hog_wanted(const struct emulate_profile *profile)
{
	return profile->hog_mib || profile->page_walks || profile->interrupts || profile->page_faults;
}

enum assay_status emulate_hog_start(const struct emulate_site *site, const struct emulate_host *host, int channel, struct assay_error *err)
{
	const struct emulate_profile *p = host->profile;
	struct hog hog = { .bytes = (size_t)p->hog_mib << 20,
			   .percent = p->hog_percent,
			   .walk_ns = p->page_walks ? 1000000000 / (int64_t)p->page_walks : 0 };
	char *name = mem_format("assay-%s-%s", site->tag, host->is->name);
	enum assay_status st = listen_as(name, &hog.socket, err);
	pid_t parent = getpid(), pid = st ? -1 : fork();

	free(name);
	if (pid == 0) {
		prctl(PR_SET_NAME, "assay-hog", 0, 0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		if (getppid() != parent)
			_Exit(1);
		close(channel); /* the host's events stay open here (emulate_events.c): sshd closes what it has */
		hog_run(&hog);
	}
	if (!st && pid < 0)
		st = assay_fail_errno(err, errno, "cannot start the second process of the host");
	if (hog.socket >= 0)
		close(hog.socket);
	return st;
}
