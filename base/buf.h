/* A growing text: `struct buf b = BUF_INIT;` ... buf_release(&b). After the first addition, `bytes` ends with NUL. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stddef.h>

struct buf {
	char *bytes; /* NULL before the first addition */
	size_t size; /* number of bytes, final NUL excluded */
	size_t capacity;
};

#define BUF_INIT                                                                                                                           \
	{                                                                                                                                  \
		NULL, 0, 0                                                                                                                 \
	}

void buf_add(struct buf *b, const char *bytes, size_t n);
void buf_text(struct buf *b, const char *text);
void buf_char(struct buf *b, char c);
void buf_format(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_clear(struct buf *b); /* empties the text but keeps the buffer's memory */
char *buf_take(struct buf *b); /* returns the text, "" if empty, and leaves *b empty; free() it */
void buf_release(struct buf *b);

#endif
