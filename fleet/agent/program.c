#include "fleet/agent/program.h"

#include "base/mem.h"
#include "fleet/counting/whole.h"

#include <string.h>

/* Removes files that killed deploy scripts have left in $d. A file of this machine is removed if its script's shell has ended; after a
 * reboot, another program may have the pid of the shell. Homes may be shared, so files of any machine are removed after an hour, which
 * exceeds the time limit of a deploy script. */
#define SWEEP_SCRIPT                                                                                                                       \
	"for o in \"$d\"/new-*; do [ -f \"$o\" ] || break; "                                                                               \
	"find \"$o\" -mmin +60 -exec rm -f -- {} + 2>/dev/null; "                                                                          \
	"p=${o#\"$d/new-$(uname -n)-\"}; [ \"$p\" != \"$o\" ] || continue; p=${p%%%%-*}; "                                                 \
	"kill -0 \"$p\" 2>/dev/null && { [ ! -r /proc/$p/cmdline ] || grep -q e=new- /proc/$p/cmdline; } || rm -f \"$o\"; "                \
	"done; "

/* Other users could have made the directories below /tmp and /dev/shm, so symbolic links and directories of other users are skipped. A file
 * that is not a program, such as an empty file after a power loss, is not executed, because a shell would run it as a script. `uname -m`
 * selects the build, because homes are shared by machines, and emulators may run programs of other architectures. */
#define CACHE_SCRIPT                                                                                                                       \
	"c=$HOME/.cache; case $XDG_CACHE_HOME in /*) c=$XDG_CACHE_HOME;; esac; " /* ignores a relative path in XDG_CACHE_HOME */
static const char run_begins[] = "k=127; u=$(id -u); n=; case $(uname -m) in ";
static const char run_build[] = "%s) n=%s-%s s=%016llx;; ";
static const char run_ends[] =
    "esac; [ \"$n\" ] || exit 127; " CACHE_SCRIPT "for d in \"$c/assay\" /tmp/assay-$u "
    "/dev/shm/assay-$u; do h=\"$d/$n\"; [ -x \"$h\" ] || continue; case $d in /tmp/assay-$u|/dev/shm/assay-$u) "
    "[ ! -h \"$d\" ] && [ -O \"$d\" ] && [ -O \"$h\" ] || continue;; esac; " SWEEP_SCRIPT "m=; IFS= read -r m <\"$h\"; "
    "case $m in ?ELF*|\"#\"?/*) exec \"$h\" " SELF_CHECK_ARGUMENT "$s \"$@\";; *) k=%d;; esac; done; exit $k";

/* Standard input can be read only once. So the script first tests in each directory whether a small script can be written and executed. The
 * program is renamed to its final name when it is complete and on the disk. If the connection breaks, the traps remove the file. */
static const char deploy_format[] =
    "umask 077; u=$(id -u); e=new-$(uname -n)-; t=; w=; " CACHE_SCRIPT
    "command -v timeout >/dev/null 2>&1 && w=\"timeout 600\"; trap \"exit 1\" 1 2 13 15; trap \"[ -z \\\"\\$t\\\" ] || rm -f "
    "\\\"\\$t\\\"\" 0; for d in \"$c/assay\" /tmp/assay-$u /dev/shm/assay-$u; do mkdir -p \"$d\" 2>/dev/null; [ ! -h \"$d\" ] && [ -O "
    "\"$d\" ] && chmod 700 \"$d\" 2>/dev/null || "
    "continue; " SWEEP_SCRIPT
    "t=$(mktemp \"$d/$e$$-XXXXXX\" 2>/dev/null) || { t=; continue; }; if (printf \"#\\041/bin/sh\\nexit 0\\n\" >\"$t\" "
    "&& chmod 700 \"$t\" && \"$t\") 2>/dev/null; then $w head -c %zu >\"$t\" || { echo \"assay: cannot write the %s to "
    "$d: is the disk full?\" >&2; exit 1; }; n=$(wc -c <\"$t\"); [ \"$n\" -eq %zu ] || { echo \"assay: only $n of %zu "
    "bytes of the %s arrived in $d\" >&2; exit 1; }; \"$t\" " SELF_CHECK_ARGUMENT
    "%016llx check; r=$?; [ $r -ne %d ] || { echo \"assay: the %s in $d is not what was sent\" >&2; exit 1; }; [ $r -eq 0 ] || { echo "
    "\"assay: the %s does not run on this machine ($(uname -s) $(uname -m))\" >&2; exit 1; }; \"$t\" install \"$d/%s-%s\" && t= && exit 0; "
    "exit 1; fi; rm -f \"$t\"; t=; done; echo \"assay: no directory for the %s that can be written and executed from: tried "
    "$c/assay, /tmp/assay-$u, /dev/shm/assay-$u\" >&2; exit 1";

/* ---- builds ---- */

const char *const program_architectures[PROGRAM_ARCHITECTURES] = { "aarch64", "x86_64" };

const struct program_build *program_find(const struct program *program, const char *architecture)
{
	for (const struct program_build *build = program->builds; build->architecture; build++) {
		if (strcmp(build->architecture, architecture) == 0)
			return build;
	}
	return NULL;
}

char *program_explain_missing(const struct program *program, const char *architecture)
{
	for (size_t i = 0; i < PROGRAM_ARCHITECTURES; i++) {
		if (strcmp(program_architectures[i], architecture) == 0)
			return mem_format("this assay was built without its %s program for hosts of %s: docs/architectures.md says how to "
					  "build it with that",
					  program->name, architecture);
	}
	return mem_format("hosts of the architecture '%s' are not supported, only x86_64 and aarch64", architecture);
}

/* Writes the SHA-256 hash of the executable to `hex` as 64 hexadecimal digits. */
static void program_hash(const struct program_build *build, char hex[DIGEST_HEX_BYTES])
{
	digest_sha256(build->bytes, (size_t)(build->end - build->bytes), hex);
}

static unsigned long long program_checksum(const struct program_build *build)
{
	return self_check_sum(0, build->bytes, (size_t)(build->end - build->bytes));
}

void program_script_run(const struct program *program, struct buf *out)
{
	char hex[DIGEST_HEX_BYTES];

	buf_format(out, "%s", run_begins);
	for (const struct program_build *build = program->builds; build->architecture; build++) {
		program_hash(build, hex);
		buf_format(out, run_build, build->architecture, program->name, hex, program_checksum(build));
	}
	buf_format(out, run_ends, SELF_CHECK_DAMAGED);
}

void program_script_deploy(const struct program *program, const struct program_build *build, struct buf *out)
{
	size_t n = (size_t)(build->end - build->bytes);
	const char *name = program->name;
	char hex[DIGEST_HEX_BYTES];

	program_hash(build, hex);
	buf_format(out, deploy_format, n, name, n, n, name, program_checksum(build), SELF_CHECK_DAMAGED, name, name, name, hex, name);
}
