/* The helper as bytes of this program, and the commands that bring it to a host. */
#include "base/digest.h"
#include "base/mem.h"
#include "fleet/agent/helper_client.h"

/* ASSAY_HELPER_PROGRAM is the path of the executable that the build has made (CMakeLists.txt). */
__asm__(".pushsection .rodata, \"a\"\n"
	".balign 16\n"
	"helper_program_begin:\n"
	".incbin \"" ASSAY_HELPER_PROGRAM "\"\n"
	"helper_program_end:\n"
	".byte 0\n"
	".popsection\n");
extern const char helper_program_begin[], helper_program_end[];

#define COMMAND_BYTES_MAX 2048

void helper_program(const char **bytes, size_t *n)
{
	*bytes = helper_program_begin;
	*n = (size_t)(helper_program_end - helper_program_begin);
}

const char *helper_hash(void)
{
	static char hex[DIGEST_HEX_BYTES];
	const char *bytes;
	size_t n;

	if (!*hex) {
		helper_program(&bytes, &n);
		digest_sha256(bytes, n, hex);
	}
	return hex;
}

/* Both go through /bin/sh, whatever the login shell is, in single quotes: so no single quote, no line end and no '!' before a letter
 * or '/' may stand in them (csh). */

/* The directories below /tmp and /dev/shm anybody could have made: a link or somebody else's is not touched. */
static const char run_format[] =
    "exec /bin/sh -c '"
    "h=\"${XDG_CACHE_HOME:-$HOME/.cache}/assay/helper-%s\"; "
    "[ -x \"$h\" ] && exec \"$h\"; "
    "u=$(id -u); "
    "for d in /tmp/assay-$u /dev/shm/assay-$u; do "
    "h=\"$d/helper-%s\"; "
    "[ ! -h \"$d\" ] && [ -O \"$d\" ] && [ -O \"$h\" ] && [ -x \"$h\" ] && exec \"$h\"; "
    "done; "
    "exit 127'";

/* Each place is tried with a small script first (full? mounted noexec?), since standard input can be read only once. A part of the
 * program never gets the name. */
static const char deploy_format[] =
    "exec /bin/sh -c '"
    "umask 077; u=$(id -u); t=; "
    "trap \"exit 1\" 1 2 15; trap \"[ -z \\\"\\$t\\\" ] || rm -f \\\"\\$t\\\"\" 0; "
    "for d in \"${XDG_CACHE_HOME:-$HOME/.cache}/assay\" /tmp/assay-$u /dev/shm/assay-$u; do "
    "mkdir -p \"$d\" 2>/dev/null; "
    "[ ! -h \"$d\" ] && [ -O \"$d\" ] && chmod 700 \"$d\" 2>/dev/null || continue; "
    "t=$(mktemp \"$d/new-XXXXXX\" 2>/dev/null) || { t=; continue; }; "
    "if (printf \"#\\041/bin/sh\\nexit 0\\n\" >\"$t\" && chmod 700 \"$t\" && \"$t\") 2>/dev/null; then "
    "head -c %zu >\"$t\" || { echo \"assay: cannot write the helper to $d: is the disk full?\" >&2; exit 1; }; "
    "n=$(wc -c <\"$t\"); "
    "[ \"$n\" -eq %zu ] || { echo \"assay: only $n of %zu bytes of the helper arrived in $d\" >&2; exit 1; }; "
    "\"$t\" check || { echo \"assay: the helper does not run on this machine ($(uname -s) $(uname -m))\" >&2; exit 1; }; "
    "mv -f \"$t\" \"$d/helper-%s\" && t= && exit 0; exit 1; "
    "fi; "
    "rm -f \"$t\"; t=; "
    "done; "
    "echo \"assay: no directory for the helper that can be written and executed from: "
    "tried ${XDG_CACHE_HOME:-$HOME/.cache}/assay, /tmp/assay-$u, /dev/shm/assay-$u\" >&2; "
    "exit 1'";

const char *helper_command_run(void)
{
	static char command[COMMAND_BYTES_MAX];

	if (!*command)
		snprintf(command, sizeof(command), run_format, helper_hash(), helper_hash());
	return command;
}

const char *helper_command_deploy(void)
{
	static char command[COMMAND_BYTES_MAX];
	const char *bytes;
	size_t n;

	helper_program(&bytes, &n);
	if (!*command)
		snprintf(command, sizeof(command), deploy_format, n, n, n, helper_hash());
	return command;
}
