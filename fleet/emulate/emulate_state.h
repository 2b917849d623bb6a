/* What an emulated fleet has made on this machine, so that it can be taken away again: DIR/.assay/emulated/state. A line is
 * written before the thing is made; whoever finds the file after a kill -9 takes away what is there. */
#ifndef FLEET_EMULATE_STATE_H
#define FLEET_EMULATE_STATE_H

#include "base/error.h"
#include "base/rows.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define EMULATE_STATE_BYTES_MAX (4u << 20)
#define EMULATE_TAG_BYTES       9 /* eight hexadecimal digits and a NUL */

/* Constant, word in the file. */
#define EMULATE_THING_ROWS(X)                                                                                                    \
	X(EMULATE_THING_LABORATORY, "laboratory") /* lab.yaml is written by `up` */                                              \
	X(EMULATE_THING_BOOT, "boot")		  /* id of the boot that the rest belongs to */                                  \
	X(EMULATE_THING_LINK, "link")		  /* network interface of this machine */                                        \
	X(EMULATE_THING_CGROUP, "cgroup")	  /* directory */                                                                \
	X(EMULATE_THING_PROCESS, "process")	  /* sshd of a host: pid and start time */

enum emulate_thing_kind { EMULATE_THING_ROWS(ROWS_ENUM) EMULATE_THINGS };

struct emulate_thing {
	enum emulate_thing_kind kind;
	char *name; /* of the link, the directory, the boot; NULL where there is none */
	pid_t pid;
	uint64_t start_ticks; /* field 22 of /proc/PID/stat: with the pid it names one process for ever */
};

struct emulate_state {
	char tag[EMULATE_TAG_BYTES];  /* stands in the name of everything that the laboratory makes */
	struct emulate_thing *things; /* [n], in the order in which they were made */
	size_t n;
};

/* From text. A last line without an end was being written when its writer died: it is left out. Names of links and cgroups
 * without the tag in its place are refused, since they would be removed. *out is overwritten; emulate_state_release() it. */
enum assay_status emulate_state_parse(const char *file, const char *text, size_t n, struct emulate_state *out,
				      struct assay_error *err);
/* The same from a file; one that does not exist has no things and the tag "". */
enum assay_status emulate_state_read(const char *path, struct emulate_state *out, struct assay_error *err);
void emulate_state_release(struct emulate_state *state);

/* Starts the file anew: the tag, this boot, and the laboratory (it stays ours). *fd is open for emulate_state_add();
 * close() it. */
enum assay_status emulate_state_begin(const char *path, const char *tag, int *fd, struct assay_error *err);
/* Starts the file anew when everything was taken away: only the laboratory stays. */
enum assay_status emulate_state_end(const char *path, const char *tag, struct assay_error *err);
/* One line. */
enum assay_status emulate_state_link(int fd, const char *name, struct assay_error *err);
enum assay_status emulate_state_cgroup(int fd, const char *path, struct assay_error *err);
enum assay_status emulate_state_process(int fd, pid_t pid, struct assay_error *err);

/* The start of a process in clock ticks since boot; 0 when it is not there (or a zombie). */
uint64_t emulate_start_ticks(pid_t pid);
/* Id of this boot; "unknown" where the kernel does not tell. free() it. */
char *emulate_boot(void);

#endif
