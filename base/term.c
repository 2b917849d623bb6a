#include "base/term.h"

#include "base/text.h"

#include <langinfo.h>
#include <locale.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool term_colours(FILE *stream)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	if (no_color && *no_color)
		return false;
	return isatty(fileno(stream)) && term && strcmp(term, "dumb") != 0;
}

bool term_utf8(void)
{
	locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	bool utf8 = false;

	/* The process's own locale stays "C": numbers are read and written with a point. */
	if (locale) {
		utf8 = strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") == 0;
		freelocale(locale);
	}
	return utf8;
}

/* Bytes of the sequence "ESC [ numbers m" that stands there, 0 when none does. */
static size_t colour_sequence(const char *bytes, size_t n)
{
	size_t length = 2;

	if (n < 3 || bytes[0] != '\033' || bytes[1] != '[')
		return 0;
	while (length < n && ((bytes[length] >= '0' && bytes[length] <= '9') || bytes[length] == ';'))
		length++;
	return length < n && bytes[length] == 'm' ? length + 1 : 0;
}

void term_put(const char *bytes, size_t n, bool colours, FILE *to)
{
	for (size_t i = 0, length; i < n; i += length) {
		char here[5] = "";
		size_t control;

		memcpy(here, bytes + i, n - i < 4 ? n - i : 4);
		control = *here == '\t' || *here == '\n' ? 0 : text_control(here);

		length = colours ? colour_sequence(bytes + i, n - i) : 0;
		if (length) {
			fwrite(bytes + i, 1, length, to);
			continue;
		}
		putc(control ? '?' : *here, to);
		length = control > 1 ? control : 1;
	}
}

unsigned term_columns(FILE *stream)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	int64_t n;

	if (columns && text_int64(columns, &n) && n >= 20 && n <= 1000)
		return (unsigned)n;
	if (isatty(fileno(stream)) && ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col >= 20)
		return size.ws_col;
	return 100;
}
