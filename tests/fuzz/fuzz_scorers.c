/* Scorers that are read (tests/fuzz/scorer_check.h); the autoencoder has a target of its own. */
#include "model/published/published.h"
#include "tests/fuzz/scorer_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	double at[ROWS * COLUMNS] = { 0.0, 0.0, 0.0, 1.0, -2.0, 3.0, 1e4, -1e4, 14e3 };
	struct assay_error err;
	cJSON *json;

	if (json_parse("fuzz", (const char *)data, size, &json, &err))
		return 0;
	scorer_try(&scorer_mahalanobis, json, at);
	scorer_try(&scorer_som, json, at);
	cJSON_Delete(json);
	return 0;
}
