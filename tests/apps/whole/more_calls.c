/* Looks up words in a sorted list, ignoring case. The search folds the word once, and the list is already folded. With BAD, it folds
 * both words at each comparison: no call becomes slower, but there are more calls. */
#include "../app.h"

#define WORDS	256
#define LETTERS 12

static char list[WORDS][LETTERS];
static struct own {
	_Alignas(LINE) uint64_t state, found;
	char word[LETTERS], folded[LETTERS], other[LETTERS];
} *owns;

FUNCTION void fold(char *to, const char *from)
{
	for (int i = 0; i < LETTERS; i++)
		to[i] = from[i] >= 'A' && from[i] <= 'Z' ? (char)(from[i] + 32) : from[i];
}

FUNCTION int order(const char *a, const char *b)
{
	int i = 0;

	while (i < LETTERS - 1 && a[i] == b[i])
		i++;
	return a[i] - b[i];
}

FUNCTION int compare(struct own *own, const char *with)
{
#ifdef BAD
	fold(own->folded, own->word);
	fold(own->other, with);
	return order(own->folded, own->other);
#else
	return order(own->folded, with);
#endif
}

FUNCTION int look_up(struct own *own)
{
	int low = 0, high = WORDS;

#ifndef BAD
	fold(own->folded, own->word);
#endif
	while (low < high) {
		int middle = (low + high) / 2, c = compare(own, list[middle]);

		if (c == 0)
			return middle;
		if (c < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return -1;
}

FUNCTION void make_word(struct own *own)
{
	unsigned n = (unsigned)(app_random(&own->state) % WORDS);

	for (int i = 0; i < LETTERS; i++)
		own->word[i] = (char)(list[n][i] - (app_random(&own->state) % 4 == 0 ? 32 : 0));
}

FUNCTION void make_list(void)
{
	for (int i = 0; i < WORDS; i++) {
		memset(list[i], 'm', LETTERS);
		list[i][3] = (char)('a' + i / 26);
		list[i][6] = (char)('a' + i % 26);
	}
}

static void work(unsigned thread)
{
	owns[thread].state = app.seed + thread;
	for (long i = app_from(thread, app.size); i < app_to(thread, app.size); i++) {
		make_word(&owns[thread]);
		owns[thread].found += look_up(&owns[thread]) >= 0;
	}
}

int main(int argc, char **argv)
{
	uint64_t total = 0;

	app_begin(argc, argv, 8000);
	owns = app_lines(app.threads * sizeof(*owns));
	make_list();
	app_run(work);
	for (unsigned i = 0; i < app.threads; i++)
		total += owns[i].found;
	app_end(total);
	return 0;
}
