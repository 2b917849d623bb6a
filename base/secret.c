#include "base/secret.h"

#include "base/buf.h"
#include "base/mem.h"

#include <ctype.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_BYTES_MIN 4 /* shorter values may occur in other text by chance */

/* A list of texts, longest first, because one text may be the start of another. Entries are never removed, so readers need no lock. */
struct secret_text {
	struct secret_text *next;
	char *text;
};
static struct secret_text *patterns, *known_values;

static struct secret_text *next_known(struct secret_text *const *link)
{
	return __atomic_load_n(link, __ATOMIC_ACQUIRE);
}

static void add_known(struct secret_text **link, const char *text)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	struct secret_text *added, *at;
	size_t n = strlen(text);

	pthread_mutex_lock(&mutex);
	for (; (at = *link) && strlen(at->text) >= n; link = &at->next)
		if (strcmp(at->text, text) == 0)
			break;
	if (!at || strcmp(at->text, text) != 0) {
		added = mem_new(1, sizeof(*added));
		*added = (struct secret_text){ at, mem_string(text) };
		__atomic_store_n(link, added, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&mutex);
}

/* Reports whether the n bytes at `at` in `name` are a word: no letter or digit precedes or follows them. */
static bool is_word_at(const char *name, const char *at, size_t n)
{
	return (at == name || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)at[n]);
}

bool secret_is_name(const char *name)
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
	for (const struct secret_text *k = next_known(&patterns); k; k = next_known(&k->next))
		if (fnmatch(k->text, name, FNM_CASEFOLD) == 0)
			return true;
	return false;
}

char *secret_mask_assignment(const char *text)
{
	char *name = mem_bytes(text, strcspn(text, "="));
	char *shown = text[strlen(name)] && secret_is_name(name) ? mem_format("%s=" SECRET_MASK, name) : mem_string(text);

	free(name);
	return shown;
}

void secret_names_add(char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		add_known(&patterns, names[i]);
}

/* Returns the value of the variable "NAME=value" if it is secret and long enough to hide, else NULL. */
static const char *secret_value(const char *variable)
{
	const char *equals = strchr(variable, '=');
	char *name = equals ? mem_bytes(variable, (size_t)(equals - variable)) : NULL;
	bool secret = name && strlen(equals + 1) >= VALUE_BYTES_MIN && secret_is_name(name);

	free(name);
	return secret ? equals + 1 : NULL;
}

static void mask_value(char **text, size_t *n, const char *value)
{
	const char *rest = *text, *end = *text + *n, *at;
	size_t length = strlen(value);
	struct buf masked = BUF_INIT;

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

void secrets_mask_buffer(char **text, size_t *n)
{
	for (const struct secret_text *k = next_known(&known_values); *text && k; k = next_known(&k->next))
		mask_value(text, n, k->text);
}

void secrets_register(char *const *variables, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *value = secret_value(variables[i]);

		if (value)
			add_known(&known_values, value);
	}
}

/* Returns the size of the longest secret value at `at`; 0 if there is none. If the text was `cut`, its end may be the start of a value. */
static size_t match_secret_at(const char *at, bool cut)
{
	size_t left = strlen(at), longest = 0;

	for (const struct secret_text *k = next_known(&known_values); k; k = next_known(&k->next)) {
		size_t n = strlen(k->text);

		n = cut && n > left && left >= VALUE_BYTES_MIN ? left : n;
		if (n > longest && strncmp(at, k->text, n) == 0)
			longest = n;
	}
	return longest;
}

static char *copy_masked(const char *text, bool cut)
{
	struct buf shown = BUF_INIT;

	for (size_t n; *text; text += n ? n : 1) {
		n = match_secret_at(text, cut);
		if (n)
			buf_text(&shown, SECRET_MASK);
		else
			buf_char(&shown, *text);
	}
	return buf_take(&shown);
}

char *secrets_copy_masked(const char *text)
{
	return next_known(&known_values) ? copy_masked(text, false) : mem_string(text);
}

void secrets_mask_in_place(char *text, size_t size)
{
	char *shown;

	if (!next_known(&known_values))
		return;
	shown = copy_masked(text, strlen(text) + 1 == size);
	snprintf(text, size, "%s", shown);
	free(shown);
}
