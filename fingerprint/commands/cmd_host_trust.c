/* Command 'assay host trust'. */
#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "fingerprint/catalog/identity.h"
#include "fingerprint/commands/fingerprint_commands.h"
#include "fleet/commands/cmd_fleet.h"
#include "fleet/engine/reach.h"
#include "fleet/engine/session.h"
#include "fleet/lab/lab.h"
#include "fleet/ssh/known_hosts.h"

#include <stdbool.h>

/* ---- the laboratory's file of host keys ---- */

enum trust_action { TRUST_RECORDED, TRUST_REPLACED, TRUST_KNOWN, TRUST_REFUSED };

/* Action for the key of a host. */
struct trust_step {
	enum trust_action action;
	char *message; /* message in one line; "" if there is none; free() it */
};

/* Splits a line in the format of known_hosts_line(). Returns false for another format. free(*host), hostkey_release(key). */
static bool trust_parse(const char *line, char **host, int *port, struct hostkey *key)
{
	size_t n = strcspn(line, " ");
	const char *type = line + n, *text;
	const char *close = line[0] == '[' ? memchr(line, ']', n) : NULL;
	int64_t number = 22;
	char *digits;

	type += strspn(type, " ");
	text = strchr(type, ' ');
	if (n == 0 || !text || !hostkey_from_base64(text + 1, key))
		return false;
	if (close && close[1] == ':') {
		digits = mem_bytes(close + 2, n - (size_t)(close + 2 - line));
		if (!text_parse_int64(digits, &number))
			number = 0;
		free(digits);
	}
	*port = (int)number;
	*host = close ? mem_bytes(line + 1, (size_t)(close - line - 1)) : mem_bytes(line, n);
	return number >= 1 && number <= 65535;
}

/* Hosts that a line of known_hosts is for: not this host, only this host, or also others. Uses the parser of the whole file. */
enum classify_line { ABOUT_OTHER_HOSTS, ABOUT_HOST, ABOUT_SEVERAL };

static enum classify_line classify_line(const char *line, size_t n, const char *host, int port, const struct hostkey *key)
{
	struct known_hosts *alone = known_hosts_new();
	enum classify_line about = ABOUT_OTHER_HOSTS;
	enum known_hosts_result answer;
	struct assay_error err;
	const char *file;
	size_t at;

	if (n && line[0] != '@' && !known_hosts_parse(alone, "line", line, n, &err)) {
		answer = known_hosts_check(alone, &(struct known_hosts_query){ .host = host, .port = port }, key, &file, &at);
		if (answer != KNOWN_HOSTS_UNKNOWN)
			about = strcspn(line, ",*?!") < strcspn(line, " \t") ? ABOUT_SEVERAL : ABOUT_HOST;
	}
	known_hosts_free(alone);
	return about;
}

static enum assay_status remove_lines(struct buf *text, const char *own, const char *host, int port, const struct hostkey *key,
				      struct assay_error *err)
{
	struct buf kept = BUF_INIT;
	enum assay_status st = ASSAY_OK;
	size_t line = 1;

	for (size_t at = 0, n; !st && at < text->size; at += n, line++) {
		const char *end = memchr(text->bytes + at, '\n', text->size - at);

		n = end ? (size_t)(end + 1 - text->bytes) - at : text->size - at;
		switch (classify_line(text->bytes + at, n, host, port, key)) {
		case ABOUT_OTHER_HOSTS:
			buf_add(&kept, text->bytes + at, n);
			break;
		case ABOUT_SEVERAL:
			st = assay_fail(err, ASSAY_E_CONFLICT, "%s:%zu is for %s and other hosts: change that line yourself", own, line,
					host);
			break;
		case ABOUT_HOST:
			break;
		}
	}
	if (st) {
		buf_release(&kept);
		return st;
	}
	buf_release(text);
	*text = kept;
	return ASSAY_OK;
}

static bool has_line(const struct buf *text, const char *line)
{
	const char *at = text->size ? text->bytes : NULL;
	size_t n = strlen(line);

	while (at && (strncmp(at, line, n) != 0 || at[n] != '\n')) {
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
	}
	return at;
}

