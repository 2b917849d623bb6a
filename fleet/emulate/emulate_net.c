#include "fleet/emulate/emulate_net.h"

#include "base/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

/* One request, at most a few attributes: never near its size. */
struct request {
	struct nlmsghdr header;
	char rest[1000];
};

static void request_init(struct request *r, int type, int flags, const void *body, size_t n)
{
	*r = (struct request){ .header = { .nlmsg_len = NLMSG_LENGTH((unsigned)n),
					   .nlmsg_type = (unsigned short)type,
					   .nlmsg_flags = (unsigned short)(NLM_F_REQUEST | flags) } };
	memcpy(r->rest, body, n);
}

static struct rtattr *request_add(struct request *r, int type, const void *value, size_t n)
{
	struct rtattr *attribute = (struct rtattr *)(void *)((char *)r + NLMSG_ALIGN(r->header.nlmsg_len));

	ASSAY_BUG_IF(NLMSG_ALIGN(r->header.nlmsg_len) + RTA_SPACE(n) > sizeof(*r));
	attribute->rta_type = (unsigned short)type;
	attribute->rta_len = (unsigned short)RTA_LENGTH(n);
	if (n)
		memcpy(RTA_DATA(attribute), value, n);
	r->header.nlmsg_len = NLMSG_ALIGN(r->header.nlmsg_len) + (unsigned)RTA_ALIGN(attribute->rta_len);
	return attribute;
}

static void request_text(struct request *r, int type, const char *text)
{
	request_add(r, type, text, strlen(text) + 1);
}

/* What was added since `outer` lies inside it. */
static void request_end(struct request *r, struct rtattr *outer)
{
	outer->rta_len = (unsigned short)((char *)r + r->header.nlmsg_len - (char *)outer);
}

/* Sends it and waits for the kernel's answer: 0 or an error number. */
static int request_run(int fd, struct request *r)
{
	struct {
		struct nlmsghdr header;
		struct nlmsgerr report;
		char rest[4000]; /* the request again, and perhaps a text */
	} answer;
	ssize_t n;

	r->header.nlmsg_flags |= NLM_F_ACK;
	if (send(fd, r, r->header.nlmsg_len, 0) < 0)
		return errno;
	do {
		n = recv(fd, &answer, sizeof(answer), 0);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno;
	if ((size_t)n < sizeof(answer.header) + sizeof(answer.report.error) || answer.header.nlmsg_type != NLMSG_ERROR)
		return EPROTO;
	return -answer.report.error;
}

enum assay_status emulate_net_open(int *fd, struct assay_error *err)
{
	*fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	return *fd < 0 ? assay_fail_errno(err, errno, "cannot ask the kernel about its network (rtnetlink)") : ASSAY_OK;
}

/* ---- a free network ---- */

/* Whether the route in message[n] and network/22 have an address in common. The default route touches everything: not counted. */
static bool touches(const char *message, size_t n, uint32_t network)
{
	struct rtmsg route;
	struct rtattr a;
	uint32_t destination;
	unsigned bits;

	if (n < NLMSG_HDRLEN + sizeof(route))
		return false;
	memcpy(&route, message + NLMSG_HDRLEN, sizeof(route));
	bits = route.rtm_dst_len < EMULATE_NET_PREFIX ? route.rtm_dst_len : EMULATE_NET_PREFIX;
	for (size_t at = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(route)); bits && at + sizeof(a) <= n; at += RTA_ALIGN(a.rta_len)) {
		memcpy(&a, message + at, sizeof(a));
		if (a.rta_len < sizeof(a) || a.rta_len > n - at)
			break;
		if (a.rta_type != RTA_DST || a.rta_len != RTA_LENGTH(sizeof(destination)))
			continue;
		memcpy(&destination, message + at + RTA_LENGTH(0), sizeof(destination));
		if ((ntohl(destination) ^ network) >> (32 - bits) == 0)
			return true;
	}
	return false;
}

/* One datagram of the answer; *last when it ends it. 0 or an error number. */
static int look_at_part(const char *part, size_t n, uint32_t network, bool *taken, bool *last)
{
	struct nlmsghdr h;

	for (size_t at = 0; at + sizeof(h) <= n; at += NLMSG_ALIGN(h.nlmsg_len)) {
		memcpy(&h, part + at, sizeof(h));
		if (h.nlmsg_len < sizeof(h) || h.nlmsg_len > n - at || h.nlmsg_type == NLMSG_ERROR)
			return EPROTO;
		*last = *last || h.nlmsg_type == NLMSG_DONE;
		*taken = *taken || (h.nlmsg_type == RTM_NEWROUTE && touches(part + at, h.nlmsg_len, network));
	}
	return 0;
}

/* All routes of all tables; *taken when one touches the network. 0 or an error number. */
static int look_at_routes(int fd, uint32_t network, bool *taken)
{
	char part[32768];
	struct rtmsg body = { .rtm_family = AF_INET };
	struct request r;
	bool last = false;
	int errnum = 0;

	*taken = false;
	request_init(&r, RTM_GETROUTE, NLM_F_DUMP, &body, sizeof(body));
	if (send(fd, &r, r.header.nlmsg_len, 0) < 0)
		return errno;
	while (!last && !errnum) {
		ssize_t n = recv(fd, part, sizeof(part), 0);

		if (n < 0 && errno != EINTR)
			errnum = errno;
		if (n >= 0)
			errnum = look_at_part(part, (size_t)n, network, taken, &last);
	}
	return errnum;
}

