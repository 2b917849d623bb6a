#include "fleet/agent/shell.h"

static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+.,/:@%";

void shell_add_word(struct buf *out, const char *word)
{
	if (*word && strspn(word, safe) == strlen(word)) {
		buf_text(out, word);
		return;
	}
	buf_char(out, '\'');
	for (; *word; word++) {
		if (*word == '\'')
			buf_text(out, "'\\''");
		else
			buf_char(out, *word);
	}
	buf_char(out, '\'');
}

char *shell_line(const char *const *words)
{
	struct buf out = BUF_INIT;

	for (size_t i = 0; words[i]; i++) {
		if (i)
			buf_char(&out, ' ');
		shell_add_word(&out, words[i]);
	}
	return buf_take(&out);
}
