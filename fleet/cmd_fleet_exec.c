#include "base/cli.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "fleet/cmd.h"
#include "fleet/cmd_fleet.h"
#include "fleet/lab.h"
#include "fleet/nodeset.h"
#include "fleet/reach.h"
#include "fleet/shell.h"

#include <openssl/evp.h>
#include <unistd.h>

static const char doc[] =
    "Runs a command on many hosts at once and shows what each says, line by line, behind its name. The words reach the command as "
    "they are here: for pipes and variables of the hosts say sh -c '...'."
    "\vExample:\n"
    "  assay fleet exec -- uname -r\n"
    "  assay fleet exec -w node[01-08] --timeout 60 -- sh -c 'df -h / | tail -n 1'\n"
    "  assay fleet exec --format json -- hostname | jq -r '.hosts[].stdout'\n"
    "\n"
    "Exit status: 0 all ok, 7 some hosts failed, 1 all failed; 2 usage.";

#define FANOUT_MAX       1000
#define SECONDS_MAX      1e6
#define JSON_STREAM_BYTES ((uint64_t)16 << 20) /* of each stream of each host: the document is made in memory */
#define CHUNK_BYTES      65536

enum { OPTION_FANOUT = 256, OPTION_TIMEOUT, OPTION_CONNECT_TIMEOUT };

static const struct argp_option options[] = {
	CMD_FLEET_OPTIONS,
	{ "fanout", OPTION_FANOUT, "N", 0, "Connections at a time (default: 32)", 1 },
	{ "timeout", OPTION_TIMEOUT, "SECONDS", 0, "The longest that the command may take on a host (default: no limit)", 1 },
	{ "connect-timeout", OPTION_CONNECT_TIMEOUT, "SECONDS", 0, "The longest until a host has let us in (default: 10)", 1 },
	{ 0 }
};

struct arguments {
	struct cmd_fleet_choice choice;
	const char **words; /* [n_words] */
	size_t n_words, capacity;
	int64_t fanout, timeout_ms, connect_timeout_ms;
};

static volatile sig_atomic_t cancelled;

static void on_signal(int number)
{
	cancelled = number;
}

/* The first one closes all connections in order; a second one ends this program as usual. */
static void catch_signals(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaction(numbers[i], &action, NULL);
}

static int64_t milliseconds(struct argp_state *state, const char *option, const char *arg)
{
	double seconds;

	if (!text_double(arg, &seconds) || seconds < .001 || seconds > SECONDS_MAX)
		cli_refuse(state, "--%s is a number of seconds from 0.001 to %.0f, not '%s'", option, SECONDS_MAX, arg);
	return (int64_t)(seconds * 1000);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case OPTION_FANOUT:
		if (!text_int64(arg, &a->fanout) || a->fanout < 1 || a->fanout > FANOUT_MAX)
			cli_refuse(state, "--fanout is a number from 1 to %d, not '%s'", FANOUT_MAX, arg);
		return 0;
	case OPTION_TIMEOUT:
		a->timeout_ms = milliseconds(state, "timeout", arg);
		return 0;
	case OPTION_CONNECT_TIMEOUT:
		a->connect_timeout_ms = milliseconds(state, "connect-timeout", arg);
		return 0;
	case ARGP_KEY_ARG:
		a->words = mem_grow(a->words, a->n_words, &a->capacity, sizeof(*a->words));
		a->words[a->n_words++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (a->n_words == 0)
			cli_refuse(state, "there is no command: it stands behind --");
		return 0;
	default:
		return cmd_fleet_parse(key, arg, state, &a->choice);
	}
}

/* ---- the command, and what becomes of its output ---- */

struct exec {
	struct fleet_driver driver;
	const struct host *const *hosts;
	char **commands; /* one a host: with its environment */
	bool live;       /* print as hosts end */
	bool progress;
	bool out_terminal, err_terminal;
};

static char *compose(const struct arguments *a, const struct host *host)
{
	struct buf text = BUF_INIT;

	/* No shell stays in between, which would tell of a signal as an exit status. */
	buf_text(&text, host->n_environment ? "exec env " : "exec ");
	for (size_t i = 0; i < host->n_environment; i++) {
		shell_add_word(&text, host->environment[i]);
		buf_char(&text, ' ');
	}
	for (size_t i = 0; i < a->n_words; i++) {
		shell_add_word(&text, a->words[i]);
		if (i + 1 < a->n_words)
			buf_char(&text, ' ');
	}
	return buf_take(&text);
}

