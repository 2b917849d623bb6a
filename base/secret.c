#include "base/secret.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_BYTES_MIN 4 /* a shorter one may stand anywhere by chance */

/* Only ever longer, so that whoever reads it needs no lock. */
struct known {
	const struct known *next;
	char *text;
};
static const struct known *patterns, *values_known;

static const struct known *first_of(const struct known *const *list)
{
	return __atomic_load_n(list, __ATOMIC_ACQUIRE);
}

static void know(const struct known **list, const char *text)
{
	struct known *added;

	for (const struct known *k = *list; k; k = k->next) {
		if (strcmp(k->text, text) == 0)
			return;
	}
	added = mem_new(1, sizeof(*added));
	*added = (struct known){ *list, mem_string(text) };
	__atomic_store_n(list, added, __ATOMIC_RELEASE);
}

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
	for (const struct known *k = first_of(&patterns); k; k = k->next)
		if (fnmatch(k->text, name, FNM_CASEFOLD) == 0)
			return true;
	return false;
}

char *secret_assignment(const char *text)
{
	char *name = mem_bytes(text, strcspn(text, "="));
	char *shown = text[strlen(name)] && secret_name(name) ? mem_format("%s=" SECRET_MASK, name) : mem_string(text);

	free(name);
	return shown;
}

void secret_names_add(char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		know(&patterns, names[i]);
}

/* The value of NAME=value where it is to be hidden; else NULL. */
static const char *secret_value(const char *variable)
{
	const char *equals = strchr(variable, '=');
	char *name = equals ? mem_bytes(variable, (size_t)(equals - variable)) : NULL;
	bool secret = name && strlen(equals + 1) >= VALUE_BYTES_MIN && secret_name(name);

	free(name);
	return secret ? equals + 1 : NULL;
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
		const char *value = secret_value(variables[i]);

		if (value)
			mem_append(s->values, s->n, &s->capacity, value);
	}
	order_sort(s->values, s->n, compare_lengths);
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

void secrets_know(char *const *variables, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *value = secret_value(variables[i]);

		if (value)
			know(&values_known, value);
	}
}

/* Bytes of the longest value that stands here, or, where the text was cut, begins here. */
static size_t secret_at(const char *at, bool cut)
{
	size_t longest = 0, left = strlen(at);

	for (const struct known *k = first_of(&values_known); k; k = k->next) {
		size_t n = strlen(k->text);

		if (cut && n > left && left >= VALUE_BYTES_MIN)
			n = left;
		if (n > longest && strncmp(at, k->text, n) == 0)
			longest = n;
	}
	return longest;
}

static char *hidden(const char *text, bool cut)
{
	struct buf shown = BUF_INIT;

	for (size_t n; *text; text += n ? n : 1) {
		n = secret_at(text, cut);
		if (n)
			buf_text(&shown, SECRET_MASK);
		else
			buf_char(&shown, *text);
	}
	return buf_take(&shown);
}

char *secrets_hidden(const char *text)
{
	return first_of(&values_known) ? hidden(text, false) : mem_string(text);
}

void secrets_hide(char *text, size_t size)
{
	char *shown;

	if (!first_of(&values_known))
		return;
	shown = hidden(text, strlen(text) + 1 == size);
	snprintf(text, size, "%s", shown);
	free(shown);
}
