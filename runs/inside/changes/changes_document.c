/* The changes as an answer, and as the list that the probe takes. */
#include "base/mem.h"
#include "base/text.h"
#include "runs/inside/changes/changes.h"
#include "runs/inside/changes/demangle.h"

#define NAMES_SHOWN 6

/* ---- places ---- */

/* As the repository names it, or as short as it can be told; NULL when it is not known. */
static const char *file_of(const struct changes *c, bool of_old, const struct function *function)
{
	const char *file = function->file, *found = NULL;
	size_t n = function->directory ? strlen(function->directory) : 0;

	if (file && c->has_source)
		found = source_file(of_old ? &c->source.old : &c->source.new, file);
	if (found || !file)
		return found;
	return n && !strncmp(file, function->directory, n) && file[n] == '/' ? file + n + 1 : file;
}

/* "a.c:12"; "" when the function is not there. free() it. */
static char *place_of(const struct changes *c, bool of_old, size_t index)
{
	const struct function *function;
	const char *file;

	if (index == FUNCTIONS_NONE)
		return mem_string("");
	function = &(of_old ? &c->old : &c->new)->functions.items[index];
	file = file_of(c, of_old, function);
	if (file && function->line)
		return mem_format("%s:%u", file, function->line);
	return mem_string(file ? file : "?");
}

static uint64_t entry_of(const struct functions *f, const struct function *function, size_t body)
{
	return f->bodies[f->body_order[function->first_body + body]].entry;
}

/* ---- one change, for people ---- */

/* "NAME  a.c:12 -> a.c:14", the place once when both are the same. */
static void add_line(const struct changes *c, const struct change *change, struct document *d)
{
	char *name = demangle(changes_function(c, change->key)->symbol);
	char *before = change->kind == CHANGE_RENAMED ? demangle(c->old.functions.items[change->old].symbol) : NULL;
	char *place = place_of(c, true, change->old), *place_now = place_of(c, false, change->new);
	bool both = *place && *place_now && strcmp(place, place_now) != 0;

	doc_line(d, "  %s%s%s  %s%s%s", before ? before : "", before ? " -> " : "", name, both || !*place_now ? place : "",
		 both ? " -> " : "", place_now);
	mem_free(name, before, place, place_now);
}

static void add_names_line(const struct changes *c, const char *what, const size_t *keys, size_t n, struct document *d)
{
	struct buf line = BUF_INIT;

	for (size_t i = 0; i < n && i < NAMES_SHOWN; i++) {
		char *name = demangle(changes_function(c, keys[i])->symbol);

		buf_format(&line, "%s%s", i ? ", " : "", name);
		free(name);
	}
	if (n > NAMES_SHOWN)
		buf_format(&line, " and %zu more", n - NAMES_SHOWN);
	if (n)
		doc_line(d, "      %s %s", what, line.bytes);
	buf_release(&line);
}

/* What the heading does not say already. */
static void add_reasons_line(const struct changes *c, const struct change *change, struct document *d)
{
	unsigned shown = 1u << CHANGE_CLONES | 1u << CHANGE_NOW_INLINED | 1u << CHANGE_NOW_CALLED | 1u << CHANGE_CONSTANT;
	struct buf line = BUF_INIT;

	if (change->kind == CHANGE_MODIFIED && c->has_source)
		shown |= 1u << CHANGE_IN_SOURCE | 1u << CHANGE_CODE;
	for (int reason = 0; reason < CHANGE_REASONS; reason++) {
		if (!(change->reasons & shown & 1u << reason))
			continue;
		buf_format(&line, "%s%s", line.size ? ", " : "", change_reason_text((enum change_reason)reason));
		if (reason == CHANGE_CONSTANT && change->constant)
			buf_format(&line, " (%s)", change->constant);
	}
	if (line.size)
		doc_line(d, "      %s", line.bytes);
	buf_release(&line);
}

static void add_for_people(const struct changes *c, const struct change *change, struct document *d)
{
	size_t *keys = mem_new(change->n_causes, sizeof(*keys));

	add_line(c, change, d);
	add_reasons_line(c, change, d);
	for (int reason = 0; reason < CHANGE_REASONS; reason++) {
		size_t n = 0;

		for (size_t i = 0; i < change->n_causes; i++)
			if ((int)change->causes[i].reason == reason)
				keys[n++] = change->causes[i].key;
		add_names_line(c, change_reason_text((enum change_reason)reason), keys, n, d);
	}
	add_names_line(c, change->new == FUNCTIONS_NONE ? "was inlined into" : "inlined into", change->inlined_into, change->n_inlined_into,
		       d);
	free(keys);
}

