#include "runs/running/stack.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"

#define NAMES_SHOWN 3

/* A constant script; all data are arguments. If a file is not dynamic, ldd prints only to standard error. A script's interpreter may be a
 * script, up to five levels. If a file vanishes while it is read, the script fails, because the list would be incomplete. */
static const char script[] =
    "lookup() {\n"
    "\tcase $1 in */*) printf '%s\\n' \"$1\"; return ;; esac\n"
    "\tset -f\n"
    "\tIFS=:\n"
    "\tfor directory in $PATH; do\n"
    "\t\t[ -f \"${directory:-.}/$1\" ] && [ -x \"${directory:-.}/$1\" ] && { printf '%s\\n' \"${directory:-.}/$1\"; return; }\n"
    "\tdone\n"
    "}\n"
    "whole() {\n"
    "\t[ -f \"$1\" ] || { echo \"'$1' vanished while its libraries were looked up\" >&2; exit 1; }\n"
    "}\n"
    "libraries() {\n"
    "\tldd \"$1\" 2>/dev/null | sed -n 's/^[[:space:]]*\\(.* => \\)\\{0,1\\}\\(\\/.*\\) (0x[0-9a-f]*)$/\\2/p' |\n"
    "\t\twhile IFS= read -r library; do sha256sum -- \"$library\" || exit 1; done || exit 1\n"
    "\twhole \"$1\"\n"
    "}\n"
    "show() {\n"
    "\tsha256sum -- \"$1\" || exit 1\n"
    "\tlibraries \"$1\"\n"
    "}\n"
    "program=$(lookup \"$1\")\n"
    "[ -n \"$program\" ] || { echo \"there is no program '$1'\" >&2; exit 1; }\n"
    "shift\n"
    "for depth in 1 2 3 4 5; do\n"
    "\tshow \"$program\"\n"
    "\tline=$(head -c 2 -- \"$program\" | tr -d '\\0')\n"
    "\t[ \"$line\" != '#!' ] || line=$(head -n 1 -- \"$program\")\n"
    "\twhole \"$program\"\n"
    "\tcase $line in '#!'*) ;; *) break ;; esac\n"
    "\tinterpreter=\n"
    "\tset -f\n"
    "\tfor word in ${line#??}; do\n"
    "\t\tcase $word in\n"
    "\t\t*/env) show \"$word\" ;;\n"
    "\t\t-*) ;;\n"
    "\t\t*) interpreter=$word; break ;;\n"
    "\t\tesac\n"
    "\tdone\n"
    "\tset +f\n"
    "\t[ -n \"$interpreter\" ] || break\n"
    "\tprogram=$(lookup \"$interpreter\")\n"
    "\t[ -n \"$program\" ] || break\n"
    "done\n"
    "for file; do libraries \"$file\"; done\n";

const char *const stack_command[STACK_COMMAND_ARGUMENTS] = { "sh", "-c", script, "sh" };

/* Compares lines by path, then by hash. */
static int stack_compare_lines(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;
	int order = strcmp(*x + DIGEST_HEX_BYTES, *y + DIGEST_HEX_BYTES);

	return order ? order : strcmp(*x, *y);
}

static bool stack_is_valid_line(const char *line)
{
	size_t digits = strspn(line, "0123456789abcdef");

	return digits == DIGEST_HEX_BYTES - 1 && line[digits] == ' ' && (line[digits + 1] == ' ' || line[digits + 1] == '*') &&
	       line[digits + 2];
}

/* Returns the line as "SHA256 PATH", without sha256sum's mark for binary files. The caller frees the result. */
static char *stack_normalise_line(const char *line, const char *directory)
{
	const char *path = line + DIGEST_HEX_BYTES + 1;
	size_t n = strlen(directory);
	bool own = strncmp(path, directory, n) == 0 && path[n] == '/';

	return mem_format("%.*s  %s%s", DIGEST_HEX_BYTES - 1, line, own ? "{session}" : "", own ? path + n : path);
}

/* Splits the text into lines in place. free(*out). Returns the number of lines. */
static size_t stack_split_lines(char *text, char ***out)
{
	size_t n = 0, capacity = 0;
	char **lines = NULL, *end;

	for (char *line = text; *line; line = end) {
		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = '\0';
		mem_append(lines, n, &capacity, line);
	}
	*out = lines;
	return n;
}

static char *stack_join_lines(char **lines, size_t n)
{
	struct buf all = BUF_INIT;

	qsort(lines, n, sizeof(*lines), stack_compare_lines);
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || strcmp(lines[i], lines[i - 1]) != 0)
			buf_format(&all, "%s\n", lines[i]);
	}
	return buf_take(&all);
}

enum assay_status stack_parse(const char *text, size_t n, const char *directory, char **out, struct assay_error *err)
{
	bool has_nul = n && memchr(text, 0, n);
	char *copy = mem_bytes(text, n), **lines = NULL;
	size_t n_lines = stack_split_lines(copy, &lines), taken = 0;
	enum assay_status st = ASSAY_OK;

	if (has_nul)
		st = assay_fail(err, ASSAY_E_FORMAT, "the list of libraries has a NUL byte in it");
	while (!st && taken < n_lines) {
		if (!stack_is_valid_line(lines[taken])) {
			st = assay_fail(err, ASSAY_E_FORMAT, "the list of libraries has a line '%.80s'", lines[taken]);
		} else {
			lines[taken] = stack_normalise_line(lines[taken], directory);
			taken++;
		}
	}
	if (!st && n_lines == 0)
		st = assay_fail(err, ASSAY_E_NODATA, "the libraries are not known");
	if (!st)
		*out = stack_join_lines(lines, n_lines);
	mem_free_all(lines, taken);
	free(copy);
	return st;
}

