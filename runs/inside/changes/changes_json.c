/* The changes for programs, and the list that the probe takes. */
#include "runs/inside/changes/changes_internal.h"
#include "runs/inside/changes/demangle.h"

#include "base/json.h"
#include "base/mem.h"

/* ---- JSON ---- */

static void add_text(cJSON *to, const char *key, const char *text)
{
	if (text)
		cJSON_AddStringToObject(to, key, text);
	else
		cJSON_AddNullToObject(to, key);
}

static cJSON *name_of(const struct changes *c, size_t key)
{
	const struct build *ignored;
	const struct function *function = changes_function(c, key, &ignored);
	cJSON *object = cJSON_CreateObject();
	char *name = demangle(function->symbol);

	cJSON_AddStringToObject(object, "name", name);
	cJSON_AddStringToObject(object, "symbol", function->symbol);
	free(name);
	return object;
}

static cJSON *side_json(const struct changes *c, bool of_old, size_t index)
{
	const struct functions *f = of_old ? &c->old.functions : &c->new.functions;
	const struct function *function;
	cJSON *object, *bodies;

	if (index == FUNCTIONS_NONE)
		return cJSON_CreateNull();
	function = &f->items[index];
	object = cJSON_CreateObject();
	add_text(object, "symbol", function->symbol);
	add_text(object, "file", changes_file(c, of_old, function));
	if (function->line)
		cJSON_AddNumberToObject(object, "line", function->line);
	else
		cJSON_AddNullToObject(object, "line");
	bodies = cJSON_AddArrayToObject(object, "bodies");
	for (size_t i = 0; i < function->n_bodies; i++) {
		const struct body *body = &f->bodies[f->body_order[function->first_body + i]];
		char *address = mem_format("0x%llx", (unsigned long long)body->entry);
		cJSON *one = cJSON_CreateObject();

		cJSON_AddStringToObject(one, "symbol", body->symbol);
		cJSON_AddStringToObject(one, "address", address);
		cJSON_AddItemToArray(bodies, one);
		free(address);
	}
	return object;
}

static cJSON *change_json(const struct changes *c, const struct change *change)
{
	cJSON *object = name_of(c, change->key), *list;

	cJSON_AddStringToObject(object, "change", change_kind_code(change->kind));
	list = cJSON_AddArrayToObject(object, "reasons");
	for (unsigned bit = 0; bit < CHANGE_REASONS; bit++)
		if (change->reasons & 1u << bit)
			cJSON_AddItemToArray(list, cJSON_CreateString(change_reason_code(bit)));
	add_text(object, "constant", change->constant);
	list = cJSON_AddArrayToObject(object, "because_of");
	for (size_t i = 0; i < change->n_causes; i++) {
		cJSON *cause = name_of(c, change->causes[i].key);

		for (unsigned bit = 0; bit < CHANGE_REASONS; bit++)
			if (change->causes[i].reason == 1u << bit)
				cJSON_AddStringToObject(cause, "reason", change_reason_code(bit));
		cJSON_AddItemToArray(list, cause);
	}
	list = cJSON_AddArrayToObject(object, "inlined_into");
	for (size_t i = 0; i < change->n_inlined_into; i++)
		cJSON_AddItemToArray(list, name_of(c, change->inlined_into[i]));
	cJSON_AddItemToObject(object, "old", side_json(c, true, change->old));
	cJSON_AddItemToObject(object, "new", side_json(c, false, change->new));
	return object;
}

static cJSON *build_json(const struct build *build, size_t n)
{
	cJSON *object = cJSON_CreateObject(), *list;

	cJSON_AddStringToObject(object, "file", build->image.path);
	add_text(object, "build_id", build->image.build_id[0] ? build->image.build_id : NULL);
	cJSON_AddNumberToObject(object, "functions", (double)n);
	list = cJSON_AddArrayToObject(object, "compilers");
	for (size_t i = 0; i < build->functions.n_producers; i++)
		cJSON_AddItemToArray(list, cJSON_CreateString(build->functions.producers[i]));
	return object;
}

static cJSON *source_json(const struct changes *c)
{
	cJSON *object;

	if (!c->has_source)
		return cJSON_CreateNull();
	object = cJSON_CreateObject();
	cJSON_AddStringToObject(object, "old_commit", c->source.old.commit);
	cJSON_AddStringToObject(object, "new_commit", c->source.new.commit);
	cJSON_AddNumberToObject(object, "hunks", (double)c->source.n_hunks);
	cJSON_AddNumberToObject(object, "hunks_in_no_function", (double)c->source.outside);
	return object;
}

void changes_json(const struct changes *c, struct buf *out)
{
	cJSON *root = cJSON_CreateObject(), *list;

	cJSON_AddItemToObject(root, "old", build_json(&c->old, c->n_old));
	cJSON_AddItemToObject(root, "new", build_json(&c->new, c->n_new));
	cJSON_AddItemToObject(root, "source", source_json(c));
	cJSON_AddNumberToObject(root, "compared", (double)c->compared);
	cJSON_AddBoolToObject(root, "other_compiler", c->other_compiler);
	cJSON_AddBoolToObject(root, "many_differ", c->many_differ);
	list = cJSON_AddObjectToObject(root, "counts");
	for (int kind = CHANGE_NONE; kind < CHANGE_KINDS; kind++)
		cJSON_AddNumberToObject(list, change_kind_code((enum change_kind)kind), (double)c->count[kind]);
	list = cJSON_AddArrayToObject(root, "functions");
	for (size_t i = 0; i < c->n; i++)
		cJSON_AddItemToArray(list, change_json(c, &c->items[i]));
	json_add(out, root);
}

/* ---- for the probe ---- */

static bool is_listed(const struct change *change)
{
	if (change->old == FUNCTIONS_NONE || change->new == FUNCTIONS_NONE)
		return false;
	return change->kind == CHANGE_MODIFIED || change->kind == CHANGE_HOST || change->kind == CHANGE_RECOMPILED ||
	       change->kind == CHANGE_CALLER;
}

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
		const struct function *function = is_listed(change) ? &f->items[of_old ? change->old : change->new] : NULL;

		for (size_t j = 0; function && j < function->n_bodies; j++) {
			const char *file = changes_file(c, of_old, function);

			add_field(out, function->symbol);
			buf_format(out, "\t0x%llx\t",
			           (unsigned long long)f->bodies[f->body_order[function->first_body + j]].entry);
			add_field(out, file ? file : "?");
			buf_format(out, "\t%u\n", function->line);
			listed++;
		}
	}
	return listed;
}