/* ---- one change, for programs ---- */

static void set_name(const struct changes *c, size_t key, struct document *d)
{
	const struct function *function = changes_function(c, key);
	char *name = demangle(function->symbol);

	doc_set(d, "name", name);
	doc_set(d, "symbol", function->symbol);
	free(name);
}

static void set_side(const struct changes *c, bool of_old, size_t index, struct document *d)
{
	const struct functions *f = of_old ? &c->old.functions : &c->new.functions;
	const char *key = of_old ? "old" : "new";
	const struct function *function;

	if (index == FUNCTIONS_NONE) {
		doc_set(d, key, DOC_NOTHING);
		return;
	}
	function = &f->items[index];
	doc_object(d, key);
	doc_set(d, "symbol", function->symbol);
	doc_set(d, "file", file_of(c, of_old, function));
	doc_set(d, "line", function->line ? doc_value_integer(function->line) : DOC_NOTHING);
	doc_list(d, "bodies");
	for (size_t i = 0; i < function->n_bodies; i++) {
		char *address = mem_format("0x%llx", (unsigned long long)entry_of(f, function, i));

		doc_object(d, NULL);
		doc_set(d, "symbol", f->bodies[f->body_order[function->first_body + i]].symbol);
		doc_set(d, "address", address);
		doc_end(d);
		free(address);
	}
	doc_end(d);
	doc_end(d);
}

static void set_for_programs(const struct changes *c, const struct change *change, struct document *d)
{
	set_name(c, change->key, d);
	doc_set(d, "change", change_kind_code(change->kind));
	doc_list(d, "reasons");
	for (int reason = 0; reason < CHANGE_REASONS; reason++)
		if (change->reasons & 1u << reason)
			doc_set(d, NULL, change_reason_code((enum change_reason)reason));
	doc_end(d);
	doc_set(d, "constant", change->constant);
	doc_list(d, "because_of");
	for (size_t i = 0; i < change->n_causes; i++) {
		doc_object(d, NULL);
		set_name(c, change->causes[i].key, d);
		doc_set(d, "reason", change_reason_code(change->causes[i].reason));
		doc_end(d);
	}
	doc_end(d);
	doc_list(d, "inlined_into");
	for (size_t i = 0; i < change->n_inlined_into; i++) {
		doc_object(d, NULL);
		set_name(c, change->inlined_into[i], d);
		doc_end(d);
	}
	doc_end(d);
	set_side(c, true, change->old, d);
	set_side(c, false, change->new, d);
}

/* ---- all of them ---- */

static void add_answer(const struct changes *c, struct document *d)
{
	size_t changed = c->count[CHANGE_MODIFIED] + c->count[CHANGE_ADDED] + c->count[CHANGE_REMOVED] + c->count[CHANGE_RENAMED];
	size_t all = c->n_new + c->count[CHANGE_REMOVED], brought_in = c->count[CHANGE_HOST] + c->count[CHANGE_CALLER];

	if (!c->n)
		doc_line(d, "%s", c->new.image.detail == IMAGE_EXPORTED ? "No exported function changed." : "Nothing changed.");
	else if (!brought_in)
		doc_line(d, "%zu of %zu function%s changed.", changed, all, text_plural(all));
	else
		doc_line(d, "%zu of %zu functions changed, %zu more inline or call changed ones.", changed, all, brought_in);
}

static void add_build(const char *key, const struct build *build, size_t n, struct document *d)
{
	const char *id = build->image.build_id;

	doc_object(d, key);
	doc_set(d, "file", build->image.path);
	doc_set_empty(d, "build_id", id);
	doc_set(d, "functions", n);
	doc_texts(d, "compilers", build->functions.producers, build->functions.n_producers);
	doc_line(d, "%s  %s  %zu function%s%s%.12s", key, build->image.path, n, text_plural(n), *id ? ", build-id " : "", id);
	doc_end(d);
}

