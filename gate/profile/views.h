/* The second view of a profile: where the time of the application's own runs went, which must be about the sum of where that of the
 * stressors goes that it is said to be like. Of the processor's time: what waits is in neither. */
#ifndef GATE_PROFILE_VIEWS_H
#define GATE_PROFILE_VIEWS_H

#include "gate/profile/profile.h"
#include "gate/profile/stored.h"

/* Fills rows->own from the runs, and rows->made_of from the samples of the machines' fingerprints, where either has any. */
enum assay_status views_load(struct store *store, const struct stored_time *time, const struct dataset *dataset, struct profile_rows *rows,
			     struct assay_error *err);

/* Whether a stressor cannot have a tenth of the time, as so much of its own is of a class of which the application has too little. */
bool views_exclude(const struct profile_rows *rows, size_t column);
/* Makes the models of the cost explain where the time went, too; without the application's signature nothing changes. */
void views_join(const struct profile_rows *rows, struct blend_data *data);

#endif
