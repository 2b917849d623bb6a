/* The helper's executables, which this program contains, and the commands that install and start the helper on a host. */
#include "base/embed.h"
#include "fleet/agent/helper_client.h"
#include "fleet/agent/program.h"

#include <pthread.h>

/* HELPER_PROGRAM_X86_64, HELPER_PROGRAM_AARCH64: paths of the executables that the build makes (fleet/other_architecture.cmake). */
#ifdef HELPER_PROGRAM_X86_64
EMBED_FILE(helper_x86_64, HELPER_PROGRAM_X86_64);
#endif
#ifdef HELPER_PROGRAM_AARCH64
EMBED_FILE(helper_aarch64, HELPER_PROGRAM_AARCH64);
#endif

static const struct program helper = { "helper",
				       {
#ifdef HELPER_PROGRAM_X86_64
					   { "x86_64", helper_x86_64, helper_x86_64_end },
#endif
#ifdef HELPER_PROGRAM_AARCH64
					   { "aarch64", helper_aarch64, helper_aarch64_end },
#endif
				       } };

#define COMMAND_BYTES_MAX 4096

bool helper_find_program(const char *architecture, const char **bytes, size_t *n, char **reason)
{
	const struct program_build *build = program_find(&helper, architecture);

	*bytes = build ? build->bytes : NULL;
	*n = build ? (size_t)(build->end - build->bytes) : 0;
	if (!build && reason)
		*reason = program_explain_missing(&helper, architecture);
	return build != NULL;
}

/* Makes a command that runs the script in /bin/sh, and that every login shell accepts. */
static void make_command(const struct buf *script, char command[COMMAND_BYTES_MAX])
{
	ASSAY_BUG_IF(script->size + 32 > COMMAND_BYTES_MAX);
	snprintf(command, COMMAND_BYTES_MAX, "exec /bin/sh -c '%s'", script->bytes);
}

static char run_command[COMMAND_BYTES_MAX], deploy_commands[PROGRAM_ARCHITECTURES][COMMAND_BYTES_MAX];

static void make_run(void)
{
	struct buf script = BUF_INIT;

	program_script_run(&helper, &script);
	make_command(&script, run_command);
	buf_release(&script);
}

static void make_deploy(void)
{
	for (size_t i = 0; helper.builds[i].architecture; i++) {
		struct buf script = BUF_INIT;

		program_script_deploy(&helper, &helper.builds[i], &script);
		make_command(&script, deploy_commands[i]);
		buf_release(&script);
	}
}

/* These functions make their commands at the first call, because hashing the executables takes milliseconds. */
const char *helper_command_run(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_run);
	return run_command;
}

const char *helper_command_deploy(const char *architecture)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const struct program_build *build = program_find(&helper, architecture);

	pthread_once(&once, make_deploy);
	return build ? deploy_commands[build - helper.builds] : NULL;
}
