# The questions to commands that measure (tests/answers sources this): three emulated hosts and one that does not answer, this machine, and
# programs built here. Some two minutes. Keys, types and exit statuses are compared, and what files look like that come back.

live_laboratory() {
	cat >"$work/battery.yaml" <<'END'
name: tiny
passes: 2
seconds: 0.1
stressors:
  - { stressor: vecmath }
  - { stressor: "null" }
END
	ask_kind shape none host up "$work/live" --hosts 3 --profiles base,vm,str --format json
	cat >>"$work/live/lab.yaml" <<'END'
  - name: dead
    address: 127.0.0.1
    port: 9
    user: nobody
END
	for kind in probed emulated; do
		cat >"$work/live/apps/$kind.yaml" <<END
command: ['{build}/p', '{arguments}']
versions: { a: { directory: $fixture/builds/$kind-a }, b: { directory: $fixture/builds/$kind-b } }
inputs: { x: { arguments: [30] }, crash: { arguments: [40, crash] } }
repetitions: 2
warm_ups: 1
time_limit: 20
metric: { source: regex, pattern: 'cost ([0-9]+)' }
probe: { functions: [changed, same] }
END
	done
	sed -i 's/functions: .*/back_end: emulated }/' "$work/live/apps/emulated.yaml"
	cat >"$work/live/apps/sleeps.yaml" <<'END'
command: [sh, -c, 'sleep 1; echo cost 1', '{version}']
versions: { a: , b: }
repetitions: 4
warm_ups: 0
time_limit: 20
metric: { source: regex, pattern: 'cost ([0-9]+)' }
END
}

# shape LABORATORY WORD...
shape() {
	ask_kind shape "$@" --format json
}

live_fleet() {
	echo text >"$work/empty/local"
	shape live host list
	shape live host check
	shape live host check -w emu01
	shape live host check -w dead --connect-timeout 2
	for which in emu01,emu02 @all dead; do
		ask_kind shape live host exec -w "$which" --format json -- sh -c 'echo said; echo warned >&2'
		ask_kind status live host exec -w "$which" -- true
		shape live host copy -w "$which" "$work/empty/local" file
		shape live host copy --fetch -w "$which" file "$work/got"
		ask_kind status live host copy --fetch -w "$which" absent "$work/got"
	done
	ask_kind shape live host exec -w emu01 --format json -- false
	ask_kind shape live host exec -w emu01 --format json -- sh -c 'kill -9 $$'
	ask_kind shape live host exec -w emu01 --format json -- no-such-command
	ask_kind shape live host exec -w emu01 --timeout 1 --format json -- sleep 30
	ask_kind bytes live host exec -w emu01,emu03 -- echo line
	shape live host copy -w emu01 "$work/empty/absent" file
	shape live host trust -w emu01
	shape live host trust -w emu01 --replace
	shape live host trust -w dead
	: >"$work/live/known_hosts"
	shape live host check -w emu02
	shape live host trust -w emu01,emu02,emu03
}

live_fingerprints() {
	shape live host measure -w emu01,emu02,emu03 --battery "$work/battery.yaml"
	shape live host measure -w emu01,emu02,emu03 --battery "$work/battery.yaml" --resume
	shape live host measure -w emu01,dead --battery "$work/battery.yaml"
	shape live host measure -w dead --battery "$work/battery.yaml"
	shape live host measure -w emu02 --battery "$work/battery.yaml" --counters=perf::PAGE-FAULTS
	shape live host list --fingerprints
	shape live host show --passes emu01
	shape live host drift
	shape live host list
}

live_runs() {
	shape live run sleeps --dry-run -w emu01,emu02
	shape live run sleeps --resume -w emu01
	# Interrupted, and gone on with.
	begin status live run sleeps --seed 1 -w emu01,emu02 && interrupted live run sleeps --seed 1 -w emu01,emu02
	shape live run sleeps --resume --dry-run
	shape live run sleeps --resume
	shape live run sleeps --resume
	shape live run probed --seed 2 -w emu01,emu02 --inputs x
	shape live run probed --seed 2 -w emu01 --inputs crash
	shape live run probed --seed 2 -w emu01,dead --repetitions 1 --versions a
	shape live run probed --seed 2 -w dead
	shape live run probed --probe --seed 2 -w emu01 --inputs x
	shape live run emulated --probe --seed 2 -w emu01 --inputs x
	shape live samples probed@a
	shape live samples emulated@a --show ''
	shape live result list
	shape live result show probed/x@a
	shape live result show probed/crash@a --failed --output
	shape live detect probed@a probed@b --type base
}

# interrupted LABORATORY WORD...: by Ctrl-C after some seconds.
interrupted() {
	laboratory=$1
	shift
	status=0
	(cd "$work/empty" && timeout --preserve-status -s INT 4 "$ASSAY" -C "$work/$laboratory" "$@" >"$dir/$name.out" 2>"$dir/$name.err" </dev/null) || status=$?
	echo "$status" >"$dir/$name.status"
}

live_programs() {
	builds=$fixture/builds
	cp "$builds/calls.c" "$builds/seven.c" "$builds/app.h" "$work/empty"
	ask_kind status none probe --functions fib,work -o samples -- "$builds/calls" 30
	shape none samples samples
	ask_kind status none probe --functions nothing -o samples -- "$builds/calls" 30
	ask_kind status none probe --functions fib -o samples -- "$builds/not-for-the-probe" 30
	ask_kind status none probe --functions fib --counters perf::PAGE-FAULTS --budget 0 --input in -o counted -- "$builds/calls" 30
	shape none samples counted
	ask_kind status none build --for counters -- gcc -O2 -g -w -D_GNU_SOURCE seven.c -pthread -o seven
	ask_kind status none record --for counters -o emulated -- ./seven 4 12
	ask_kind status none record --for counters -o full --full --nodes 4 --functions parse,draw -- ./seven 2 12
	ask_kind status none record --for counters -o not -- "$builds/calls" 30
	shape none samples emulated
	shape none samples full
}

live_questions() {
	[ -e "$fixture/made-builds" ] || fixture
	trap '"$ASSAY" host down "$work/live" >/dev/null 2>&1; rm -rf "$work"' EXIT
	trap 'exit 130' INT TERM
	live_programs
	live_laboratory
	live_fleet
	live_fingerprints
	live_runs
	shape none host down "$work/live"
	shape none host down "$work/live"
	trap - EXIT
}
