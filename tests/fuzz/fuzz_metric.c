/* Checks that the metric from a program's output is a finite number above 0, or that one line gives the reason. Text before the program's
 * JSON, and repeated lines, must not change the metric. The first byte chooses the metric. */
#include "base/buf.h"
#include "runs/running/manifest.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const metrics[] = {
	"{pattern: '([-+0-9.e]+)'}",
	"{pattern: 'took (.*) s|([0-9]+)$'}",
	"{pattern: '^[a-z]+: *([0-9.]*)'}",
	"google-benchmark",
	"{source: google-benchmark, name: x, time: cpu}",
	"hyperfine",
	"{source: hyperfine, name: x}",
};
#define METRICS (sizeof(metrics) / sizeof(metrics[0]))

static enum assay_status read_text(const struct metric *metric, const char *text, size_t n, double *value)
{
	const struct metric_usage usage = { 1, 1, 1 };
	struct assay_error err = { .text = "" };
	char *warning = NULL;
	enum assay_status st = metric_read(metric, &usage, text, n, value, &warning, &err);

	ASSAY_BUG_IF(st && (st != ASSAY_E_NODATA || !*err.text || strchr(err.text, '\n')));
	ASSAY_BUG_IF((st && warning) || (warning && strchr(warning, '\n')));
	free(warning);
	ASSAY_BUG_IF(!st && (*err.text || !isfinite(*value) || *value <= 0));
	return st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct manifest manifests[METRICS];
	struct buf more = BUF_INIT;
	const struct metric *metric;
	double value = 0, again = 0;
	enum assay_status st;
	const char *text;

	for (size_t i = 0; i < METRICS && !manifests[i].file; i++) {
		buf_clear(&more);
		buf_format(&more, "command: [a]\nversions: {b: }\nmetric: %s\n", metrics[i]);
		ASSAY_BUG_IF(manifest_parse("m", more.bytes, more.size, &manifests[i], NULL));
	}
	buf_clear(&more);
	if (size > 0) {
		metric = &manifests[*data % METRICS].metric;
		text = (const char *)data + 1;
		st = read_text(metric, text, --size, &value);
		if (metric->source == METRIC_REGEX) {
			buf_add(&more, text, size);
			buf_char(&more, '\n');
		} else {
			buf_text(&more, "Running\n");
		}
		buf_add(&more, text, size);
		ASSAY_BUG_IF(read_text(metric, more.bytes, more.size, &again) != st || (!st && again != value));
	}
	buf_release(&more);
	return 0;
}
