/* Libraries that come later. The dynamic linker looks for them where its caller may (RUNPATH, namespace), and it knows its caller by the
 * return address: so the real dlopen() returns to a `ret` in the caller's module, which returns to us. */
#include "runs/inside/probe/probe.h"

#include <dlfcn.h>
#include <link.h>

void *probe_call_as(void *function, const char *file, long mode, const void *gadget);

__asm__(".text\n"
	".p2align 4\n"
	".hidden probe_call_as\n"
	".globl probe_call_as\n"
	".type probe_call_as, @function\n"
	"probe_call_as:\n"
	"	.cfi_startproc\n"
	"	push %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset rbp, -16\n"
	"	mov %rsp, %rbp\n"
	"	.cfi_def_cfa_register rbp\n"
	"	mov %rdi, %r11\n"
	"	mov %rsi, %rdi\n"
	"	mov %rdx, %rsi\n"
	"	lea 1f(%rip), %rax\n"
	"	sub $8, %rsp\n"
	"	push %rax\n"
	"	push %rcx\n"
	"	jmp *%r11\n"
	"1:	leave\n"
	"	.cfi_def_cfa rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size probe_call_as, . - probe_call_as\n");

struct search {
	uintptr_t caller;
	const unsigned char *gadget;
};

/* A byte 0xc3 in the segment that holds the caller. */
static int gadget_find(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *search = data;

	(void)size;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t low = info->dlpi_addr + p->p_vaddr, high = low + p->p_memsz;

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || search->caller < low || search->caller >= high)
			continue;
		for (uintptr_t at = search->caller; at < high; at++)
			if (*(const unsigned char *)at == 0xc3)
				return search->gadget = (const unsigned char *)at, 1;
		for (uintptr_t at = search->caller; at-- > low;)
			if (*(const unsigned char *)at == 0xc3)
				return search->gadget = (const unsigned char *)at, 1;
	}
	return 0;
}

static void *real_dlopen(void)
{
	static void *real;

	if (!real)
		real = dlsym(RTLD_NEXT, "dlopen");
	return real;
}

/* For ourselves. */
void *probe_library(const char *file, int mode)
{
	return ((void *(*)(const char *, int))(uintptr_t)real_dlopen())(file, mode);
}

PROBE_EXPORT void *dlopen(const char *file, int mode)
{
	struct search search = { .caller = (uintptr_t)__builtin_return_address(0) };
	void *library;

	dl_iterate_phdr(gadget_find, &search);
	if (search.gadget)
		library = probe_call_as(real_dlopen(), file, mode, search.gadget);
	else
		library = probe_library(file, mode);
	if (library)
		probe_loaded();
	return library;
}
