/* assay inspect */
#include "base/command.h"
#include "base/mem.h"
#include "fleet/counting/counting.h"
#include "fleet/counting/refused.h"
#include "runs/commands/runs_commands.h"
#include "runs/inside/instrument/site.h"

struct arguments {
	const char *file;
};

static void add_remark(struct document *d, const char *code, const char *text)
{
	doc_object(d, NULL);
	doc_set(d, "code", code);
	doc_set(d, "text", text);
	doc_line(d, "  %s: %s", code, text);
	doc_end(d);
}

/* What is worth knowing of a file that can be probed, or of why it cannot. */
static void add_remarks(const struct site_module *m, struct document *d)
{
	char *some = mem_format("%zu of %zu functions have no entry to patch: their files were compiled without "
				"-fpatchable-function-entry=5 (start-up code and libraries that are linked in always are)",
				m->n - m->patchable, m->n);
	char why[COUNTING_REASON_BYTES];

	doc_list(d, "remarks");
	if (m->patchable && m->patchable < m->n)
		add_remark(d, "some_entries", some);
	if (m->instrumented)
		add_remark(d, "instrumented", "built with -finstrument-functions: it can be probed, but every call costs, selected or not");
	if (m->linked)
		add_remark(d, "linked", "linked with the probe: LD_PRELOAD is not needed");
	if (m->own_unwinder)
		add_remark(d, "own_unwinder",
			   "libgcc is linked statically: an exception that passes a probed function ends the program; link without "
			   "-static-libgcc");
	if (!m->image.build_id[0])
		add_remark(d, "no_build_id", "no build-id: only its file's name identifies it; link with -Wl,--build-id");
	if (refused_hardware(why, sizeof(why)))
		add_remark(d, "no_counters", why);
	doc_end(d);
	free(some);
}

static void add_module(const struct site_module *m, const char *problem, struct document *d)
{
	doc_line(d, "%s can be probed: %zu of %zu functions", m->image.path, m->instrumented ? m->n : m->patchable, m->n);
	doc_set(d, "file", m->image.path);
	doc_set_empty(d, "build_id", m->image.build_id);
	doc_set_bool(d, "can_be_probed", !problem);
	doc_set(d, "problem", problem);
	doc_set(d, "functions", m->n);
	doc_set(d, "patchable", m->patchable);
	doc_set_bool(d, "instrumented", m->instrumented);
	doc_set_bool(d, "linked", m->linked);
	add_remarks(m, d);
}

static enum assay_status inspect_run(struct lab *lab, void *arguments, struct document *d, struct assay_error *err)
{
	struct site_module module = { .n = 0 };
	enum assay_status st = site_module_open(((const struct arguments *)arguments)->file, &module, err), check;

	(void)lab;
	if (st)
		return st;
	check = site_module_check(&module, err);
	add_module(&module, check ? err->text : NULL, d);
	d->exit_status = check ? assay_status_exit(check) : 0;
	if (check && cli_for_people())
		st = check;
	site_module_release(&module);
	return st;
}

static const struct cli_option words[] = { CLI_WORD("FILE", struct arguments, file), CLI_END };

const struct command inspect_command = {
	.name = "inspect",
	.summary = "check whether the functions of a program can be probed",
	.about = "Says whether the functions of a program or shared library can be probed, and what is missing. Programs are built for "
		 "that with -g -fpatchable-function-entry=5 (gcc and clang), which costs next to nothing while they are not probed.",
	.examples = "  assay inspect ./myapp\n"
		    "  assay inspect libmy.so --format json\n",
	.exit_status = "0 it can be probed; 2 it cannot; 1 failure.",
	.words = words,
	CLI_RUN(struct arguments, CLI_LAB_NONE, inspect_run),
};
