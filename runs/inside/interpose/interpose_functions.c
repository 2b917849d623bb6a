/* Records the library functions that --call names. A call has two marks, at its start and its end, with the work in between. A library that
 * `assay record` writes (runs/commands/cmd_record.c) exports the names and jumps to this file, with the function's number in r11.
 * ASSAY_INTERPOSE_FUNCTIONS has the names in the order of the numbers: "NAME,NAME:N,...". Argument N is the requested amount of work.
 *
 * The real function gets the same registers and a copy of 16 words of the caller's stack. Unwinders find an ordinary frame. A call that
 * ends by longjmp() or an exception has no second mark. */
#include "runs/inside/interpose/interpose.h"
#include "runs/inside/record/record_system.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define HIDDEN	      __attribute__((visibility("hidden")))
#define FUNCTIONS_MAX 64u
#define NAMES_BYTES   8192u
#define NUMBERS	      0x300u /* first number of these functions; smaller ones belong to interpose_mpi.c */
#define ENDS	      ":return"
#define ENDS_BYTES    (sizeof(ENDS) - 1)

/* Argument registers, in the layout that the assembly below uses. */
struct registers {
	double vectors[8][2];
	uint64_t rax, rdi, rsi, rdx, rcx, r8, r9, r10, number;
};
_Static_assert(offsetof(struct registers, number) == 192, "the code below");

static struct function {
	const char *name, *end; /* recorded names of the start and the end of a call */
	void *next;
	unsigned argument; /* number of the argument with the amount of work, from 1; 0 if none */
} functions[FUNCTIONS_MAX];
static char names[NAMES_BYTES];
static bool functions_parsed;

/* Parses "NAME:N" or "NAME". Stores the two recorded names in `names`, from `at` on, and returns the end of the stored text. */
static char *function_take(struct function *f, const char *text, size_t n, char *at)
{
	const char *colon = memchr(text, ':', n);
	size_t bytes = colon ? (size_t)(colon - text) : n;

	if ((size_t)(names + NAMES_BYTES - at) < 2 * (bytes + 1) + ENDS_BYTES)
		return at;
	f->argument = colon && colon[1] >= '1' && colon[1] <= '6' ? (unsigned)(colon[1] - '0') : 0;
	memcpy(at, text, bytes);
	f->name = at;
	at += bytes + 1;
	memcpy(at, text, bytes);
	memcpy(at + bytes, ENDS, ENDS_BYTES);
	f->end = at;
	return at + bytes + ENDS_BYTES + 1;
}

/* Reads the names before the program can change its environment. A constructor of a library may call a function even earlier. */
__attribute__((constructor)) static void functions_take(void)
{
	const char *text = getenv("ASSAY_INTERPOSE_FUNCTIONS");
	char *at = names;

	for (size_t i = 0; !functions_parsed && text && *text && i < FUNCTIONS_MAX; i++) {
		size_t n = strcspn(text, ",");

		at = function_take(&functions[i], text, n, at);
		text += n + (text[n] == ',');
	}
	functions_parsed = true;
}

/* Finds the real function. If no library has it, ends the process, as the dynamic linker does for a missing function. */
static void *function_inspect(struct function *f, uintptr_t caller)
{
	static const char text[] = "assay: no library has a function that --call names\n";
	void *next = f->name ? interpose_find(f->name, caller) : NULL;

	if (!next) {
		record_system_call(SYS_write, 2, (long)text, sizeof(text) - 1, 0, 0, 0);
		record_system_call(SYS_exit_group, 127, 0, 0, 0, 0, 0);
	}
	__atomic_store_n(&f->next, next, __ATOMIC_RELAXED);
	return next;
}

static void record_mark(uintptr_t caller, uint64_t number, const char *name, uint64_t size)
{
	const uint64_t key = interpose_key((const void *)caller, number);
	struct interpose_call call;

	if (!interpose_skip_timing(key) && interpose_enter(&call, key, name))
		interpose_leave(&call, -INTERPOSE_FUNCTION, size, 0, 0);
}

static uint64_t read_size_argument(const struct function *f, const struct registers *r)
{
	const uint64_t arguments[] = { INTERPOSE_NO_SIZE, r->rdi, r->rsi, r->rdx, r->rcx, r->r8, r->r9 };

	return arguments[f->argument];
}

