/* Embeds files in the program. EMBED_FILE(symbol, "path") defines the bytes symbol[0 .. symbol_end - symbol), followed by a NUL. The path
 * is relative to the project's directory. Also name it in the source's OBJECT_DEPENDS in CMakeLists.txt: changes then cause a rebuild. */
#ifndef BASE_EMBED_H
#define BASE_EMBED_H

#define EMBED_FILE(symbol, path)                                                                                                           \
	__asm__(".pushsection .rodata\n"                                                                                                   \
		".balign 16\n"                                                                                                             \
		".globl " #symbol "\n" #symbol ":\n"                                                                                       \
		".incbin \"" path "\"\n"                                                                                                   \
		".globl " #symbol "_end\n" #symbol "_end:\n"                                                                               \
		".byte 0\n"                                                                                                                \
		".popsection\n");                                                                                                          \
	extern const char symbol[], symbol##_end[]

#endif
