/* Placeholders: what may stand where, and what becomes of them on a host. */
#include "runs/running/manifest_internal.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"

enum place {
	PLACE_FILES,
	PLACE_BUILD,
	PLACE_WORK,
	PLACE_INPUT,
	PLACE_VERSION,
	PLACE_ARGUMENTS,
	PLACES,
	PLACE_UNKNOWN,
	PLACE_NONE
};

static const char *const names[PLACES] = {"{files}", "{build}", "{work}", "{input}", "{version}", "{arguments}"};

/* A piece of a word: a placeholder, or text as it is. */
struct piece {
	enum place place;
	const char *text;
	size_t n;
};

static enum place find_place(const char *at, size_t *n)
{
	const char *end = strchr(at, '}');

	for (int i = 0; i < PLACES; i++) {
		*n = strlen(names[i]);
		if (strncmp(at, names[i], *n) == 0)
			return (enum place)i;
	}
	*n = end ? (size_t)(end - at) + 1 : strlen(at);
	return PLACE_UNKNOWN;
}

/* Moves *at behind the next piece; false at the end. */
static bool next_piece(const char **at, struct piece *out)
{
	out->place = PLACE_NONE;
	out->text = *at;
	if ((*at)[0] == '{' && (*at)[1] == '{') {
		out->n = 1;
		*at += 2;
		return true;
	}
	if (**at == '{')
		out->place = find_place(*at, &out->n);
	else
		out->n = strcspn(*at, "{");
	*at += out->n;
	return out->n > 0;
}

/* ---- checks ---- */

enum assay_status manifest_check_word(const struct manifest_reader *r, size_t line, const char *word, enum manifest_braces braces)
{
	const char *at = word;
	struct piece piece;

	while (braces != MANIFEST_LITERAL && next_piece(&at, &piece)) {
		if (piece.place == PLACE_UNKNOWN) {
			char shown[TEXT_SHOWN_BYTES], *text = mem_bytes(piece.text, piece.n);
			const char *nearest = text_nearest(text, names, PLACES);
			enum assay_status st =
			    manifest_fail(r, ASSAY_E_FORMAT, line, "'%s' is no placeholder%s%s%s; a brace itself is written '{{'",
			                  text_shown(text, shown), nearest ? " (did you mean '" : "", nearest ? nearest : "",
			                  nearest ? "'?)" : "");

			free(text);
			return st;
		}
		if (piece.place == PLACE_ARGUMENTS && (braces != MANIFEST_ARGUMENTS || strcmp(word, names[PLACE_ARGUMENTS]) != 0))
			return manifest_fail(r, ASSAY_E_FORMAT, line, "'{arguments}' is a word of its own in a command");
	}
	return ASSAY_OK;
}

/* The placeholders of all words, as bits. */
static unsigned places_of(const struct manifest_words *words)
{
	struct piece piece;
	unsigned mask = 0;

	for (size_t i = 0; i < words->n; i++) {
		const char *at = words->items[i];

		while (next_piece(&at, &piece)) {
			if (piece.place < PLACES)
				mask |= 1u << piece.place;
		}
	}
	return mask;
}

static const struct manifest_words *command_of(const struct manifest *manifest, const struct manifest_version *version)
{
	return version->command.n ? &version->command : &manifest->command;
}

enum assay_status manifest_check_places(const struct manifest_reader *r, const struct manifest *manifest)
{
	unsigned common = places_of(&manifest->environment);

