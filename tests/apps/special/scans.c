/* TIMES BYTES: a function that reads a number out of a text of so many bytes by sscanf(), which looks for the text's end first. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static __attribute__((noinline, noclone)) int read_number(const char *text)
{
	int number = 0;

	return sscanf(text, "%d", &number) == 1 ? number : 0;
}

int main(int argc, char **argv)
{
	size_t bytes = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	char *text = malloc(bytes + 2);
	long sum = 0;

	if (!bytes || !text)
		return 2;
	memset(text, 'x', bytes + 1);
	memcpy(text, "7 ", 2);
	text[bytes + 1] = '\0';
	for (long i = atol(argv[1]); i > 0; i--)
		sum += read_number(text);
	printf("%ld\n", sum);
	free(text);
	return 0;
}
