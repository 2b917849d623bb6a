#include "base/error.h"

#include "base/secret.h"

#include <stdarg.h>

static const int exits[] = {
#define ROW(name, exit_status) [name] = exit_status,
	ASSAY_STATUS_ROWS(ROW)
#undef ROW
};

int assay_status_exit(enum assay_status status)
{
	ASSAY_BUG_IF((size_t)status >= sizeof(exits) / sizeof(exits[0]));
	return exits[status];
}

enum assay_status assay_fail(struct assay_error *err, enum assay_status status, const char *fmt, ...)
{
	va_list args;

	if (err) {
		va_start(args, fmt);
		vsnprintf(err->text, sizeof(err->text), fmt, args);
		va_end(args);
		secrets_hide(err->text, sizeof(err->text));
		err->status = status;
	}
	return status;
}

enum assay_status assay_fail_errno(struct assay_error *err, int errnum, const char *fmt, ...)
{
	va_list args;
	size_t used;

	if (err) {
		va_start(args, fmt);
		vsnprintf(err->text, sizeof(err->text), fmt, args);
		va_end(args);
		used = strlen(err->text);
		snprintf(err->text + used, sizeof(err->text) - used, ": %s", strerror(errnum));
		secrets_hide(err->text, sizeof(err->text));
		err->status = ASSAY_E_IO;
	}
	return ASSAY_E_IO;
}

enum assay_status assay_context(struct assay_error *err, const char *fmt, ...)
{
	char inner[ASSAY_ERROR_BYTES];
	va_list args;
	size_t used;

	memcpy(inner, err->text, sizeof(inner));
	va_start(args, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, args);
	va_end(args);
	used = strlen(err->text);
	snprintf(err->text + used, sizeof(err->text) - used, ": %s", inner);
	secrets_hide(err->text, sizeof(err->text));
	return err->status;
}

void assay_bug(const char *condition, const char *file, int line)
{
	fprintf(stderr, "assay: bug: '%s' at %s:%d\n", condition, file, line);
	abort();
}
