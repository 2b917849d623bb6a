#include "runs/running/instrument.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "fleet/agent/program.h"
#include "runs/inside/changes/changes.h"
#include "runs/running/version.h"
#include "runs/inside/instrument/site.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#define EMULATION_LIST_MAX (1u << 20) /* bytes; the same limit as in runs/inside/emulate/emulate_functions.c */

struct instrument_builder {
	const struct manifest *manifest;
	const struct instrument_version *versions; /* [n], versions to measure */
	size_t n;
	const struct artefact *files;
	char **paths;	     /* [n], for each version, the path of the program or library with the functions */
	struct buf *changed; /* [2], lists of changed functions, in the format of `assay changes` */
	struct assay_error *err;
};

static const struct manifest_probe *find_probe(const struct instrument_builder *m)
{
	return &m->manifest->probe;
}

static const char *list_name(const struct instrument_builder *m, size_t i)
{
	return m->manifest->versions[m->versions[i].version].name;
}

static void instrument_add_text(struct artefact *artefact, const char *path, const char *content, size_t n)
{
	struct artefact_file *file;

	artefact->files = mem_resize(artefact->files, artefact->n + 1, sizeof(*artefact->files));
	file = &artefact->files[artefact->n++];
	*file = (struct artefact_file){ .path = mem_string(path), .content = mem_bytes(content, n), .mode = 0644, .bytes = n };
	digest_sha256(content, n, file->hash);
	artefact->bytes += n;
}

/* ---- selection of functions ---- */

static enum assay_status find_files(struct instrument_builder *m)
{
	enum assay_status st = ASSAY_OK;

	for (size_t i = 0; !st && i < m->n; i++) {
		const struct version_files all = { m->manifest, m->versions[i].version, m->versions[i].build,
						   m->files,	list_name(m, i),	"'module' of 'probe'" };

		st = version_find_file(&all, find_probe(m)->module, &m->paths[i], m->err);
	}
	return st;
}

/* Finds the functions that differ between the two versions. Compares their sources, too, if both are built from the same git repository. */
static enum assay_status find_changes(struct instrument_builder *m)
{
	struct changes_options options = { .wrapper = CHANGES_WRAPPER_MAX };
	struct build builds[2] = { { .referenced_addresses = NULL }, { .referenced_addresses = NULL } };
	struct changes changes = { .items = NULL };
	enum assay_status st = ASSAY_OK;
	size_t n = 0;

	if (m->n != 2)
		return assay_fail(
		    m->err, ASSAY_E_USAGE,
		    "'functions: changed' needs two versions: name them with --versions BASELINE,CANDIDATE, or name the functions in '%s'",
		    m->manifest->file);
	if (m->versions[0].repository && m->versions[1].repository && strcmp(m->versions[0].repository, m->versions[1].repository) == 0) {
		options.repository = m->versions[0].repository;
		options.old_reference = m->versions[0].commit;
		options.new_reference = m->versions[1].commit;
	}
	for (int i = 0; !st && i < 2; i++) {
		st = build_open(m->paths[i], IMAGE_DEBUG_INFO, &builds[i], m->err);
		if (st)
			assay_add_context(m->err, "version '%s'", list_name(m, (size_t)i));
	}
	if (!st)
		st = changes_find(&builds[0], &builds[1], &options, &changes, m->err);
	for (int i = 0; !st && i < 2; i++)
		n += changes_list_entries(&changes, i == 0, &m->changed[i]);
	if (!st && n == 0 && !find_probe(m)->slower)
		st = assay_fail(m->err, ASSAY_E_NODATA,
				"no function differs between '%s' and '%s' (see 'assay changes'): there is nothing to measure",
				list_name(m, 0), list_name(m, 1));
	changes_release(&changes);
	for (int i = 0; i < 2; i++)
		build_release(&builds[i]);
	return st;
}

static enum assay_status select_functions(const struct instrument_builder *m, size_t i, struct site_selection *out)
{
	const struct manifest_probe *probe = find_probe(m);
	enum assay_status st = ASSAY_OK;

	for (size_t k = 0; probe->changed && k < probe->extra_functions.n; k++)
		site_selection_add_optional(out, probe->extra_functions.items[k]);
	if (probe->changed)
		return site_selection_add_lines(out, "changes", m->changed[i].bytes ? m->changed[i].bytes : "", m->err);
	for (size_t k = 0; !st && k < probe->functions.n; k++)
		st = site_selection_add(out, probe->functions.items[k], m->err);
	return st;
}

