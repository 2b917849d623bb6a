#!/bin/sh
# Every fuzz target for SECONDS_EACH (600), one at a time: executions, findings, inputs that were kept. Eight hours for all: targets that have
# a row of today with as many seconds are not run again, so it goes on where it was stopped; TARGETS="json elf" runs only these. What a target
# reads stands in tests/fuzz/targets, what was ever found in tests/fuzz/found.
set -eu
seconds=${SECONDS_EACH:-600} page=docs/evidence/fuzz.md today=$(date -u +%Y-%m-%d)
all=$(cut -f 1 tests/fuzz/targets | grep -vx -e -)
targets=${TARGETS:-$all}
. tests/lib_build.sh
build fuzz "clang's libFuzzer" -DASSAY_WERROR=ON >&2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
mkdir -p build/fuzz/finds

# row TARGET: its row of the page as it is.
row() {
	[ ! -f "$page" ] || grep "^| $1 | 20" "$page" || true
}

# cell TARGET NUMBER: of its row, the first one is the date.
cell() {
	row "$1" | awk -F ' *[|] *' -v i="$(($2 + 2))" '{ print $i }'
}

# number NAME: of the fuzzer's last statistics.
number() {
	sed -n "s/^stat::$1: *//p" "$work/log" | tail -n 1
}

# keep TARGET: what reaches code that the corpus does not, the smallest few of it. Says how many.
keep() {
	corpus=tests/fuzz/corpus/$1
	rm -rf "$work/new"
	cp -r "$corpus" "$work/new"
	nice -n 19 "build/fuzz/tests/fuzz_$1" -merge=1 -use_counters=0 -timeout=25 "$work/new" "build/fuzz/work/fuzz_$1" >"$work/merge" 2>&1 || return 0
	find "$work/new" -type f -size -5k -printf '%s %f\n' | sort -n | while read -r _ file; do
		[ -e "$corpus/$file" ] || echo "$file"
	done | head -n 3 >"$work/kept"
	while read -r file; do
		cp "$work/new/$file" "$corpus/grown-$(echo "$file" | cut -c 1-8)"
	done <"$work/kept"
	wc -l <"$work/kept"
}

# run TARGET: for so many seconds, from its corpus. Sets $result, its row.
run() {
	program=build/fuzz/tests/fuzz_$1 finds=build/fuzz/finds/fuzz_$1- grown=build/fuzz/work/fuzz_$1
	mkdir -p "$grown"
	rm -f "$finds"*
	began=$(date +%s)
	nice -n 19 "$program" -max_total_time="$seconds" -timeout=25 -artifact_prefix="$finds" -print_final_stats=1 -verbosity=0 "$grown" \
		"tests/fuzz/corpus/$1" >"$work/log" 2>&1 || true
	spent=$(($(date +%s) - began))
	found=$(find build/fuzz/finds -name "fuzz_$1-*" | wc -l)
	[ -n "$(number number_of_executed_units)" ] || { cat "$work/log" >&2; found=$((found > 0 ? found : 1)); }
	[ "$found" = 0 ] || echo "tests/evidence/fuzz.sh: fuzz_$1 found something: $finds*" >&2
	kept=$([ "$found" = 0 ] && keep "$1" || echo 0)
	executions=$(number number_of_executed_units)
	result="| $1 | $today | $spent | ${executions:-0} | $((${executions:-0} / (spent > 0 ? spent : 1))) | $found | $kept |"
}

# write: the page, with $result instead of that target's row. Two of us may be at work, on different targets.
write() {
	exec 9>build/fuzz/page.lock
	flock 9
	{
		echo "# Fuzzing, target by target"
		echo
		echo "Measured by \`sh tests/run --evidence fuzz\`: revision $(git rev-parse --short HEAD), $(clang-14 --version | head -n 1), libFuzzer with address and" \
			"undefined-behaviour sanitizers, one core at the lowest priority of a machine shared with other work. Every target began from its corpus," \
			"and from what it had found in earlier runs on this machine. An input that takes 25 seconds, or 2 GiB, counts as a finding; the column counts those of the run that is shown, all that there ever were stand below. Kept: new inputs that the" \
			"corpus in \`tests/fuzz/corpus\` got because they reach code that it did not reach. The tests replay that corpus."
		echo
		echo "| target | date | seconds | executions | a second | findings | kept |"
		echo "| --- | --- | ---: | ---: | ---: | ---: | ---: |"
		for target in $all; do
			case $result in
			"| $target |"*) echo "$result" ;;
			*) row "$target" ;;
			esac
		done >"$work/rows"
		cat "$work/rows"
		awk -F ' *[|] *' '{ s += $4; n += $5; f += $7 } END { printf "| all of %d | | %d | %d | | %d | |\n", NR, s, n, f }' "$work/rows"
		echo
		echo "## What each target reads"
		echo
		echo "| target | outside bytes | read by |"
		echo "| --- | --- | --- |"
		awk -F '\t' '$1 != "-" { gsub(/ /, ", ", $3); printf "| %s | %s | %s |\n", $1, $2, $3 }' tests/fuzz/targets
		echo
		echo "Without a target:"
		echo
		awk -F '\t' '$1 == "-" { gsub(/ /, ", ", $3); printf "- %s (%s): %s\n", $2, $3, $4 }' tests/fuzz/targets
		echo
		echo "## What was found"
		echo
		cat tests/fuzz/found
	} >"$work/page"
	mkdir -p docs/evidence
	mv "$work/page" "$page"
	exec 9>&-
}

for target in $targets; do
	if [ "$(cell "$target" 1)" = "$today" ] && [ "$(cell "$target" 2)" -ge "$seconds" ]; then
		continue
	fi
	run "$target"
	write
	echo "$result"
done
echo "Written: $page"
