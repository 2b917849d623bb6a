/* Collects lines of a log in a buffer and writes the buffer when it is full. With BAD, the buffer is smaller: it is written eight times
 * as often, and each call of flush() does less. */
#include "../app.h"

#include <fcntl.h>
#include <unistd.h>

#ifdef BAD
#define ROOM 512
#else
#define ROOM 4096
#endif
#define LINE_MAX_BYTES 80

static struct out {
	_Alignas(LINE) size_t used;
	uint64_t written, sum;
	int fd;
	char bytes[ROOM];
} *outs;

FUNCTION void flush(struct out *out)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < out->used; i++)
		sum = sum * 31 + (unsigned char)out->bytes[i];
	out->sum ^= sum;
	if (write(out->fd, out->bytes, out->used) > 0)
		out->written += out->used;
	out->used = 0;
}

FUNCTION void put_char(struct out *out, char c)
{
	out->bytes[out->used++] = c;
}

FUNCTION void put_number(struct out *out, uint64_t n)
{
	char digits[20];
	int k = 0;

	do
		digits[k++] = (char)('0' + n % 10);
	while (n /= 10);
	while (k > 0)
		put_char(out, digits[--k]);
}

FUNCTION void put_text(struct out *out, const char *text)
{
	while (*text)
		put_char(out, *text++);
}

FUNCTION void one_line(struct out *out, uint64_t number, uint64_t value)
{
	if (out->used + LINE_MAX_BYTES > ROOM)
		flush(out);
	put_number(out, number);
	put_text(out, value % 9 == 0 ? ": something happened that is worth a line: " : ": value ");
	put_number(out, value);
	put_char(out, '\n');
}

static void work(unsigned thread)
{
	struct out *out = &outs[thread];
	uint64_t state = app.seed + thread;

	out->fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	for (long i = app_from(thread, app.size); i < app_to(thread, app.size); i++)
		one_line(out, (uint64_t)i, app_random(&state) % 100000);
	flush(out);
	close(out->fd);
}

int main(int argc, char **argv)
{
	uint64_t total = 0;

	app_begin(argc, argv, 6000);
	outs = app_lines(app.threads * sizeof(*outs));
	app_run(work);
	for (unsigned i = 0; i < app.threads; i++)
		total += outs[i].written;
	app_end(total);
	return 0;
}
