#!/bin/sh
# Checks the layers: each folder includes only folders to its left in this list, model only base; only commands include headers of
# commands. Checks that stems of files are unique, and that gate/ parses nothing that it has stored or rendered itself.
set -eu
cd "${ASSAY_SOURCE:?}"
status=0
found=$(find base fleet fingerprint runs model gate -name '*.[ch]' -exec awk '
	function complain(what) { print FILENAME ":" FNR ": " $0 "\n  " what }
	BEGIN {
		allowed["base"] = "base"
		allowed["fleet"] = "base fleet"
		allowed["fingerprint"] = "base fleet fingerprint"
		allowed["runs"] = "base fleet fingerprint runs"
		allowed["model"] = "base model"
		allowed["gate"] = "base fleet fingerprint runs model gate"
	}
	FNR == 1 {
		folder = directory = FILENAME
		sub(/\/.*/, "", folder)
		sub(/\/[^\/]*$/, "", directory)
		in_others = FILENAME ~ /^runs\/inside\/(probe|emulate|interpose|features\/counting)\// # goes into the processes of others
		# Programs, processes and libraries of their own end themselves; of the rest only commands print or exit; error.c, mem.c and
		# lapack.c end a program that cannot go on.
		quiet = !in_others && FILENAME !~ /^fleet\/(helper|cgroup|counting|emulate\/knobs)\// &&
			FILENAME !~ /^fleet\/emulate\/plant\.c$/ && FILENAME !~ /\/cmd_[^\/]*\.c$/ && FILENAME !~ /^(base\/(command|dispatch|error|mem|progress)|model\/lapack)\.c$/
		files++
	}
	/^#include "/ {
		split($0, quoted, "\"")
		included = quoted[2]
		top = included
		if (!sub(/\/.*/, "", top))
			complain("a file without its folder")
		else if (!index(" " allowed[folder] " ", " " top " "))
			complain(top "/ does not stand to the left of " folder "/")
		if (included ~ /\/commands\// && FILENAME !~ /\/commands\//)
			complain("only commands include headers of commands")
		if (FILENAME ~ /^runs\/inside\// && included ~ /^runs\/running\//)
			complain("what looks inside programs may be used by what runs them, not the other way round")
		if (in_others && included !~ /^runs\/inside\/record/ && index(included, directory "/") != 1 &&
			included !~ /^fleet\/counting\/(native|refused|software)\.h$/)
			complain("in other programs there may be of this one only the record format, what the kernel counts and why it does not")
	}
	# Decisions are read from columns. JSON is parsed where it comes from outside (calibration.json from git, conditions from machines), and
	# of a decision where it is shown as it is or compared as a whole.
	FILENAME ~ /^gate\// && FILENAME !~ /^gate\/(commands\/cmd_decision|comparison\/calibration|page\/page_parts)\.c$/ && /json_(parse|reader)|json_(extract|each|tree)\(document/ {
		complain("parses JSON: results travel as structs and columns")
	}
	quiet && /(^|[^A-Za-z_0-9])(printf|puts|fputs|putchar|perror|exit|_exit|abort)\(/ { complain("prints or exits: only cmd_*.c may") }
	END { print files " files looked at" }' {} +)
printf '%s\n' "$found"
[ "$(printf '%s\n' "$found" | wc -l)" -eq 1 ] || status=1
files=${found##*
}
files=${files%% *}
for file in $(ls); do
	case $file in
	CMakeLists.txt | CMakePresets.json | README.md | main.c | base | fleet | fingerprint | runs | model | gate | machines | tests | docs | build) ;;
	*)
		echo "$file does not belong at the top level"
		status=1
		;;
	esac
done
again=$(git ls-files 'base/*.c' 'fleet/*.c' 'fingerprint/*.c' 'runs/*.c' 'model/*.c' 'gate/*.c' 2>/dev/null | sed 's#.*/##' | sort | uniq -d)
[ -z "$again" ] || { echo "several files have the stem of: $again"; status=1; }
# Two functions of one name in two archives link without a word, and the one is called for the other.
twice=$(nm -A --defined-only "$(dirname "${ASSAY:?}")"/libassay_*.a 2>/dev/null | awk '$2 ~ /[TDBR]/ && seen[$3]++ { print $3 }')
[ -z "$twice" ] || { echo "defined twice: $twice"; status=1; }
cycles=
if git rev-parse --git-dir >/dev/null 2>&1; then
	cycles=$(sh tests/house.sh | sed -n '/^cycles of folders/,$p' | grep -v '^cycles .* 0$' || true)
fi
[ -z "$cycles" ] || { printf '%s\n' "$cycles"; status=1; }
[ "$files" -gt 50 ] || { echo "too few files: is this the source directory?"; status=1; }
exit $status
