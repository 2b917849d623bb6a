/* The helper as bytes of this program, and the commands that bring it to a host. */
#include "base/embed.h"
#include "base/mem.h"
#include "fleet/agent/helper_client.h"
#include "fleet/agent/program.h"

#include <pthread.h>

/* ASSAY_HELPER_PROGRAM is the path of the executable that the build has made (CMakeLists.txt). */
EMBED_FILE(helper_program_bytes, ASSAY_HELPER_PROGRAM);

static const struct program helper = { "helper", helper_program_bytes, helper_program_bytes_end };

#define COMMAND_BYTES_MAX 4096

void helper_program(const char **bytes, size_t *n)
{
	*bytes = helper.bytes;
	*n = (size_t)(helper.end - helper.bytes);
}

/* Through /bin/sh, whatever the login shell is. */
static void make_command(void (*script)(const struct program *, struct buf *), char command[COMMAND_BYTES_MAX])
{
	struct buf text = BUF_INIT;

	script(&helper, &text);
	ASSAY_BUG_IF(text.size + 32 > COMMAND_BYTES_MAX);
	snprintf(command, COMMAND_BYTES_MAX, "exec /bin/sh -c '%s'", text.bytes);
	buf_release(&text);
}

static char run_command[COMMAND_BYTES_MAX], deploy_command[COMMAND_BYTES_MAX];

static void make_run(void)
{
	make_command(program_script_run, run_command);
}

static void make_deploy(void)
{
	make_command(program_script_deploy, deploy_command);
}

/* Each made once, when it is needed: hashing the program takes milliseconds. */
const char *helper_command_run(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_run);
	return run_command;
}

const char *helper_command_deploy(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_deploy);
	return deploy_command;
}
