/* Calls that open and map files, and that begin and end processes. */
#define _FORTIFY_SOURCE 0 /* the functions themselves, not their inline forms */
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

/* None of this begins the file of a child process: most children close and open files, and then execute another program. */
#define FUNCTIONS	       192
#define ENTER(call, key, name) (interpose_has_file() && interpose_enter(call, key, name))
#include "runs/inside/interpose/interpose_wrap.h"

#define MAPPING interpose_mix(ARG(protection), (uint64_t)flags)

CALL(int, close, (int fd), (fd), NO_FILE, NO_SIZE, NO_ARGS)
CALL(int, creat, (const char *path, mode_t mode), (path, mode), r, NO_SIZE, NO_ARGS)
CALL(int, creat64, (const char *path, mode_t mode), (path, mode), r, NO_SIZE, NO_ARGS)
CALL(void *, mmap, (void *at, size_t n, int protection, int flags, int fd, off_t from), (at, n, protection, flags, fd, from), fd, n,
     MAPPING)
CALL(void *, mmap64, (void *at, size_t n, int protection, int flags, int fd, off64_t from), (at, n, protection, flags, fd, from), fd, n,
     MAPPING)
CALL(int, munmap, (void *at, size_t n), (at, n), NO_FILE, n, NO_ARGS)

