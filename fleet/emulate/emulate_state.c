#include "fleet/emulate/emulate_state.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "fleet/cgroup/process.h"

#define MAGIC "assay-emulated-1 "

/* The id of this boot, "unknown" where the kernel does not tell. */
static void read_boot(char text[EMULATE_BOOT_BYTES])
{
	process_text(text, EMULATE_BOOT_BYTES, "/proc/sys/kernel/random/boot_id");
	text[strcspn(text, "\n")] = '\0';
	if (!*text)
		snprintf(text, EMULATE_BOOT_BYTES, "unknown");
}

bool emulate_state_is_of_this_boot(const struct emulate_state *state)
{
	char boot[EMULATE_BOOT_BYTES];

	read_boot(boot);
	return strcmp(state->boot, boot) == 0;
}

static bool parse_head(const char *line, struct emulate_state *state)
{
	const char *tag = line + strlen(MAGIC);

	if (strncmp(line, MAGIC, strlen(MAGIC)) != 0 || strlen(tag) != EMULATE_TAG_BYTES - 1 ||
	    strspn(tag, "0123456789abcdef") != EMULATE_TAG_BYTES - 1)
		return false;
	memcpy(state->tag, tag, EMULATE_TAG_BYTES);
	return true;
}

static bool parse_line(const char *line, struct emulate_state *state)
{
	if (strcmp(line, "laboratory") == 0)
		return state->laboratory = true;
	if (strncmp(line, "boot ", 5) == 0 && line[5] && strlen(line + 5) < sizeof(state->boot)) {
		snprintf(state->boot, sizeof(state->boot), "%s", line + 5);
		return true;
	}
	return false;
}

enum assay_status emulate_state_parse(const char *file, const char *text, size_t n, struct emulate_state *out, struct assay_error *err)
{
	struct emulate_state state = { .tag = "" };
	char *copy = mem_bytes(text, n), *line = copy, *end;
	enum assay_status st = ASSAY_OK;

	if (strlen(copy) != n)
		st = assay_fail(err, ASSAY_E_CORRUPT, "%s: has a NUL byte: look at it and remove it", file);
	for (size_t number = 1; !st && (end = strchr(line, '\n')); line = end + 1, number++) {
		*end = '\0';
		if (!(number == 1 ? parse_head(line, &state) : parse_line(line, &state)))
			st = assay_fail(err, ASSAY_E_CORRUPT,
					"%s:%zu: not a line of an emulated fleet's state: nothing was taken away; look at it and remove it",
					file, number);
	}
	free(copy);
	*out = st ? (struct emulate_state){ .tag = "" } : state;
	return st;
}

enum assay_status emulate_state_read(const char *path, struct emulate_state *out, struct assay_error *err)
{
	struct buf text = BUF_INIT;
	enum assay_status st = file_read(path, EMULATE_STATE_BYTES_MAX, &text, err);

	*out = (struct emulate_state){ .tag = "" };
	if (!st)
		st = emulate_state_parse(path, text.bytes ? text.bytes : "", text.size, out, err);
	buf_release(&text);
	return st == ASSAY_E_NOTFOUND ? ASSAY_OK : st;
}

enum assay_status emulate_state_write(const char *path, const char *tag, bool stands, struct assay_error *err)
{
	char boot[EMULATE_BOOT_BYTES], *text;
	enum assay_status st;

	read_boot(boot);
	text = stands ? mem_format(MAGIC "%s\nlaboratory\nboot %s\n", tag, boot) : mem_format(MAGIC "%s\nlaboratory\n", tag);
	st = file_replace(path, text, strlen(text), 0600, err);
	free(text);
	return st;
}
