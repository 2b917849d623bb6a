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
