/* The inside of the self-organising map (scorer_som in model/anomaly/scorer.h), for its tests. */
#ifndef MODEL_ANOMALY_SOM_H
#define MODEL_ANOMALY_SOM_H

#include "model/anomaly/scorer.h"

#include <stdbool.h>

#define SOM_SIDE_MIN 3
#define SOM_SIDE_MAX 32

struct som {
	struct scorer scorer;
	size_t side;
	struct mat unit; /* [side * side x p], line by line of the map */
	struct mat area; /* the same shape: by column, mean distance to the neighbours on the map */
	bool *sparse;    /* [side * side] its area is above the 85th percentile */
};

/* Fills area and sparse from the units. */
void som_areas(struct som *som);

#endif
