/* A text that grows: `struct buf b = BUF_INIT;` ... buf_release(&b). After the first addition, a NUL follows the text in `bytes`. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stddef.h>

struct buf {
	char *bytes; /* text with a final NUL; NULL before the first addition */
	size_t size; /* number of bytes, without the final NUL */
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
void buf_clear(struct buf *b); /* empties the text, but keeps its memory for reuse */
char *buf_take(struct buf *b); /* returns the text ("" if it is empty) and leaves *b empty; the caller frees the result */
void buf_release(struct buf *b);

#endif
