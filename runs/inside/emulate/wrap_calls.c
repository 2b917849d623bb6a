/* Wrappers that count system calls and work of the C library, regardless of the arguments, and then jump to the real function. */
#include "runs/inside/emulate/emulation.h"
#include "runs/inside/emulate/wrapped.h"

#include <stddef.h>

#define ON_THE_WAY(name, variable, counted)                                                                                                \
	__asm__(".pushsection .text\n"                                                                                                     \
		".globl __wrap_" name "\n"                                                                                                 \
		".type __wrap_" name ", @function\n"                                                                                       \
		"__wrap_" name ":\n"                                                                                                       \
		"	endbr64\n"                                                                                                               \
		"	movq " variable "@gottpoff(%rip), %r11\n"                                                                          \
		"	" counted " %fs:(%r11)\n"                                                                                          \
		"	jmp __real_" name "@PLT\n"                                                                                         \
		".size __wrap_" name ", . - __wrap_" name "\n"                                                                             \
		".popsection\n");
#define COUNT_CALL(name)     ON_THE_WAY(name, "system_calls", "incq")
#define COUNT_WORK_4(name)   ON_THE_WAY(name, "hot", "addq $4,")
#define COUNT_WORK_8(name)   ON_THE_WAY(name, "hot", "addq $8,")
#define COUNT_WORK_16(name)  ON_THE_WAY(name, "hot", "addq $16,")
#define COUNT_WORK_32(name)  ON_THE_WAY(name, "hot", "addq $32,")
#define COUNT_WORK_64(name)  ON_THE_WAY(name, "hot", "addq $64,")
#define COUNT_WORK_128(name) ON_THE_WAY(name, "hot", "addq $128,")
_Static_assert(offsetof(struct hot, library) == 0, "the assembly adds to hot.library");

WRAPPED_CALLS(COUNT_CALL)
WRAPPED_WORK_4(COUNT_WORK_4)
WRAPPED_WORK_8(COUNT_WORK_8)
WRAPPED_WORK_16(COUNT_WORK_16)
WRAPPED_WORK_32(COUNT_WORK_32)
WRAPPED_WORK_64(COUNT_WORK_64)
WRAPPED_WORK_128(COUNT_WORK_128)