/* Marks the start of a call. Returns the address of the real function. */
HIDDEN void *interpose_function_begins(const struct registers *r, uintptr_t caller);
HIDDEN void *interpose_function_begins(const struct registers *r, uintptr_t caller)
{
	struct function *f = &functions[r->number % FUNCTIONS_MAX];
	int before = errno;
	void *next;

	functions_take();
	next = __atomic_load_n(&f->next, __ATOMIC_RELAXED);
	if (!next)
		next = function_inspect(f, caller);
	record_mark(caller, NUMBERS + 2 * r->number, f->name, read_size_argument(f, r));
	errno = before;
	return next;
}

HIDDEN void interpose_function_ends(const struct registers *r, uintptr_t caller);
HIDDEN void interpose_function_ends(const struct registers *r, uintptr_t caller)
{
	const struct function *f = &functions[r->number % FUNCTIONS_MAX];

	record_mark(caller, NUMBERS + 2 * r->number + 1, f->end, read_size_argument(f, r));
}

#if defined(__x86_64__) /* assay refuses --call on other architectures */
/* Frame, from low addresses: 16 stack words for the real function, struct registers, and the results (rax, rdx, xmm0, xmm1). */
__asm__(".text\n"
	".p2align 4\n"
	".globl assay_interpose_function\n"
	".type assay_interpose_function, @function\n"
	"assay_interpose_function:\n"
	"	.cfi_startproc\n"
	"	push %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset rbp, -16\n"
	"	mov %rsp, %rbp\n"
	"	.cfi_def_cfa_register rbp\n"
	"	sub $384, %rsp\n"
	"	movaps %xmm0, 128(%rsp); movaps %xmm1, 144(%rsp); movaps %xmm2, 160(%rsp); movaps %xmm3, 176(%rsp)\n"
	"	movaps %xmm4, 192(%rsp); movaps %xmm5, 208(%rsp); movaps %xmm6, 224(%rsp); movaps %xmm7, 240(%rsp)\n"
	"	mov %rax, 256(%rsp); mov %rdi, 264(%rsp); mov %rsi, 272(%rsp); mov %rdx, 280(%rsp)\n"
	"	mov %rcx, 288(%rsp); mov %r8, 296(%rsp); mov %r9, 304(%rsp); mov %r10, 312(%rsp); mov %r11, 320(%rsp)\n"
	"	lea 128(%rsp), %rdi\n"
	"	mov 8(%rbp), %rsi\n"
	"	call interpose_function_begins\n"
	"	mov %rax, %r11\n"
	"	lea 16(%rbp), %rsi\n"
	"	mov %rsp, %rdi\n"
	"	mov $16, %ecx\n"
	"	rep movsq\n"
	"	movaps 128(%rsp), %xmm0; movaps 144(%rsp), %xmm1; movaps 160(%rsp), %xmm2; movaps 176(%rsp), %xmm3\n"
	"	movaps 192(%rsp), %xmm4; movaps 208(%rsp), %xmm5; movaps 224(%rsp), %xmm6; movaps 240(%rsp), %xmm7\n"
	"	mov 256(%rsp), %rax; mov 264(%rsp), %rdi; mov 272(%rsp), %rsi; mov 280(%rsp), %rdx\n"
	"	mov 288(%rsp), %rcx; mov 296(%rsp), %r8; mov 304(%rsp), %r9; mov 312(%rsp), %r10\n"
	"	call *%r11\n"
	"	mov %rax, 336(%rsp); mov %rdx, 344(%rsp); movaps %xmm0, 352(%rsp); movaps %xmm1, 368(%rsp)\n"
	"	lea 128(%rsp), %rdi\n"
	"	mov 8(%rbp), %rsi\n"
	"	call interpose_function_ends\n"
	"	mov 336(%rsp), %rax; mov 344(%rsp), %rdx; movaps 352(%rsp), %xmm0; movaps 368(%rsp), %xmm1\n"
	"	leave\n"
	"	.cfi_def_cfa rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size assay_interpose_function, . - assay_interpose_function\n");
#endif
