/* Finds the links in documents. Each thread reads its documents and appends to its own list. With BAD, the lengths of the lists are
 * adjacent. */
#include "app.h"

#define LINK "href="

static struct app_counter *lengths;
static uint32_t **lists;
static char *text;

FUNCTION void find_links(unsigned thread)
{
	long to = app_to(thread, app.size) - (long)sizeof(LINK);

	for (long i = app_from(thread, app.size); i < to; i++) {
		if (text[i] == 'h' && text[i + 1] == 'r' && text[i + 4] == '=')
			lists[thread][lengths[thread].value++ % 1024] = (uint32_t)i;
	}
}

int main(int argc, char **argv)
{
	uint64_t state;

	app_begin(argc, argv, 60000000);
	state = app.seed;
	lengths = app_lines(app.threads * sizeof(*lengths));
	lists = app_lines(app.threads * sizeof(*lists));
	for (unsigned i = 0; i < app.threads; i++)
		lists[i] = app_lines(1024 * sizeof(**lists));
	text = app_lines((size_t)app.size);
	for (long i = 0; i + 16 < app.size;) {
		memcpy(text + i, LINK, sizeof(LINK) - 1);
		i += 6 + (long)(app_random(&state) % (9 + app.seed % 8)); /* texts differ in the number of links */
	}
	app_run(find_links);
	app_end(app_total(lengths) / 1000);
	return 0;
}
