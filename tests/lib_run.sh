# What the scripts cli_run*.sh share, behind lib_cli.sh: a tiny application, laboratories that run it, and what must be left behind: nothing.
. "${ASSAY_SOURCE:?}/tests/lib_marked.sh"
[ -w /dev/shm ] || skip 'there is no /dev/shm to write to'

here="hosts:
  - name: here
    transport: local
    env: { ASSAY_TEST_MARK: '$tmp' }"

# hosts_here N: so many hosts that are this machine, each of a type of its own, as YAML.
hosts_here() {
	echo hosts:
	for i in $(seq "$1"); do
		echo "  - { name: host$i, transport: local, type: type$i, on: here, env: { ASSAY_TEST_MARK: '$tmp' } }"
	done
}

# run_lab NAME [HOSTS]: $lab with this machine as `here`, or with the hosts given (YAML); its commands carry a mark by which they are found.
run_lab() {
	lab=$tmp/$1
	"$ASSAY" init "$lab" >/dev/null
	printf '%s\n' "${2:-$here}" >>"$lab/lab.yaml"
	mkdir "$lab/apps/tiny"
	cat >"$lab/apps/tiny/run.sh" <<'END'
#!/bin/sh
# run.sh DIRECTORY VERSION INPUT SECONDS: alone in a new directory? Says a number that depends on version and input.
[ -z "$(ls -A)" ] || { echo 'the directory is not empty' >&2; exit 9; }
touch used
echo >>"$1/begun" # while there is DIRECTORY/hold, all runs behind so many wait
while [ "$(wc -l <"$1/begun")" -gt "$(cat "$1/hold" || echo 1000000)" ]; do sleep .02; done 2>/dev/null
exec 9>"$1/alone"
flock -n 9 || echo "$*" >>"$1/together"
sleep "$4"
echo "cost $((10 * ${#2} + ${#3}))"
END
	chmod 755 "$lab/apps/tiny/run.sh"
	mkdir -p "$tmp/scratch"
	cat >"$lab/apps/tiny.yaml" <<END
files: [tiny/run.sh]
command: ['{files}/run.sh', "$tmp/scratch", '{version}', '{input}', '{arguments}']
inputs: { x: { arguments: [0.01] }, yy: { arguments: [0.02] } }
versions: { a: , bb: }
repetitions: 3
time_limit: 20
metric: { source: regex, pattern: 'cost ([0-9]+)' }
END
}

# hold N: all runs that are begun behind the N-th from now on wait for `rm hold`.
hold() {
	: >"$tmp/scratch/begun"
	echo "$1" >"$tmp/scratch/hold"
}

# to_resume APP [OPTION...]: $resume becomes --resume when something was interrupted, else empty.
to_resume() {
	run -C "$lab" run "$@" --resume --dry-run
	resume=
	grep -q 'nothing to resume' "$tmp/out" "$tmp/err" || resume=--resume
}

# plan_id: of the latest plan of $lab, from what `run --format json` said.
plan_id() {
	json .plan
}

# Directories of a plan on this machine.
left_of() {
	find /dev/shm -maxdepth 1 -name "assay-session-*-$1-*" 2>/dev/null
}

nothing_left_of() {
	cases=$((cases + 1))
	for _ in $(seq 600); do # of a session that was killed: once the box's lock is free
		[ -z "$(left_of "$1")" ] && return
		sleep .1
	done
	fail "left on the host: $(left_of "$1")"
}

never_together() {
	cases=$((cases + 1))
	[ ! -e "$tmp/scratch/together" ] || fail "at the same time: $(head -n 3 "$tmp/scratch/together")"
}

# results_of APP...: every result that $lab has (application, version, machine, repetition, metric), a line each, in $tmp/set.
results_of() {
	"$ASSAY" -C "$lab" result export "$tmp/set.d" >/dev/null
	awk -F , -v wanted=" $* " 'index(wanted, " " $1 " ") { print $1 "@" $2, $3, $5, $7 }' "$tmp/set.d/results.csv" | sort >"$tmp/set"
}
