#!/bin/sh
# The pages for administrators, for developers and about nights, followed word by word: every line of their sh blocks, in order, in one shell
# each, from an empty directory that has this project's machines/. About sixteen minutes.
. tests/lib_evidence.sh
source=$PWD
mkdir "$work/bin"
ln -s "$assay" "$work/bin/assay"
PATH=$work/bin:$PATH
fleets="$work/*/lab $work/*/trial/lab"

# follow PAGE: a section with every line, its status, its seconds, and what it printed.
follow() {
	sed -n '/^```sh$/,/^```$/{/^```/d;p}' "docs/$1.md" >"$work/$1.lines"
	mkdir "$work/$1"
	ln -s "$source/machines" "$work/$1/machines"
	cat >"$work/$1.run" <<'EOF'
cd "$1"
bad=0
exec 3<"$2"
while IFS= read -r line <&3; do
	echo "- \`$line\`" >&2
	case $line in
	*"<<'END'"*)
		while IFS= read -r more <&3; do
			line="$line
$more"
			[ "$more" != END ] || break
		done
		;;
	esac
	begun=$(date +%s%N)
	eval "$line" >"$3" 2>&1 </dev/null 3<&-
	status=$?
	case $line in
	'assay nightly show'*) [ "$status" = 0 ] || [ "$status" = 3 ] ;; # it ends as the night did, in which a version is slower
	*) [ "$status" = 0 ] ;;
	esac || bad=$((bad + 1))
	echo "\$ $line"
	head -n 60 "$3"
	printf '[status %d, %d ms]\n\n' "$status" $((($(date +%s%N) - begun) / 1000000))
done
echo "$bad lines ended with a status other than 0 ('nightly show' of the slower version: than 3)." >"$4"
EOF
	echo "## docs/$1.md"
	echo
	echo '```'
	sh "$work/$1.run" "$work/$1" "$work/$1.lines" "$work/out" "$work/bad" | sed "s#$work#...#g"
	echo '```'
	echo
	cat "$work/bad"
	echo
}
{
	evidence_head "The pages, followed word by word"
	follow administrators
	follow developers
	follow nightly
} >"$work/page"
evidence_done
grep -c '^0 lines ended' "$page" | grep -qx 3 || { echo "evidence: a line failed" >&2; exit 1; }
