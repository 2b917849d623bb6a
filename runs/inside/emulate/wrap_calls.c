/* System calls: counted on the way, whatever the arguments are. */
#include "runs/inside/emulate/emulate.h"
#include "runs/inside/emulate/wrapped.h"

#define COUNT_CALL(name)                                                                                                                   \
	__asm__(".pushsection .text\n"                                                                                                     \
		".globl __wrap_" name "\n"                                                                                                 \
		".type __wrap_" name ", @function\n"                                                                                       \
		"__wrap_" name ":\n"                                                                                                       \
		"	endbr64\n"                                                                                                               \
		"	movq system_calls@gottpoff(%rip), %r11\n"                                                                                \
		"	incq %fs:(%r11)\n"                                                                                                       \
		"	jmp __real_" name "@PLT\n"                                                                                         \
		".size __wrap_" name ", . - __wrap_" name "\n"                                                                             \
		".popsection\n");
WRAPPED_CALLS(COUNT_CALL)