/* By enum image_detail: from what functions are known; what therefore is not, and what helps. */
static const struct {
	const char *code, *text;
} details[] = {
	{ "debug_information", NULL },
	{ "symbols", "The builds have no debug information: files and lines are not known, nor what is inlined where, so a function that "
		     "inlines a changed one seems to have changed itself. Build both with -g." },
	{ "exported_symbols", "The builds are stripped: only the functions that they export are compared. Of other functions and of "
			      "variables nothing is known, and changes in them are not seen. Compare the files from before 'strip', or put "
			      "the files with their debug information beside them or under /usr/lib/debug." },
};

static void add_source(const struct changes *c, struct document *d)
{
	const struct source *source = &c->source;

	if (!c->has_source) {
		doc_set(d, "source", DOC_NOTHING);
		return;
	}
	doc_object(d, "source");
	doc_set(d, "old_commit", source->old.commit);
	doc_set(d, "new_commit", source->new.commit);
	doc_set(d, "hunks", source->n_hunks);
	doc_set(d, "hunks_in_no_function", source->outside);
	doc_line(d, "source  %.12s..%.12s, %zu hunk%s, %zu of them in no function of the builds", source->old.commit, source->new.commit,
		 source->n_hunks, text_plural(source->n_hunks), source->outside);
	doc_end(d);
}

static void add_changes(const struct changes *c, bool all, struct document *d)
{
	doc_list(d, "functions");
	for (size_t i = 0; i < c->n; i++) {
		const struct change *change = &c->items[i];
		bool apart = !all && (change->kind == CHANGE_LINES || change->kind == CHANGE_SOURCE);

		if (!i || change->kind != change[-1].kind)
			doc_heading(d, "%s%s: %zu%s", change_kind_heading(change->kind),
				    change->kind == CHANGE_RECOMPILED && c->has_source ? ", although their own source is the same" : "",
				    c->count[change->kind], apart ? " (--all lists them)" : "");
		doc_object(d, NULL);
		set_for_programs(c, change, d);
		if (!apart)
			add_for_people(c, change, d);
		doc_end(d);
	}
	doc_end(d);
}

void changes_document(const struct changes *c, bool all, struct document *d)
{
	add_answer(c, d);
	add_build("old", &c->old, c->n_old, d);
	add_build("new", &c->new, c->n_new, d);
	add_source(c, d);
	doc_set(d, "known_from", details[c->new.image.detail].code);
	if (details[c->new.image.detail].text)
		doc_line(d, "%s", details[c->new.image.detail].text);
	doc_set(d, "compared", c->compared);
	doc_set_bool(d, "other_compiler", c->other_compiler);
	doc_set_bool(d, "many_differ", c->many_differ);
	if (c->other_compiler)
		doc_line(
		    d, "The builds were made by different compilers or with different options, which may explain many of the differences.");
	else if (c->many_differ)
		doc_line(d, "More than half of the functions differ: were both built in the same way?");
	doc_object(d, "counts");
	for (int kind = CHANGE_NONE; kind < CHANGE_KINDS; kind++)
		doc_set(d, change_kind_code((enum change_kind)kind), c->count[kind]);
	doc_end(d);
	add_changes(c, all, d);
}

/* ---- for the probe ---- */

/* One field: what would end it or the line becomes '?'. */
static void add_field(struct buf *out, const char *text)
{
	for (; *text; text++)
		buf_char(out, (unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text);
}

size_t changes_list(const struct changes *c, bool of_old, struct buf *out)
{
	const struct build *build = of_old ? &c->old : &c->new;
	const struct functions *f = &build->functions;
	size_t listed = 0;

	buf_format(out, "# assay functions 1\n# build-id %s\n", build->image.build_id[0] ? build->image.build_id : "-");
	for (size_t i = 0; i < c->n; i++) {
		const struct change *change = &c->items[i];
		bool both = change->old != FUNCTIONS_NONE && change->new != FUNCTIONS_NONE;
		const struct function *function = both ? &f->items[of_old ? change->old : change->new] : NULL;
		const char *file = both ? file_of(c, of_old, function) : NULL;

		for (size_t j = 0; both && change_kind_is_listed(change->kind) && j < function->n_bodies; j++) {
			add_field(out, function->symbol);
			buf_format(out, "\t0x%llx\t", (unsigned long long)entry_of(f, function, j));
			add_field(out, file ? file : "?");
			buf_format(out, "\t%u\n", function->line);
			listed++;
		}
	}
	return listed;
}
