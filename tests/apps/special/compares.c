/* Compares and copies a few equal bytes, which compilers do without a library call: 1000 calls of each function. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define EACH(name, expression)                                                                                                             \
	__attribute__((noinline)) static int name(const char *a, const char *b)                                                            \
	{                                                                                                                                  \
		return expression;                                                                                                         \
	}
EACH(four, memcmp(a, b, 4) == 0)
EACH(sixteen, memcmp(a, b, 16) == 0)
EACH(sixty_four, memcmp(a, b, 64) == 0)
EACH(ordered, memcmp(a, b, 8) <= 0)
EACH(old_way, bcmp(a, b, 16) == 0)
EACH(word, (b != 0) & (strcmp(a, "ab") == 0))
EACH(beginning, (b != 0) & (strncmp(a, "ab", 2) == 0))

__attribute__((noinline)) static int loaded(const char *a, const char *b)
{
	uint64_t x;

	memcpy(&x, a, sizeof(x));
	return (x != 0) & (b != 0);
}

int main(void)
{
	static _Alignas(64) char a[64] = "ab", b[64] = "ab";
	int n = 0;

	for (int i = 0; i < 1000; i++) {
		n += four(a, b) + sixteen(a, b) + sixty_four(a, b) + ordered(a, b);
		n += old_way(a, b) + word(a, b) + beginning(a, b) + loaded(a, b);
	}
	printf("%d\n", n);
	return 0;
}
