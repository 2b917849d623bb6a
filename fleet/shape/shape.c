#include "fleet/shape/shape.h"

#include <stdio.h>
#include <string.h>

#define SHAPE_ROW(constant, name, means, thing) { name, means, thing },
const struct shape shapes[SHAPES] = { SHAPE_ROWS(SHAPE_ROW) };

#define MEANS_ROW(constant, needs, touches) { needs, touches },
static const struct {
	const char *needs, *touches;
} all_means[] = { SHAPE_MEANS_ROWS(MEANS_ROW) };

bool shape_read(const char *text, struct shaped *out)
{
	const char *at = strchr(text, '=');
	unsigned level = 0, i = 0;

	while (at && i < SHAPES &&
	       (strlen(shapes[i].name) != (size_t)(at - text) || memcmp(shapes[i].name, text, (size_t)(at - text)) != 0))
		i++;
	if (!at || i == SHAPES || !at[1])
		return false;
	for (at++; *at; at++) {
		if (*at < '0' || *at > '9' || level > SHAPE_LEVEL_MAX)
			return false;
		level = 10 * level + (unsigned)(*at - '0');
	}
	*out = (struct shaped){ i, level };
	return level <= SHAPE_LEVEL_MAX;
}

void shape_write(const struct shaped *shaped, char out[SHAPE_NAME_BYTES])
{
	snprintf(out, SHAPE_NAME_BYTES, "%s=%u", shapes[shaped->shape].name, shaped->level);
}

unsigned shape_usual(unsigned shape)
{
	return shapes[shape].means == SHAPE_INTERRUPTS ? SHAPE_LEVEL_MAX : 400;
}

const char *shape_variable(unsigned shape, bool exercise)
{
	if (shape == SHAPE_ALLOCATIONS)
		return exercise ? "ASSAY_KNOB_MALLOC_EXERCISE" : "ASSAY_KNOB_MALLOC";
	return exercise ? "ASSAY_KNOB_COMPARE_EXERCISE" : "ASSAY_KNOB_COMPARE_STEPS";
}

const char *shape_needs(const struct shape *shape)
{
	return all_means[shape->means].needs;
}

const char *shape_touches(const struct shape *shape)
{
	return all_means[shape->means].touches;
}
