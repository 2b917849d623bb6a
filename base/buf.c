#include "base/buf.h"

#include "base/mem.h"

#include <stdarg.h>

static void reserve(struct buf *b, size_t more)
{
	size_t need = b->size + more + 1;

	if (need <= b->capacity)
		return;
	b->capacity = need < 64 ? 64 : need + need / 2;
	b->bytes = mem_resize(b->bytes, b->capacity, 1);
}

void buf_add(struct buf *b, const char *bytes, size_t n)
{
	reserve(b, n);
	if (n)
		memcpy(b->bytes + b->size, bytes, n);
	b->size += n;
	b->bytes[b->size] = '\0';
}

void buf_text(struct buf *b, const char *text)
{
	buf_add(b, text, strlen(text));
}

void buf_char(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void buf_format(struct buf *b, const char *fmt, ...)
{
	va_list args, again;
	int n;

	va_start(args, fmt);
	va_copy(again, args);
	n = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (n > 0) {
		reserve(b, (size_t)n);
		vsnprintf(b->bytes + b->size, (size_t)n + 1, fmt, again);
		b->size += (size_t)n;
	}
	va_end(again);
}

void buf_clear(struct buf *b)
{
	b->size = 0;
	if (b->bytes)
		b->bytes[0] = '\0';
}

char *buf_take(struct buf *b)
{
	char *text;

	reserve(b, 0);
	text = b->bytes;
	text[b->size] = '\0';
	*b = (struct buf)BUF_INIT;
	return text;
}

void buf_release(struct buf *b)
{
	free(b->bytes);
	*b = (struct buf)BUF_INIT;
}
