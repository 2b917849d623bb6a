#!/bin/sh
# Every command of the README's sh blocks, as a newcomer would type it.
set -eu
[ -f "$ASSAY_QUIHO/results.csv" ] || { echo "skipped: the recorded machines are not in '$ASSAY_QUIHO'"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
ln -s "$ASSAY" "$work/bin/assay"
python3 "$ASSAY_SOURCE/tests/recorded.py" "$ASSAY_QUIHO" "$work" "$ASSAY_QUIHO/types.csv"
PATH=$work/bin:$PATH
sed -n '/^```sh$/,/^```$/{/^```/d;p}' "$ASSAY_SOURCE/README.md" >"$work/commands"
cd "$work"
while IFS= read -r command; do
	echo "+ $command"
	sh -c "$command" >out 2>err </dev/null || { echo "failed with $?"; cat err; exit 1; }
	[ ! -s err ] || { echo "said on standard error:"; cat err; exit 1; }
	[ "$command" = "${command#*-o }" ] && [ "$command" = "${command#*>}" ] && [ ! -s out ] && { echo "said nothing"; exit 1; }
	true
done <commands
n=$(grep -c '^assay' commands)
echo "$n commands tried"
[ "$n" -ge 10 ]