/* Appends a line unless the text already has it, because several hosts may have one address. */
static void add_line(struct buf *text, const char *line)
{
	if (has_line(text, line))
		return;
	if (text->size && text->bytes[text->size - 1] != '\n')
		buf_char(text, '\n');
	buf_text(text, line);
	buf_char(text, '\n');
}

/* Sets the action, and the message "BEFORE FILE:LINE AFTER". */
static void record_step(struct trust_step *step, enum trust_action action, const char *before, const char *file, size_t line,
			const char *after)
{
	step->action = action;
	free(step->message);
	step->message = mem_format("%s%s:%zu%s", before, file ? file : "known_hosts", line, after);
}

/* Changes `text`, the contents of the laboratory's file `own`, so that it trusts the key in `line`. `known` has all known keys. If the host
 * has another known key, refuses the new one unless `replace`; then removes the host's old lines. Always refuses a revoked key. */
static enum assay_status trust_key(struct buf *text, const char *own, const struct known_hosts *known, const char *line, bool replace,
				   struct trust_step *out, struct assay_error *err)
{
	struct hostkey key = { 0 };
	const char *file = NULL;
	enum assay_status st = ASSAY_OK;
	char *host = NULL;
	size_t at = 0;
	int port;

	out->action = TRUST_RECORDED;
	if (!trust_parse(line, &host, &port, &key)) {
		st = assay_fail(err, ASSAY_E_FORMAT, "the host has shown a key that cannot be read");
		goto out;
	}
	switch (known_hosts_check(known, &(struct known_hosts_query){ .host = host, .port = port }, &key, &file, &at)) {
	case KNOWN_HOSTS_OK:
		record_step(out, TRUST_KNOWN, "already known from ", file, at, "");
		break;
	case KNOWN_HOSTS_REVOKED:
		record_step(out, TRUST_REFUSED, "this key is revoked (", file, at, "): the host needs a new one");
		break;
	case KNOWN_HOSTS_CHANGED:
		if (!replace) {
			record_step(
			    out, TRUST_REFUSED, "", file, at,
			    " has another key of this host: find out why, then --replace (--reinstalled if its system was installed "
			    "again)");
			break;
		}
		out->action = TRUST_REPLACED;
		if (file && strcmp(file, own) != 0)
			record_step(out, TRUST_REPLACED, "", file, at,
				    " still has the old key, which remains valid: remove it with 'ssh-keygen -R'");
		st = remove_lines(text, own, host, port, &key, err);
		if (!st)
			add_line(text, line);
		break;
	case KNOWN_HOSTS_UNKNOWN:
	case KNOWN_HOSTS_ONLY_AUTHORITY:
		add_line(text, line);
		break;
	}
out:
	hostkey_release(&key);
	free(host);
	return st;
}

struct arguments {
	struct host_choice choice;
	bool replace, reinstalled;
};

/* A host, and the outcome for its key. */
struct answer {
	char *name;
	bool jump;  /* true for a jump host */
	char *line; /* line of known_hosts with the host's key; NULL if the host presented none */
	struct hostkey key;
	bool is_parsed, local;
	struct trust_step step;
	char *problem;	/* reason why `line` is NULL */
	char *evidence; /* text of the comparison with the catalog's machine; NULL if none was made */
	bool other;	/* the host is not the catalog's machine, or did not report its identity; its key is not recorded */
};

struct trust_run {
	const struct lab *lab;
	const struct reach *reach;
	bool replace, reinstalled;
	struct catalog catalog;	   /* catalog, with the new machine-ids of reinstalled machines */
	struct answer *answers;	   /* [n] answers, those of jump hosts first */
	size_t n, capacity, first; /* `first`: index of the first answer in the present group of hosts */
};

static const char *action_text(const struct answer *answer)
{
	static const char *const texts[] = { "recorded", "replaced", "known", "refused" };

	return answer->other ? "refused" : answer->local ? "local" : answer->is_parsed ? texts[answer->step.action] : "failed";
}

