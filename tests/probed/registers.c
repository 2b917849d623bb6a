/* A compiler that sees a function may keep values in caller-saved registers across its call. keeper() changes no register. check() returns
 * how many registers changed during a call of keeper(). */
#include <stdio.h>

int check(void);

__asm__(".text\n"
	".globl keeper\n"
	".type keeper, @function\n"
	"keeper:\n"
	"	nop; nop; nop; nop; nop\n" /* as -fpatchable-function-entry=5 makes them */
	"	ret\n"
	".size keeper, . - keeper\n"

	".globl check\n"
	".type check, @function\n"
	"check:\n"
	"	push %rbx\n"
	"	mov $11, %eax; mov $12, %ecx; mov $13, %edx; mov $14, %esi; mov $15, %edi\n"
	"	mov $16, %r8d; mov $17, %r9d; mov $18, %r10d; mov $19, %r11d\n"
	"	movq %rax, %xmm0; movq %rcx, %xmm7; movq %rdx, %xmm15\n"
	"	call keeper\n"
	"	xor %ebx, %ebx\n"
	"	cmp $11, %rax; setne %bl\n"
	"	cmp $12, %rcx; je 1f; inc %ebx\n"
	"1:	cmp $13, %rdx; je 1f; inc %ebx\n"
	"1:	cmp $14, %rsi; je 1f; inc %ebx\n"
	"1:	cmp $15, %rdi; je 1f; inc %ebx\n"
	"1:	cmp $16, %r8; je 1f; inc %ebx\n"
	"1:	cmp $17, %r9; je 1f; inc %ebx\n"
	"1:	cmp $18, %r10; je 1f; inc %ebx\n"
	"1:	cmp $19, %r11; je 1f; inc %ebx\n"
	"1:	movq %xmm0, %rax; cmp $11, %rax; je 1f; inc %ebx\n"
	"1:	movq %xmm7, %rax; cmp $12, %rax; je 1f; inc %ebx\n"
	"1:	movq %xmm15, %rax; cmp $13, %rax; je 1f; inc %ebx\n"
	"1:	mov %ebx, %eax\n"
	"	pop %rbx\n"
	"	ret\n"
	".size check, . - check\n");

int main(void)
{
	int changed = 0;

	for (int i = 0; i < 20000; i++)
		changed += check();
	printf("%d\n", changed);
	return 0;
}
