/* Facts of a host, which its helper reads: conditions of a fingerprint, evidence of the machine's identity, and input of `host check`. A
 * text is NULL, and a number NaN, if the host does not report the fact. */
#ifndef FLEET_FACTS_H
#define FLEET_FACTS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define FACTS_BYTES_MAX	    (1u << 20)
#define FACTS_VERSION_BYTES 32

/* Facts that are texts. Each row is X(name). */
#define FACTS_TEXT_ROWS(X)                                                                                                                 \
	X(kernel)                                                                                                                          \
	X(architecture)                                                                                                                    \
	X(libc)                                                                                                                            \
	X(hostname)                                                                                                                        \
	X(machine_id)                                                                                                                      \
	X(cpu_model)                                                                                                                       \
	X(cpu_vendor)                                                                                                                      \
	X(microcode)                                                                                                                       \
	X(governor)                                                                                                                        \
	X(turbo)	   /* on or off */                                                                                                 \
	X(smt)		   /* on, off, forceoff, notsupported */                                                                           \
	X(thp)		   /* always, madvise, never */                                                                                    \
	X(virtual_machine) /* none, kvm, vmware, ..., unknown */                                                                           \
	X(board_name)                                                                                                                      \
	X(board_serial) /* often readable only by root, as is board_uuid */                                                                \
	X(board_uuid)                                                                                                                      \
	X(tmp_filesystem) /* file system of /tmp: tmpfs, ext4, ..., 0xMAGIC */                                                             \
	X(cgroup)	  /* v1, v2, hybrid */                                                                                             \
	X(emulated)	  /* name of an emulated host's profile */

/* Facts that are numbers. Each row is X(name, minimum, maximum). */
#define FACTS_NUMBER_ROWS(X)                                                                                                               \
	X(sockets, 1, 1e6)                                                                                                                 \
	X(cores_per_socket, 1, 1e6)                                                                                                        \
	X(threads_per_core, 1, 1e6)                                                                                                        \
	X(cpus_online, 1, 1e6)                                                                                                             \
	X(cpu_family, 0, 1e6) /* this and the next two numbers come from CPUID and determine the countable events */                       \
	X(cpu_model_number, 0, 1e6)                                                                                                        \
	X(cpu_stepping, 0, 1e6)                                                                                                            \
	X(last_cache_bytes, 0, 1e15) /* size of the last-level cache of the first CPU */                                                   \
	X(memory_bytes, 1, 1e18)                                                                                                           \
	X(memory_available_bytes, 0, 1e18)                                                                                                 \
	X(memory_limit_bytes, 0, 1e18) /* limit by the host's cgroups; other facts may describe the physical host instead */               \
	X(cpus_limit, 0, 1e6)	       /* number of CPUs that the host's cgroups and CPU affinity allow */                                 \
	X(load1, 0, 1e9)                                                                                                                   \
	X(steal_ticks, 0, 1e18) /* since boot, sum of all CPUs; share of steal = growth of steal_ticks / growth of total_ticks */          \
	X(total_ticks, 0, 1e18)                                                                                                            \
	X(temperature_c, -273, 1000) /* temperature of the warmest thermal zone or, without zones, of the warmest CPU sensor */            \
	X(disk_free_bytes, 0, 1e20)  /* free space of / */                                                                                 \
	X(tmp_free_bytes, 0, 1e20)                                                                                                         \
	X(shm_free_bytes, 0, 1e20) /* free space of /dev/shm if it is a tmpfs */                                                           \
	X(perf_event_paranoid, -100, 100)                                                                                                  \
	X(has_pmu, 0, 1) /* 1 if this user can use hardware counters */                                                                    \
	X(uid, 0, 4294967295.)                                                                                                             \
	X(clock_ms, 0, 1e15) /* real time of the host when it answered */

#define FACTS_TEXT_FIELD(name)		   char *name;
#define FACTS_NUMBER_FIELD(name, min, max) double name;
struct facts {
	FACTS_TEXT_ROWS(FACTS_TEXT_FIELD)
	FACTS_NUMBER_ROWS(FACTS_NUMBER_FIELD)
};
#undef FACTS_TEXT_FIELD
#undef FACTS_NUMBER_FIELD

/* Parses lines "name value\n" and skips unknown names. ASSAY_E_FORMAT: a number is invalid or outside its range, a name appears twice, or
 * the bytes are not text. Overwrites *out; the caller calls facts_release(). */
enum assay_status facts_parse(const char *text, size_t n, struct facts *out, struct assay_error *err);
void facts_release(struct facts *facts); /* accepts a zeroed struct */

/* Extracts "0.15.06" from "stress-ng, version 0.15.06 (gcc ...)", stress-ng's output. Returns false if the output has another form. */
bool facts_parse_stress_ng(const char *said, char version[FACTS_VERSION_BYTES]);

#endif
