#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "fleet/cmd.h"
#include "fleet/cmd_fleet.h"
#include "fleet/cmd_lab.h"
#include "fleet/ssh/reach.h"
#include "fleet/ssh/trust.h"

static const char doc[] =
    "Asks hosts for their keys, shows the fingerprints, and records them in the file known_hosts of the laboratory: from then on "
    "assay talks to these hosts, and to nobody who shows another key. Compare the fingerprints with what the hosts themselves say, "
    "on their consoles: ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub. ~/.ssh/known_hosts and /etc/ssh/ssh_known_hosts are "
    "read, too, but never written."
    "\vExample:\n"
    "  assay fleet trust -w node[01-12]\n"
    "  assay fleet trust -w node03 --replace\n"
    "\n"
    "Exit status: 0 all are known now, 7 some are not, 1 none is; 2 usage.";

enum { OPTION_REPLACE = 256 };

static const struct argp_option options[] = {
	{ "hosts", 'w', "HOSTS", 0, "These hosts: names, ranges, @groups, such as \"node[01-03],@big\"; all: @all (needed)", 20 },
	{ "exclude", 'x', "HOSTS", 0, "Not these hosts", 20 },
	{ "replace", OPTION_REPLACE, NULL, 0, "A key that has changed takes the place of the one that was recorded", 1 },
	{ 0 }
};

struct arguments {
	struct cmd_fleet_choice choice;
	bool replace;
};

/* One host and what became of its key. */
struct answer {
	const struct host *host;
	struct hostkey key;
	bool shown;  /* it has shown a key */
	bool local;
	struct trust_step step;
	const char *trouble; /* why it has not; borrowed */
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case OPTION_REPLACE:
		a->replace = true;
		return 0;
	case ARGP_KEY_END:
		if (!a->choice.hosts)
			cli_refuse(state, "name the hosts to be trusted with -w (all of them: -w @all)");
		return 0;
	default:
		return cmd_fleet_parse(key, arg, state, &a->choice);
	}
}

static const char *action_text(const struct answer *answer)
{
	static const char *const texts[] = { "recorded", "replaced", "known", "refused" };

	return answer->local ? "local" : answer->shown ? texts[answer->step.action] : "failed";
}

static bool is_good(const struct answer *answer)
{
	return answer->local || (answer->shown && answer->step.action != TRUST_REFUSED);
}

static void print_human(const struct answer *answers, size_t n, const char *own, struct buf *out)
{
	size_t changed = 0;

	for (size_t i = 0; i < n; i++) {
		const struct answer *a = &answers[i];
		const char *message = a->local ? "this machine needs no key" : a->shown ? a->step.message : a->trouble;

		buf_format(out, "%s: %s", a->host->name, action_text(a));
		if (a->shown)
			buf_format(out, " %s (%s)", a->key.shown, a->key.type);
		buf_format(out, "%s%s\n", *message ? ": " : "", message);
		changed += a->shown && (a->step.action == TRUST_RECORDED || a->step.action == TRUST_REPLACED);
	}
	if (changed)
		buf_format(out, "\n%zu %s written to %s. Compare with what the hosts say themselves: ssh-keygen -lf "
			   "/etc/ssh/ssh_host_ed25519_key.pub\n", changed, changed == 1 ? "key" : "keys", own);
}

static void print_json(const struct answer *answers, size_t n, const char *own, struct buf *out)
{
	cJSON *root = cJSON_CreateObject(), *list;

	cJSON_AddStringToObject(root, "file", own);
	list = cJSON_AddArrayToObject(root, "hosts");
	for (size_t i = 0; i < n; i++) {
		const struct answer *a = &answers[i];
		cJSON *object = cJSON_CreateObject();

		cJSON_AddItemToArray(list, object);
		cJSON_AddStringToObject(object, "host", a->host->name);
		cJSON_AddStringToObject(object, "action", action_text(a));
		if (a->shown) {
			cJSON_AddStringToObject(object, "type", a->key.type);
			cJSON_AddStringToObject(object, "fingerprint", a->key.shown);
		}
		cJSON_AddStringToObject(object, "message", a->shown || a->local ? a->step.message : a->trouble);
	}
	json_add(out, root);
}

/* What is to become of each key; the new text of the file is in *text. */
static enum assay_status decide(const struct reach *reach, char **keys, struct answer *answers, size_t n, bool replace,
				struct buf *text, struct assay_error *err)
{
	enum assay_status st = file_read(reach->own, KNOWN_HOSTS_BYTES_MAX, text, err);

	if (st == ASSAY_E_NOTFOUND)
		st = ASSAY_OK;
	for (size_t i = 0; !st && i < n; i++) {
		char *host = NULL;
		int port;

		if (!keys[i])
			continue;
		answers[i].shown = trust_parse(keys[i], &host, &port, &answers[i].key);
		free(host);
		st = trust_key(text, reach->own, reach->known, keys[i], replace, &answers[i].step, err);
	}
	return st;
}

static enum assay_status trust(const char *directory, const struct host *const *hosts, size_t n, bool replace, struct answer *answers,
			       struct fleet_result *results, struct reach *reach, struct assay_error *err)
{
	char **keys = mem_new(n, sizeof(char *));
	struct buf text = BUF_INIT;
	struct fleet_options engine;
	enum assay_status st = reach_init(directory, hosts, n, reach, err);

	if (st)
		goto out;
	engine = reach_options(reach);
	st = fleet_host_keys(hosts, n, &engine, keys, results, err);
	for (size_t i = 0; i < n; i++)
		answers[i] = (struct answer){ .host = hosts[i], .local = hosts[i]->local, .trouble = results[i].message };
	if (!st)
		st = decide(reach, keys, answers, n, replace, &text, err);
	if (!st && text.size)
		st = file_replace(reach->own, text.bytes, text.size, 0644, err);
out:
	for (size_t i = 0; i < n; i++)
		free(keys[i]);
	free(keys);
	buf_release(&text);
	return st;
}

static int exit_status(const struct answer *answers, size_t n)
{
	size_t good = 0;

	for (size_t i = 0; i < n; i++)
		good += is_good(&answers[i]);
	return good == n ? 0 : good ? 7 : 1;
}

int cmd_fleet_trust(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { options, parse, "-w HOSTS", doc, NULL, NULL, NULL };
	struct fleet_result *results = NULL;
	struct answer *answers = NULL;
	const struct host **hosts = NULL;
	struct arguments a = { 0 };
	struct reach reach = { 0 };
	struct cmd_lab cmd;
	enum assay_status st = cmd_lab_open(&cmd, &argp, argc, argv, directory, &a, STORE_WRITE); /* one writer of known_hosts */
	int decided = 0;
	size_t n = 0;

	if (!st)
		st = cmd_fleet_hosts(&cmd.lab.config.inventory, &a.choice, &hosts, &n, &cmd.err);
	if (!st) {
		results = mem_new(n, sizeof(*results));
		answers = mem_new(n, sizeof(*answers));
		st = trust(cmd.cli.directory, hosts, n, a.replace, answers, results, &reach, &cmd.err);
	}
	if (!st) {
		(cmd.cli.format == CLI_JSON ? print_json : print_human)(answers, n, reach.own, &cmd.out);
		decided = exit_status(answers, n);
	}
	for (size_t i = 0; answers && i < n; i++) {
		hostkey_release(&answers[i].key);
		fleet_result_release(&results[i]);
	}
	free(answers);
	free(results);
	free(hosts);
	reach_release(&reach);
	cmd_fleet_release(&a.choice);
	return cmd_lab_end(&cmd, st, decided);
}
