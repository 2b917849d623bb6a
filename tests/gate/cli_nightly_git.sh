#!/bin/sh
# Nights over a branch: what it was at the beginning of each night, the commit before, the last release, what was accepted; a build that fails.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_run.sh"
command -v git >/dev/null || skip 'there is no git'

tidy() {
	kill_marked
}
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_CONFIG_GLOBAL=/dev/null

run_lab branch "hosts:
  - { name: one, transport: local, type: t1, on: here, env: { ASSAY_TEST_MARK: '$tmp' } }
  - { name: two, transport: local, type: t2, on: here, env: { ASSAY_TEST_MARK: '$tmp' } }
  - { name: three, transport: local, type: t3, on: here, env: { ASSAY_TEST_MARK: '$tmp' } }"
rm "$lab/apps/tiny.yaml"
git init -q -b main "$tmp/repository"

# commit COST: a program that costs about as much; $commit has 12 digits of it.
commit() {
	cat >"$tmp/repository/cost.sh" <<END_OF_SCRIPT
#!/bin/sh
n=\$(cat "\$1/$1.count" 2>/dev/null || echo 0)
echo \$((n + 1)) >"\$1/$1.count"
awk -v n="\$n" 'BEGIN { x = sin(n * 78.233) * 43758.5453; x -= int(x); printf "cost %.6f\\\\n", $1 * (1 + .002 * x) }'
END_OF_SCRIPT
	chmod 755 "$tmp/repository/cost.sh"
	git -C "$tmp/repository" add cost.sh
	git -C "$tmp/repository" commit -qm "costs $1"
	commit=$(git -C "$tmp/repository" rev-parse --short=12 HEAD)
}
cat >"$lab/apps/app.yaml" <<END
command: ['{build}/cost.sh', '$tmp/scratch']
versions:
  main: { git: { repository: '$tmp/repository', reference: main, build: [test, -s, cost.sh] } }
repetitions: 2
warm_ups: 0
metric: { source: regex, pattern: 'cost ([0-9.]+)' }
END
printf '%s\n' 'comparisons: [{ application: app, against: [accepted, release] }]' 'fingerprints: { battery: none }' >"$lab/suite.yaml"

commit 100
first=$commit
git -C "$tmp/repository" tag v1.0
commit 100.03
second=$commit

what='the first night: the commit before, which is the release, too'
mkdir -p -m 700 "$lab/.assay"
mkfifo "$lab/.assay/night.log" # somebody else's, with no reader: a night waits for nobody
run -C "$lab" nightly run --format json
expect_status 0
expect_json .decisions 1
expect_json .decisions[0].candidate "main-$second"
expect_json .decisions[0].baseline "main-$first"
expect_json .decisions[0].decision pass

what='a slow commit, and the night before'
commit 110
third=$commit
run -C "$lab" nightly run --format json
expect_status 3
expect_json .decisions 2
expect_json .decisions[0].candidate "main-$third"
expect_json .decisions[0].baseline "main-$second"
expect_json .decisions[0].against previous
expect_json .decisions[1].baseline "main-$first"
expect_json .decisions[1].against release
expect_json .decisions[1].decision regression

what='other commands take such a version'
run -C "$lab" gate "app@main-$second" "app@main-$third" --format json
expect_status 3

what='it is accepted, and creep beyond the release is still seen'
run -C "$lab" baseline accept "app@main-$third" --reason 'more is computed'
expect_status 0
run -C "$lab" nightly run --format json
expect_status 3
expect_json .decisions 1
expect_json .decisions[0].baseline "main-$first"
expect_json .notes[0].code unchanged
expect_stdout "nothing has changed since the compared version: app@main-$third"
mv "$lab/suite.yaml" "$tmp/suite"
printf '%s\n' 'comparisons: [{ application: app, against: [accepted] }]' 'fingerprints: { battery: none }' >"$lab/suite.yaml"
run -C "$lab" nightly run
expect_status 0
expect_stdout 'nothing is compared' "app@main-$third"
mv "$tmp/suite" "$lab/suite.yaml"
commit 110.02
run -C "$lab" nightly run --format json
expect_json .decisions[1].baseline "main-$third"
expect_json .decisions[1].against accepted
expect_json .decisions[1].decision pass
id=$(json .decisions[1].id)
expect_json .decisions[0].baseline "main-$first"
expect_status 3

what='a decision beside an accepted baseline says so'
run -C "$lab" explain "$id"
expect_stdout "the baseline, main-$third, was accepted on 20" ': more is computed'
run -C "$lab" verify "$id"
expect_status 0
run -C "$lab" nightly show --format markdown
expect_status 3

what='a night for which the store is too large ends at once'
commit 100.09
cp "$lab/lab.yaml" "$tmp/lab.yaml"
echo 'quota_gib: 0.001' >>"$lab/lab.yaml"
head -c 2000000 /dev/zero >"$lab/.assay/padding"
run -C "$lab" nightly run --format json
expect_status 6
expect_json .decisions 0 .undecided 2 .notes[0].code quota
case $(json .finished_ms) in null) fail 'it has no end' ;; esac
case $(json .undecided[1].state) in 'nothing is measured: the store of '*'quota_gib'*) ;; *) fail 'its comparisons say another reason' ;; esac
refused=$(json .night)
cp "$tmp/lab.yaml" "$lab/lab.yaml"
rm "$lab/.assay/padding"

