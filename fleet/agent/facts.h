/* Facts of a host as the helper reads them: conditions of a fingerprint, evidence of the machine's identity, and input of `host check`.
 * Texts are NULL and numbers NaN if the host does not report them. */
#ifndef FLEET_FACTS_H
#define FLEET_FACTS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define FACTS_BYTES_MAX	    (1u << 20)
#define FACTS_VERSION_BYTES 32

/* Texts: name. */
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
	X(turbo)	   /* on, off */                                                                                                   \
	X(smt)		   /* on, off, forceoff, notsupported */                                                                           \
	X(thp)		   /* always, madvise, never */                                                                                    \
	X(virtual_machine) /* none, or kvm, vmware, ..., unknown */                                                                        \
	X(board_name)                                                                                                                      \
	X(board_serial) /* often readable for root only, as is the next */                                                                 \
	X(board_uuid)                                                                                                                      \
	X(tmp_filesystem) /* type of /tmp: tmpfs, ext4, ..., 0xMAGIC */                                                                    \
	X(cgroup)	  /* v1, v2, hybrid */                                                                                             \
	X(emulated)	  /* profile of an emulated host */

/* Numbers: name, smallest, largest. */
#define FACTS_NUMBER_ROWS(X)                                                                                                               \
	X(sockets, 1, 1e6)                                                                                                                 \
	X(cores_per_socket, 1, 1e6)                                                                                                        \
	X(threads_per_core, 1, 1e6)                                                                                                        \
	X(cpus_online, 1, 1e6)                                                                                                             \
	X(cpu_family, 0, 1e6) /* CPUID's numbers; they determine the countable events */                                                   \
	X(cpu_model_number, 0, 1e6)                                                                                                        \
	X(cpu_stepping, 0, 1e6)                                                                                                            \
	X(last_cache_bytes, 0, 1e15) /* size of the first CPU's last level; stress-ng maps such a buffer */                                \
	X(memory_bytes, 1, 1e18)                                                                                                           \
	X(memory_available_bytes, 0, 1e18)                                                                                                 \
	X(memory_limit_bytes, 0, 1e18) /* limit of the host's own cgroups; the other facts may be of its physical host */                  \
	X(cpus_limit, 0, 1e6)	       /* likewise; also by the CPUs that it may use */                                                    \
	X(load1, 0, 1e9)                                                                                                                   \
	X(steal_ticks, 0, 1e18) /* since boot, all CPUs; steal is the ratio of two differences */                                          \
	X(total_ticks, 0, 1e18)                                                                                                            \
	X(temperature_c, -273, 1000) /* warmest thermal zone, else sensor of a CPU */                                                      \
	X(disk_free_bytes, 0, 1e20)  /* free on / */                                                                                       \
	X(tmp_free_bytes, 0, 1e20)                                                                                                         \
	X(shm_free_bytes, 0, 1e20) /* free on /dev/shm if it is a tmpfs */                                                                 \
	X(perf_event_paranoid, -100, 100)                                                                                                  \
	X(has_pmu, 0, 1) /* 1: hardware counters work for this user */                                                                     \
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

/* Parses lines "name value\n" and skips unknown names. ASSAY_E_FORMAT: a value is no number or outside its range, a name comes twice, or
 * bytes are no text. Overwrites *out; facts_release() it. */
enum assay_status facts_parse(const char *text, size_t n, struct facts *out, struct assay_error *err);
void facts_release(struct facts *facts); /* accepts zeroed */

/* Takes the version from stress-ng's output: "stress-ng, version 0.15.06 (gcc ...)" gives "0.15.06". False: the output has another form. */
bool facts_stress_ng(const char *said, char version[FACTS_VERSION_BYTES]);

#endif
