#include "fleet/engine/session_shape.h"

#include <string.h>

#define END_MS 15000 /* that the helper gets to end the command and to say so */

enum assay_status session_shape_ended(const struct helper_answer *answer, struct assay_error *err)
{
	const struct helper_result *r = &answer->result;

	if (answer->refusal)
		return assay_fail(err, ASSAY_E_NODATA, "%s", answer->refusal);
	if (r->timed_out)
		return assay_fail(err, ASSAY_E_NODATA, "it did not end in time");
	if (r->signal >= 0)
		return assay_fail(err, ASSAY_E_NODATA, "it was ended there by signal %lld", (long long)r->signal);
	if (r->exit_status != 0)
		return assay_fail(err, ASSAY_E_NODATA, "it ended there with exit status %lld", (long long)r->exit_status);
	return ASSAY_OK;
}

bool session_shape_possible(const struct shaped *shaped, size_t n_shaped, struct assay_error *err)
{
	for (size_t i = 0; i < n_shaped; i++)
		if (shapes[shaped[i].shape].means == SHAPE_LIBRARY)
			return !assay_fail(err, ASSAY_E_NODATA, "nothing is preloaded on hosts: only with --here");
	return true;
}

enum assay_status session_shape_run(void *context, const char *const *words, size_t n, const struct shaped *shaped, size_t n_shaped,
				    struct helper_result *out, struct assay_error *err)
{
	const struct session_shape *shape = context;
	struct session *session = shape->session;
	struct helper_request request;
	struct helper_answer answer;
	enum assay_status st;

	if (!session_shape_possible(shaped, n_shaped, err))
		return err->status;
	measure_request(&request, session->host, words, n, shape->timeout_ms);
	measure_request_lock(&request);
	for (size_t i = 0; i < n_shaped; i++)
		helper_request_shape(&request, &shaped[i]);
	if (session_run(session, &request, shape->timeout_ms + END_MS, &answer))
		st = session_shape_ended(&answer, err);
	else
		st = assay_fail(err, ASSAY_E_IO, "%s", session->result->message);
	*out = answer.result;
	helper_request_release(&request);
	helper_answer_release(&answer);
	return st;
}
