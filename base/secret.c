#include "base/secret.h"

#include "base/buf.h"
#include "base/mem.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define VALUE_BYTES_MIN 4 /* a shorter one may stand anywhere by chance */

/* Between the ends of the name and underscores. */
static bool is_word_at(const char *name, const char *at, size_t n)
{
	return (at == name || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)at[n]);
}

bool secret_name(const char *name)
{
	static const char *const anywhere[] = { "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL" }, *const words[] = {
		"KEY", "AUTH"
	};

	for (size_t i = 0; i < sizeof(anywhere) / sizeof(anywhere[0]); i++)
		if (strcasestr(name, anywhere[i]))
			return true;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		for (const char *at = name; (at = strcasestr(at, words[i])); at++)
			if (is_word_at(name, at, strlen(words[i])))
				return true;
	return false;
}

static void mask(char **text, size_t *n, const char *value, size_t length)
{
	struct buf masked = BUF_INIT;
	const char *rest = *text, *end = *text + *n, *at;

	if (!memmem(rest, *n, value, length))
		return;
	while ((at = memmem(rest, (size_t)(end - rest), value, length))) {
		buf_add(&masked, rest, (size_t)(at - rest));
		buf_text(&masked, SECRET_MASK);
		rest = at + length;
	}
	buf_add(&masked, rest, (size_t)(end - rest));
	free(*text);
	*n = masked.size;
	*text = buf_take(&masked);
}

static int compare_lengths(const void *a, const void *b)
{
	size_t x = strlen(*(const char *const *)a), y = strlen(*(const char *const *)b);

	return (x < y) - (x > y);
}

void secrets_add(struct secrets *s, char *const *variables, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *equals = strchr(variables[i], '=');
		char *name = equals ? mem_bytes(variables[i], (size_t)(equals - variables[i])) : NULL;

		if (name && secret_name(name) && strlen(equals + 1) >= VALUE_BYTES_MIN) {
			s->values = mem_grow(s->values, s->n, &s->capacity, sizeof(*s->values));
			s->values[s->n++] = equals + 1;
		}
		free(name);
	}
	if (s->n)
		qsort(s->values, s->n, sizeof(*s->values), compare_lengths);
}

void secrets_release(struct secrets *s)
{
	free(s->values);
	*s = (struct secrets){ .values = NULL };
}

void secrets_mask(const struct secrets *s, char **text, size_t *n)
{
	for (size_t i = 0; *text && i < s->n; i++)
		mask(text, n, s->values[i], strlen(s->values[i]));
}
