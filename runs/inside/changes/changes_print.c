/* The changes for people. */
#include "runs/inside/changes/changes_internal.h"
#include "runs/inside/changes/demangle.h"

#include "base/mem.h"
#include "base/text.h"

#define NAMES_SHOWN 6

/* ---- places ---- */

const char *changes_file(const struct changes *changes, bool of_old, const struct function *function)
{
	const char *found, *file = function->file;
	size_t n = function->directory ? strlen(function->directory) : 0;

	if (!file)
		return NULL;
	if (changes->has_source) {
		found = source_file(of_old ? &changes->source.old : &changes->source.new, file);
		if (found)
			return found;
	}
	return n && !strncmp(file, function->directory, n) && file[n] == '/' ? file + n + 1 : file;
}

/* "a.c:12", the file as short as it can be told; "?" when not known. */
static void add_place(const struct changes *changes, bool of_old, const struct function *function, struct buf *out)
{
	const char *file = changes_file(changes, of_old, function);

	if (file && function->line)
		buf_format(out, "%s:%u", file, function->line);
	else
		buf_text(out, file ? file : "?");
}

/* "a.c:12 -> a.c:14", or once when both are the same. */
static void print_places(const struct changes *c, const struct change *change, struct buf *out)
{
	struct buf old = BUF_INIT, new = BUF_INIT;

	if (change->old != FUNCTIONS_NONE)
		add_place(c, true, &c->old.functions.items[change->old], &old);
	if (change->new != FUNCTIONS_NONE)
		add_place(c, false, &c->new.functions.items[change->new], &new);
	if (old.size && new.size && strcmp(old.bytes, new.bytes) != 0)
		buf_format(out, "%s -> %s", old.bytes, new.bytes);
	else
		buf_text(out, new.size ? new.bytes : old.bytes);
	buf_release(&old);
	buf_release(&new);
}

/* ---- one change ---- */

static void print_name(const struct changes *c, size_t key, struct buf *out)
{
	const struct build *ignored;
	char *name = demangle(changes_function(c, key, &ignored)->symbol);

	buf_text(out, name);
	free(name);
}

static void print_names(const struct changes *c, const char *what, const size_t *keys, size_t n, struct buf *out)
{
	buf_format(out, "      %s ", what);
	for (size_t i = 0; i < n && i < NAMES_SHOWN; i++) {
		buf_text(out, i ? ", " : "");
		print_name(c, keys[i], out);
	}
	if (n > NAMES_SHOWN)
		buf_format(out, " and %zu more", n - NAMES_SHOWN);
	buf_char(out, '\n');
}

static void print_causes(const struct changes *c, const struct change *change, struct buf *out)
{
	size_t *keys = mem_new(change->n_causes, sizeof(*keys));

	for (unsigned bit = 0; bit < CHANGE_REASONS; bit++) {
		size_t n = 0;

		for (size_t i = 0; i < change->n_causes; i++)
			if (change->causes[i].reason == 1u << bit)
				keys[n++] = change->causes[i].key;
		if (n)
			print_names(c, change_reason_text(bit), keys, n, out);
	}
	free(keys);
}

/* What the heading does not say already. */
static void print_reasons(const struct changes *c, const struct change *change, struct buf *out)
{
	unsigned shown = CHANGE_CLONES | CHANGE_NOW_INLINED | CHANGE_NOW_CALLED | CHANGE_CONSTANT;
	const char *separator = "      ";

	if (change->kind == CHANGE_MODIFIED && c->has_source)
		shown |= CHANGE_IN_SOURCE | CHANGE_CODE;
	for (unsigned bit = 0; bit < CHANGE_REASONS; bit++)
		if (change->reasons & shown & 1u << bit) {
			buf_format(out, "%s%s", separator, change_reason_text(bit));
			if (1u << bit == CHANGE_CONSTANT && change->constant)
				buf_format(out, " (%s)", change->constant);
			separator = ", ";
		}
	if (change->reasons & shown)
		buf_char(out, '\n');
}

static void print_change(const struct changes *c, const struct change *change, struct buf *out)
{
	buf_text(out, "  ");
	if (change->kind == CHANGE_RENAMED) {
		char *before = demangle(c->old.functions.items[change->old].symbol);

		buf_format(out, "%s -> ", before);
		free(before);
	}
	print_name(c, change->key, out);
	buf_text(out, "  ");
	print_places(c, change, out);
	buf_char(out, '\n');
	print_reasons(c, change, out);
	print_causes(c, change, out);
	if (change->n_inlined_into)
		print_names(c, change->new == FUNCTIONS_NONE ? "was inlined into" : "inlined into", change->inlined_into,
		            change->n_inlined_into, out);
}

/* ---- all of them ---- */

static void print_build(const char *what, const struct build *build, size_t n, struct buf *out)
{
	buf_format(out, "%s  %s  %zu function%s", what, build->image.path, n, text_plural(n));
	if (build->image.build_id[0])
		buf_format(out, ", build-id %.12s", build->image.build_id);
	buf_char(out, '\n');
}

static void print_remarks(const struct changes *c, struct buf *out)
{
	if (c->has_source)
		buf_format(out, "source  %.12s..%.12s, %zu hunk%s, %zu of them in no function of the builds\n",
		           c->source.old.commit, c->source.new.commit, c->source.n_hunks, text_plural(c->source.n_hunks),
		           c->source.outside);
	if (c->other_compiler)
		buf_text(out, "The builds were made by different compilers or with different options: much of what differs may "
		              "be their work.\n");
	else if (c->many_differ)
		buf_text(out, "More than half of the functions differ: were both built in the same way?\n");
}

static bool is_apart(enum change_kind kind)
{
	return kind == CHANGE_LINES || kind == CHANGE_SOURCE;
}

void changes_print(const struct changes *c, bool all, struct buf *out)
{
	print_build("old", &c->old, c->n_old, out);
	print_build("new", &c->new, c->n_new, out);
	print_remarks(c, out);
	if (!c->n)
		buf_text(out, "\nNothing changed.\n");
	for (size_t i = 0; i < c->n; i++) {
		enum change_kind kind = c->items[i].kind;

		if (!i || kind != c->items[i - 1].kind)
			buf_format(out, "\n%s%s: %zu%s\n", change_kind_heading(kind),
			           kind == CHANGE_RECOMPILED && c->has_source ? ", although their own source is the same" : "",
			           c->count[kind], is_apart(kind) && !all ? " (--all lists them)" : "");
		if (all || !is_apart(kind))
			print_change(c, &c->items[i], out);
	}
}
