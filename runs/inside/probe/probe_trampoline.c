/* Code between the program and the hooks in C. It preserves every register, because a compiler that sees the called function may keep
 * values in any register (gcc's -fipa-ra). */
#include "runs/inside/probe/probe.h"

#include <cpuid.h>

uint64_t probe_save_mask __attribute__((visibility("hidden")));
uint64_t probe_save_bytes __attribute__((visibility("hidden")));

/* The labels probe_in_... are return addresses of the hooks in C. If one of them is on the stack, the hook may be active
 * (probe_is_hook_active()).
 *
 * probe_entry: the stub has put the function's number in %edi. The stack has the saved %rsi and %rdi, the address in the function at which
 * to continue, and the slot. A call instruction puts probe_return in the slot, so that the CPU predicts the function's return correctly. A
 * signal handler that later finds the frame dead restores the original address; then the function does not return here. probe_return: the
 * function has returned here. The slot is just below the stack pointer. */
__asm__(".text\n"
	".p2align 4\n"
	".hidden probe_entry\n"
	".globl probe_entry\n"
	".type probe_entry, @function\n"
	".hidden probe_return\n"
	".globl probe_return\n"
	".type probe_return, @function\n"
	"probe_entry:\n"
	"	.cfi_startproc\n"
	"	.cfi_def_cfa_offset 24\n" /* the slot, to which the stack pointer points at the function's entry */
	"	.cfi_offset rip, -8\n"
	"	.cfi_offset rdi, -16\n"
	"	.cfi_offset rsi, -24\n"
	"	push %rax; push %rdx\n"
	"	.cfi_adjust_cfa_offset 16\n"
	"	mov 40(%rsp), %rdx\n"
	"	lea probe_return(%rip), %rax\n"
	"	cmp %rax, %rdx\n"
	"	je probe_tail\n"      /* probe_return is already there; storing it again could undo a handler's correction */
	"	lea 48(%rsp), %rsp\n" /* the saved registers are in the red zone now */
	"	.cfi_adjust_cfa_offset -48\n"
	"	.cfi_undefined rip\n" /* unwinders look up the byte before a return address */
	"	call probe_called\n"
	"probe_return:\n"
	"	lea -8(%rsp), %rsp\n"
	"	push %rax; push %rdi\n"
	"	lea 16(%rsp), %rdi\n"
	"	call probe_leave\n"
	".hidden probe_in_leave\n"
	".globl probe_in_leave\n"
	"probe_in_leave:\n"
	"	test %rax, %rax\n"
	"	jnz 1f\n"
	"	pop %rdi; pop %rax\n"
	"	ret\n"
	"1:	push %rdx; push %rcx; push %rsi; push %r8; push %r9; push %r10; push %r11\n"
	"	mov %rax, %rsi\n"
	"	call probe_leave_slowly\n"
	".hidden probe_in_leave_slowly\n"
	".globl probe_in_leave_slowly\n"
	"probe_in_leave_slowly:\n"
	"	pop %r11; pop %r10; pop %r9; pop %r8; pop %rsi; pop %rcx; pop %rdx\n"
	"	pop %rdi; pop %rax\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size probe_return, . - probe_return\n"
	".size probe_entry, . - probe_entry\n"

	".p2align 4\n"
	".type probe_called, @function\n"
	"probe_called:\n"
	"	.cfi_startproc\n"
	"	.cfi_def_cfa_offset 0\n"
	"	.cfi_offset rip, -8\n"
	"	.cfi_offset rdi, -16\n"
	"	.cfi_offset rsi, -24\n"
	"	lea -40(%rsp), %rsp\n"
	"	.cfi_adjust_cfa_offset 40\n"
	"probe_tail:\n"
	"	lea 40(%rsp), %rsi\n"
	"	call probe_enter\n"
	".hidden probe_in_enter\n"
	".globl probe_in_enter\n"
	"probe_in_enter:\n"
	"	test %al, %al\n"
	"	jz 2f\n"
	"1:	pop %rdx; pop %rax; pop %rsi; pop %rdi\n"
	"	.cfi_adjust_cfa_offset -32\n"
	"	lea 8(%rsp), %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	jmp *-8(%rsp)\n" /* continues in the function */
	"	.cfi_adjust_cfa_offset 40\n"
	"2:	push %rcx; push %r8; push %r9; push %r10; push %r11\n"
	"	lea -8(%rsp), %rsp\n" /* aligns the stack to 16 bytes */
	"	.cfi_adjust_cfa_offset 48\n"
	"	call probe_enter_slowly\n"
	".hidden probe_in_enter_slowly\n"
	".globl probe_in_enter_slowly\n"
	"probe_in_enter_slowly:\n"
	"	lea 8(%rsp), %rsp\n"
	"	pop %r11; pop %r10; pop %r9; pop %r8; pop %rcx\n"
	"	.cfi_adjust_cfa_offset -48\n"
	"	jmp 1b\n"
	"	.cfi_endproc\n"
	".size probe_called, . - probe_called\n"

	".p2align 4\n"
	".hidden probe_saved\n"
	".globl probe_saved\n"
	".type probe_saved, @function\n"
	"probe_saved:\n"
	"	.cfi_startproc\n"
	"	push %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset rbp, -16\n"
	"	mov %rsp, %rbp\n"
	"	.cfi_def_cfa_register rbp\n"
	"	push %rbx\n"
	"	push %rbx\n"
	"	sub probe_save_bytes(%rip), %rsp\n"
	"	and $-64, %rsp\n"
	"	mov %rdi, %r11\n"
	"	mov %rsi, %rdi\n"
	"	mov %rdx, %rsi\n"
	"	mov probe_save_mask(%rip), %rax\n"
	"	xor %edx, %edx\n"
	"	test %rax, %rax\n"
	"	jz 1f\n"
	"	mov %rdx, 512(%rsp); mov %rdx, 520(%rsp); mov %rdx, 528(%rsp); mov %rdx, 536(%rsp)\n"
	"	mov %rdx, 544(%rsp); mov %rdx, 552(%rsp); mov %rdx, 560(%rsp); mov %rdx, 568(%rsp)\n"
	"	xsave64 (%rsp)\n"
	"	call *%r11\n"
	"	mov %rax, %rbx\n"
	"	mov probe_save_mask(%rip), %rax\n"
	"	xor %edx, %edx\n"
	"	xrstor64 (%rsp)\n"
	"	jmp 2f\n"
	"1:	fxsave64 (%rsp)\n"
	"	call *%r11\n"
	"	mov %rax, %rbx\n"
	"	fxrstor64 (%rsp)\n"
	"2:	mov %rbx, %rax\n"
	"	mov -8(%rbp), %rbx\n"
	"	leave\n"
	"	.cfi_def_cfa rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size probe_saved, . - probe_saved\n");

/* Finds the vector and x87 registers to save (x87, SSE, AVX, AVX-512), and the size of XSAVE's standard format for them. */
void probe_saved_init(void)
{
	const uint64_t wanted = 0xe7;
	unsigned a, b, c, d, low, high;

	probe_save_bytes = 512;
	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & (1u << 27))) /* bit OSXSAVE */
		return;
	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	probe_save_mask = ((uint64_t)high << 32 | low) & wanted;
	probe_save_bytes = 512 + 64;
	for (unsigned component = 2; component < 8; component++) {
		if (!(probe_save_mask >> component & 1))
			continue;
		__cpuid_count(0xd, component, a, b, c, d);
		if ((uint64_t)a + b > probe_save_bytes)
			probe_save_bytes = (uint64_t)a + b;
	}
}
