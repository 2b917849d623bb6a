/* Finds programs that set seccomp filters by their own instructions, which no wrapper sees. A filter may kill the program at the recorder's
 * next system call. So the code is searched at the start. A match loads the number of seccomp() or prctl() and then enters the kernel,
 * directly or in a callee. The search misses code that is loaded later, and numbers from tables. It works only on x86-64. */
#include "runs/inside/interpose/interpose.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define NEAR_BYTES 128u /* length of code that is searched after a number, bytes */
#define DEPTH	   3u	/* maximum depth of nested calls, because a wrapper may call another wrapper */
#define NUMBER	   ((uint32_t)sizeof(uint32_t))
#define UNUSED_REGISTERS                                                                                                                   \
	0x56u /* bit mask of registers that hold neither a system call's number nor its first argument: ecx, edx, esp, esi */

struct code {
	const unsigned char *at;
	size_t n;
};

/* Returns the offset of `number` in the first "mov $number" to memory or to a register, at or after `from`; c->n if there is none. */
static size_t code_next(const struct code *c, size_t from, uint32_t number)
{
	const unsigned char *b;

	while (from < c->n && (b = memmem(c->at + from, c->n - from, &number, NUMBER))) {
		if ((b[-1] & 0xf8) == 0xb8 ? b[-2] == 0x41 || !(UNUSED_REGISTERS >> (b[-1] & 7) & 1)
					   : b[-2] == 0xc7 || b[-3] == 0xc7 || b[-4] == 0xc7)
			return (size_t)(b - c->at);
		from = (size_t)(b - c->at) + 1;
	}
	return c->n;
}

/* Reports whether the bytes are a "syscall" instruction. The same bytes may be a part of a jump distance or an address offset. */
static bool code_is_syscall(const unsigned char *b)
{
	return b[0] == 0x0f && b[1] == 0x05 && b[2] != 0x00 && b[2] != 0xff && (b[-1] & 0xfe) != 0xe8 && (b[-1] & 0xc7) != 0x05;
}

/* Returns the target of the call or jump `b` at offset `at`; SIZE_MAX or an offset outside the code if there is none. */
static size_t code_target(const unsigned char *b, size_t at)
{
	int32_t distance;

	if (*b == 0xeb)
		return at + 2 + (size_t)(signed char)b[1];
	__builtin_memcpy(&distance, b + 1, sizeof(distance));
	return (*b & 0xfe) == 0xe8 ? at + 1 + sizeof(distance) + (size_t)distance : SIZE_MAX;
}

/* Reports whether the code after `from`, or a callee, enters the kernel. With `prctl`, it must also load the number of prctl(). */
static bool code_enters_kernel(const struct code *c, size_t from, unsigned depth, bool prctl)
{
	const struct code near = { c->at, from + NEAR_BYTES + NUMBER < c->n ? from + NEAR_BYTES + NUMBER : c->n };
	size_t number = prctl ? code_next(&near, from, SYS_prctl) : near.n;

	if (number < near.n)
		return code_enters_kernel(c, number, DEPTH, false);
	for (size_t i = from; i + 1 + NUMBER < near.n; i++) {
		size_t to = depth ? code_target(c->at + i, i) : SIZE_MAX;

		if ((!prctl && code_is_syscall(c->at + i)) || (to >= NUMBER && to < c->n && code_enters_kernel(c, to, depth - 1, prctl)))
			return true;
	}
	return false;
}

static bool code_sets_filters(const struct code *c)
{
	bool by_prctl = false;

	for (size_t i = NUMBER; (i = code_next(c, i, SYS_seccomp)) < c->n; i++)
		if (code_enters_kernel(c, i, DEPTH, false))
			return true;
	for (size_t i = NUMBER; !by_prctl && (i = code_next(c, i, SYS_prctl)) < c->n; i++)
		by_prctl = code_enters_kernel(c, i, DEPTH, false);
	for (size_t i = NUMBER; by_prctl && (i = code_next(c, i, PR_SET_SECCOMP)) < c->n; i++)
		if (code_enters_kernel(c, i, DEPTH, true) ||
		    (i > NEAR_BYTES + NUMBER && code_enters_kernel(c, i - NEAR_BYTES, DEPTH, true)))
			return true;
	return false;
}

/* Searches a module for code that sets seccomp filters. Skips this library and system libraries, which set none on their own. */
static int module_inspect(struct dl_phdr_info *module, size_t size, void *found)
{
	const char *name = module->dlpi_name;

	(void)size;
	for (size_t i = 0; i < module->dlpi_phnum && strncmp(name, "/lib", 4) != 0 && strncmp(name, "/usr/lib", 8) != 0; i++) {
		const ElfW(Phdr) *part = &module->dlpi_phdr[i];
		const struct code code = { (const unsigned char *)(module->dlpi_addr + part->p_vaddr), part->p_filesz };

		if (part->p_type == PT_LOAD && (part->p_flags & (PF_R | PF_X)) == (PF_R | PF_X) &&
		    (uintptr_t)&module_inspect - (uintptr_t)code.at >= code.n)
			*(bool *)found = *(bool *)found || code_sets_filters(&code);
	}
	return 0;
}

bool interpose_has_own_seccomp_filter(void)
{
	bool found = false;

#if defined(__x86_64__)
	dl_iterate_phdr(module_inspect, &found);
#endif
	return found;
}
