#include "base/error.h"

#include "base/secret.h"
#include "base/text.h"

#include <stdarg.h>

static const int exits[] = {
#define ROW(name, exit_status) [name] = exit_status,
	ASSAY_STATUS_ROWS(ROW)
#undef ROW
};

int assay_status_exit_code(enum assay_status status)
{
	ASSAY_BUG_IF((size_t)status >= sizeof(exits) / sizeof(exits[0]));
	return exits[status];
}

enum assay_status assay_fail(struct assay_error *err, enum assay_status status, const char *fmt, ...)
{
	va_list args;

	if (err) {
		va_start(args, fmt);
		text_vformat_elided(err->text, sizeof(err->text), fmt, args);
		va_end(args);
		secrets_mask_in_place(err->text, sizeof(err->text));
		err->status = status;
	}
	return status;
}

enum assay_status assay_fail_errno(struct assay_error *err, int errnum, const char *fmt, ...)
{
	char text[ASSAY_ERROR_BYTES];
	va_list args;

	va_start(args, fmt);
	text_vformat_elided(text, sizeof(text), fmt, args);
	va_end(args);
	return assay_fail(err, ASSAY_E_IO, "%s: %s", text, strerror(errnum));
}

enum assay_status assay_add_context(struct assay_error *err, const char *fmt, ...)
{
	char context[ASSAY_ERROR_BYTES], inner[ASSAY_ERROR_BYTES];
	va_list args;

	memcpy(inner, err->text, sizeof(inner));
	va_start(args, fmt);
	text_vformat_elided(context, sizeof(context), fmt, args);
	va_end(args);
	return assay_fail(err, err->status, "%s: %s", context, inner);
}

void assay_bug(const char *condition, const char *file, int line)
{
	fprintf(stderr, "assay: bug: '%s' at %s:%d\n", condition, file, line);
	abort();
}
