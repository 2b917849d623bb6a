#include "fleet/agent/counting_client.h"

#include "base/embed.h"
#include "base/mem.h"
#include "base/text.h"
#include "fleet/agent/measure.h"
#include "fleet/agent/program.h"

#include <pthread.h>

/* ASSAY_COUNTING_PROGRAM is the path of the executable that the build has made (CMakeLists.txt). */
EMBED_FILE(counting_program_bytes, ASSAY_COUNTING_PROGRAM);

static const struct program counting = { "counting", counting_program_bytes, counting_program_bytes_end };

#define SCRIPT_BYTES_MAX  2048
#define PLAN_TIMEOUT_MS   (60 * 1000)
#define DEPLOY_TIMEOUT_MS (120 * 1000)

/* ---- events ---- */

void counting_events_release(struct counting_events *events)
{
	for (size_t i = 0; i < events->n; i++)
		free(events->names[i]);
	*events = (struct counting_events){ .n = 0 };
}

bool counting_is_name(const char *text, size_t n)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-:.=+";

	for (size_t i = 0; i < n; i++) {
		if (!memchr(good, text[i], sizeof(good) - 1))
			return false;
	}
	return n > 0 && n < COUNTING_NAME_BYTES && text[0] != '-';
}

bool counting_has(const struct counting_events *events, const char *name, size_t n)
{
	for (size_t i = 0; i < events->n; i++) {
		if (strlen(events->names[i]) == n && memcmp(events->names[i], name, n) == 0)
			return true;
	}
	return false;
}

enum assay_status counting_events_parse(const char *text, struct counting_events *out, struct assay_error *err)
{
	struct counting_events events = { .n = 0 };
	enum assay_status st = ASSAY_OK;
	char shown[TEXT_SHOWN_BYTES];

	for (const char *at = text; !st; at++) {
		size_t n = strcspn(at, ",");

		if (!counting_is_name(at, n))
			st = assay_fail(err, ASSAY_E_USAGE, "'%s' is no list of events: names such as PAPI_TOT_INS, with commas between them",
					text_shown(text, shown));
		else if (counting_has(&events, at, n))
			st = assay_fail(err, ASSAY_E_USAGE, "the event '%.*s' stands twice", (int)n, at);
		else if (events.n == COUNTING_EVENTS_MAX)
			st = assay_fail(err, ASSAY_E_USAGE, "more than %d events", COUNTING_EVENTS_MAX);
		else
			events.names[events.n++] = mem_bytes(at, n);
		at += n;
		if (*at == '\0')
			break;
	}
	*out = events;
	if (st)
		counting_events_release(out);
	return st;
}

/* ---- requests ---- */

static char run_script[SCRIPT_BYTES_MAX];

static void make_run_script(void)
{
	struct buf script = BUF_INIT;

	program_script_run(&counting, &script);
	ASSAY_BUG_IF(script.size >= sizeof(run_script));
	memcpy(run_script, script.bytes, script.size + 1);
	buf_release(&script);
}

static size_t add_shell(const char **words)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_run_script);
	words[0] = "/bin/sh";
	words[1] = "-c";
	words[2] = run_script;
	words[3] = "counting"; /* $0 of the script */
	return 4;
}

void counting_request_plan(struct helper_request *out, const struct host *host, const struct counting_events *events)
{
	const char *words[5 + COUNTING_EVENTS_MAX];
	size_t n = add_shell(words);

	words[n++] = "plan";
	for (size_t i = 0; i < events->n; i++)
		words[n++] = events->names[i];
	measure_request(out, host, words, n, PLAN_TIMEOUT_MS);
}

/* With the host's environment, so that it is looked for where it was put. */
void counting_request_deploy(struct helper_request *out, const struct host *host)
{
	struct buf script = BUF_INIT;
	const char *words[3] = { "/bin/sh", "-c" };

	program_script_deploy(&counting, &script);
	words[2] = script.bytes;
	measure_request(out, host, words, 3, DEPLOY_TIMEOUT_MS);
	helper_request_input(out, counting.bytes, (size_t)(counting.end - counting.bytes));
	buf_release(&script);
}

void counting_words(const char *report, const char *family, const struct counting_events *events, const char ***words, size_t *n)
{
	const char **list = mem_new(8 + events->n, sizeof(*list));
	size_t count = add_shell(list);

	list[count++] = "run";
	list[count++] = report;
	list[count++] = family;
	for (size_t i = 0; i < events->n; i++)
		list[count++] = events->names[i];
	list[count++] = "--";
	*words = list;
	*n = count;
}

bool counting_is_missing(const struct helper_answer *answer)
{
	return !answer->refusal && answer->result.exit_status == 127;
}
