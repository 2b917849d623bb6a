/* Facts of a host as the helper reads them: conditions of a fingerprint, evidence of which machine it is, and what `fleet check` looks
 * at. Texts are NULL and numbers NaN where the host does not say. */
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
	X(board_serial) /* often for root only, as the next */                                                                             \
	X(board_uuid)                                                                                                                      \
	X(tmp_filesystem) /* of /tmp: tmpfs, ext4, ..., 0xMAGIC */                                                                         \
	X(cgroup)	  /* v1, v2, hybrid */                                                                                             \
	X(emulated)	  /* of an emulated host: its profile */

/* Numbers: name, smallest, largest. */
#define FACTS_NUMBER_ROWS(X)                                                                                                               \
	X(sockets, 1, 1e6)                                                                                                                 \
	X(cores_per_socket, 1, 1e6)                                                                                                        \
	X(threads_per_core, 1, 1e6)                                                                                                        \
	X(cpus_online, 1, 1e6)                                                                                                             \
	X(cpu_family, 0, 1e6) /* as CPUID tells them: what such a CPU can count */                                                         \
	X(cpu_model_number, 0, 1e6)                                                                                                        \
	X(cpu_stepping, 0, 1e6)                                                                                                            \
	X(last_cache_bytes, 0, 1e15) /* of the last level that the first CPU has; stress-ng maps a buffer of this size */                  \
	X(memory_bytes, 1, 1e18)                                                                                                           \
	X(memory_available_bytes, 0, 1e18)                                                                                                 \
	X(memory_limit_bytes, 0, 1e18) /* of cgroups: the host's own, where the rest is its box's */                                       \
	X(cpus_limit, 0, 1e6)	       /* likewise, and of which CPUs it may use */                                                        \
	X(load1, 0, 1e9)                                                                                                                   \
	X(steal_ticks, 0, 1e18) /* since boot, all CPUs: steal is the ratio of two differences */                                          \
	X(total_ticks, 0, 1e18)                                                                                                            \
	X(temperature_c, -273, 1000) /* the warmest thermal zone, else sensor of a CPU */                                                  \
	X(disk_free_bytes, 0, 1e20)  /* of / */                                                                                            \
	X(tmp_free_bytes, 0, 1e20)                                                                                                         \
	X(shm_free_bytes, 0, 1e20) /* of /dev/shm, where it is a tmpfs */                                                                  \
	X(perf_event_paranoid, -100, 100)                                                                                                  \
	X(has_pmu, 0, 1) /* hardware counters count for this user */                                                                       \
	X(uid, 0, 4294967295.)                                                                                                             \
	X(clock_ms, 0, 1e15) /* real time there, when it answered */

#define FACTS_TEXT_FIELD(name)		   char *name;
#define FACTS_NUMBER_FIELD(name, min, max) double name;
struct facts {
	FACTS_TEXT_ROWS(FACTS_TEXT_FIELD)
	FACTS_NUMBER_ROWS(FACTS_NUMBER_FIELD)
};
#undef FACTS_TEXT_FIELD
#undef FACTS_NUMBER_FIELD

/* Lines "name value\n". Names that are not known are skipped; a number that is none, or outside its range, a name that comes twice
 * and bytes that are no text are ASSAY_E_FORMAT. *out is overwritten; facts_release() it. */
enum assay_status facts_parse(const char *text, size_t n, struct facts *out, struct assay_error *err);
void facts_release(struct facts *facts); /* accepts zeroed */

/* Takes the version from what stress-ng says: "stress-ng, version 0.15.06 (gcc ...)" to "0.15.06". False: it says something else. */
bool facts_stress_ng(const char *said, char version[FACTS_VERSION_BYTES]);

#endif