static bool exec_next(struct fleet_driver *driver, size_t host, const struct fleet_result *last, struct fleet_command *out)
{
	*out = (struct fleet_command){ .command = ((struct exec *)driver)->commands[host] };
	return !last;
}

/* Bytes of a host must not steer the terminal. */
static void put(const char *bytes, size_t n, bool terminal, FILE *to)
{
	if (!terminal) {
		fwrite(bytes, 1, n, to);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)bytes[i];

		putc((c < 0x20 && c != '\t') || c == 0x7f ? '?' : c, to);
	}
}

/* Every line behind "NAME: "; a last line without its end gets one. */
static void print_stream(const char *name, const struct spool *spool, bool terminal, FILE *to)
{
	bool at_start = true;
	char bytes[CHUNK_BYTES];
	struct assay_error err;
	uint64_t offset = 0;
	size_t n;

	while (offset < spool->size && !spool_read(spool, offset, bytes, sizeof(bytes), &n, &err) && n) {
		for (size_t at = 0, part; at < n; at += part) {
			const char *end = memchr(bytes + at, '\n', n - at);

			if (at_start)
				fprintf(to, "%s: ", name);
			part = end ? (size_t)(end - bytes) - at : n - at;
			put(bytes + at, part, terminal, to);
			at_start = end;
			if (end) {
				putc('\n', to);
				part++;
			}
		}
		offset += n;
	}
	if (!at_start)
		putc('\n', to);
}

static void exec_done(struct fleet_driver *driver, size_t host, const struct fleet_result *result, size_t n_done, size_t n)
{
	struct exec *exec = (struct exec *)driver;

	if (exec->progress)
		fputs("\r\033[K", stderr);
	if (exec->live) {
		print_stream(exec->hosts[host]->name, &result->out, exec->out_terminal, stdout);
		fflush(stdout);
		print_stream(exec->hosts[host]->name, &result->err, exec->err_terminal, stderr);
	}
	if (exec->progress && n_done < n)
		fprintf(stderr, "%zu/%zu hosts", n_done, n);
}

/* ---- how they have ended ---- */

/* Hosts with the same end share a line. */
static void print_summary(const struct cli *cli, const struct host *const *hosts, const struct fleet_result *results, size_t n)
{
	const char **names = mem_new(n, sizeof(*names));
	bool *told = mem_new(n, sizeof(*told));

	for (size_t i = 0; i < n; i++) {
		size_t same = 0;
		char *folded;

		if (told[i])
			continue;
		for (size_t k = i; k < n; k++) {
			if (results[k].outcome != results[i].outcome || strcmp(results[k].message, results[i].message) != 0)
				continue;
			told[k] = true;
			names[same++] = hosts[k]->name;
		}
		folded = nodeset_fold(names, same);
		cli_note(cli, "%s: %s%s%s", fleet_outcome_text(results[i].outcome), folded, *results[i].message ? ": " : "", results[i].message);
		free(folded);
	}
	free(names);
	free(told);
}

/* Text where it is text, else base64 under another name. */
static enum assay_status add_stream(cJSON *object, const char *name, const char *name_base64, const struct spool *spool,
				    struct assay_error *err)
{
	char *bytes = NULL, *encoded;
	enum assay_status st;
	size_t n;

	st = spool_text(spool, JSON_STREAM_BYTES, &bytes, &n, err);
	if (st)
		return st;
	if (text_is_utf8(bytes, n) && !memchr(bytes, '\0', n)) {
		cJSON_AddStringToObject(object, name, bytes);
	} else {
		encoded = mem_new(4 * ((n + 2) / 3) + 1, 1);
		EVP_EncodeBlock((unsigned char *)encoded, (const unsigned char *)bytes, (int)n);
		cJSON_AddStringToObject(object, name_base64, encoded);
		free(encoded);
	}
	free(bytes);
	return ASSAY_OK;
}

static enum assay_status add_host(cJSON *list, const struct host *host, const struct fleet_result *result, struct assay_error *err)
{
	cJSON *object = cJSON_CreateObject();
	enum assay_status st;

