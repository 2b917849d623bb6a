#include "gate/variance/fragments.h"

#include "runs/inside/interpose/interpose.h"

#include <stddef.h>
#include <string.h>

#define BY_FILE ACTIVITIES /* the kind of the call's descriptor determines the activity */

struct call_row {
	const char *name; /* a star at the end matches any rest */
	int activity;
	bool moves;
};

/* Activities by name of the call. The first matching row counts. */
static const struct call_row rows[] = {
	{ "MPI_File_*", ACTIVITY_IO, false },
	{ "MPI_Init*", ACTIVITY_OTHER, false },
	{ "MPI_Finalize", ACTIVITY_OTHER, false },
	{ "MPI_Test*", ACTIVITY_WAITING, false },
	{ "MPI_Win_test", ACTIVITY_WAITING, false },
	{ "MPI_Iprobe", ACTIVITY_WAITING, false },
	{ "MPI_Improbe", ACTIVITY_WAITING, false },
	{ "MPI_*", ACTIVITY_COMMUNICATION, false },
	{ "read*", BY_FILE, true },
	{ "write*", BY_FILE, true },
	{ "pread*", ACTIVITY_IO, true },
	{ "pwrite*", ACTIVITY_IO, true },
	{ "fread*", BY_FILE, false },
	{ "fwrite*", BY_FILE, false },
	{ "sendfile*", BY_FILE, true },
	{ "splice", BY_FILE, true },
	{ "copy_file_range", ACTIVITY_IO, true },
	{ "fsync", ACTIVITY_IO, false },
	{ "fdatasync", ACTIVITY_IO, false },
	{ "sync*", ACTIVITY_IO, false },
	{ "msync", ACTIVITY_IO, false },
	{ "fget*", BY_FILE, false },
	{ "getline", BY_FILE, false },
	{ "getdelim", BY_FILE, false },
	{ "fput*", BY_FILE, false },
	{ "puts", BY_FILE, false },
	{ "printf", BY_FILE, false },
	{ "fprintf", BY_FILE, false },
	{ "dprintf", BY_FILE, false },
	{ "vprintf", BY_FILE, false },
	{ "vfprintf", BY_FILE, false },
	{ "vdprintf", BY_FILE, false },
	{ "open*", ACTIVITY_IO, false },
	{ "creat*", ACTIVITY_IO, false },
	{ "close", ACTIVITY_IO, false },
	{ "fopen*", ACTIVITY_IO, false },
	{ "fclose", ACTIVITY_IO, false },
	{ "fflush", BY_FILE, false },
	{ "ftruncate*", ACTIVITY_IO, false },
	{ "fallocate*", ACTIVITY_IO, false },
	{ "posix_f*", ACTIVITY_IO, false },
	{ "send*", ACTIVITY_COMMUNICATION, true },
	{ "recvmmsg", ACTIVITY_COMMUNICATION, false },
	{ "recv*", ACTIVITY_COMMUNICATION, true },
	{ "connect", ACTIVITY_COMMUNICATION, false },
	{ "accept*", ACTIVITY_WAITING, false },
	{ "poll", ACTIVITY_WAITING, false },
	{ "ppoll", ACTIVITY_WAITING, false },
	{ "select", ACTIVITY_WAITING, false },
	{ "pselect", ACTIVITY_WAITING, false },
	{ "epoll_*", ACTIVITY_WAITING, false },
	{ "pthread_*", ACTIVITY_WAITING, false },
	{ "sem*", ACTIVITY_WAITING, false },
	{ "thrd_*", ACTIVITY_WAITING, false },
	{ "mtx_*", ACTIVITY_WAITING, false },
	{ "cnd_*", ACTIVITY_WAITING, false },
	{ "flock", ACTIVITY_WAITING, false },
	{ "futex", ACTIVITY_WAITING, false },
	{ "sleep", ACTIVITY_WAITING, false },
	{ "usleep", ACTIVITY_WAITING, false },
	{ "nanosleep", ACTIVITY_WAITING, false },
	{ "clock_nanosleep", ACTIVITY_WAITING, false },
	{ "wait*", ACTIVITY_WAITING, false },
	{ "sigwait*", ACTIVITY_WAITING, false },
	{ "sigsuspend", ACTIVITY_WAITING, false },
	{ "pause", ACTIVITY_WAITING, false },
};

static bool is_pattern_match(const char *pattern, const char *name)
{
	size_t n = strcspn(pattern, "*");

	return strncmp(pattern, name, n) == 0 && (pattern[n] || !name[n] || name[n] == '<'); /* a name can end with '<' and a call path */
}

enum activity call_activity(const char *name, uint64_t kind, bool *moves)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!is_pattern_match(rows[i].name, name))
			continue;
		*moves = rows[i].moves;
		if (rows[i].activity != BY_FILE)
			return (enum activity)rows[i].activity;
		return kind == INTERPOSE_PIPE || kind == INTERPOSE_SOCKET ? ACTIVITY_COMMUNICATION : ACTIVITY_IO;
	}
	*moves = false;
	return ACTIVITY_OTHER;
}

ROWS_FUNCTION(activity_name, enum activity, ACTIVITY_ROWS, ROWS_CODE)
ROWS_FUNCTION(activity_text, enum activity, ACTIVITY_ROWS, ROWS_TEXT)