struct names {
	const char **items;
	size_t n, capacity;
};

static void stack_add_names(struct names *names, char *const *lines, size_t n, char *const *others, size_t n_others)
{
	for (size_t i = 0; i < n; i++) {
		const char *name = text_file_name(lines[i] + DIGEST_HEX_BYTES + 1);
		size_t k = 0;

		if (text_is_among(others, n_others, lines[i]))
			continue;
		while (k < names->n && strcmp(names->items[k], name) != 0)
			k++;
		if (k < names->n)
			continue;
		mem_append(names->items, names->n, &names->capacity, name);
	}
}

char *stack_describe_difference(const char *a, const char *b)
{
	char *texts[2] = { mem_string(a), mem_string(b) }, **lines[2] = { NULL, NULL };
	size_t n[2] = { stack_split_lines(texts[0], &lines[0]), stack_split_lines(texts[1], &lines[1]) };
	struct names names = { NULL, 0, 0 };
	struct buf out = BUF_INIT;

	stack_add_names(&names, lines[0], n[0], lines[1], n[1]);
	stack_add_names(&names, lines[1], n[1], lines[0], n[0]);
	for (size_t i = 0; i < names.n && i < NAMES_SHOWN; i++)
		buf_format(&out, "%s%s", i ? ", " : "", names.items[i]);
	if (names.n > NAMES_SHOWN)
		buf_format(&out, " and %zu more", names.n - NAMES_SHOWN);
	for (int i = 0; i < 2; i++)
		mem_free(lines[i], texts[i]);
	free(names.items);
	return buf_take(&out);
}

/* ---- stacks in the store: one row per distinct text ---- */

/* Finds the plan's stack for a machine and version. Sets *out to NULL if there is none. */
static enum assay_status stack_find(struct store *store, const struct plan *plan, const char *machine, const char *version, char **out,
				    struct assay_error *err)
{
	sqlite3_stmt *stmt = NULL;
	enum assay_status st = store_query(
	    store, &stmt, err, "SELECT text FROM plan_stack JOIN stack ON hash = stack WHERE plan = ? AND machine = ? AND version = ?",
	    "ttt", plan->id, machine, version);

	*out = store_next(store, stmt, &st, err) ? mem_string(store_text(stmt, 0)) : NULL;
	return store_finalize(stmt, st);
}

static enum assay_status stack_insert(struct store *store, const struct plan *plan, const char *machine, const char *version,
				      const char *text, struct assay_error *err)
{
	char hash[DIGEST_HEX_BYTES];
	enum assay_status st = store_begin(store, err);

	digest_sha256(text, strlen(text), hash);
	if (!st)
		st = store_execute(store, err, "INSERT INTO stack (hash, text) VALUES (?, ?) ON CONFLICT DO NOTHING", "tt", hash, text);
	if (!st)
		st = store_execute(store, err, "INSERT INTO plan_stack (plan, machine, version, stack) VALUES (?, ?, ?, ?)", "tttt",
				   plan->id, machine, version, hash);
	return store_end(store, st, err);
}

enum assay_status stack_put(struct store *store, const struct plan *plan, const char *machine, const char *version, const char *text,
			    struct assay_error *err)
{
	char *before = NULL, *difference;
	enum assay_status st = stack_find(store, plan, machine, version, &before, err);

	if (!st && !before) {
		st = stack_insert(store, plan, machine, version, text, err);
	} else if (!st && strcmp(before, text) != 0) {
		difference = stack_describe_difference(before, text);
		st = assay_fail(err, ASSAY_E_CONFLICT,
				"what version '%s' loads there has changed since these runs started (%s): start again without --resume",
				version, difference);
		free(difference);
	}
	free(before);
	return st;
}

enum assay_status stack_load(struct store *store, const struct plan *plan, struct stack_rows *out, struct assay_error *err)
{
	struct stack_rows rows = { NULL, 0 };
	sqlite3_stmt *stmt = NULL;
	size_t capacity = 0;
	enum assay_status st = store_query(
	    store, &stmt, err,
	    "SELECT machine, version, text, hash FROM plan_stack JOIN stack ON hash = stack WHERE plan = ? ORDER BY version, machine", "t",
	    plan->id);

	while (store_next(store, stmt, &st, err)) {
		struct stack_row *item;

		item = mem_append_slot(rows.items, rows.n, &capacity);
		*item = (struct stack_row){ .machine = mem_string(store_text(stmt, 0)),
					    .version = mem_string(store_text(stmt, 1)),
					    .text = mem_string(store_text(stmt, 2)) };
		snprintf(item->hash, sizeof(item->hash), "%s", store_text(stmt, 3));
	}
	sqlite3_finalize(stmt);
	*out = rows;
	if (st)
		stack_rows_release(out);
	return st;
}

void stack_rows_release(struct stack_rows *rows)
{
	for (size_t i = 0; i < rows->n; i++)
		mem_free(rows->items[i].machine, rows->items[i].version, rows->items[i].text);
	free(rows->items);
	*rows = (struct stack_rows){ NULL, 0 };
}
