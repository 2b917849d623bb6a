/* Files that are part of the program: EMBED_FILE(symbol, "path") defines the bytes symbol[0 .. symbol_end - symbol), with a NUL
 * after them. The path is that of a file below the project's directory; the source that embeds it names it among its OBJECT_DEPENDS
 * in CMakeLists.txt, so that it is built again when the file changes. */
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
