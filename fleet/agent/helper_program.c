/* The helper as bytes of this program, and the commands that bring it to a host. */
#include "base/embed.h"
#include "base/mem.h"
#include "fleet/agent/helper_client.h"
#include "fleet/agent/program.h"

/* ASSAY_HELPER_PROGRAM is the path of the executable that the build has made (CMakeLists.txt). */
EMBED_FILE(helper_program_bytes, ASSAY_HELPER_PROGRAM);

static const struct program helper = { "helper", helper_program_bytes, helper_program_bytes_end };

#define COMMAND_BYTES_MAX 2048

void helper_program(const char **bytes, size_t *n)
{
	*bytes = helper.bytes;
	*n = (size_t)(helper.end - helper.bytes);
}

/* Through /bin/sh, whatever the login shell is. */
static const char *command_of(void (*script)(const struct program *, struct buf *), char command[COMMAND_BYTES_MAX])
{
	struct buf text = BUF_INIT;

	if (!*command) {
		script(&helper, &text);
		ASSAY_BUG_IF(text.size + 32 > COMMAND_BYTES_MAX);
		snprintf(command, COMMAND_BYTES_MAX, "exec /bin/sh -c '%s'", text.bytes);
		buf_release(&text);
	}
	return command;
}

const char *helper_command_run(void)
{
	static char command[COMMAND_BYTES_MAX];

	return command_of(program_script_run, command);
}

const char *helper_command_deploy(void)
{
	static char command[COMMAND_BYTES_MAX];

	return command_of(program_script_deploy, command);
}