/* Checks that the functions in the file can be measured. The emulation need not be in a library: the program that loads it has it. */
static enum assay_status check_module(const struct instrument_builder *m, const struct site_module *module)
{
	if (find_probe(m)->back_end == MANIFEST_PROBED)
		return site_module_check(module, m->err);
	return find_probe(m)->module ? ASSAY_OK : site_module_check_emulated(module, m->err);
}

/* Makes the list of entry points of version i, one per line, with their addresses in this version's file. */
static enum assay_status make_list(const struct instrument_builder *m, size_t i, struct instrument *out)
{
	enum site_use whom = find_probe(m)->back_end == MANIFEST_PROBED ? SITE_USE_PROBE : SITE_USE_EMULATION;
	struct site_module module = { .n = 0 };
	struct site_selection selection = { .items = NULL };
	struct buf list = BUF_INIT;
	enum assay_status st = site_module_open(m->paths[i], &module, m->err);

	if (!st)
		st = check_module(m, &module);
	if (!st)
		st = select_functions(m, i, &selection);
	if (!st)
		st = site_list(&module, 1, &selection, whom, &list, &out->listed[i], m->err);
	if (!st && whom == SITE_USE_EMULATION && list.size > EMULATION_LIST_MAX)
		st = assay_fail(m->err, ASSAY_E_LIMIT, "%zu functions are too many for the emulation: select fewer", out->listed[i]);
	if (!st) {
		out->lists[i] = mem_format("b%03zu.list", i);
		instrument_add_text(&out->files, out->lists[i], list.bytes ? list.bytes : "", list.size);
	}
	site_selection_release(&selection);
	site_module_release(&module);
	buf_release(&list);
	return st ? assay_add_context(m->err, "version '%s'", list_name(m, i)) : ASSAY_OK;
}

static enum assay_status add_library(struct instrument *out, struct assay_error *err)
{
	char *path = NULL;
	enum assay_status st = instrument_find_library(INSTRUMENT_LIBRARY, &path, err);

	if (st)
		return assay_add_context(err, "'assay record --for functions' takes another by --library");
	st = artefact_add_copy(&out->files, INSTRUMENT_LIBRARY, path, err);
	free(path);
	return st;
}

enum assay_status instrument_make(const struct manifest *manifest, const struct instrument_version *versions, size_t n,
				  const struct artefact *files, struct instrument *out, struct assay_error *err)
{
	struct buf changed[2] = { BUF_INIT, BUF_INIT };
	struct instrument_builder m = { manifest, versions, n, files, mem_new(n, sizeof(char *)), changed, err };
	struct instrument made = {
		.manifest = manifest, .lists = mem_new(n, sizeof(char *)), .listed = mem_new(n, sizeof(size_t)), .n = n
	};
	enum assay_status st = ASSAY_OK;

	if (manifest->probe.back_end == MANIFEST_PROBED)
		st = add_library(&made, err);
	if (!st)
		st = find_files(&m);
	if (!st && manifest->probe.changed)
		st = find_changes(&m);
	for (size_t i = 0; !st && i < n; i++)
		st = make_list(&m, i, &made);
	mem_free_all(m.paths, n);
	buf_release(&changed[0]);
	buf_release(&changed[1]);
	*out = made;
	if (st)
		instrument_release(out);
	return st;
}

void instrument_release(struct instrument *instrument)
{
	mem_free_all(instrument->lists, instrument->n);
	free(instrument->listed);
	artefact_release(&instrument->files);
	*instrument = (struct instrument){ .manifest = NULL };
}

void instrument_hash(const struct instrument *instrument, size_t version, char hash[DIGEST_HEX_BYTES])
{
	struct buf text = BUF_INIT;

	for (size_t i = 0; i < instrument->files.n; i++) {
		const struct artefact_file *file = &instrument->files.files[i];

		if (strcmp(file->path, INSTRUMENT_LIBRARY) == 0 || strcmp(file->path, instrument->lists[version]) == 0)
			buf_format(&text, "%s\n", file->hash);
	}
	digest_sha256(text.bytes ? text.bytes : "", text.size, hash);
	buf_release(&text);
}

/* ---- environment of a run ---- */