	cJSON_AddItemToArray(list, object);
	cJSON_AddStringToObject(object, "host", host->name);
	if (host->profile)
		cJSON_AddStringToObject(object, "emulated", host->profile);
	cJSON_AddStringToObject(object, "outcome", fleet_outcome_text(result->outcome));
	cJSON_AddItemToObject(object, "exit_status", result->exit_status < 0 ? cJSON_CreateNull() : cJSON_CreateNumber(result->exit_status));
	cJSON_AddItemToObject(object, "signal", *result->signal ? cJSON_CreateString(result->signal) : cJSON_CreateNull());
	cJSON_AddStringToObject(object, "message", result->message);
	cJSON_AddNumberToObject(object, "connect_ms", (double)result->connect_ms);
	cJSON_AddNumberToObject(object, "command_ms", (double)result->command_ms);
	st = add_stream(object, "stdout", "stdout_base64", &result->out, err);
	if (!st)
		st = add_stream(object, "stderr", "stderr_base64", &result->err, err);
	return st;
}

static enum assay_status print_json(const struct arguments *a, const struct host *const *hosts, const struct fleet_result *results, size_t n,
				    struct buf *out, struct assay_error *err)
{
	cJSON *root = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(root, "command");
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; i < a->n_words; i++)
		cJSON_AddItemToArray(list, cJSON_CreateString(a->words[i]));
	list = cJSON_AddArrayToObject(root, "hosts");
	for (size_t i = 0; !st && i < n; i++)
		st = add_host(list, hosts[i], &results[i], err);
	if (st)
		cJSON_Delete(root);
	else
		json_add(out, root);
	return st;
}

/* ---- all of it ---- */

static enum assay_status run(const struct cli *cli, const struct arguments *a, const struct host *const *hosts, size_t n,
			     struct fleet_result *results, struct assay_error *err)
{
	struct exec exec = { .driver = { .next = exec_next, .done = exec_done }, .hosts = hosts, .live = cli->format == CLI_HUMAN };
	struct fleet_options engine;
	struct reach reach = { 0 };
	enum assay_status st = reach_init(cli->directory, hosts, n, &reach, err);

	if (st)
		return st;
	engine = reach_options(&reach);
	engine.fanout = (size_t)a->fanout;
	engine.command_timeout_ms = a->timeout_ms;
	engine.connect_timeout_ms = a->connect_timeout_ms;
	engine.output_bytes_max = cli->format == CLI_JSON ? JSON_STREAM_BYTES : 0;
	engine.cancelled = &cancelled;
	exec.out_terminal = isatty(STDOUT_FILENO);
	exec.err_terminal = exec.progress = isatty(STDERR_FILENO);
	exec.commands = mem_new(n, sizeof(char *));
	for (size_t i = 0; i < n; i++)
		exec.commands[i] = compose(a, hosts[i]);
	catch_signals();
	st = fleet_run(hosts, n, &exec.driver, &engine, results, err);
	for (size_t i = 0; i < n; i++)
		free(exec.commands[i]);
	free(exec.commands);
	reach_release(&reach);
	return st;
}

int cmd_fleet_exec(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { options, parse, "-- COMMAND [ARGUMENT...]", doc, NULL, NULL, NULL };
	struct fleet_result *results = NULL;
	struct lab lab = { .lock_fd = -1 };
	const struct host **hosts = NULL;
	struct arguments a = { 0 };
	struct buf out = BUF_INIT;
	struct assay_error err;
	enum assay_status st;
	struct cli cli;
	int decided = 0;
	size_t n = 0;

	cli_parse(&cli, &argp, argc, argv, directory, &a);
	st = lab_open(cli.directory, STORE_READ, &lab, &err);
	if (!st)
		st = cmd_fleet_hosts(&lab.config.inventory, &a.choice, &hosts, &n, &err);
	if (!st) {
		results = mem_new(n, sizeof(*results));
		st = run(&cli, &a, hosts, n, results, &err);
	}
	if (!st && cli.format == CLI_JSON)
		st = print_json(&a, hosts, results, n, &out, &err);
	if (!st)
		st = cli_print(&out, &err);
	if (!st) {
		if (cli.format == CLI_HUMAN)
			print_summary(&cli, hosts, results, n);
		decided = fleet_exit(results, n);
	}
	for (size_t i = 0; results && i < n; i++)
		fleet_result_release(&results[i]);
	free(results);
	free(hosts);
	free(a.words);
	cmd_fleet_release(&a.choice);
	lab_close(&lab);
	buf_release(&out);
	return cli_end(&cli, st, &err, decided);
}
