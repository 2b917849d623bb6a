/* A growing text: `struct buf b = BUF_INIT;` ... buf_release(&b). It ends with NUL once something was added. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stddef.h>

struct buf {
	char *bytes; /* NULL until something is added */
	size_t size; /* without the final NUL */
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
void buf_clear(struct buf *b); /* keeps the memory */
char *buf_take(struct buf *b); /* returns the text, to free(); "" if nothing was added; *b is empty afterwards */
void buf_release(struct buf *b);

#endif
