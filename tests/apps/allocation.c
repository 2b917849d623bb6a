/* Builds lines from words. With BAD, each line is allocated and freed. */
#include "app.h"

#define BYTES 256

FUNCTION uint64_t put_together(long n, char *buffer)
{
	uint64_t sum = 0;

	for (long i = 0; i < n; i++) {
#ifdef BAD
		char *line = malloc(BYTES);

		(void)buffer;
#else
		char *line = buffer;
#endif
		volatile char *out = line;

		if (!line)
			abort();
		for (unsigned k = 0; k < BYTES / 4; k++)
			out[k] = (char)(i + k);
		sum += (uint8_t)out[i % (BYTES / 4)];
#ifdef BAD
		free(line);
#endif
	}
	return sum;
}

int main(int argc, char **argv)
{
	char buffer[BYTES];

	app_begin(argc, argv, 2000000);
	app_end(put_together(app.size, buffer));
	return 0;
}