char *instrument_refusal(const char *architecture)
{
	if (!architecture || strcmp(architecture, PROGRAM_ARCHITECTURE) == 0)
		return NULL;
	return mem_format("functions are measured on hosts of " PROGRAM_ARCHITECTURE
			  " alone, which the library that is sent into the program is for, and this one is of %.40s: leave it out "
			  "(--exclude), or run without --probe to time versions there",
			  architecture);
}

bool instrument_choose_events(const struct manifest_probe *probe, const struct facts *facts, struct counting_events *out)
{
	bool known = facts->cpu_vendor && !isnan(facts->cpu_family) && !isnan(facts->cpu_model_number) && !isnan(facts->cpu_stepping);

	*out = (struct counting_events){ .n = 0 };
	if (probe->back_end != MANIFEST_PROBED)
		return false;
	if (probe->default_counters)
		countable_add_default_events(known ? countable_find_pmu(strcmp(facts->cpu_vendor, "AuthenticAMD") == 0,
									(unsigned)facts->cpu_family, (unsigned)facts->cpu_model_number,
									(unsigned)facts->cpu_stepping)
						   : NULL,
					     out);
	for (size_t i = 0; !probe->default_counters && i < probe->counters.n; i++)
		out->names[out->n++] = mem_string(probe->counters.items[i]);
	return out->n > 0;
}

char *instrument_counters_value(const struct counting_run *pack)
{
	struct buf text = BUF_INIT;

	buf_format(&text, "%s:", strcmp(pack->family, COUNTING_SOFTWARE) == 0 ? "software" : "papi");
	for (size_t i = 0; i < pack->events.n; i++)
		buf_format(&text, "%s%s", i ? "," : "", pack->events.names[i]);
	return buf_take(&text);
}

static void add_variable(struct manifest_arguments *out, char *word)
{
	out->items = mem_resize(out->items, out->n + 1, sizeof(char *));
	out->items[out->n++] = word;
}

static void add_probe(const struct instrument *instrument, const struct instrument_run *run, struct manifest_arguments *out)
{
	char budget[TEXT_DOUBLE_BYTES], *counters = run->pack ? instrument_counters_value(run->pack) : NULL;

	add_variable(out, mem_format("LD_PRELOAD=%s/" INSTRUMENT_LIBRARY, run->files));
	add_variable(out, mem_format("ASSAY_PROBE_LIST=%s/%s", run->files, instrument->lists[run->version]));
	add_variable(out, mem_format("ASSAY_PROBE_DIRECTORY=%s", run->samples));
	add_variable(out, mem_string("ASSAY_PROBE_VERSION=" INSTRUMENT_VERSION));
	add_variable(out, mem_format("ASSAY_PROBE_BUDGET=%s", text_from_double(instrument->manifest->probe.budget, budget)));
	add_variable(out, mem_format("ASSAY_PROBE_SEED=%" PRIu64, run->seed));
	add_variable(out, mem_format("ASSAY_PROBE_INPUT=%s", run->input));
	if (counters)
		add_variable(out, mem_format("ASSAY_PROBE_COUNTERS=%s", counters));
	free(counters);
}

void instrument_environment(const struct instrument *instrument, const struct instrument_run *run, struct manifest_arguments *out)
{
	*out = (struct manifest_arguments){ NULL, 0 };
	if (instrument->manifest->probe.back_end == MANIFEST_PROBED) {
		add_probe(instrument, run, out);
		return;
	}
	add_variable(out, mem_format("ASSAY_EMULATE_DIRECTORY=%s", run->samples));
	if (!instrument->manifest->probe.all)
		add_variable(out, mem_format("ASSAY_EMULATE_FUNCTIONS=@%s/%s", run->files, instrument->lists[run->version]));
	add_variable(out, mem_format("ASSAY_EMULATE_FULL=%d", instrument->manifest->probe.full));
}

enum assay_status instrument_find_library(const char *name, char **path, struct assay_error *err)
{
	static const char *const places[] = { "", "../lib/" };
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	*path = NULL;
	while (n > 0 && self[n - 1] != '/')
		n--;
	for (size_t i = 0; !*path && i < sizeof(places) / sizeof(places[0]); i++) {
		char *at = mem_format("%.*s%s%s", n > 0 ? (int)n : 0, self, places[i], name);

		*path = realpath(at, NULL);
		free(at);
	}
	return *path ? ASSAY_OK : assay_fail(err, ASSAY_E_NOTFOUND, "%s is not beside this program, with which it came", name);
}