what='and the next one takes the present commit, as after one that was killed before it began to measure'
commit 100.1
for began in ended waiting; do
	[ $began = ended ] || sqlite3 "$lab/.assay/runs.db" "UPDATE night SET finished_ms = NULL, exit_status = NULL WHERE id = '$refused';
		UPDATE night_comparison SET state = 'waiting', detail = '' WHERE night = '$refused'; DELETE FROM night_note WHERE night = '$refused'"
	run -C "$lab" nightly run --dry-run --format json
	expect_json .night null .comparisons[0].candidate "main-$commit"
	run -C "$lab" nightly run --applications app --format json
	expect_json .decisions[0].candidate "main-$commit"
	cases=$((cases + 1))
	[ "$(sqlite3 "$lab/.assay/runs.db" 'SELECT count(*) FROM night WHERE finished_ms IS NULL')" = 0 ] || fail 'a night has no end'
done
run -C "$lab" nightly show "$refused" --format json
expect_json .notes[0].code given_up .undecided[0].state 'this night was ended by --anew: it is decided with the results that it has'

what='a version that cannot be built, and a deadline that is far'
printf '%s\n' 'comparisons: [{ application: app, against: [accepted, release], budget: 8h }]' 'fingerprints: { battery: none }' 'deadline: 4h' >"$lab/suite.yaml"
: >"$tmp/repository/cost.sh"
git -C "$tmp/repository" commit -qam broken
run -C "$lab" nightly run --format json
expect_status 6
expect_json .decisions[0].decision nothing_measured
expect_json .decisions[0].reasons[0].code not_run .notes 0
expect_stdout 'the build '
log=$(json .decisions[0].reasons[0].text | sed "s/.*see '\\(.*\\)'.*/\\1/")
[ -s "$log" ] || fail "there is no log '$log'"
run -C "$lab" explain "$(json .decisions[0].id)"
expect_status 0
expect_stdout "Next: 'assay run app --versions main-$(git -C "$tmp/repository" rev-parse HEAD | cut -c 1-12) --dry-run'"

what='the first line about an error is told, and where the rest is'
printf '%s\n' 'echo making' 'echo "cost.c:7: error: nonsense" >&2' 'echo "make: *** stop" >&2' 'exit 2' >"$tmp/repository/make.sh"
git -C "$tmp/repository" add make.sh
git -C "$tmp/repository" commit -qm 'broken otherwise'
sed -i 's/\[test, -s, cost.sh\]/[sh, -c, "if [ -e make.sh ]; then sh make.sh; fi"]/' "$lab/apps/app.yaml"
run -C "$lab" nightly run --format json
expect_status 6
expect_stdout "exit status 2: 'cost.c:7: error: nonsense'; see '"

what='a repository that is not there costs its application alone, and a manifest that cannot be read likewise'
none=$tmp/none/of-a-department-with-a-long-name/and-its-group/repositories/of-the-year-2026/and-of-others
printf '%s\n' 'command: [/bin/true]' "versions: { main: { git: { repository: $none, reference: main } } }" >"$lab/apps/gone.yaml"
echo 'versions: [' >"$lab/apps/torn.yaml"
printf '%s\n' 'files: [cost.sh]' "versions: { v1: { command: ['{files}/cost.sh', '$tmp/scratch'] }, v2: { command: ['{files}/cost.sh', '$tmp/scratch'] } }" \
	'repetitions: 2' 'warm_ups: 0' "metric: { source: regex, pattern: 'cost ([0-9.]+)' }" >"$lab/apps/whole.yaml"
git -C "$tmp/repository" show "$first:cost.sh" >"$lab/apps/cost.sh"
chmod 755 "$lab/apps/cost.sh"
printf '%s\n' "comparisons: [{ application: '[gtw]*' }]" 'fingerprints: { battery: none }' >"$lab/suite.yaml"
run -C "$lab" nightly run --format json
expect_status 6
expect_json .decisions 3
for i in 0 1 2; do
	case $(json .decisions[$i].application) in
	gone) expect_stdout "cannot use '$none' as a git repository: fatal: cannot change to '$none': No such file or directory" ;;
	torn) expect_stdout 'torn.yaml:' ;;
	whole) expect_json .decisions[$i].decision pass ;;
	*) fail "unexpected: $(json .decisions[$i].application)" ;;
	esac
done
run -C "$lab" nightly run --format junit
expect_status 6
expect_stdout '<testsuite name="gone"' '<testsuite name="torn"' '<testsuite name="whole"'

what='history that was rewritten: what was accepted is not there any more, nor what the branch was'
git -C "$tmp/repository" reset -q --hard "$first"
git -C "$tmp/repository" tag -d v1.0 >/dev/null
commit 100.07
git -C "$tmp/repository" reflog expire --expire=now --all
git -C "$tmp/repository" gc -q --prune=now
rm -rf "$lab/.assay/builds"
printf '%s\n' 'comparisons: [{ application: app }]' 'fingerprints: { battery: none }' >"$lab/suite.yaml"
run -C "$lab" nightly run --format json
expect_status 6
expect_json .decisions 2
expect_json .decisions[0].decision nothing_measured
expect_json .decisions[0].baseline "main-$third"
expect_stdout "no commit '$third'" 'baselines.yaml:' "accepted it as the baseline of app; where the history of its repository was rewritten" \
	"app@main-$third is not used as an earlier version"
expect_json .decisions[1].decision pass
expect_json .decisions[1].baseline "main-$first"
expect_json .notes[0].code commit_gone
finish
