#include "runs/running/own_features.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/text.h"
#include "fleet/agent/helper_client.h"
#include "runs/running/execution.h"

#include <string.h>

#define LIMIT_MS (60 * 1000)
#define SPARE_MS (60 * 1000) /* on top of it, which the host keeps */

struct own_features_printed {
	char *asked; /* that printed them */
	char *why;   /* there are none; else NULL */
	struct run_features list;
	double seconds;
};

void own_features_release(struct own_features *own)
{
	for (size_t i = 0; i < own->n; i++) {
		mem_free(own->items[i].asked, own->items[i].why);
		run_features_release(&own->items[i].list);
	}
	free(own->items);
	*own = (struct own_features){ NULL, 0, 0 };
}

/* Features that the command printed, under names of their own; else NULL is *why not, free() it. */
static char *read_printed(const struct own_features_asked *asked, const char *text, size_t n, struct run_features *out)
{
	struct assay_error err;

	if (run_features_text_parse(text, n, out, &err))
		return mem_format("what the command 'features' printed of input '%s': %s", asked->input, err.text);
	for (size_t i = 0; i < out->n; i++) {
		bool is_counted = out->items[i].kind == FEATURE_COUNT || strncmp(out->items[i].name, "value ", strlen("value ")) == 0;

		if (is_counted || run_features_find(asked->known, out->items[i].name))
			return mem_format("what the command 'features' printed of input '%s': '%.15g %s' has a name that assay itself uses",
					  asked->input, out->items[i].value, TEXT_SHOWN(out->items[i].name));
	}
	return NULL;
}

/* The input's own fault, with the first line that the command said of it; NULL: it ended well. free() it. */
static char *why_not_well(const struct own_features_asked *asked, const struct execution *e, bool flooded)
{
	size_t n = strcspn(e->err, "\n");
	char shown[TEXT_SHOWN_BYTES], *line = mem_bytes(e->err, n), *why = NULL;

	if (flooded)
		why =
		    mem_format("the command 'features' printed more than %u MiB of input '%s'", OWN_FEATURES_BYTES_MAX >> 20, asked->input);
	else if (e->outcome != EXECUTION_OK)
		why = mem_format("the command 'features' did not end well for input '%s': %s%s%s", asked->input, e->detail, n ? ": " : "",
				 text_shown(line, shown));
	free(line);
	return why;
}

/* What is called secret is hidden in names, too. */
static bool read_answer(struct session *session, const struct own_features_asked *asked, const struct helper_answer *answer,
			struct own_features_printed *out)
{
	const struct metric ended_well = { .source = METRIC_WALL };
	struct execution e = { .detail = NULL };
	struct assay_error err;
	char *text = NULL, *fault = NULL;
	size_t n = 0;
	bool ok = execution_judge(&ended_well, answer, &e, &fault) || session_fail(session, "the command 'features': %s", fault);

	if (ok) {
		secrets_know(asked->environment.items, asked->environment.n);
		secrets_mask(&e.err, &e.err_bytes);
		out->why = why_not_well(asked, &e, answer->result.flooded > 0);
	}
	if (ok && !out->why && spool_text(&answer->out, OWN_FEATURES_BYTES_MAX, &text, &n, &err))
		ok = session_fail(session, "%s", err.text);
	if (ok && !out->why) {
		secrets_mask(&text, &n);
		out->why = read_printed(asked, text ? text : "", n, &out->list);
		out->seconds = 1e-6 * (double)(answer->result.user_us + answer->result.sys_us);
	}
	execution_release(&e);
	mem_free(fault, text);
	return ok;
}

static bool ask(struct session *session, const struct own_features_asked *asked, struct own_features_printed *out)
{
	struct helper_request request;
	struct helper_answer answer;
	bool ok;

	measure_request(&request, session->host, (const char *const *)asked->words.items, asked->words.n, LIMIT_MS);
	measure_request_lock(&request);
	helper_request_number(&request, HELPER_OUTPUT, OWN_FEATURES_BYTES_MAX);
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
		     struct execution_features *out, const char **why)
{
	struct own_features_printed one = { .asked = text_of(asked) };
	size_t i = 0;

	while (i < own->n && strcmp(own->items[i].asked, one.asked) != 0)
		i++;
	if (i == own->n && !ask(session, asked, &one)) {
		free(one.asked);
		return false;
	}
	if (i == own->n) {
		mem_append(own->items, own->n, &own->capacity, one);
	} else {
		free(one.asked);
	}
	*why = own->items[i].why;
	if (!*why) {
		run_features_copy(&own->items[i].list, &out->own);
		out->own_seconds = own->items[i].seconds;
	}
	return true;
}