static bool is_good(const struct answer *answer)
{
	return !answer->other && (answer->local || (answer->is_parsed && answer->step.action != TRUST_REFUSED));
}

static void ask_key(struct session *session, void *context)
{
	char **lines = context;

	session_read_host_key(session, &lines[session->index]);
}

static void ask_jumps(struct session *session, void *context)
{
	char **ways = context;

	session_read_jumps(session, &ways[session->index]);
}

/* Determines the action for each key of the present group of hosts. *text gets the new contents of the file. */
static enum assay_status decide_trust(const struct trust_run *t, struct buf *text, struct assay_error *err)
{
	enum assay_status st = file_read(t->reach->known_hosts_path, KNOWN_HOSTS_BYTES_MAX, text, err);

	if (st == ASSAY_E_NOTFOUND)
		st = ASSAY_OK;
	for (size_t i = t->first; !st && i < t->n; i++) {
		struct answer *a = &t->answers[i];
		char *host = NULL;
		int port;

		if (!a->line)
			continue;
		a->is_parsed = trust_parse(a->line, &host, &port, &a->key);
		free(host);
		if (!a->other)
			st = trust_key(text, t->reach->known_hosts_path, t->reach->known, a->line,
				       t->replace || (t->reinstalled && !a->jump), &a->step, err);
	}
	return st;
}

/* Compares a host with the catalog's machine. `other` remains true if the host does not report its identity. */
static void compare_machine(struct session *session, void *context)
{
	struct trust_run *t = context;
	struct answer *a = &t->answers[t->first + session->index];
	struct buf evidence = BUF_INIT;
	struct facts facts = { 0 };
	struct assay_error err = { .text = "" };

	if (a->other && session_open(session) && session_read_facts(session, &facts)) {
		fleet_lock(session); /* protects the catalog, because hosts are asked in parallel */
		a->other = !session->host->profile && identity_record_reinstall(&t->catalog, session->host->id, &facts, &evidence, &err);
		fleet_unlock(session);
		buf_format(&evidence, "%s%s", a->other ? ": " : session->host->profile ? "emulated hosts have no identity" : "", err.text);
		a->evidence = buf_take(&evidence);
	} else if (a->other) {
		a->evidence = mem_format("it does not report its identity: %s", session->result->message);
	}
	facts_release(&facts);
}

/* Connects to the hosts with their new keys, which are not recorded yet, and compares each host with its machine in the catalog. */
static enum assay_status compare_machines(struct trust_run *t, const struct host *const *hosts, size_t n, struct assay_error *err)
{
	struct fleet_result *results = mem_new(n, sizeof(*results));
	struct fleet_options options;
	struct reach reach;
	enum assay_status st = reach_init(t->lab, &reach, err);

	for (size_t i = 0; !st && i < n; i++) {
		struct answer *a = &t->answers[t->first + i];

		a->other = a->local || a->line;
		if (a->line)
			st = known_hosts_parse(reach.known, reach.known_hosts_path, a->line, strlen(a->line), err);
	}
	options = reach_fleet_options(&reach);
	if (!st)
		st = fleet_run_on_each_host(hosts, n, &options, compare_machine, t, results, err);
	for (size_t i = 0; !st && i < n; i++)
		fleet_result_release(&results[i]);
	reach_release(&reach);
	free(results);
	return st;
}

/* Asks hosts for their keys, and records the keys. */
static enum assay_status trust_hosts(struct trust_run *t, const struct host *const *hosts, size_t n, bool jump, struct assay_error *err)
{
	const struct fleet_options options = reach_fleet_options(t->reach);
	struct fleet_result *results = mem_new(n, sizeof(*results));
	char **lines = mem_new(n, sizeof(*lines));
	struct buf text = BUF_INIT;
	enum assay_status st = fleet_run_on_each_host(hosts, n, &options, ask_key, lines, results, err);