	for (size_t i = 0; i < manifest->n_inputs; i++)
		common |= places_of(&manifest->inputs[i].arguments) | places_of(&manifest->inputs[i].environment);
	for (size_t i = 0; i < manifest->n_versions; i++) {
		const struct manifest_version *version = &manifest->versions[i];
		unsigned mask = common | places_of(command_of(manifest, version)) | places_of(&version->environment);

		if (mask & 1u << PLACE_BUILD && version->kind == MANIFEST_SAME)
			return manifest_fail(r, ASSAY_E_FORMAT, version->line,
			                     "'{build}' stands for nothing in the version '%s': it has neither "
			                     "'directory' nor 'git'",
			                     version->name);
		if (mask & 1u << PLACE_FILES && manifest->files.n == 0)
			return manifest_fail(r, ASSAY_E_FORMAT, version->line,
			                     "'{files}' stands for nothing in the version '%s': the manifest has no "
			                     "'files'",
			                     version->name);
		if (mask & 1u << PLACE_INPUT && !*manifest->inputs[0].name)
			return manifest_fail(r, ASSAY_E_FORMAT, version->line,
			                     "'{input}' stands for nothing in the version '%s': the manifest has no "
			                     "'inputs'",
			                     version->name);
	}
	return ASSAY_OK;
}

bool manifest_bare_placeholder(const char *line, size_t n)
{
	char quote = '\0';

	for (size_t i = 0; i < n && !(line[i] == '#' && !quote); i++) {
		if (quote && line[i] == quote)
			quote = '\0';
		else if (!quote && (line[i] == '"' || line[i] == '\''))
			quote = line[i];
		for (int k = 0; !quote && k < PLACES; k++) {
			if (n - i >= strlen(names[k]) && strncmp(line + i, names[k], strlen(names[k])) == 0)
				return true;
		}
	}
	return false;
}

/* ---- on a host ---- */

struct expansion {
	const char *values[PLACES];
};

static char *expand(const struct expansion *e, const char *word)
{
	struct buf out = BUF_INIT;
	struct piece piece;

	while (next_piece(&word, &piece)) {
		ASSAY_BUG_IF(piece.place == PLACE_UNKNOWN || (piece.place < PLACES && !e->values[piece.place]));
		if (piece.place == PLACE_NONE)
			buf_add(&out, piece.text, piece.n);
		else
			buf_text(&out, e->values[piece.place]);
	}
	return buf_take(&out);
}

static void add_expanded(const struct expansion *e, const struct manifest_words *words, struct manifest_words *out)
{
	for (size_t i = 0; i < words->n; i++) {
		char *word = expand(e, words->items[i]);

		manifest_add_word(out, word);
		free(word);
	}
}

/* A variable that is there already gets the new value. */
static void add_variables(const struct expansion *e, const struct manifest_words *words, struct manifest_words *out)
{
	for (size_t i = 0; i < words->n; i++) {
		char *word = expand(e, words->items[i]);
		size_t name = strcspn(word, "=") + 1, k = 0;

		while (k < out->n && strncmp(out->items[k], word, name) != 0)
			k++;
		if (k == out->n) {
			manifest_add_word(out, word);
			free(word);
		} else {
			free(out->items[k]);
			out->items[k] = word;
		}
	}
}

static void add_command(const struct expansion *e, const struct manifest_words *words, const struct manifest_input *input,
                        struct manifest_words *out)
{
	bool placed = false;

	for (size_t i = 0; i < words->n; i++) {
		const struct manifest_words one = {&words->items[i], 1};
		bool is_arguments = strcmp(words->items[i], names[PLACE_ARGUMENTS]) == 0;

		add_expanded(e, is_arguments ? &input->arguments : &one, out);
		placed = placed || is_arguments;
	}
	if (!placed)
		add_expanded(e, &input->arguments, out);
}

void manifest_command(const struct manifest *manifest, size_t version, size_t input, const struct manifest_places *places,
                      struct manifest_words *command, struct manifest_words *environment)
{
	const struct manifest_version *v = &manifest->versions[version];
	const struct manifest_input *in = &manifest->inputs[input];
	const struct expansion e = {{places->files, places->build, places->work, in->name, v->name, NULL}};

	*command = *environment = (struct manifest_words){NULL, 0};
	add_command(&e, command_of(manifest, v), in, command);
	add_variables(&e, &manifest->environment, environment);
	add_variables(&e, &v->environment, environment);
	add_variables(&e, &in->environment, environment);
}
