/* assay fleet trust */
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "fleet/cmd.h"
#include "fleet/cmd_fleet.h"
#include "fleet/engine/session.h"
#include "fleet/lab/lab.h"
#include "fleet/engine/reach.h"
#include "fleet/ssh/trust.h"

struct arguments {
	struct cmd_fleet_choice choice;
	bool replace;
};

/* One host and what became of its key. */
struct answer {
	const struct host *host;
	char *line; /* its key, as in known_hosts; NULL: it has shown none */
	struct hostkey key;
	bool shown, local;
	struct trust_step step;
	const char *trouble; /* why it has shown none; borrowed */
};

static const char *action_text(const struct answer *answer)
{
	static const char *const texts[] = { "recorded", "replaced", "known", "refused" };

	return answer->local ? "local" : answer->shown ? texts[answer->step.action] : "failed";
}

static bool is_good(const struct answer *answer)
{
	return answer->local || (answer->shown && answer->step.action != TRUST_REFUSED);
}

static void ask_key(struct session *session, void *context)
{
	struct answer *answers = context;

	session_host_key(session, &answers[session->index].line);
}

/* What is to become of each key; the new text of the file is in *text. */
static enum assay_status decide(const struct reach *reach, struct answer *answers, size_t n, bool replace, struct buf *text,
				struct assay_error *err)
{
	enum assay_status st = file_read(reach->own, KNOWN_HOSTS_BYTES_MAX, text, err);

	if (st == ASSAY_E_NOTFOUND)
		st = ASSAY_OK;
	for (size_t i = 0; !st && i < n; i++) {
		char *host = NULL;
		int port;

		if (!answers[i].line)
			continue;
		answers[i].shown = trust_parse(answers[i].line, &host, &port, &answers[i].key);
		free(host);
		st = trust_key(text, reach->own, reach->known, answers[i].line, replace, &answers[i].step, err);
	}
	return st;
}

static enum assay_status trust(const struct host *const *hosts, size_t n, bool replace, const struct reach *reach, struct answer *answers,
			       struct fleet_result *results, struct assay_error *err)
{
	const struct fleet_options options = reach_options(reach);
	struct buf text = BUF_INIT;
	enum assay_status st = fleet_each(hosts, n, &options, ask_key, answers, results, err);

	for (size_t i = 0; !st && i < n; i++) {
		answers[i].host = hosts[i];
		answers[i].local = hosts[i]->local;
		answers[i].trouble = results[i].message;
	}
	if (!st)
		st = decide(reach, answers, n, replace, &text, err);
	if (!st && text.size)
		st = file_replace(reach->own, text.bytes, text.size, 0644, err);
	buf_release(&text);
	return st;
}

/* ---- the answer ---- */

static void add_answer(const struct answer *a, struct document *d)
{
	const char *message = a->local ? "this machine needs no key" : a->shown ? a->step.message : a->trouble;

	doc_object(d, NULL);
	doc_set(d, "host", a->host->name);
	doc_set(d, "action", action_text(a));
	if (a->shown) {
		doc_set(d, "type", a->key.type);
		doc_set(d, "fingerprint", a->key.shown);
		doc_line(d, "%s: %s %s (%s)%s%s", a->host->name, action_text(a), a->key.shown, a->key.type, *message ? ": " : "", message);
	} else {
		doc_line(d, "%s: %s%s%s", a->host->name, action_text(a), *message ? ": " : "", message);
	}
	doc_set(d, "message", a->shown || a->local ? a->step.message : a->trouble);
	doc_end(d);
}

static void add_answers(const struct answer *answers, size_t n, const char *own, struct document *d)
{
	size_t changed = 0, good = 0;

	doc_set(d, "file", own);
	doc_list(d, "hosts");
	for (size_t i = 0; i < n; i++) {
		const struct answer *a = &answers[i];

		add_answer(a, d);
		good += is_good(a);
		changed += a->shown && (a->step.action == TRUST_RECORDED || a->step.action == TRUST_REPLACED);
	}
	doc_end(d);
	if (changed)
		doc_line(d,
			 "\n%zu key%s written to %s. Compare with what the hosts say themselves: ssh-keygen -lf "
			 "/etc/ssh/ssh_host_ed25519_key.pub",
			 changed, text_plural(changed), own);
	d->exit_status = good == n ? 0 : good ? 7 : 1;
}

static enum assay_status fleet_trust_run(struct lab *lab, void *input, struct document *d, struct assay_error *err)
{
	const struct arguments *arguments = input;
	struct fleet_result *results = NULL;
	struct answer *answers = NULL;
	const struct host **hosts = NULL;
	struct reach reach = { 0 };
	size_t n = 0;
	enum assay_status st = cmd_fleet_hosts(&lab->config.inventory, &arguments->choice, &hosts, &n, err);

	if (!st)
		st = reach_init(cli_directory(), &reach, err);
	if (!st) {
		results = mem_new(n, sizeof(*results));
		answers = mem_new(n, sizeof(*answers));
		st = trust(hosts, n, arguments->replace, &reach, answers, results, err);
	}
	if (!st)
		add_answers(answers, n, reach.own, d);
	for (size_t i = 0; answers && i < n; i++) {
		hostkey_release(&answers[i].key);
		free(answers[i].line);
		fleet_result_release(&results[i]);
	}
	free(answers);
	free(results);
	free(hosts);
	reach_release(&reach);
	return st;
}

static void fleet_trust_release(void *input)
{
	struct arguments *arguments = input;

	cmd_fleet_release(&arguments->choice);
}

static const struct cli_option options[] = {
	CLI_OPTION(PARSED, "hosts", "HOSTS", struct arguments, choice.hosts,
		   "These hosts: names, ranges, @groups, such as \"node[01-03],@big\"; @all is every host", .letter = 'w',
		   .parse = cmd_fleet_parse_hosts, .required = true),
	CLI_OPTION(PARSED, "exclude", "HOSTS", struct arguments, choice.exclude, "Not these hosts", .letter = 'x',
		   .parse = cmd_fleet_parse_hosts),
	CLI_FLAG("replace", struct arguments, replace, "A key that has changed takes the place of the one that was recorded"),
	CLI_END,
};

const struct command fleet_trust_command = {
	.name = "fleet trust",
	.summary = "record host keys that you have verified",
	.about = "Asks hosts for their keys, shows the fingerprints, and records them in the file known_hosts of the laboratory: from then "
		 "on assay "
		 "talks to these hosts, and refuses any other key. Compare the fingerprints with what the hosts themselves say, on their "
		 "consoles: ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub. ~/.ssh/known_hosts and /etc/ssh/ssh_known_hosts are read, "
		 "too, but "
		 "never written.",
	.examples = "  assay fleet trust -w node[01-12]\n"
		    "  assay fleet trust -w node03 --replace\n",
	.exit_status = "0 all hosts are known now, 7 some are not, 1 none is; 2 usage.",
	.options = options,
	.arguments_bytes = sizeof(struct arguments),
	.lab = CLI_LAB_WRITE, /* one writer of known_hosts */
	.release = fleet_trust_release,
	.run = fleet_trust_run,
};
