#include "gate/decide/looks.h"

#include "base/error.h"
#include "gate/decide/effect.h"

int64_t looks_repetitions(int64_t first, int look)
{
	ASSAY_BUG_IF(look < 1 || look > LOOKS_MAX || first < 1);
	return first << (look - 1);
}

double looks_level(int look, bool last)
{
	double all = 1 - EFFECT_LEVEL, whole = 1 << (LOOKS_MAX - 1);

	ASSAY_BUG_IF(look < 1 || look > LOOKS_MAX);
	if (look == 1)
		return 1 - (last ? all : all / whole);
	/* Spent before: all 2^(look - 2) / whole. This look adds as much again. */
	return 1 - (last || look == LOOKS_MAX ? all - all * (1 << (look - 2)) / whole : all * (1 << (look - 2)) / whole);
}
