#include "runs/inside/changes/demangle.h"

#include "base/buf.h"
#include "base/mem.h"

#include <libiberty/demangle.h>

#define SYMBOL_BYTES_MAX 16384
#define NAME_BYTES_MAX	 65536 /* a short symbol can stand for a very long name */

static void demangle_add(const char *bytes, size_t n, void *context)
{
	struct buf *name = context;

	if (name->size + n <= NAME_BYTES_MAX)
		buf_add(name, bytes, n);
}

char *demangle(const char *symbol)
{
	struct buf name = BUF_INIT;
	char *text;

	if (strncmp(symbol, "_Z", 2) != 0 || strlen(symbol) > SYMBOL_BYTES_MAX ||
	    !cplus_demangle_v3_callback(symbol, DMGL_PARAMS | DMGL_ANSI, demangle_add, &name)) {
		buf_clear(&name);
		buf_text(&name, symbol);
	}
	text = buf_take(&name);
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
	return text;
}