/* The mode is there only if it is needed. */
#define OPEN(name, parameters, before, ...)                                                                                                \
	SLOW(NULL, int, name, #name, "open", (WORDS before, mode_t mode), (__VA_ARGS__, mode), r, NO_SIZE, ARG(flags))                     \
	EXPORT int name parameters                                                                                                         \
	{                                                                                                                                  \
		const uint64_t key = KEY();                                                                                                \
		mode_t mode = 0;                                                                                                           \
		va_list list;                                                                                                              \
                                                                                                                                           \
		if (__OPEN_NEEDS_MODE(flags)) {                                                                                            \
			va_start(list, flags);                                                                                             \
			mode = va_arg(list, mode_t);                                                                                       \
			va_end(list);                                                                                                      \
		}                                                                                                                          \
		return INTERPOSE_JUMPS(key, next_##name) ? next_##name(__VA_ARGS__, mode) : slow_##name(key, __VA_ARGS__, mode);           \
	}
OPEN(open, (const char *path, int flags, ...), (const char *path, int flags), path, flags)
OPEN(open64, (const char *path, int flags, ...), (const char *path, int flags), path, flags)
OPEN(openat, (int at, const char *path, int flags, ...), (int at, const char *path, int flags), at, path, flags)
OPEN(openat64, (int at, const char *path, int flags, ...), (int at, const char *path, int flags), at, path, flags)
/* What _FORTIFY_SOURCE makes of these. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int at, const char *path, int flags);
int __openat64_2(int at, const char *path, int flags);
CALL_OF(NULL, int, __open_2, "open", (const char *path, int flags), (path, flags), r, NO_SIZE, ARG(flags))
CALL_OF(NULL, int, __open64_2, "open", (const char *path, int flags), (path, flags), r, NO_SIZE, ARG(flags))
CALL_OF(NULL, int, __openat_2, "open", (int at, const char *path, int flags), (at, path, flags), r, NO_SIZE, ARG(flags))
CALL_OF(NULL, int, __openat64_2, "open", (int at, const char *path, int flags), (at, path, flags), r, NO_SIZE, ARG(flags))

/* ---- processes ---- */

/* In the child the call is not ended: interpose_leave() sees that this is another process. vfork() would return into this function twice.
 */
static pid_t (*next_fork)(void);
EXPORT pid_t fork(void)
{
	const uint64_t key = KEY();
	struct interpose_call call;
	bool timed = !interpose_skips(key) && ENTER(&call, key, "fork");
	pid_t child;

	if (!next_fork)
		interpose_next((void **)(void *)&next_fork, "fork", NULL);
	child = next_fork();
	if (timed)
		interpose_leave(&call, NO_FILE, NO_SIZE, NO_ARGS, child);
	return child;
}

#define SPAWN_PARAMETERS                                                                                                                   \
	(pid_t *restrict child, const char *restrict path, const posix_spawn_file_actions_t *restrict actions,                             \
	 const posix_spawnattr_t *restrict attributes, char *const words[restrict], char *const variables[restrict])
CALL(int, posix_spawn, SPAWN_PARAMETERS, (child, path, actions, attributes, words, variables), NO_FILE, NO_SIZE, NO_ARGS)
CALL(int, posix_spawnp, SPAWN_PARAMETERS, (child, path, actions, attributes, words, variables), NO_FILE, NO_SIZE, NO_ARGS)

/* What does not return is recorded before it, as if it took no time, and whatever chance says: that a program was executed tells why the
 * records end there. */
#define RECORD_LAST(name)                                                                                                                  \
	do {                                                                                                                               \
		const uint64_t key = KEY();                                                                                                \
		struct interpose_call call;                                                                                                \
                                                                                                                                           \
		if (!next_##name)                                                                                                          \
			interpose_next((void **)(void *)&next_##name, #name, NULL);                                                        \
		if (!interpose_skips(key) && ENTER(&call, key, #name)) {                                                                   \
			call.accounts = call.accounts ? call.accounts : 1;                                                                 \
			interpose_leave(&call, NO_FILE, NO_SIZE, NO_ARGS, 0);                                                              \
		}                                                                                                                          \
	} while (0)
#define EXECUTE(name, parameters, arguments)                                                                                               \
	static int(*next_##name) parameters;                                                                                               \
	EXPORT int name parameters                                                                                                         \
	{                                                                                                                                  \
		RECORD_LAST(name);                                                                                                         \
		return next_##name arguments;                                                                                              \
	}
EXECUTE(execve, (const char *path, char *const words[], char *const variables[]), (path, words, variables))
EXECUTE(execv, (const char *path, char *const words[]), (path, words))
EXECUTE(execvp, (const char *file, char *const words[]), (file, words))
EXECUTE(execvpe, (const char *file, char *const words[], char *const variables[]), (file, words, variables))

static __attribute__((noreturn)) void (*next_exit)(int);
EXPORT void exit(int status)
{
	RECORD_LAST(exit);
	next_exit(status);
}

/* Without what a process does at its end. */
#define END(name)                                                                                                                          \
	static __attribute__((noreturn)) void (*next_##name)(int);                                                                         \
	EXPORT void name(int status)                                                                                                       \
	{                                                                                                                                  \
		RECORD_LAST(name);                                                                                                         \
		interpose_finish();                                                                                                        \
		next_##name(status);                                                                                                       \
	}
END(_exit)
END(_Exit)

/* A filter of system calls follows: it kills programs for calls that it does not know. Unprivileged programs say first that they will never
 * have more rights. */
static int (*next_prctl)(int, unsigned long, unsigned long, unsigned long, unsigned long);
EXPORT int prctl(int option, ...)
{
	unsigned long word[4];
	va_list list;

	if (!next_prctl)
		interpose_next((void **)(void *)&next_prctl, "prctl", NULL);
	va_start(list, option);
	for (size_t i = 0; i < 4; i++)
		word[i] = va_arg(list, unsigned long);
	va_end(list);
	if (option == PR_SET_SECCOMP || option == PR_SET_NO_NEW_PRIVS)
		interpose_stop();
	return next_prctl(option, word[0], word[1], word[2], word[3]);
}

/* ---- a limit of the address space ---- */

static inline void limit_look(int which, const struct rlimit *limit)
{
	if (which == RLIMIT_AS && limit)
		interpose_limit(limit->rlim_cur);
}

/* The 64-bit names are the same functions. */
#define LIMITS(name, type)                                                                                                                 \
	static int (*next_##name)(int, const struct type *);                                                                               \
	EXPORT int name(__rlimit_resource_t which, const struct type *limit)                                                               \
	{                                                                                                                                  \
		if (!next_##name)                                                                                                          \
			interpose_next((void **)(void *)&next_##name, #name, NULL);                                                        \
		limit_look((int)which, (const struct rlimit *)limit);                                                                      \
		return next_##name((int)which, limit);                                                                                     \
	}
LIMITS(setrlimit, rlimit)
LIMITS(setrlimit64, rlimit64)

#define LIMITS_OF(name, type)                                                                                                              \
	static int (*next_##name)(pid_t, int, const struct type *, struct type *);                                                         \
	EXPORT int name(pid_t process, __rlimit_resource_t which, const struct type *limit, struct type *before)                           \
	{                                                                                                                                  \
		if (!next_##name)                                                                                                          \
			interpose_next((void **)(void *)&next_##name, #name, NULL);                                                        \
		if (interpose_has_file() && (!process || process == getpid()))                                                             \
			limit_look((int)which, (const struct rlimit *)limit);                                                              \
		return next_##name(process, (int)which, limit, before);                                                                    \
	}
LIMITS_OF(prlimit, rlimit)
LIMITS_OF(prlimit64, rlimit64)
