#include "base/progress.h"

#include "base/command.h"

#include <math.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

double progress_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

struct progress progress_begin(FILE *stream, double now_s)
{
	double next_s = cli_is_quiet() ? (double)INFINITY : now_s + PROGRESS_LOG_S;

	return (struct progress){ .stream = stream, .terminal = !cli_is_quiet() && isatty(fileno(stream)), .next_s = next_s };
}

void progress_show(struct progress *progress, double now_s, bool last, const char *format, ...)
{
	va_list arguments;

	if (!progress->terminal && (last || now_s < progress->next_s))
		return;
	if (progress->terminal)
		fputs("\r\033[K", progress->stream);
	va_start(arguments, format);
	vfprintf(progress->stream, format, arguments);
	va_end(arguments);
	progress->open = progress->terminal && !last;
	if (!progress->open)
		fputc('\n', progress->stream);
	fflush(progress->stream);
	progress->next_s = now_s + PROGRESS_LOG_S;
}

void progress_end(struct progress *progress)
{
	if (progress->open)
		fputc('\n', progress->stream);
	progress->open = false;
}
