#!/bin/sh
# Checks that some command uses each public function of the product. The linker drops unused functions from the program (--gc-sections), so a
# public function of an archive that the program lacks is dead, unless its own file uses it (then the compiler has inlined it) and tests do.
set -eu
cd "${ASSAY_SOURCE:?}"
build=$(dirname "${ASSAY:?}")
! nm "$ASSAY" | grep -q __asan_init || { echo "sanitizers keep all functions"; exit 77; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# The compiler appends suffixes such as .part.0 or .constprop.0 to the names of pieces.
nm --defined-only "$ASSAY" | awk '$2 == "T" || $2 == "t" { sub(/\..*/, "", $3); print $3 }' | sort -u >"$tmp/used"
nm -A --defined-only "$build"/libassay_*.a | awk '$2 == "T" { split($1, part, ":"); print $3, part[2] }' | sort -u >"$tmp/public"
[ "$(wc -l <"$tmp/public")" -gt 500 ] || { echo "too few functions: was the program built here?"; exit 1; }
awk 'NR == FNR { used[$1]; next } !($1 in used)' "$tmp/used" "$tmp/public" >"$tmp/dropped"
status=0
# Files that are compiled into other programs and libraries of the product, too, are used there.
others='fleet/cgroup fleet/counting fleet/emulate fleet/helper runs/inside/record runs/inside/probe runs/inside/emulate runs/inside/interpose'
# Tables and predictions that tests compare with libpfm's and scikit-learn's.
tested=' countable_rows countable_here_pairs gbt_predict '
while read -r name object; do
	case $tested in *" $name "*) continue ;; esac
	file=${object%.o}
	# shellcheck disable=SC2086
	if grep -rlw --include='*.[ch]' -e "$name" $others | grep -v "/${file%.c}\.[ch]$" >/dev/null; then continue; fi
	own=$(grep -lw --include="$file" -r -e "$name" base fleet fingerprint runs model gate | head -n 1)
	if [ "$(grep -cw -e "$name" "$own")" -lt 2 ]; then
		echo "no command uses $name of $own"
	elif ! grep -rqw --include='*.[ch]' -e "$name" tests; then
		echo "only its own file uses $name of $own: it should be static"
	else
		continue
	fi
	status=1
done <"$tmp/dropped"
exit $status
