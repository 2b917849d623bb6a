/* A network of a command's own: a namespace with a loopback interface, whose packets pass a token bucket (tc-tbf(8)); and an interface of
 * the machine's, with the same. */
#include "fleet/helper/surroundings.h"

#include <errno.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define BURST_BYTES (256u << 10) /* more than the largest packet */
#define QUEUE_BYTES (16u << 20)	 /* what waits: nothing is lost */
#define TICK_NS	    64u		 /* of the kernel's packet schedulers (PSCHED_SHIFT) */
#define HANDLE	    0xa55a0000u	 /* of our bucket: what has another one is another's, and is neither replaced nor taken away */

static int bring_up(const char *interface)
{
	struct ifreq request = { .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), errnum = 0;

	memcpy(request.ifr_name, interface, strlen(interface) + 1);
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request))
		errnum = errno;
	if (fd >= 0)
		close(fd);
	return errnum;
}

struct message {
	struct nlmsghdr head;
	struct tcmsg tc;
	char attributes[256];
};

static struct rtattr *add_attribute(struct message *m, unsigned short type, const void *bytes, size_t n)
{
	struct rtattr *attribute = (struct rtattr *)(void *)((char *)m + NLMSG_ALIGN(m->head.nlmsg_len));

	attribute->rta_type = type;
	attribute->rta_len = (unsigned short)RTA_LENGTH(n);
	if (n > 0)
		memcpy(RTA_DATA(attribute), bytes, n);
	m->head.nlmsg_len = NLMSG_ALIGN(m->head.nlmsg_len) + (unsigned)RTA_ALIGN(attribute->rta_len);
	return attribute;
}

/* The kernel's answer: 0 or an error number. */
static int ask_kernel(const struct message *m)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), errnum = 0;
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
		char rest[512];
	} answer;

	if (fd < 0 || send(fd, m, m->head.nlmsg_len, 0) < 0 || recv(fd, &answer, sizeof(answer), 0) < 0)
		errnum = errno;
	else if (answer.head.nlmsg_type == NLMSG_ERROR)
		errnum = -answer.error.error;
	if (fd >= 0)
		close(fd);
	return errnum;
}

static int put_bucket(unsigned interface, unsigned ns_per_byte)
{
	struct message m = { .head = { .nlmsg_len = NLMSG_LENGTH(sizeof(m.tc)),
				       .nlmsg_type = RTM_NEWQDISC,
				       .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL },
			     .tc = {
				 .tcm_family = AF_UNSPEC, .tcm_ifindex = (int)interface, .tcm_handle = HANDLE, .tcm_parent = TC_H_ROOT } };
	struct tc_tbf_qopt bucket = { .rate = { .linklayer = TC_LINKLAYER_ETHERNET, .rate = 1000000000u / ns_per_byte },
				      .limit = QUEUE_BYTES,
				      .buffer = BURST_BYTES / TICK_NS * ns_per_byte };
	struct rtattr *options;

	add_attribute(&m, TCA_KIND, "tbf", sizeof("tbf"));
	options = add_attribute(&m, TCA_OPTIONS, NULL, 0);
	add_attribute(&m, TCA_TBF_PARMS, &bucket, sizeof(bucket));
	options->rta_len = (unsigned short)((char *)&m + m.head.nlmsg_len - (char *)options);
	return ask_kernel(&m);
}

static int take_bucket(unsigned interface)
{
	const struct message m = {
		.head = { .nlmsg_len = NLMSG_LENGTH(sizeof(m.tc)), .nlmsg_type = RTM_DELQDISC, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK },
		.tc = { .tcm_family = AF_UNSPEC, .tcm_ifindex = (int)interface, .tcm_handle = HANDLE, .tcm_parent = TC_H_ROOT }
	};

	return ask_kernel(&m);
}

int network_slow(const char *interface, unsigned ns_per_byte)
{
	unsigned index = if_nametoindex(interface);

	if (index == 0)
		return ENODEV;
	return ns_per_byte ? put_bucket(index, ns_per_byte) : take_bucket(index);
}

int network_own(unsigned ns_per_byte)
{
	int errnum = unshare(CLONE_NEWNET) ? errno : bring_up("lo");

	return !errnum && ns_per_byte ? network_slow("lo", ns_per_byte) : errnum;
}
