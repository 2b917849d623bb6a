/* Autoencoders that are read (tests/fuzz/scorer_check.h), on rows as large as numbers can be. */
#include "model/published/published.h"
#include "tests/fuzz/scorer_check.h"

#include <float.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	double at[ROWS * COLUMNS] = { 0.0, 0.0, 0.0, 1.0, -2.0, 1e4, DBL_MAX, -DBL_MAX, 1e-300 };
	struct assay_error err;
	cJSON *json;

	if (json_parse("fuzz", (const char *)data, size, &json, &err))
		return 0;
	scorer_try(&scorer_autoencoder, json, at);
	scorer_try(&scorer_paper, json, at);
	cJSON_Delete(json);
	return 0;
}
