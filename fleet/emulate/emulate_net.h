/* Networks of emulated hosts by rtnetlink(7): a bridge on this machine, and for each host a veth pair, one end of it on the
 * bridge and the other in the host's network namespace. Needs CAP_NET_ADMIN. */
#ifndef FLEET_EMULATE_NET_H
#define FLEET_EMULATE_NET_H

#include "base/error.h"

#include <stdint.h>
#include <sys/types.h>

#define EMULATE_NET_PREFIX    22 /* addresses of one fleet: 10.x.y.0/22 */
#define EMULATE_NET_HOSTS_MAX 1000

/* A socket in the caller's network namespace. close() it. */
enum assay_status emulate_net_open(int *fd, struct assay_error *err);

/* A private network (its address in host order) that no route of this machine touches, the default route apart; `seed` spreads
 * laboratories. */
enum assay_status emulate_net_choose(int fd, uint32_t seed, uint32_t *network, struct assay_error *err);

enum assay_status emulate_net_bridge(int fd, const char *name, struct assay_error *err);
/* `name` on `bridge`, up; its other end is eth0 in the namespace of process pid. */
enum assay_status emulate_net_veth(int fd, const char *name, const char *bridge, pid_t pid, struct assay_error *err);
/* Sets the interface up, with an address when that is not 0. */
enum assay_status emulate_net_up(int fd, const char *name, uint32_t address, struct assay_error *err);
/* One that is not there is no error. */
enum assay_status emulate_net_delete(int fd, const char *name, struct assay_error *err);

#endif
