/* Counts words in a hash table with chains. With BAD, the hash is the sum of the letters, so that chains are long. */
#include "app.h"

#define SLOTS  4096
#define WORDS  2048
#define LETTERS 8

struct word {
	struct word *next;
	char text[LETTERS];
	uint64_t seen;
};

static struct word words[WORDS], *slots[SLOTS];

static unsigned hash(const char *text)
{
	unsigned h = 0;

	for (unsigned i = 0; i < LETTERS; i++) {
#ifdef BAD
		h += (unsigned char)text[i];
#else
		h = (h ^ (unsigned char)text[i]) * 16777619u;
#endif
	}
	return (h ^ h >> 15) % SLOTS;
}

FUNCTION struct word *find(const char *text)
{
	struct word *w = slots[hash(text)];

	while (w && *(const uint64_t *)(const void *)w->text != *(const uint64_t *)(const void *)text)
		w = w->next;
	return w;
}

int main(int argc, char **argv)
{
	uint64_t state, total = 0;

	app_begin(argc, argv, 4000000);
	state = app.seed;
	for (unsigned i = 0; i < WORDS; i++) {
		unsigned slot;

		for (unsigned k = 0; k < LETTERS; k++)
			words[i].text[k] = (char)('a' + app_random(&state) % 26);
		slot = hash(words[i].text);
		words[i].next = slots[slot];
		slots[slot] = &words[i];
	}
	for (long i = 0; i < app.size; i++)
		find(words[app_random(&state) % WORDS].text)->seen++;
	for (unsigned i = 0; i < WORDS; i++)
		total += words[i].seen * i;
	app_end(total);
	return 0;
}
