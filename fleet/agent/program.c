#include "fleet/agent/program.h"

/* Any user could have made the directories below /tmp and /dev/shm: a link, or another user's, is not touched. */
static const char run_format[] = "h=\"${XDG_CACHE_HOME:-$HOME/.cache}/assay/%s-%s\"; "
				 "[ -x \"$h\" ] && exec \"$h\" \"$@\"; "
				 "u=$(id -u); "
				 "for d in /tmp/assay-$u /dev/shm/assay-$u; do "
				 "h=\"$d/%s-%s\"; "
				 "[ ! -h \"$d\" ] && [ -O \"$d\" ] && [ -O \"$h\" ] && [ -x \"$h\" ] && exec \"$h\" \"$@\"; "
				 "done; "
				 "exit 127";

/* Each place is tried with a small script first (full? mounted noexec?), since standard input can be read only once. A part of the
 * program never gets the name. */
static const char deploy_format[] =
    "umask 077; u=$(id -u); t=; "
    "trap \"exit 1\" 1 2 15; trap \"[ -z \\\"\\$t\\\" ] || rm -f \\\"\\$t\\\"\" 0; "
    "for d in \"${XDG_CACHE_HOME:-$HOME/.cache}/assay\" /tmp/assay-$u /dev/shm/assay-$u; do "
    "mkdir -p \"$d\" 2>/dev/null; "
    "[ ! -h \"$d\" ] && [ -O \"$d\" ] && chmod 700 \"$d\" 2>/dev/null || continue; "
    "t=$(mktemp \"$d/new-XXXXXX\" 2>/dev/null) || { t=; continue; }; "
    "if (printf \"#\\041/bin/sh\\nexit 0\\n\" >\"$t\" && chmod 700 \"$t\" && \"$t\") 2>/dev/null; then "
    "head -c %zu >\"$t\" || { echo \"assay: cannot write the %s to $d: is the disk full?\" >&2; exit 1; }; "
    "n=$(wc -c <\"$t\"); "
    "[ \"$n\" -eq %zu ] || { echo \"assay: only $n of %zu bytes of the %s arrived in $d\" >&2; exit 1; }; "
    "\"$t\" check || { echo \"assay: the %s does not run on this machine ($(uname -s) $(uname -m))\" >&2; exit 1; }; "
    "mv -f \"$t\" \"$d/%s-%s\" && t= && exit 0; exit 1; "
    "fi; "
    "rm -f \"$t\"; t=; "
    "done; "
    "echo \"assay: no directory for the %s that can be written and executed from: "
    "tried ${XDG_CACHE_HOME:-$HOME/.cache}/assay, /tmp/assay-$u, /dev/shm/assay-$u\" >&2; "
    "exit 1";

/* SHA-256, 64 hexadecimal digits. */
static void program_hash(const struct program *program, char hex[DIGEST_HEX_BYTES])
{
	digest_sha256(program->bytes, (size_t)(program->end - program->bytes), hex);
}

void program_script_run(const struct program *program, struct buf *out)
{
	char hex[DIGEST_HEX_BYTES];

	program_hash(program, hex);
	buf_format(out, run_format, program->name, hex, program->name, hex);
}

void program_script_deploy(const struct program *program, struct buf *out)
{
	size_t n = (size_t)(program->end - program->bytes);
	const char *name = program->name;
	char hex[DIGEST_HEX_BYTES];

	program_hash(program, hex);
	buf_format(out, deploy_format, n, name, n, n, name, name, name, hex, name);
}
