/* Reads another machine's output of stress-ng. Checks that numbers are finite and not negative, and that measured rates are above 0. */
#include "fingerprint/battery/stressng.h"

#include <math.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct assay_error err = { .text = "" };
	struct stressng_metrics m;
	const double *numbers[] = { &m.bogo_ops, &m.per_s, &m.real_per_s, &m.wall_s, &m.user_s, &m.system_s };

	if (stressng_parse((const char *)data, size, "cpu", &m, &err)) {
		ASSAY_BUG_IF(!*err.text || strchr(err.text, '\n') || m.measured);
		return 0;
	}
	ASSAY_BUG_IF(!*m.version || strpbrk(m.version, " \n/$`'\""));
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		ASSAY_BUG_IF(m.measured && !(*numbers[i] >= 0 && isfinite(*numbers[i])));
	ASSAY_BUG_IF(m.measured && !(m.bogo_ops > 0 && m.per_s > 0));
	return 0;
}
