/* What a wrapper of a call is made of: a row for each call (interpose_calls.c and the files beside it). Before this is included, FUNCTIONS
 * is the first number of the file's functions. */
#ifndef RUNS_INTERPOSE_WRAP_H
#define RUNS_INTERPOSE_WRAP_H

#include "runs/inside/interpose/interpose.h"

#include <stdio.h>

#ifndef ENTER
#define ENTER interpose_enter
#endif
#define EXPORT	   __attribute__((visibility("default")))
#define WORDS(...) __VA_ARGS__

#define NO_SIZE INTERPOSE_NO_SIZE
#define NO_FILE INTERPOSE_NO_FILE
#define NO_ARGS 0
#define ARG(a)	interpose_mix(0, (uint64_t)(a))

/* Of a pointer only whether there is one: addresses differ from run to run. */
static inline int64_t result_pointer(const void *r)
{
	return !r || (intptr_t)r == -1 ? -1 : 0;
}

static inline int64_t result_count(size_t r)
{
	return (int64_t)r;
}

static inline int64_t result_number(int64_t r)
{
	return r;
}
#define RESULT_OF(r)                                                                                                                       \
	_Generic((r), void * : result_pointer, char * : result_pointer, FILE * : result_pointer, size_t : result_count, default : result_number)(r)

/* RESULT NAME PARAMETERS, called with ARGUMENTS, recorded as `label`; FILE, SIZE and ARGS are worked out after the call, `r` is its result.
 */
#define SLOW(version, result, name, symbol, label, parameters, arguments, file, size, args)                                                \
	static result(*next_##name) parameters;                                                                                            \
	__attribute__((noinline)) static result slow_##name(uint64_t key, WORDS parameters)                                                \
	{                                                                                                                                  \
		struct interpose_call call;                                                                                                \
		result r;                                                                                                                  \
                                                                                                                                           \
		if (!next_##name)                                                                                                          \
			interpose_next((void **)(void *)&next_##name, symbol, version);                                                    \
		if (!ENTER(&call, key, label))                                                                                             \
			return next_##name arguments;                                                                                      \
		r = next_##name arguments;                                                                                                 \
		interpose_leave(&call, file, size, args, RESULT_OF(r));                                                                    \
		return r;                                                                                                                  \
	}
#define KEY() interpose_key(__builtin_return_address(0), FUNCTIONS + __COUNTER__)

/* A call that is skipped is a jump: its site is known, and so is the function. */
#define CALL_OF(version, result, name, label, parameters, arguments, file, size, args)                                                     \
	SLOW(version, result, name, #name, label, parameters, arguments, file, size, args)                                                 \
	EXPORT result name parameters                                                                                                      \
	{                                                                                                                                  \
		const uint64_t key = KEY();                                                                                                \
                                                                                                                                           \
		return INTERPOSE_JUMPS(key, next_##name) ? next_##name arguments : slow_##name(key, WORDS arguments);                      \
	}
#define CALL(result, name, parameters, arguments, file, size, args)                                                                        \
	CALL_OF(NULL, result, name, #name, parameters, arguments, file, size, args)

#endif
