/* Names in the file: lines that are appended by any number of threads at once. */
#include "runs/inside/record/record_internal.h"

#include <string.h>
#include <sys/syscall.h>

#define NAMES_WAIT       10000u    /* times that a child gives way for a name that its parent is writing */

const char *record_number(uint64_t value, unsigned base, char out[24])
{
	char *at = out + 23;

	*at = '\0';
	do
		*--at = "0123456789abcdef"[value % base];
	while ((value /= base) != 0);
	return at;
}

/* Room for a line of n bytes; the number of functions before it goes to *before. NULL: none left. A line that is not written to its end
 * leaves NULs, which end the reading. */
static char *names_take(struct record_writer *w, size_t n, bool is_function, uint32_t *before)
{
	uint64_t old = __atomic_load_n(&w->names_in_use, __ATOMIC_RELAXED), new, bytes;

	do {
		bytes = old & ((1ull << NAMES_BYTES_BITS) - 1);
		*before = (uint32_t)(old >> NAMES_BYTES_BITS);
		if (n > w->options.names_bytes_max - bytes || (is_function && *before >= RECORD_FUNCTIONS_MAX))
			return NULL;
		new = old + n + (is_function ? 1ull << NAMES_BYTES_BITS : 0);
	} while (!__atomic_compare_exchange_n(&w->names_in_use, &old, new, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
	return names_of(w->header) + bytes;
}

/* Appends a word (or, when `blanks` may stand in it, the rest of the line) without what would end it. */
static char *put(char *to, const char *text, size_t n, bool blanks)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)text[i];

		*to++ = c < ' ' || c == 0x7f || (c == ' ' && !blanks) ? '?' : (char)c;
	}
	return to;
}

struct word {
	const char *text;
	bool blanks;
};

/* A line: kind, then words; UINT32_MAX when there is no room, else the number of functions before it. */
static uint32_t add_line(struct record_writer *w, char kind, const struct word *words, size_t n_words)
{
	size_t n = 2, length[4];
	uint32_t before;
	char *line, *at;

	if (!w->header || !*w->alive)
		return UINT32_MAX;
	for (size_t i = 0; i < n_words; i++)
		n += 1 + (length[i] = strlen(words[i].text));
	line = names_take(w, n, kind == 'f', &before);
	if (!line)
		return UINT32_MAX;
	at = line + 1;
	for (size_t i = 0; i < n_words; i++) {
		*at++ = ' ';
		at = put(at, words[i].text, length[i], words[i].blanks);
	}
	*at = '\n';
	__atomic_store_n(line, kind, __ATOMIC_RELEASE); /* last: a line whose first byte is there is whole */
	grow_to(&w->header->names_bytes, (uint64_t)(line + n - names_of(w->header)));
	return before;
}

uint32_t record_function(struct record_writer *w, uint64_t address, const char *module, const char *name)
{
	char digits[24];
	const struct word words[] = {
		{ record_number(address, 16, digits), false },
		{ *module ? module : "-", false },
		{ *name ? name : "?", true },
	};

	return add_line(w, 'f', words, 3);
}

bool record_info(struct record_writer *w, const char *key, const char *value)
{
	const struct word words[] = { { key, false }, { value, true } };

	return add_line(w, 'i', words, 2) != UINT32_MAX;
}

bool record_counter(struct record_writer *w, const char *name)
{
	const struct word word = { name, false };

	return add_line(w, 'c', &word, 1) != UINT32_MAX;
}

/* Are the names that the parent has given out all written? */
bool record_names_whole(const struct record_header *old, uint64_t bytes)
{
	for (unsigned tries = 0; tries < NAMES_WAIT; tries++) {
		if (!bytes || (names_of(old)[bytes - 1] == '\n' && !memchr(names_of(old), '\0', bytes)))
			return true;
		call(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	}
	return false;
}
