/* Which programs restrict their system calls (seccomp) by instructions of their own, where no wrapper sees it. When it has happened it is
 * too late: the next call of ours may end the program. So at the start code is searched for a place that loads the number of such a call
 * and asks the kernel in what it does or calls next. Code that comes later, and numbers that come from tables, are not found. x86-64 alone.
 */
#include "runs/inside/interpose/interpose.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define NEAR	128u /* bytes of code */
#define DEPTH	3u   /* of calls: a wrapper may have one itself */
#define NUMBER	((uint32_t)sizeof(uint32_t))
#define NOWHERE 0x56u /* registers in which neither a call's number nor the first argument is handed on: ecx, edx, esp, esi */

struct code {
	const unsigned char *at;
	size_t n;
};

/* The next "mov $number", to memory or to a register, from there on: where the number is; n: there is none. */
static size_t code_next(const struct code *c, size_t from, uint32_t number)
{
	const unsigned char *b;

	while (from < c->n && (b = memmem(c->at + from, c->n - from, &number, NUMBER))) {
		if ((b[-1] & 0xf8) == 0xb8 ? b[-2] == 0x41 || !(NOWHERE >> (b[-1] & 7) & 1)
					   : b[-2] == 0xc7 || b[-3] == 0xc7 || b[-4] == 0xc7)
			return (size_t)(b - c->at);
		from = (size_t)(b - c->at) + 1;
	}
	return c->n;
}

/* "syscall", but not as a part of a distance. */
static bool code_is_syscall(const unsigned char *b)
{
	return b[0] == 0x0f && b[1] == 0x05 && b[2] != 0x00 && b[2] != 0xff && (b[-1] & 0xfe) != 0xe8 && (b[-1] & 0xc7) != 0x05;
}

/* Where a call or jump there leads. */
static size_t code_target(const unsigned char *b, size_t at)
{
	int32_t distance;

	if (*b == 0xeb)
		return at + 2 + (size_t)(signed char)b[1];
	__builtin_memcpy(&distance, b + 1, sizeof(distance));
	return (*b & 0xfe) == 0xe8 ? at + 1 + sizeof(distance) + (size_t)distance : SIZE_MAX;
}

/* Is the kernel asked from there on, or in what is called from there? `prctl`: first the number of that is loaded. */
static bool code_asks(const struct code *c, size_t from, unsigned depth, bool prctl)
{
	const struct code near = { c->at, from + NEAR + NUMBER < c->n ? from + NEAR + NUMBER : c->n };
	size_t number = prctl ? code_next(&near, from, SYS_prctl) : near.n;

	if (number < near.n)
		return code_asks(c, number, DEPTH, false);
	for (size_t i = from; i + 1 + NUMBER < near.n; i++) {
		size_t to = depth ? code_target(c->at + i, i) : SIZE_MAX;

		if ((!prctl && code_is_syscall(c->at + i)) || (to >= NUMBER && to < c->n && code_asks(c, to, depth - 1, prctl)))
			return true;
	}
	return false;
}

static bool code_restricts(const struct code *c)
{
	bool by_prctl = false;

	for (size_t i = NUMBER; (i = code_next(c, i, SYS_seccomp)) < c->n; i++)
		if (code_asks(c, i, DEPTH, false))
			return true;
	for (size_t i = NUMBER; !by_prctl && (i = code_next(c, i, SYS_prctl)) < c->n; i++)
		by_prctl = code_asks(c, i, DEPTH, false);
	for (size_t i = NUMBER; by_prctl && (i = code_next(c, i, PR_SET_SECCOMP)) < c->n; i++)
		if (code_asks(c, i, DEPTH, true) || (i > NEAR + NUMBER && code_asks(c, i - NEAR, DEPTH, true)))
			return true;
	return false;
}

/* Neither this library's nor the system's, of which none has been found to do so. */
static int module_look(struct dl_phdr_info *module, size_t size, void *found)
{
	const char *name = module->dlpi_name;

	(void)size;
	for (size_t i = 0; i < module->dlpi_phnum && strncmp(name, "/lib", 4) != 0 && strncmp(name, "/usr/lib", 8) != 0; i++) {
		const ElfW(Phdr) *part = &module->dlpi_phdr[i];
		const struct code code = { (const unsigned char *)(module->dlpi_addr + part->p_vaddr), part->p_filesz };

		if (part->p_type == PT_LOAD && (part->p_flags & (PF_R | PF_X)) == (PF_R | PF_X) &&
		    (uintptr_t)&module_look - (uintptr_t)code.at >= code.n)
			*(bool *)found = *(bool *)found || code_restricts(&code);
	}
	return 0;
}

bool interpose_restricts_itself(void)
{
	bool found = false;

#if defined(__x86_64__)
	dl_iterate_phdr(module_look, &found);
#endif
	return found;
}
