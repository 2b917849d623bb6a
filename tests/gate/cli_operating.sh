#!/bin/sh
# docs/operating.md, followed word by word: every line of its sh blocks, in order, in one shell, and the lines that it has for cron and systemd.
# mail, curl and stress-ng are stand-ins that keep what they were given.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_run.sh"
command -v python3 >/dev/null || skip 'there is no python3'
mkdir -p "$tmp/home" "$tmp/bin"
export HOME="$tmp/home"
ln -s "$ASSAY" "$tmp/bin/assay"
cat >"$tmp/bin/stress-ng" <<'END'
#!/bin/sh
[ "$1" = --version ] && { echo 'stress-ng, version 0.15.06 (gcc 12.2, x86_64 Linux 6.1)'; exit; }
while [ "$1" != -t ]; do shift; done
printf -- '---\nsystem-info:\n      stress-ng-version: 0.15.06\n\nmetrics:\n    - stressor: %s\n      bogo-ops: 100\n' "${3#--}"
printf '      wall-clock-time: 0.1\n      user-time: 0.1\n      system-time: 0.0\n\n...\n'
END
for name in mail curl; do
	printf '#!/bin/sh\nprintf "%%s\\n" "$@" >"%s/%s.words"\ncat >"%s/%s.text"\n' "$tmp" $name "$tmp" $name >"$tmp/bin/$name"
done
chmod 755 "$tmp"/bin/*
PATH=$tmp/bin:$PATH

. "${ASSAY_SOURCE:?}/tests/lib_night.sh" # its laboratory gives the application
night=$lab
run_lab home/lab "hosts:
  - { name: node03, transport: local, type: xeon, env: { ASSAY_TEST_MARK: '$tmp', PATH: '$PATH' } }"
rm -r "$lab"/apps/tiny*
cp -R "$night/apps/tiny" "$lab/apps"
application words 100 120
cat >"$lab/suite.yaml" <<'END'
comparisons:
  - { application: words, against: [previous] }
fingerprints: { battery: none }
END
run -C "$lab" host measure --battery quick
expect_status 0

what='every command of the page'
page=$ASSAY_SOURCE/docs/operating.md
sed -n '/^```sh$/,/^```$/{/^```/d;p}' "$page" >"$tmp/commands"
# Follows the page in this shell. host check hangs on how busy this machine is; nightly show ends as the night did.
follow() {
	cd "$lab" || exit 1
	n=0
	while IFS= read -r line <&3; do
		case $line in *"<<'END'"*) while IFS= read -r more <&3 && line="$line
$more" && [ "$more" != END ]; do :; done ;; esac
		n=$((n + 1))
		eval "$line" >"$tmp/out" 2>"$tmp/err" </dev/null 3<&-
		status=$?
		what="the page's line $line"
		case $line in
		*'host check'*) cases=$((cases + 1)) && case $status in 0 | 1 | 7) ;; *) fail 'status 0, 1 or 7 expected' ;; esac ;;
		*'nightly show --list'*) expect_status 0 ;;
		*'nightly show'*) expect_status 3 ;;
		*) expect_status 0 ;;
		esac
		printf '$ %s\n' "$line" >>"$tmp/said"
		cat "$tmp/out" >>"$tmp/said"
	done 3<"$tmp/commands"
}
follow
cases=$((cases + 1))
[ "$n" -ge 30 ] || fail "only $n lines"
holds "$tmp/said" 'what was printed' 'No problems: 1 machine' 'node03: local: no key is needed' "CPU model" 'as before' 'fingerprint' 'status 3' \
	'words@v2' 'regression'

what='what mail and Slack were given'
holds "$tmp/mail.words" 'the words of mail' 'assay: ' 'status 3' 'lab@example.org'
holds "$tmp/mail.text" 'the mail' words regression
expect_same_files "$tmp/mail.text" "$lab/night.md"
holds "$tmp/curl.words" 'the words of curl' --config @night.json
cases=$((cases + 1))
! grep -q hooks "$tmp/curl.words" || fail 'the address is a secret'
cases=$((cases + 1))
[ "$(stat -c %a "$HOME/.config/assay/slack")" = 600 ] && grep -q '^url = "https://hooks' "$HOME/.config/assay/slack" || fail 'the address in a file of the owner alone'
cp "$lab/night.json" "$tmp/out"
expect_json_parses
holds "$tmp/out" 'the message' '"text"' words

what='a night that does not start'
cp "$lab/suite.yaml" "$tmp/suite.yaml"
echo '{ [' >"$lab/suite.yaml"
"$lab/night.sh" >"$tmp/out" 2>"$tmp/err"
status=$?
expect_status 2
holds "$tmp/mail.words" 'the words of mail' 'no night, status 2'
holds "$tmp/mail.text" 'the mail' suite.yaml:
cp "$tmp/suite.yaml" "$lab/suite.yaml"

what='the lines for cron and systemd'
mkdir "$HOME/backups" "$HOME/backups/old"
touch -d '40 days ago' "$HOME/backups/old"
line=$(sed -n 's/^    0 21 \* \* \* //p' "$page" | sed 's/\\%/%/g')
(eval "$line") >"$tmp/out" 2>"$tmp/err"
status=$?
expect_status 0
cases=$((cases + 1))
[ -d "$HOME/backups/$(date +%F)/.assay" ] && [ ! -e "$HOME/backups/old" ] || fail 'a backup of today, and none that is older than thirty days'
line=$(sed -n 's/^    ExecStopPost=//p' "$page" | sed "s#%f#$lab#")
rm "$tmp/mail.words"
EXIT_STATUS=3 sh -c "$line" >"$tmp/out" 2>"$tmp/err"
holds "$tmp/mail.words" 'the words of mail' 'assay: status 3'
holds "$tmp/mail.text" 'the mail' regression
cases=$((cases + 1))
grep -q '^    0 22 \* \* \* $HOME/lab/night.sh$' "$page" || fail 'the line of the night is another one'
finish
