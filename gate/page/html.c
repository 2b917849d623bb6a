#include "gate/page/html.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdbool.h>

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD, the replacement character */

static bool is_between(const unsigned char *s, const char *low, const char *high, size_t n)
{
	return memcmp(s, low, n) >= 0 && memcmp(s, high, n) <= 0;
}

/* Reports whether a character is not text, or changes the display of the text around it. */
static bool is_harmful(const unsigned char *s, size_t n)
{
	switch (n) {
	case 1:
		return s[0] < 0x20 || s[0] == 0x7f;
	case 2:
		return is_between(s, "\xc2\x80", "\xc2\x9f", 2); /* C1 controls */
	case 3:
		return is_between(s, "\xe2\x80\xa8", "\xe2\x80\xae", 3) || /* line separators, bidirectional embeddings */
		       is_between(s, "\xe2\x80\x8e", "\xe2\x80\x8f", 3) || /* direction marks */
		       is_between(s, "\xe2\x81\xa6", "\xe2\x81\xa9", 3) || /* bidirectional isolates */
		       is_between(s, "\xef\xbf\xbe", "\xef\xbf\xbf", 3);   /* noncharacters */
	default:
		return false;
	}
}

/* Returns the length of a UTF-8 character in bytes, according to its first byte; 1 if no character starts with this byte. */
static size_t utf8_length(unsigned char c)
{
	return c >= 0xf0 ? 4 : (c >= 0xe0 ? 3 : (c >= 0xc0 ? 2 : 1));
}

static void add_escaped(struct buf *out, char c)
{
	switch (c) {
	case '&':
		buf_text(out, "&amp;");
		break;
	case '<':
		buf_text(out, "&lt;");
		break;
	case '>':
		buf_text(out, "&gt;");
		break;
	case '"':
		buf_text(out, "&quot;");
		break;
	case '\'':
		buf_text(out, "&#39;");
		break;
	case '\t':
	case '\n':
	case '\r':
		buf_char(out, ' ');
		break;
	default:
		if (is_harmful((const unsigned char *)&c, 1))
			buf_text(out, REPLACEMENT);
		else
			buf_char(out, c);
	}
}

void html_text(struct buf *out, const char *text)
{
	while (*text) {
		size_t n = utf8_length((unsigned char)*text);

		if (strnlen(text, n) < n || !text_is_utf8(text, n)) {
			buf_text(out, REPLACEMENT);
			n = 1;
		} else if (n == 1) {
			add_escaped(out, *text);
		} else if (is_harmful((const unsigned char *)text, n)) {
			buf_text(out, REPLACEMENT);
		} else {
			buf_add(out, text, n);
		}
		text += n;
	}
}

void html_name(struct buf *out, const char *name)
{
	buf_text(out, "<bdi>");
	while (*name) {
		size_t n = strcspn(name, ".-_/@");
		char *part;

		n += name[n] != '\0';
		part = mem_bytes(name, n);
		html_text(out, part);
		free(part);
		name += n;
		if (*name)
			buf_text(out, "<wbr>");
	}
	buf_text(out, "</bdi>");
}

struct conversion {
	int precision; /* number of decimals; -1 if not given */
	bool size;     /* the argument is a size_t */
	char kind;
};

/* Parses the conversion after a '%'. Returns a pointer to the first byte after the conversion. */
static const char *read_conversion(const char *at, struct conversion *c)
{
	*c = (struct conversion){ .precision = -1 };
	if (*at == '.') {
		c->precision = 0;
		for (at++; *at >= '0' && *at <= '9' && c->precision < 10; at++)
			c->precision = 10 * c->precision + (*at - '0');
	}
	c->size = *at == 'z';
	at += c->size;
	c->kind = *at;
	return *at ? at + 1 : at;
}

void html_format(struct buf *out, const char *markup, ...)
{
	va_list args;

	va_start(args, markup);
	while (*markup) {
		const char *percent = strchrnul(markup, '%');
		struct conversion c;

		buf_add(out, markup, (size_t)(percent - markup));
		if (!*percent)
			break;
		markup = read_conversion(percent + 1, &c);
		if (c.kind == '%')
			buf_char(out, '%');
		else if (c.kind == 's')
			html_text(out, va_arg(args, const char *));
		else if (c.kind == 'f')
			buf_format(out, "%.*f", c.precision, va_arg(args, double));
		else if (c.kind == 'g')
			buf_format(out, "%.*g", c.precision, va_arg(args, double));
		else if (c.kind == 'u' && c.size)
			buf_format(out, "%zu", va_arg(args, size_t));
		else if (c.kind == 'u')
			buf_format(out, "%u", va_arg(args, unsigned));
		else
			assay_bug("conversion of html_format()", __FILE__, __LINE__);
	}
	va_end(args);
}
