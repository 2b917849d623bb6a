/* Records a program's calls into the outside: which call, from where, with how much to do, how long it took. A library to be preloaded; it
 * records when ASSAY_INTERPOSE_DIRECTORY names a directory, one file a process (runs/inside/record/record.h). A "function" of the file is
 * a call site: the address that the call returns to in the module with that build-id, and the name of what was called. The counters:
 *
 *   size    what was asked for: bytes, descriptors of a poll, nanoseconds of a sleep; UINT64_MAX: the call has no size
 *   kind    of the descriptor, one of enum interpose_kind
 *   result  what the call returned; UINT64_MAX: it failed
 *
 * A site that is called too often is recorded once in 2, 4, 8... calls, which is the weight of its samples. Nothing here changes errno,
 * results or signals. Linux, x86-64, glibc 2.35. */
#ifndef RUNS_INTERPOSE_H
#define RUNS_INTERPOSE_H

#include <stdbool.h>
#include <stdint.h>

enum interpose_kind {
	INTERPOSE_NONE,
	INTERPOSE_OTHER,
	INTERPOSE_FILE,
	INTERPOSE_PIPE,
	INTERPOSE_SOCKET,
	INTERPOSE_CHARACTER,
	INTERPOSE_BLOCK
};

#define INTERPOSE_NO_SIZE UINT64_MAX
#define INTERPOSE_NO_FILE (-1)

struct interpose_site;

/* A call that is being recorded. */
struct interpose_call {
	struct interpose_site *site;
	uint64_t start; /* ticks */
};

/* True: this call is to be recorded, and the caller ends it by interpose_leave(). `address`: where it returns to; `name`: static. In
 * between the thread may end, fork or jump away: nothing is held. About 3 ns when the answer is no. */
bool interpose_enter(struct interpose_call *call, const void *address, const char *name);
void interpose_leave(const struct interpose_call *call, int file, uint64_t size, int64_t result);

#endif
