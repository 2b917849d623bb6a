# Commands that answers and errors suggest can be pasted, whatever versions, applications and directories are called: a shell sees words.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_run.sh"

# shellcheck disable=SC2016 # nothing of this is to be run
app='x $(touch pwned)' a="a'\$(touch pwned)" b='b;touch pwned;"`touch pwned`' half='half $(touch pwned)' formula='=1+1'
run_lab "lab \$(touch pwned)"
cat >"$lab/apps/hostile.yaml" <<END
application: '$app'
command: [sh, -c, 'sleep .02; echo 1']
versions:
  "$a":
  '$b':
  '$half': { command: [sh, -c, 'echo >>"$tmp/times"; sleep .02; exit \$((\$(wc -l <"$tmp/times") % 2))'] }
  '$formula': { command: [sh, -c, 'exit 1'] }
repetitions: 3
END
mkdir "$tmp/paste"
: >"$tmp/words"

# pasted [FILE]: each command that the last answer has, given to a shell whose `assay` says its words. Those between ' marks need no others.
pasted() {
	sed -e 's/<pre/\n<pre/g; s/<[^>]*>//g' -e "s/&#39;/'/g; s/&quot;/\"/g; s/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g" "${1:-$tmp/out}" "$tmp/err" >"$tmp/text"
	{
		sed -n 's/^ *\(assay .*\)/\1/p' "$tmp/text" | grep -v '^assay [a-z ]*: '
		grep -o '“assay [^”]*”' "$tmp/text" | sed 's/^“//; s/”$//'
		grep -o "'assay [^']*'" "$tmp/text" | tr -d "'"
	} >"$tmp/commands"
	while IFS= read -r line; do
		cases=$((cases + 1))
		printf 'assay() { printf "<%%s>" "$@"; echo; }\n%s\n' "$line" >"$tmp/paste/line.sh"
		(cd "$tmp/paste" && sh ./line.sh </dev/null >>"$tmp/words" 2>"$tmp/said") || fail "a shell does not take: $line"
		[ ! -s "$tmp/said" ] || fail "a shell complains of: $line: $(cat "$tmp/said")"
		[ ! -e "$tmp/paste/pwned" ] || fail "a shell runs what is in a name: $line"
		rm -f "$tmp/paste/pwned"
	done <"$tmp/commands"
}

# suggests WORD...: among all that was pasted so far there is a command with these words.
suggests() {
	cases=$((cases + 1))
	wanted=$(printf '<%s>' "$@")
	grep -qF -e "$wanted" "$tmp/words" || fail "no command has the words $wanted"
}

what='after runs'
run -C "$lab" run hostile
expect_status 7
pasted
suggests -C "$lab" result show "$app" --failed --output
suggests -C "$lab" gate "$app@$a" "$app@$b"
suggests -C "$lab" host measure
for version in "$a" "$b" "$half" "$formula"; do
	for words in 'result show' 'result show --failed' inspect profile suggest; do
		what="$words of $version"
		# shellcheck disable=SC2086
		run -C "$lab" $words "$app@$version"
		pasted
	done
	for words in gate detect; do
		what="$words with $version"
		# shellcheck disable=SC2086
		run -C "$lab" $words "$app@$a" "$app@$version"
		pasted
	done
	what="report on $version"
	rm -f "$tmp/report.html"
	run -C "$lab" report "$app@$a" "$app@$version" -o "$tmp/report.html"
	[ ! -e "$tmp/report.html" ] || pasted "$tmp/report.html"
done
what='what was suggested'
suggests result show "$app@$formula" --failed --output
suggests result show "$app@$half" --failed
suggests gate "$app@$a" "$app@$b" --min-effect 0.03 --all
for words in 'result list' 'result show' 'host list' 'check' 'host drift' 'host show' 'host list --fingerprints' 'host list' inspect; do
	what="$words of nothing, and of what is not there"
	# shellcheck disable=SC2086
	run -C "$lab" $words
	pasted
	# shellcheck disable=SC2086
	run -C "$lab" $words "$app"
	pasted
done
suggests run "$app" --probe
what='a directory that is no laboratory'
mkdir "$tmp/no \$(touch pwned)"
run -C "$tmp/no \$(touch pwned)" result list
pasted
suggests init "$tmp/no \$(touch pwned)"
finish
