#include "runs/running/execution_features.h"

#include "base/mem.h"
#include "base/text.h"
#include "runs/inside/samples/sample_files.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES_MAX ((size_t)64 << 20)
#define INPUT	       "# input "
#define OWN	       "# own "
#define COUNTED	       "# counted"

void execution_features_release(struct execution_features *features)
{
	run_features_release(&features->known);
	run_features_release(&features->own);
	run_features_release(&features->counted);
	*features = (struct execution_features){ .input = "" };
}

void run_features_copy(const struct run_features *from, struct run_features *to)
{
	*to = (struct run_features){ .items = mem_new(from->n, sizeof(*to->items)), .n = from->n, .capacity = from->n };
	to->files = from->files;
	to->incomplete = from->incomplete;
	for (size_t i = 0; i < from->n; i++) {
		to->items[i] = from->items[i];
		to->items[i].name = mem_string(from->items[i].name);
	}
}

void execution_features_text(const struct execution_features *f, struct buf *out)
{
	if (*f->input)
		buf_format(out, INPUT "%s\n", f->input);
	run_features_text(&f->known, out);
	if (f->own.n) {
		buf_format(out, OWN "%s\n", TEXT_DOUBLE(f->own_seconds));
		run_features_text(&f->own, out);
	}
	for (size_t i = 0, written = 0; i < f->counted.n; i++) {
		const struct run_feature *one = &f->counted.items[i];

		if (one->kind == FEATURE_VALUE || one->value != 0.0)
			buf_format(out, "%s%s %s\n", written++ ? "" : COUNTED "\n", TEXT_DOUBLE(one->value), one->name);
	}
}

enum assay_status execution_features_pack(const struct execution_features *features, struct buf *out, struct assay_error *err)
{
	struct buf text = BUF_INIT;
	enum assay_status st = ASSAY_OK;

	execution_features_text(features, &text);
	if (text.size)
		st = sample_pack(text.bytes, text.size, out, err);
	buf_release(&text);
	return st;
}

/* ---- reading ---- */

/* The line that begins with `head`, from text on, or its end: *rest is what follows the line, *said what follows the head. */
static const char *section(const char *text, const char *end, const char *head, const char **said, const char **rest)
{
	size_t n = strlen(head);

	for (const char *at = text; at < end; at = *rest) {
		const char *line = memchr(at, '\n', (size_t)(end - at));

		*rest = line ? line + 1 : end;
		*said = at + n;
		if ((size_t)(end - at) >= n && memcmp(at, head, n) == 0)
			return at;
	}
	*said = *rest = end;
	return end;
}

static enum assay_status read_input(const char *said, const char *rest, struct execution_features *out, struct assay_error *err)
{
	size_t n = rest > said && rest[-1] == '\n' ? (size_t)(rest - said) - 1 : (size_t)(rest - said);

	if (n == 0 || n >= sizeof(out->input) || strspn(said, "0123456789abcdef") < n)
		return assay_fail(err, ASSAY_E_FORMAT, "stored features: '# input' names no input");
	memcpy(out->input, said, n);
	out->input[n] = '\0';
	return ASSAY_OK;
}

static enum assay_status read_own(const char *said, const char *rest, struct execution_features *out, struct assay_error *err)
{
	char *number = mem_bytes(said, (size_t)(rest - said));
	bool ok;

	number[strcspn(number, "\n")] = '\0';
	ok = text_double(number, &out->own_seconds) && out->own_seconds >= 0.0;
	free(number);
	return ok ? ASSAY_OK : assay_fail(err, ASSAY_E_FORMAT, "stored features: '# own' without the time that it took");
}

enum assay_status execution_features_parse(const char *text, size_t n, struct execution_features *out, struct assay_error *err)
{
	const char *end = text + n, *said, *known = text, *own, *own_from, *counted, *counted_from;
	enum assay_status st = ASSAY_OK;

	*out = (struct execution_features){ .input = "" };
	if (section(text, end, INPUT, &said, &known) == text && n)
		st = read_input(said, known, out, err);
	else
		known = text;
	counted = section(known, end, COUNTED, &said, &counted_from);
	own = section(known, counted, OWN, &said, &own_from);
	if (!st && own < counted)
		st = read_own(said, own_from, out, err);
	if (!st)
		st = run_features_text_parse(known, (size_t)(own - known), &out->known, err);
	if (!st && own < counted)
		st = run_features_text_parse(own_from, (size_t)(counted - own_from), &out->own, err);
	if (!st && counted < end)
		st = run_features_text_parse(counted_from, (size_t)(end - counted_from), &out->counted, err);
	if (st)
		execution_features_release(out);
	return st;
}

enum assay_status execution_features_unpack(const void *packed, size_t n, struct execution_features *out, struct assay_error *err)
{
	struct buf text = BUF_INIT;
	enum assay_status st = n ? sample_unpack("features of a stored run", packed, n, TEXT_BYTES_MAX, &text, err) : ASSAY_OK;

	*out = (struct execution_features){ .input = "" };
	buf_char(&text, '\0'); /* strspn() ends there */
	if (!st)
		st = execution_features_parse(text.bytes, text.size - 1, out, err);
	buf_release(&text);
	return st;
}
