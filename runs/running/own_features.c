#include "runs/running/own_features.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/secret.h"
#include "fleet/agent/helper_client.h"

#define LIMIT_MS (60 * 1000)
#define SPARE_MS (60 * 1000) /* on top of it, which the host keeps */

struct own_features_printed {
	char *asked; /* that printed them */
	struct run_features list;
	double seconds;
};

void own_features_release(struct own_features *own)
{
	for (size_t i = 0; i < own->n; i++) {
		free(own->items[i].asked);
		run_features_release(&own->items[i].list);
	}
	free(own->items);
	*own = (struct own_features){ NULL, 0, 0 };
}

/* What is called secret is hidden in names, too. */
static bool read_answer(struct session *session, const struct own_features_asked *asked, const struct helper_answer *answer,
			struct own_features_printed *out)
{
	struct secrets secrets = { .values = NULL };
	struct assay_error err;
	char *text = NULL;
	size_t n = 0;
	bool ok = session_judge(session, answer) || session_explain(session, "the command 'features' did not end well");

	if (!ok)
		return false;
	if (spool_text(&answer->out, OWN_FEATURES_BYTES_MAX, &text, &n, &err))
		return session_fail(session, "%s", err.text);
	secrets_add(&secrets, asked->environment.items, asked->environment.n);
	secrets_mask(&secrets, &text, &n);
	ok = run_features_text_parse(text ? text : "", n, &out->list, &err) == ASSAY_OK;
	out->seconds = 1e-6 * (double)(answer->result.user_us + answer->result.sys_us);
	if (!ok)
		session_fail(session, "what the command 'features' printed of input '%s': %s", asked->input, err.text);
	secrets_release(&secrets);
	free(text);
	return ok;
}

static bool ask(struct session *session, const struct own_features_asked *asked, struct own_features_printed *out)
{
	struct helper_request request;
	struct helper_answer answer;
	bool ok;

	measure_request(&request, session->host, (const char *const *)asked->words.items, asked->words.n, LIMIT_MS);
	measure_request_lock(&request);
	helper_request_limit(&request, "output", OWN_FEATURES_BYTES_MAX);
	for (size_t i = 0; i < asked->environment.n; i++)
		helper_request_variable(&request, asked->environment.items[i]);
	helper_request_text(&request, HELPER_DIRECTORY, asked->work);
	ok = session_run(session, &request, LIMIT_MS + SPARE_MS, &answer) && read_answer(session, asked, &answer, out);
	helper_request_release(&request);
	helper_answer_release(&answer);
	return ok;
}

/* One text for the same command of the same input, whose environment may be all that it is. */
static char *text_of(const struct own_features_asked *asked)
{
	struct buf out = BUF_INIT;

	buf_format(&out, "%s\n", asked->input);
	for (size_t i = 0; i < asked->words.n; i++)
		buf_format(&out, "%zu:%s\n", strlen(asked->words.items[i]), asked->words.items[i]);
	return buf_take(&out);
}

bool own_features_of(struct session *session, const struct own_features_asked *asked, struct own_features *own,
		     struct execution_features *out)
{
	struct own_features_printed one = { .asked = text_of(asked) };
	size_t i = 0;

	while (i < own->n && strcmp(own->items[i].asked, one.asked) != 0)
		i++;
	if (i == own->n && !ask(session, asked, &one)) {
		free(one.asked);
		run_features_release(&one.list);
		return false;
	}
	if (i == own->n) {
		own->items = mem_grow(own->items, own->n, &own->capacity, sizeof(*own->items));
		own->items[own->n++] = one;
	} else {
		free(one.asked);
	}
	run_features_copy(&own->items[i].list, &out->own);
	out->own_seconds = own->items[i].seconds;
	return true;
}
