/* The night's log, .assay/night.log: what happened when, for who looks the morning after. It is its owner's alone, and at most
 * LOG_BYTES_MAX long, with one that came before. That it cannot be written does not disturb a night. */
#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/text.h"
#include "gate/nightly/nightly.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOG_BYTES_MAX  (1 << 20)
#define LINE_BYTES_MAX 4096

/* The log at its end; a long one becomes the one before. -1: there is none. */
static int log_open(const char *directory)
{
	char *path = mem_format("%s/.assay/night.log", directory), *before = mem_format("%s.1", path);
	int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, fd = open(path, flags, 0600);
	struct stat is;

	if (fd >= 0 && !fstat(fd, &is) && is.st_size > LOG_BYTES_MAX) {
		close(fd);
		fd = rename(path, before) ? -1 : open(path, flags, 0600);
	}
	mem_free(before, path);
	return fd;
}

void nightly_log(const struct nightly *n, const char *fmt, ...)
{
	char text[LINE_BYTES_MAX];
	struct buf line = BUF_INIT;
	int fd = n->options->dry_run ? -1 : log_open(n->options->directory);
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	secrets_hide(text, sizeof(text));
	buf_format(&line, "%s %.8s ", TEXT_MS(clock_real_ms() / 1000 * 1000), *n->night.id ? n->night.id : "-");
	for (const char *at = text; *at;) {
		size_t control = text_control(at);

		buf_char(&line, control ? ' ' : *at);
		at += control ? control : 1;
	}
	buf_char(&line, '\n');
	if (fd >= 0) {
		ssize_t ignored = write(fd, line.bytes, line.size); /* a full disk is said by what needs it */

		(void)ignored;
		close(fd);
	}
	buf_release(&line);
}
