/* Checks that the text of html_text() ends no element and no attribute, whatever the input, and that decoding it restores the input. */
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "gate/page/html.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Replaces the entities that html_text() writes by their characters. */
static char *unescape(const char *text)
{
	static const struct {
		const char *entity;
		char c;
	} rows[] = { { "&amp;", '&' }, { "&lt;", '<' }, { "&gt;", '>' }, { "&quot;", '"' }, { "&#39;", '\'' } };
	struct buf out = BUF_INIT;

	while (*text) {
		size_t i = 0;

		if (*text != '&') {
			buf_char(&out, *text++);
			continue;
		}
		while (i < 5 && strncmp(text, rows[i].entity, strlen(rows[i].entity)) != 0)
			i++;
		ASSAY_BUG_IF(i == 5);
		buf_char(&out, rows[i].c);
		text += strlen(rows[i].entity);
	}
	return buf_take(&out);
}

/* Checks that clean text is restored byte for byte. */
static void check_same(const char *text, const char *escaped)
{
	char *back = unescape(escaped);

	if (!strstr(back, "\xef\xbf\xbd")) {
		ASSAY_BUG_IF(strlen(back) != strlen(text));
		for (size_t i = 0; text[i]; i++)
			ASSAY_BUG_IF(back[i] != text[i] && !(back[i] == ' ' && strchr("\t\r\n", text[i])));
	}
	free(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = mem_bytes((const char *)data, size);
	struct buf out = BUF_INIT, name = BUF_INIT;

	html_text(&out, text);
	buf_text(&out, "");
	ASSAY_BUG_IF(strpbrk(out.bytes, "<>\"'") || !text_is_utf8(out.bytes, out.size));
	for (size_t i = 0; i < out.size; i++)
		ASSAY_BUG_IF((unsigned char)out.bytes[i] < 0x20 || out.bytes[i] == 0x7f);
	check_same(text, out.bytes);
	html_name(&name, text);
	ASSAY_BUG_IF(!text_is_utf8(name.bytes, name.size));
	buf_release(&name);
	buf_release(&out);
	free(text);
	return 0;
}
