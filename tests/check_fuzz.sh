# Every parser of outside bytes has a fuzz target: tests/fuzz/targets lists them, each with its source and inputs to begin with, and names files that exist.
set -eu
cd "${ASSAY_SOURCE:?}"
. tests/lib_fuzz.sh
status=0
complain() {
	echo "$1"
	status=1
}
tab=$(printf '\t')
for source in tests/fuzz/fuzz_*.c; do
	name=$(basename "$source" .c)
	grep -q "^${name#fuzz_}$tab" tests/fuzz/targets || complain "tests/fuzz/targets has no line for $source"
done
while IFS="$tab" read -r target bytes readers why; do
	[ -n "$bytes" ] && [ -n "$readers" ] || complain "tests/fuzz/targets: the line of '$target' says too little"
	if [ "$target" = - ]; then
		[ -n "$why" ] || complain "tests/fuzz/targets: why has '$bytes' no target?"
	elif [ ! -f "tests/fuzz/fuzz_$target.c" ]; then
		complain "tests/fuzz/targets: there is no tests/fuzz/fuzz_$target.c"
	elif [ -z "$(ls -A "tests/fuzz/corpus/$target" 2>/dev/null)" ]; then
		complain "tests/fuzz/corpus/$target: nothing to begin with"
	fi
	for path in $(read_by "$readers"); do
		[ -e "$path" ] || complain "tests/fuzz/targets: '$target' names '$path', which is not there"
	done
done <tests/fuzz/targets
exit $status
