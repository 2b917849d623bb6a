#include "gate/detect/compilers.h"

#include "base/buf.h"
#include "base/mem.h"

#include <string.h>

#define WORDS_SHOWN 80 /* bytes, about */

/* The first that the other has not; NULL: there is none. */
static const char *producer_of_one(const struct functions *here, const struct functions *there)
{
	for (size_t i = 0; i < here->n_producers; i++) {
		bool found = false;

		for (size_t k = 0; k < there->n_producers; k++)
			found = found || strcmp(here->producers[i], there->producers[k]) == 0;
		if (!found)
			return here->producers[i];
	}
	return NULL;
}

/* The words of a text that another one has not. free() it. */
static char *words_of_one(const char *here, const char *there)
{
	char *words = mem_string(here), *rest = words, *word, *others = mem_format(" %s ", there);
	struct buf out = BUF_INIT;

	while ((word = strsep(&rest, " "))) {
		char *padded = mem_format(" %s ", word);

		if (*word && !strstr(others, padded) && out.size < WORDS_SHOWN)
			buf_format(&out, "%s%s", out.size ? " " : "", word);
		free(padded);
	}
	free(words);
	free(others);
	words = mem_string(out.size ? out.bytes : "nothing");
	buf_release(&out);
	return words;
}

static bool is_of(const struct build *build, const struct samples *samples)
{
	for (size_t i = 0; i < samples->n_functions; i++)
		if (*build->image.build_id && strcmp(samples->functions[i].module, build->image.build_id) == 0)
			return true;
	return false;
}

char *compilers_differ(const struct side *old_side, const char *old, const struct build *new)
{
	const struct samples *samples = side_run_first(&old_side->runs[0]);
	const char *path = old ? old : samples_info(samples, "program"), *then, *now;
	struct build build = { .referred = NULL };
	struct assay_error none;
	char *text = NULL;

	if (!path || !new->functions.n_producers || build_open(path, IMAGE_DESCRIBED, &build, &none))
		return NULL;
	then = producer_of_one(&build.functions, &new->functions);
	now = producer_of_one(&new->functions, &build.functions);
	if (then && now && (old || is_of(&build, samples))) {
		char *old_words = words_of_one(then, now), *new_words = words_of_one(now, then);

		text = mem_format("the builds differ in the compiler or its options, of which all this may be the doing: %s / %s",
				  old_words, new_words);
		free(old_words);
		free(new_words);
	}
	build_release(&build);
	return text;
}