	t->first = t->n;
	for (size_t i = 0; !st && i < n; i++) {
		mem_append(t->answers, t->n, &t->capacity,
			   (struct answer){ .name = mem_string(hosts[i]->name),
					    .jump = jump,
					    .line = lines[i],
					    .local = hosts[i]->local || hosts[i]->launcher.n,
					    .problem = mem_string(results[i].message),
					    .step = { .message = mem_string("") } });
		fleet_result_release(&results[i]);
	}
	if (!st)
		st = t->reinstalled && !jump ? compare_machines(t, hosts, n, err) : ASSAY_OK;
	if (!st)
		st = decide_trust(t, &text, err);
	if (!st && text.size)
		st = file_replace(t->reach->known_hosts_path, text.bytes, text.size, 0644, err);
	buf_release(&text);
	mem_free(lines, results);
	return st;
}

/* Asks one jump host on the way to `jump_target` for its key. `way` is the comma-separated list of jump hosts up to this one. The keys of
 * the earlier ones must be recorded already, because ssh checks these. */
static enum assay_status trust_jump(struct trust_run *t, const char *way, const char *jump_target, struct assay_error *err)
{
	const char *comma = strrchr(way, ','), *text = comma ? comma + 1 : way;
	char *name = mem_string(text), *before = mem_bytes(way, comma ? (size_t)(comma - way) : 0);
	struct jump_hop hop;
	struct host host;
	const struct host *hosts[] = { &host };
	enum assay_status st;

	jump_hop_parse(text, strlen(text), &hop);
	host = (struct host){ .name = name,
			      .id = name,
			      .address = hop.host,
			      .port = hop.port,
			      .user = hop.user,
			      .box = name,
			      .jump = *before ? before : NULL,
			      .jump_target = jump_target };
	st = trust_hosts(t, hosts, 1, true, err);
	jump_hop_release(&hop);
	mem_free(before, name);
	return st;
}

/* Asks each jump host on the way to hosts[0..n) once. */
static enum assay_status trust_ways(struct trust_run *t, const struct host *const *hosts, size_t n, struct assay_error *err)
{
	const struct fleet_options options = reach_fleet_options(t->reach);
	struct fleet_result *results = mem_new(n, sizeof(*results));
	char **ways = mem_new(n, sizeof(*ways)), **done = NULL;
	size_t n_done = 0, capacity = 0;
	enum assay_status st = fleet_run_on_each_host(hosts, n, &options, ask_jumps, ways, results, err);

	for (size_t i = 0; !st && i < n; i++) {
		for (size_t end = 0; !st && ways[i] && (!end || ways[i][end]);) {
			bool known = false;
			char *way;

			end += strcspn(ways[i] + end + !!end, ",") + !!end;
			way = mem_bytes(ways[i], end);
			for (size_t k = 0; k < n_done && !known; k++)
				known = strcmp(done[k], way) == 0;
			if (!known)
				st = trust_jump(t, way, hosts[i]->name, err);
			mem_append(done, n_done, &capacity, way);
		}
		fleet_result_release(&results[i]);
	}
	mem_free_all(ways, n);
	mem_free_all(done, n_done);
	free(results);
	return st;
}

/* ---- output ---- */

static void add_answer(const struct answer *a, struct document *d)
{
	const char *message = a->local ? "no key is needed" : a->is_parsed ? a->step.message : a->problem;

	doc_object(d, NULL);
	doc_set(d, "host", a->name);
	doc_set_bool(d, "jump", a->jump);
	doc_set(d, "action", action_text(a));
	if (a->is_parsed) {
		doc_set(d, "type", a->key.type);
		doc_set(d, "fingerprint", a->key.fingerprint_text);
		doc_line(d, "%s%s: %s %s (%s)%s%s", a->name, a->jump ? " (jump host)" : "", action_text(a), a->key.fingerprint_text,
			 a->key.type, *message ? ": " : "", message);
	} else {
		doc_line(d, "%s%s: %s%s%s", a->name, a->jump ? " (jump host)" : "", action_text(a), *message ? ": " : "", message);
	}
	if (a->evidence) {
		doc_line(d, "%s: %s", a->name, a->evidence);
		doc_set(d, "machine", a->evidence);
	}
	doc_set(d, "message", a->is_parsed || a->local ? a->step.message : a->problem);
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
		changed += a->is_parsed && is_good(a) && a->step.action != TRUST_KNOWN;
	}
	doc_end(d);
	if (changed)
		doc_line(
		    d, "\n%zu key%s written to %s. Compare with the output on the hosts: ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub",
		    changed, text_plural(changed), own);
	d->exit_status = good == n ? 0 : good ? 7 : 1;
}

