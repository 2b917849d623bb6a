/* Receives and reads messages. With BAD, copies each message to a buffer first. */
#include "app.h"

#define MESSAGE 4096

static char *messages, *buffers;

FUNCTION uint64_t look(const char *message, char *buffer)
{
	uint64_t sum = 0;

#ifdef BAD
	memcpy(buffer, message, MESSAGE);
	message = buffer;
#endif
	(void)buffer;
	for (unsigned i = 0; i < MESSAGE; i += LINE)
		sum += (uint8_t)message[i];
	return sum;
}

static _Alignas(LINE) uint64_t totals[THREADS_MAX][LINE / sizeof(uint64_t)];

static void receive(unsigned thread)
{
	for (long i = 0; i < app.size; i++)
		totals[thread][0] += look(messages + (i % 64) * MESSAGE, buffers + (size_t)thread * MESSAGE);
}

int main(int argc, char **argv)
{
	uint64_t total = 0;

	app_begin(argc, argv, 400000);
	messages = app_lines(64 * MESSAGE);
	buffers = app_lines(app.threads * (size_t)MESSAGE);
	for (long i = 0; i < 64 * MESSAGE; i++)
		messages[i] = (char)(i * 31 >> 3);
	app_run(receive);
	for (unsigned i = 0; i < app.threads; i++)
		total += totals[i][0];
	app_end(total);
	return 0;
}
