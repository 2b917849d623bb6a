#include "model/anomaly/scorer_json.h"

#include <math.h>

enum assay_status scorer_json_numbers(const char *scorer, const char *member, const cJSON *array, size_t n, double most, double *out,
				      struct assay_error *err)
{
	const cJSON *item;
	size_t i = 0;

	if (!cJSON_IsArray(array) || (size_t)cJSON_GetArraySize(array) != n)
		return assay_fail(err, ASSAY_E_FORMAT, "%s: '%s' must have %zu numbers", scorer, member, n);
	cJSON_ArrayForEach(item, array)
	{
		if (!cJSON_IsNumber(item) || !(fabs(item->valuedouble) <= most))
			return assay_fail(err, ASSAY_E_FORMAT, "%s: '%s' must consist of numbers up to %g", scorer, member, most);
		out[i++] = item->valuedouble;
	}
	return ASSAY_OK;
}
