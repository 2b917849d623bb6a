#!/bin/sh
# Every fuzz target for SECONDS_EACH (600) of a processor's time: executions, findings, inputs that were kept. Eight hours for all on an idle
# core, so it goes on where it was stopped, on any later day: first come those that never ran so long, then those whose files have changed
# since they did. TARGETS="json elf" begins these anew, and runs only them. It may be started twice at a time. What a target reads stands in
# tests/fuzz/targets, those that read what other machines and users send first; what was ever found in tests/fuzz/found.
set -eu
seconds=${SECONDS_EACH:-600} page=docs/evidence/fuzz.md today=$(date -u +%Y-%m-%d) commit=$(git rev-parse --short HEAD)
all=$(cut -f 1 tests/fuzz/targets | grep -vx -e -)
. tests/lib_build.sh
. tests/lib_fuzz.sh
build fuzz "clang's libFuzzer" -DASSAY_WERROR=ON >&2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
stopped='' fuzzer=''
trap 'stopped=1; [ -z "$fuzzer" ] || kill -USR1 "$fuzzer"' INT TERM
mkdir -p build/fuzz/finds build/fuzz/claims

# row TARGET: its row of the page as it is.
row() {
	[ ! -f "$page" ] || grep "^| $1 | 20" "$page" || true
}

# cell TARGET NUMBER: of its row, the first one is the date; 0 when that is not a number, or there is no row.
cell() {
	row "$1" | awk -F ' *[|] *' -v i="$(($2 + 2))" '{ sub(/,.*/, "", $i); s = i < 5 || $i ~ /^[0-9]+$/ ? $i : 0 } END { print s == "" ? 0 : s }'
}

# paths TARGET: what it runs.
paths() {
	read_by "$(awk -F '\t' -v t="$1" '$1 == t { print $3 }' tests/fuzz/targets)"
	echo "tests/fuzz/fuzz_$1.c"
}

# same COMMIT TARGET: whether its files are those of that commit.
same() {
	# shellcheck disable=SC2046
	git cat-file -e "$1^{commit}" 2>/dev/null && git diff --quiet "$1" -- $(paths "$2")
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
	nice -n 19 "build/fuzz/tests/fuzz_$1" -merge=1 -use_counters=0 -timeout=250 "$work/new" "build/fuzz/work/fuzz_$1" >"$work/merge" 2>&1 || return 0
	find "$work/new" -type f -size -5k -printf '%s %f\n' | sort -n | while read -r _ file; do
		[ -e "$corpus/$file" ] || echo "$file"
	done | head -n 3 >"$work/kept"
	while read -r file; do
		cp "$work/new/$file" "$corpus/grown-$(echo "$file" | cut -c 1-8)"
	done <"$work/kept"
	wc -l <"$work/kept"
}

# fuzz TARGET SECONDS: until it has used so much of a processor, which libFuzzer's own clock does not tell on a busy machine. Adds to $spent and
# $executions.
fuzz() {
	grown=build/fuzz/work/fuzz_$1
	mkdir -p "$grown"
	nice -n 19 "build/fuzz/tests/fuzz_$1" -timeout=250 -handle_int=0 -artifact_prefix="build/fuzz/finds/fuzz_$1-" -print_final_stats=1 -verbosity=0 \
		"$grown" "tests/fuzz/corpus/$1" >"$work/log" 2>&1 &
	fuzzer=$! used=0
	while now=$(awk -v hz="$(getconf CLK_TCK)" '{ print $3 == "Z" ? "" : int(($14 + $15) / hz) }' "/proc/$fuzzer/stat" 2>/dev/null) && [ -n "$now" ]; do
		used=$now
		[ "$used" -lt "$2" ] || kill -USR1 "$fuzzer"
		sleep 1 || true
	done
	wait "$fuzzer" || true
	fuzzer=''
	units=$(number number_of_executed_units)
	spent=$((spent + used)) executions=$((executions + ${units:-0}))
}

# forgive TARGET: inputs that were slow because others had the processor are no findings.
forgive() {
	for slow in "build/fuzz/finds/fuzz_$1-slow-unit-"* "build/fuzz/finds/fuzz_$1-timeout-"*; do
		[ -f "$slow" ] || continue
		if prlimit --cpu=25 nice -n 19 "build/fuzz/tests/fuzz_$1" -timeout=2500 "$slow" >/dev/null 2>&1; then
			rm "$slow"
		fi
	done
}

