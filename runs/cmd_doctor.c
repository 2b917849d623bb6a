#include "base/cli.h"
#include "base/json.h"
#include "base/mem.h"
#include "runs/cmd.h"
#include "runs/inside/instrument/site.h"

static const char doc[] =
    "Says whether the functions of a program or shared library can be probed, and what is missing. Programs are built for that with "
    "-g -fpatchable-function-entry=5 (gcc and clang), which costs next to nothing while nobody probes them."
    "\vExample:\n"
    "  assay doctor ./myapp\n"
    "  assay doctor libmy.so --format json\n"
    "\n"
    "Exit status: 0 it can be probed, 2 it cannot.";

#define REMARKS_MAX 8

struct remark {
	const char *code;
	char *text;
};

static void remark(struct remark *remarks, size_t *n, const char *code, char *text)
{
	remarks[(*n)++] = (struct remark){ code, text };
}

/* What is worth knowing of a file that can be probed, or of why it cannot. */
static size_t remarks_of(const struct site_module *m, struct remark *out)
{
	size_t n = 0;

	if (m->patchable && m->patchable < m->n)
		remark(out, &n, "some_entries",
		       mem_format("%zu of %zu functions have no entry to patch: their files were compiled without -fpatchable-function-entry=5 "
				  "(start-up code and libraries that are linked in always are)", m->n - m->patchable, m->n));
	if (m->instrumented)
		remark(out, &n, "instrumented",
		       mem_format("built with -finstrument-functions: it can be probed, but every call costs, selected or not"));
	if (m->linked)
		remark(out, &n, "linked", mem_format("linked with the probe: LD_PRELOAD is not needed"));
	if (m->own_unwinder)
		remark(out, &n, "own_unwinder",
		       mem_format("libgcc is linked statically: an exception that passes a probed function ends the program; link without "
				  "-static-libgcc"));
	if (!m->build_id[0])
		remark(out, &n, "no_build_id", mem_format("no build-id: it is known by its file's name alone; link with -Wl,--build-id"));
	return n;
}

static void print_json(const struct site_module *m, const struct remark *remarks, size_t n, const struct assay_error *problem, struct buf *out)
{
	cJSON *root = cJSON_CreateObject(), *list;

	cJSON_AddStringToObject(root, "file", m->path);
	cJSON_AddItemToObject(root, "build_id", m->build_id[0] ? cJSON_CreateString(m->build_id) : cJSON_CreateNull());
	cJSON_AddBoolToObject(root, "can_be_probed", !problem);
	cJSON_AddItemToObject(root, "problem", problem ? cJSON_CreateString(problem->text) : cJSON_CreateNull());
	cJSON_AddNumberToObject(root, "functions", (double)m->n);
	cJSON_AddNumberToObject(root, "patchable", (double)m->patchable);
	cJSON_AddBoolToObject(root, "instrumented", m->instrumented);
	cJSON_AddBoolToObject(root, "linked", m->linked);
	list = cJSON_AddArrayToObject(root, "remarks");
	for (size_t i = 0; i < n; i++) {
		cJSON *item = cJSON_CreateObject();

		cJSON_AddStringToObject(item, "code", remarks[i].code);
		cJSON_AddStringToObject(item, "text", remarks[i].text);
		cJSON_AddItemToArray(list, item);
	}
	json_add(out, root);
}

static void print_human(const struct site_module *m, const struct remark *remarks, size_t n, struct buf *out)
{
	buf_format(out, "%s can be probed: %zu of %zu functions\n", m->path, m->instrumented ? m->n : m->patchable, m->n);
	for (size_t i = 0; i < n; i++)
		buf_format(out, "  %s: %s\n", remarks[i].code, remarks[i].text);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	return cli_words(key, arg, state, state->input, 1, "FILE");
}

int cmd_doctor(int argc, char **argv, const char *directory)
{
	static const struct argp argp = { NULL, parse, "FILE", doc, NULL, NULL, NULL };
	struct site_module module = { .path = NULL };
	struct remark remarks[REMARKS_MAX];
	struct assay_error err, problem;
	struct buf out = BUF_INIT;
	enum assay_status st, check = ASSAY_OK;
	const char *file[1];
	struct cli cli;
	size_t n = 0;

	cli_parse_without(&cli, CLI_NO_DIRECTORY_OLD, &argp, argc, argv, directory, file);
	st = site_module_open(file[0], &module, &err);
	if (!st) {
		check = site_module_check(&module, &problem);
		n = remarks_of(&module, remarks);
		if (cli.format == CLI_JSON)
			print_json(&module, remarks, n, check ? &problem : NULL, &out);
		else if (!check)
			print_human(&module, remarks, n, &out);
		st = cli_print(&out, &err);
	}
	if (!st && check && cli.format != CLI_JSON) {
		st = check;
		err = problem;
	}
	for (size_t i = 0; i < n; i++)
		free(remarks[i].text);
	buf_release(&out);
	site_module_release(&module);
	return cli_end(&cli, st, &err, check ? assay_status_exit(check) : 0);
}
