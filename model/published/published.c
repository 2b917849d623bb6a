/* All ways to score and to compare, by name. */
#include "model/published/published.h"

#include <string.h>

static const struct scorer_kind *const scorers[] = { &scorer_autoencoder, &scorer_paper, &scorer_som, &scorer_mahalanobis };
static const struct comparison *const comparisons[] = { &comparison_mannwhitney };

#define FIND(rows, wanted)                                                                                                                 \
	for (size_t i = 0; i < sizeof(rows) / sizeof((rows)[0]); i++)                                                                      \
		if (strcmp((rows)[i]->name, wanted) == 0)                                                                                  \
			return (rows)[i];                                                                                                  \
	return NULL

const struct scorer_kind *scorer_named(const char *name)
{
	FIND(scorers, name);
}

const struct comparison *comparison_named(const char *name)
{
	FIND(comparisons, name);
}
