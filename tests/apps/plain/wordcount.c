/* Counts the words of a synthetic text in a hash map, then prints the most frequent ones. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
#if TIDY
	struct entry *next;
	uint32_t hash;
	int count;
	char *word;
#else
	char *word;
	int count;
	uint32_t hash;
	struct entry *next;
#endif
};

struct map {
	struct entry **slots;
	size_t n_slots, n;
};

static uint64_t state;

static uint32_t rnd(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33);
}

static char *make_text(size_t words)
{
	char *text = malloc(words * 16 + 1), *p = text;

	for (size_t i = 0; i < words; i++) {
		uint32_t r = rnd() % 4096, k = r * r / 4096;

		p += sprintf(p, "%s%x%s ", k % 3 ? "pre" : "w", k * 2654435761u >> 16, k % 5 ? "ing" : "");
		if (i % 12 == 11)
			p[-1] = '\n';
	}
	*p = 0;
	return text;
}

static uint32_t hash_of(const char *s, size_t n)
{
	uint32_t h = 2166136261u;

#if FAULT == 1
	if (n > 5)
		n = 5;
#endif
	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)s[i]) * 16777619u;
	return h;
}

static void map_grow(struct map *m)
{
	size_t n = m->n_slots * 2;
	struct entry **slots = calloc(n, sizeof(*slots));

	for (size_t i = 0; i < m->n_slots; i++) {
		struct entry *e = m->slots[i];

		while (e) {
			struct entry *next = e->next;

			e->next = slots[e->hash & (n - 1)];
			slots[e->hash & (n - 1)] = e;
			e = next;
		}
	}
	free(m->slots);
	m->slots = slots;
	m->n_slots = n;
}

#if TIDY
static struct entry *chain_find(struct entry *e, const char *word, size_t n, uint32_t hash)
{
	while (e) {
		if (e->hash == hash && strncmp(e->word, word, n) == 0 && !e->word[n])
			return e;
		e = e->next;
	}
	return NULL;
}
#endif

static struct entry *map_add(struct map *m, const char *word, size_t n)
{
	uint32_t hash = hash_of(word, n);
	struct entry *e;

#if FAULT == 2
	char *key = strndup(word, n);

	for (e = m->slots[hash & (m->n_slots - 1)]; e; e = e->next)
		if (e->hash == hash && strcmp(e->word, key) == 0) {
			free(key);
			return e;
		}
	free(key);
#elif TIDY
	e = chain_find(m->slots[hash & (m->n_slots - 1)], word, n, hash);
	if (e)
		return e;
#else
	for (e = m->slots[hash & (m->n_slots - 1)]; e; e = e->next)
		if (e->hash == hash && strncmp(e->word, word, n) == 0 && !e->word[n])
			return e;
#endif
	if (m->n >= m->n_slots)
		map_grow(m);
	e = malloc(sizeof(*e));
	e->word = strndup(word, n);
	e->count = 0;
	e->hash = hash;
	e->next = m->slots[hash & (m->n_slots - 1)];
	m->slots[hash & (m->n_slots - 1)] = e;
	m->n++;
	return e;
}

static int is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static size_t count_words(struct map *m, const char *text)
{
	size_t words = 0;

	while (*text) {
		const char *start;

		while (*text && !is_letter(*text))
			text++;
		start = text;
		while (is_letter(*text))
			text++;
		if (text > start) {
			map_add(m, start, (size_t)(text - start))->count++;
			words++;
		}
	}
	return words;
}

static int by_count(const void *a, const void *b)
{
	const struct entry *x = *(struct entry *const *)a, *y = *(struct entry *const *)b;

	return y->count != x->count ? y->count - x->count : strcmp(x->word, y->word);
}

static void report(const struct map *m)
{
	struct entry **all = malloc(m->n * sizeof(*all));
	size_t n = 0;

	for (size_t i = 0; i < m->n_slots; i++)
		for (struct entry *e = m->slots[i]; e; e = e->next)
			all[n++] = e;
	qsort(all, n, sizeof(*all), by_count);
	for (size_t i = 0; i < 5 && i < n; i++)
		printf("%6d %s\n", all[i]->count, all[i]->word);
	free(all);
}

int main(int argc, char **argv)
{
	struct map m = { calloc(64, sizeof(struct entry *)), 64, 0 };
	char *text;

	state = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
	text = make_text(argc > 1 ? strtoul(argv[1], NULL, 10) : 20000);
	printf("%zu words\n", count_words(&m, text));
	report(&m);
	free(text);
	return 0;
}
