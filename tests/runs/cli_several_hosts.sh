#!/bin/sh
# `host measure` and `run` on several hosts at once, each served by a thread of its own: everything that was asked of each is there, once, in the
# store and in the catalog. tests/run also runs it with the thread sanitizer.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_run.sh"
[ -x /usr/sbin/sshd ] || skip 'there is no /usr/sbin/sshd (openssh-server)'
[ "$(id -u)" = 0 ] || skip 'needs root, for emulated hosts'
chmod 755 "$tmp"
hosts=3
tidy() {
	"$ASSAY" host down "$tmp/lab" >/dev/null 2>&1
}

# A stress-ng that takes no time.
mkdir "$tmp/fake"
cat >"$tmp/fake/stress-ng" <<'END'
#!/bin/sh
[ "$1" = --version ] && { echo 'stress-ng, version 0.15.06 (gcc 12.2, x86_64 Linux 6.1)'; exit; }
while [ "$1" != -t ]; do shift; done
printf -- '---\nsystem-info:\n      stress-ng-version: 0.15.06\n\nmetrics:\n    - stressor: %s\n      bogo-ops: 100\n' "${3#--}"
printf '      wall-clock-time: 0.1\n      user-time: 0.1\n      system-time: 0.0\n\n...\n'
END
chmod 755 "$tmp/fake/stress-ng"
printf 'name: tiny\npasses: 2\nseconds: 10\nstressors:\n  - { stressor: cpu }\n  - { stressor: vm }\n  - { stressor: qsort }\n' >"$tmp/tiny.yaml"

what='several hosts'
run_lab apps
lab=$tmp/lab
run host up "$lab" --hosts $hosts --profiles base
expect_status 0
cp -r "$tmp/apps/apps/." "$lab/apps"
sed -i "s/^repetitions: .*/repetitions: 1/" "$lab/apps/tiny.yaml"
# Hosts of one box take turns: to the controller these are boxes of their own (their helpers still meet at the box's lock).
sed -i "s|^    env: {|& PATH: \"$tmp/fake:$PATH\",|; /on: this-box/d" "$lab/lab.yaml"
chmod 777 "$tmp/scratch"

what='fingerprints of several hosts'
run -C "$lab" host measure --battery "$tmp/tiny.yaml" --format json
expect_status 0
for i in $(seq 0 $((hosts - 1))); do
	expect_json ".hosts[$i].measured" 6
done
run -C "$lab" host list --format json
expect_status 0
expect_json .machines $hosts

what='runs on several hosts'
run -C "$lab" run tiny --seed 7 --format json
expect_status 0
expect_json .complete true
cases=$((cases + 1))
results_of tiny/x tiny/yy
[ "$(sort -u "$tmp/set" | wc -l)" = $((hosts * 2 * 2)) ] && [ "$(wc -l <"$tmp/set")" = $((hosts * 2 * 2)) ] ||
	fail "$(wc -l <"$tmp/set") results: $(head -n 3 "$tmp/set")"

what='what a version does with its time, measured on all hosts'
cat >"$lab/apps/calls.yaml" <<END
command: [dd, if=/dev/zero, of=/dev/null, bs=1, count=600000]
versions: { a: }
repetitions: 2
END
run -C "$lab" run calls
expect_status 0
run -C "$lab" profile calls --format json
expect_status 0
expect_json .levels[0].how measured
cases=$((cases + 1))
[ "$(json .sampled_runs)" = 0 ] || {
	[ "$(json .sampled_runs)" = $((hosts * 2)) ] || fail "$(json .sampled_runs) of $((hosts * 2)) runs have samples"
	tr -d ' \n' <"$tmp/out" | grep -q '"level":"category","name":"filedata","of":"kernel"' ||
		tr -d ' \n' <"$tmp/out" | grep -q '"code":"kernel_' || fail 'dd reads and writes'
}

what='signatures of what was run'
signatures() {
	sqlite3 "$lab/.assay/runs.db" 'SELECT signature FROM raw UNION ALL SELECT signature FROM execution' >"$tmp/out"
}
signatures
cases=$((cases + 1))
[ "$(grep -c '"wall_ns":[1-9].*"samples":"[0-9]' "$tmp/out") $(grep -c '"wall_ns":[1-9]' "$tmp/out")" = "$((hosts * (3 + 6))) $((hosts * (6 + 6)))" ] ||
	fail "of every stressor in every pass, with samples in the first, and of every run: $(grep -c samples "$tmp/out"), $(grep -c wall_ns "$tmp/out")"
run -C "$lab" host show --passes emu01 --format json
cases=$((cases + 1))
[ "$(json '.cells[0].accounts.wall_ns')" -gt 0 ] || fail "the kernel's accounts of a stressor: $(json '.cells[0].accounts.wall_ns')"
cases=$((cases + 1)) # which says whether an emulated host was busy
grep -q '"crowded_ns"' "$tmp/out" && ! grep -q '"crowded_percent"' "$tmp/out" && fail 'what waited for a CPU while stressors ran'
echo 'sampling: off' >>"$lab/apps/tiny.yaml"
run -C "$lab" run tiny --inputs x --versions a --format json
cases=$((cases + 1))
signatures
[ "$(grep -c '"samples"' "$tmp/out")" = $((hosts * (3 + 6))) ] || fail 'sampled in spite of sampling: off'
finish