static enum assay_status host_trust_run(struct lab *lab, void *input, struct document *d, struct assay_error *err)
{
	const struct arguments *arguments = input;
	const struct host **hosts = NULL;
	struct reach reach = { 0 };
	struct trust_run t = { .lab = lab, .reach = &reach, .replace = arguments->replace, .reinstalled = arguments->reinstalled };
	size_t n = 0, written = 0;
	enum assay_status st = host_choice_hosts(&lab->config.inventory, &arguments->choice, &hosts, &n, NULL, err);

	if (!st)
		st = reach_init(lab, &reach, err);
	if (!st && t.reinstalled)
		st = catalog_load(lab->machines, NULL, &t.catalog, err);
	if (!st)
		st = trust_ways(&t, hosts, n, err);
	if (!st)
		st = trust_hosts(&t, hosts, n, false, err);
	if (!st && t.reinstalled)
		st = catalog_save(&t.catalog, &written, err);
	if (!st)
		add_answers(t.answers, t.n, reach.known_hosts_path, d);
	for (size_t i = 0; i < t.n; i++) {
		hostkey_release(&t.answers[i].key);
		mem_free(t.answers[i].name, t.answers[i].line, t.answers[i].problem, t.answers[i].evidence, t.answers[i].step.message);
	}
	catalog_release(&t.catalog);
	mem_free(t.answers, hosts);
	reach_release(&reach);
	return st;
}

static const struct cli_option options[] = {
	CLI_OPTION(PARSED, "hosts", "HOSTS", struct arguments, choice.hosts,
		   "Hosts: names, ranges, @groups, such as \"node[01-03],@big\"; @all is every host", .letter = 'w',
		   .parse = host_choice_parse, .owned = true, .required = true),
	CLI_OPTION(PARSED, "exclude", "HOSTS", struct arguments, choice.exclude, "Exclude these hosts", .letter = 'x',
		   .parse = host_choice_parse, .owned = true),
	CLI_FLAG("replace", struct arguments, replace, "Replace the recorded key if the host has a new one"),
	CLI_FLAG(
	    "reinstalled", struct arguments, reinstalled,
	    "Accept hosts whose system was installed again on the same hardware: as --replace, and update their machine-id in the catalog"),
	CLI_END,
};

const struct command host_trust_command = {
	.name = "host trust",
	.summary = "record host keys that you have verified",
	.about = "Reads the keys of hosts, shows their fingerprints, and records them in the file known_hosts of the laboratory. From then "
		 "on assay connects to these hosts and refuses any other key. Compare the fingerprints with those on the consoles of the "
		 "hosts: ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub. Jump hosts (ProxyJump) come first. ~/.ssh/known_hosts and "
		 "/etc/ssh/ssh_known_hosts are also read, but never written. --reinstalled compares a host with the machine of the catalog "
		 "and shows the evidence; if board or CPU differ, nothing is recorded.",
	.examples = "  assay host trust -w node[01-12]\n"
		    "  assay host trust -w node03 --replace\n"
		    "  assay host trust -w node03 --reinstalled\n",
	.exit_status = "0 all hosts are now known, 7 some are not, 1 none is; 2 usage.",
	.options = options, /* CLI_LAB_WRITE, because known_hosts may have only one writer at a time */
	CLI_RUN(struct arguments, CLI_LAB_WRITE, host_trust_run),
};