enum assay_status emulate_net_choose(int fd, uint32_t seed, uint32_t *network, struct assay_error *err)
{
	const uint32_t networks = 1u << (EMULATE_NET_PREFIX - 9); /* in 10.128.0.0/9: fewer people use it than the lower half */

	for (uint32_t i = 0; i < 256; i++) {
		uint32_t at = 0x0a800000u | (seed + i * 31) % networks << (32 - EMULATE_NET_PREFIX);
		bool taken = true;
		int errnum = look_at_routes(fd, at, &taken);

		if (errnum)
			return assay_fail_errno(err, errnum, "cannot read the routes of this machine");
		if (!taken) {
			*network = at;
			return ASSAY_OK;
		}
	}
	return assay_fail(err, ASSAY_E_LIMIT,
			  "routes of this machine cover 10.128.0.0/9: there is no private network left for emulated hosts; use "
			  "--no-root, which needs none");
}

/* ---- links ---- */

static struct rtattr *add_info(struct request *r, const char *kind)
{
	struct rtattr *info = request_add(r, IFLA_LINKINFO, NULL, 0);

	request_text(r, IFLA_INFO_KIND, kind);
	return info;
}

enum assay_status emulate_net_bridge(int fd, const char *name, struct assay_error *err)
{
	struct ifinfomsg body = { .ifi_family = AF_UNSPEC };
	struct request r;
	int errnum;

	request_init(&r, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &body, sizeof(body));
	request_text(&r, IFLA_IFNAME, name);
	request_end(&r, add_info(&r, "bridge"));
	errnum = request_run(fd, &r);
	return errnum ? assay_fail_errno(err, errnum, "cannot make the network bridge '%s'", name) : ASSAY_OK;
}

static void add_peer(struct request *r, pid_t pid)
{
	struct ifinfomsg body = { .ifi_family = AF_UNSPEC };
	uint32_t process = (uint32_t)pid;
	struct rtattr *info = add_info(r, "veth");
	struct rtattr *data = request_add(r, IFLA_INFO_DATA, NULL, 0);
	struct rtattr *peer = request_add(r, VETH_INFO_PEER, &body, sizeof(body));

	request_text(r, IFLA_IFNAME, "eth0");
	request_add(r, IFLA_NET_NS_PID, &process, sizeof(process));
	request_end(r, peer);
	request_end(r, data);
	request_end(r, info);
}

enum assay_status emulate_net_veth(int fd, const char *name, const char *bridge, pid_t pid, struct assay_error *err)
{
	struct ifinfomsg body = { .ifi_family = AF_UNSPEC, .ifi_flags = IFF_UP, .ifi_change = IFF_UP };
	uint32_t master = if_nametoindex(bridge);
	struct request r;
	int errnum;

	request_init(&r, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &body, sizeof(body));
	request_text(&r, IFLA_IFNAME, name);
	request_add(&r, IFLA_MASTER, &master, sizeof(master));
	add_peer(&r, pid);
	errnum = request_run(fd, &r);
	return errnum ? assay_fail_errno(err, errnum, "cannot make the network link '%s'", name) : ASSAY_OK;
}

static int add_address(int fd, unsigned index, uint32_t address)
{
	struct ifaddrmsg body = { .ifa_family = AF_INET, .ifa_prefixlen = EMULATE_NET_PREFIX, .ifa_index = index };
	uint32_t wire = htonl(address), broadcast = htonl(address | (0xffffffffu >> EMULATE_NET_PREFIX));
	struct request r;

	request_init(&r, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &body, sizeof(body));
	request_add(&r, IFA_LOCAL, &wire, sizeof(wire));
	request_add(&r, IFA_ADDRESS, &wire, sizeof(wire));
	request_add(&r, IFA_BROADCAST, &broadcast, sizeof(broadcast));
	return request_run(fd, &r);
}

enum assay_status emulate_net_up(int fd, const char *name, uint32_t address, struct assay_error *err)
{
	unsigned index = if_nametoindex(name);
	struct ifinfomsg body = { .ifi_family = AF_UNSPEC, .ifi_index = (int)index, .ifi_flags = IFF_UP, .ifi_change = IFF_UP };
	struct request r;
	int errnum = index ? 0 : ENODEV;

	request_init(&r, RTM_NEWLINK, 0, &body, sizeof(body));
	if (!errnum && address)
		errnum = add_address(fd, index, address);
	if (!errnum)
		errnum = request_run(fd, &r);
	return errnum ? assay_fail_errno(err, errnum, "cannot set up the network interface '%s'", name) : ASSAY_OK;
}

enum assay_status emulate_net_delete(int fd, const char *name, struct assay_error *err)
{
	struct ifinfomsg body = { .ifi_family = AF_UNSPEC };
	struct request r;
	int errnum;

	request_init(&r, RTM_DELLINK, 0, &body, sizeof(body));
	request_text(&r, IFLA_IFNAME, name);
	errnum = request_run(fd, &r);
	return errnum && errnum != ENODEV ? assay_fail_errno(err, errnum, "cannot remove the network link '%s'", name) : ASSAY_OK;
}
