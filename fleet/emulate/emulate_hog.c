/* The memory hog of an emulated host: asleep until a program tells it that it has started there
 * (fleet/emulate/knobs/knobs_hog.c), busy until the last of these has ended. Hosts that only wait for their turn are quiet. */
#include "fleet/emulate/emulate_site.h"

#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define GUESTS_MAX 256
#define SLICE_NS   2000000
#define CACHE_LINE 64

struct hog {
	int socket;
	struct pollfd guests[GUESTS_MAX]; /* descriptors of the processes that it works for */
	nfds_t n;
	size_t bytes, at;
	unsigned percent;
	unsigned char *memory; /* NULL while asleep */
};

/* The sender's pid comes from the kernel. Only this user's programs, or root's, can wake it. */
static void hog_welcome(struct hog *hog, const struct ucred *who)
{
	long fd;

	if (hog->n == GUESTS_MAX || (who->uid != geteuid() && who->uid != 0))
		return;
	fd = syscall(SYS_pidfd_open, who->pid, 0);
	if (fd >= 0)
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
	}
}

/* Walks on for a slice of time, a cache line at a time, and rests so long that the share of time is as asked. */
static void hog_work(struct hog *hog)
{
	int64_t end = clock_monotonic_ns() + SLICE_NS;
	struct timespec rest = { 0, (long)SLICE_NS / (long)hog->percent * (100 - (long)hog->percent) };

	while (clock_monotonic_ns() < end) {
		for (int i = 0; i < 4096; i++) {
			hog->memory[hog->at]++;
			hog->at += CACHE_LINE;
			if (hog->at >= hog->bytes)
				hog->at = 0;
		}
	}
	if (rest.tv_nsec)
		nanosleep(&rest, NULL);
}

static _Noreturn void hog_run(struct hog *hog)
{
	for (;;) {
		hog_receive(hog, hog->n ? MSG_DONTWAIT : 0);
		part_with_ended(hog);
		if (hog->n && !hog->memory) {
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

enum assay_status emulate_hog_start(const struct emulate_site *site, const struct emulate_host *host, struct assay_error *err)
{
	struct hog hog = { .bytes = (size_t)host->profile->hog_mib << 20, .percent = host->profile->hog_percent };
	char *name = mem_format("assay-%s-%s", site->tag, host->is->name);
	enum assay_status st = listen_as(name, &hog.socket, err);
	pid_t parent = getpid(), pid = st ? -1 : fork();

	free(name);
	if (pid == 0) {
		prctl(PR_SET_NAME, "assay-hog", 0, 0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		if (getppid() != parent)
			_Exit(1);
		if (hog.socket > 3)
			close_range(3, (unsigned)hog.socket - 1, 0);
		close_range((unsigned)hog.socket + 1, ~0u, 0);
		hog_run(&hog);
	}
	if (!st && pid < 0)
		st = assay_fail_errno(err, errno, "cannot start the memory hog");
	if (hog.socket >= 0)
		close(hog.socket);
	return st;
}