# run TARGET: from its corpus, for what is left of its seconds. Sets $result, its row.
run() {
	spent=0 executions=0 found=0 kept=0 ran=$commit
	rm -f "build/fuzz/finds/fuzz_$1-"*
	if [ -z "${TARGETS:-}" ] && same "$(cell "$1" 2)" "$1"; then
		spent=$(cell "$1" 3) executions=$(cell "$1" 4) found=$(cell "$1" 6) kept=$(cell "$1" 7)
		[ "$spent" != 0 ] || executions=0 found=0 kept=0
	fi
	same "$commit" "$1" || ran=$ran+
	while [ "$spent" -lt "$seconds" ] && [ -z "$stopped" ]; do
		before=$spent
		fuzz "$1" $((seconds - spent))
		forgive "$1"
		finds=$(find build/fuzz/finds -name "fuzz_$1-*" | wc -l)
		if [ -z "$units" ] && [ "$finds" = 0 ] && [ -z "$stopped" ]; then
			cat "$work/log" >&2
			finds=1
		fi
		found=$((found + finds))
		[ "$finds" = 0 ] || echo "tests/evidence/fuzz.sh: fuzz_$1 found something: build/fuzz/finds/fuzz_$1-*" >&2
		if [ "$finds" != 0 ] || [ "$spent" = "$before" ]; then
			break
		fi
	done
	[ "$found" != 0 ] || kept=$((kept + $(keep "$1")))
	result="| $1 | $today | $ran | $spent | $executions | $((executions / (spent > 0 ? spent : 1))) | $found | $kept |"
}

# rows: of all targets, $result instead of that target's; a commit whose files are not those of today says so.
rows() {
	for target in $all; do
		case $result in
		"| $target |"*)
			echo "$result"
			continue
			;;
		esac
		since=', changed since'
		! same "$(cell "$target" 2)" "$target" || since=''
		[ -n "$(row "$target")" ] || echo "| $target | not yet | | 0 | 0 | | | |"
		row "$target" | sed "s/^\(| $target | [^|]* | [^|,]*\)[^|]* |/\1$since |/; s/  |/ |/; s/ , changed/, changed/"
	done
}

# write: the page, with $result instead of that target's row. Two of us may be at work, on different targets.
write() {
	exec 9>build/fuzz/page.lock
	flock 9
	{
		echo "# Fuzzing, target by target"
		echo
		echo "Measured by \`sh tests/run --evidence fuzz\` with $(clang-14 --version | head -n 1), libFuzzer with address and" \
			"undefined-behaviour sanitizers, at the lowest priority of a machine shared with other work. Every target began from its corpus," \
			"and from what it had found in earlier runs on the same machine. What the columns mean:"
		echo
		echo "- **date**, **commit**: of the last run that added to the row; a \`+\` means that the files which the target reads (\`tests/fuzz/targets\`) were not" \
			"committed. *Changed since* are rows whose files are no longer those of this commit: those with all their seconds stay until no" \
			"other target lacks its own, and are then begun anew; those with fewer begin anew with the next run."
		echo "- **CPU seconds**: what the fuzzer itself has used of a processor, user and system, since the row began, over several runs if it" \
			"was stopped; the goal is $seconds. \`wall\` marks rows of an earlier version, whose seconds are those of the clock: how much of a" \
			"processor they got is not known, so they count for nothing."
		echo "- **executions**, **a second**: inputs run in that time."
		echo "- **findings**: crashes, reports of a sanitizer, inputs that take 2 GiB or 25 seconds of a processor; only those of the row. All" \
			"that there ever were stand below."
		echo "- **kept**: new inputs that the corpus in \`tests/fuzz/corpus\` got because they reach code that it did not reach. The tests replay" \
			"that corpus."
		echo
		echo "| target | date | commit | CPU seconds | executions | a second | findings | kept |"
		echo "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |"
		rows | tee "$work/rows"
		awk -F ' *[|] *' -v goal="$seconds" '{ s += $5 ~ /^[0-9]+$/ ? $5 : 0; whole += $5 ~ /^[0-9]+$/ && $5 >= goal; n += $6; f += $8 }
			END { printf "| all of %d, %d of them %d s | | | %d | %d | | %d | |\n", NR, whole, goal, s, n, f }' "$work/rows"
		echo
		echo "## What was found"
		echo
		cat tests/fuzz/found
	} >"$work/page"
	mkdir -p docs/evidence
	mv "$work/page" "$page"
	exec 9>&-
}

# wanted TARGET PASS: whether anything is left to do.
wanted() {
	[ -n "${TARGETS:-}" ] || case $2 in
	never) [ "$(cell "$1" 3)" -lt "$seconds" ] ;;
	changed) ! same "$(cell "$1" 2)" "$1" ;;
	esac
}

# pass NAME: runs what is wanted and nobody else has.
pass() {
	for target in ${TARGETS:-$all}; do
		exec 8>"build/fuzz/claims/$target"
		if flock -n 8 && [ -z "$stopped" ] && wanted "$target" "$1"; then
			run "$target"
			write
			echo "$result"
		fi
		exec 8>&-
	done
}

pass never
[ -n "${TARGETS:-}" ] || pass changed
echo "Written: $page"
