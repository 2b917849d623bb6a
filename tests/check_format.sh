# The sources are formatted as .clang-format says: 'clang-format-14 -i FILE...' does it. Programs that are measured (tests/apps, tests/probed)
# stay as they are: what is said of them names their lines.
set -eu
cd "${ASSAY_SOURCE:?}"
command -v clang-format-14 >/dev/null || { echo 'clang-format-14 is missing: nothing is checked'; exit 77; }
find base fleet fingerprint runs model gate main.c tests -name '*.[ch]' ! -path 'tests/apps/*' ! -path 'tests/probed/*' -print0 |
	xargs -0 -n 40 -P 2 clang-format-14 --dry-run -Werror
