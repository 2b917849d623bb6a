/* What holds for every scorer that is read: it judges rows with parts that are numbers and not negative, it is written so that it reads
 * back as the same bits, and what is refused begins with the kind. */
#ifndef TESTS_FUZZ_SCORER_CHECK_H
#define TESTS_FUZZ_SCORER_CHECK_H

#include "base/json.h"
#include "base/mem.h"
#include "model/anomaly/scorer.h"

#include <math.h>

#define COLUMNS 3
#define ROWS	3

static inline void scorer_judge(const struct scorer *scorer, double *at, struct mat *parts)
{
	const struct mat rows = { ROWS, COLUMNS, at };
	struct mat expected = mat_new(ROWS, COLUMNS);

	scorer->kind->parts(scorer, &rows, parts, &expected);
	for (size_t i = 0; i < ROWS * COLUMNS; i++)
		ASSAY_BUG_IF(!isfinite(parts->at[i]) || parts->at[i] < 0.0 || !isfinite(expected.at[i]));
	mat_release(&expected);
}

static inline void scorer_check(const struct scorer *scorer, double *at)
{
	cJSON *json = scorer->kind->write(scorer), *read;
	struct mat parts = mat_new(ROWS, COLUMNS), again = mat_new(ROWS, COLUMNS);
	struct scorer *back;
	struct assay_error err;
	char *text = json_text(json);

	ASSAY_BUG_IF(json_parse("again", text, strlen(text), &read, &err) != ASSAY_OK);
	ASSAY_BUG_IF(scorer->kind->read(scorer->kind, read, COLUMNS, &back, &err) != ASSAY_OK);
	scorer_judge(scorer, at, &parts);
	scorer_judge(back, at, &again);
	ASSAY_BUG_IF(memcmp(parts.at, again.at, ROWS * COLUMNS * sizeof(double)) != 0);
	scorer->kind->free(back);
	cJSON_Delete(json);
	cJSON_Delete(read);
	free(text);
	mat_release(&parts);
	mat_release(&again);
}

/* at [ROWS x COLUMNS]: the rows that are judged. */
static inline void scorer_try(const struct scorer_kind *kind, const cJSON *json, double *at)
{
	struct scorer *scorer;
	struct assay_error err;
	enum assay_status st = kind->read(kind, json, COLUMNS, &scorer, &err);

	if (st == ASSAY_OK) {
		scorer_check(scorer, at);
		kind->free(scorer);
	} else {
		ASSAY_BUG_IF(st != ASSAY_E_FORMAT || err.status != st || strncmp(err.text, kind->name, strlen(kind->name)) != 0);
	}
}

#endif
