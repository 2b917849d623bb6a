#include "fleet/agent/measure.h"

void measure_request(struct helper_request *out, const struct host *host, const char *const *words, size_t n, int64_t timeout_ms)
{
	helper_request_init(out, "run");
	for (size_t i = 0; i < n; i++)
		helper_request_text(out, HELPER_ARGUMENT, words[i]);
	for (size_t i = 0; i < host->n_environment; i++)
		helper_request_variable(out, host->environment[i]);
	helper_request_limit(out, "core", 0);
	helper_request_number(out, HELPER_TIMEOUT, timeout_ms);
}

void measure_request_lock(struct helper_request *request)
{
	helper_request_lock(request, MEASURE_LOCK, MEASURE_LOCK_WAIT_MS);
}
