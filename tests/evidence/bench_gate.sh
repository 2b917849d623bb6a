#!/bin/sh
# A million results, 200 applications on 50 machines: how long it takes to decide about all of them, one command after the other, and to write
# their reports; and to show a night that decided the same, and to write its pages. Some five minutes; GATE_WORK keeps the laboratory.
. tests/lib_evidence.sh
kept=${GATE_WORK:-$work}
mkdir -p "$kept"
if [ ! -d "$kept/lab" ]; then
	# Version 1 of every tenth application takes 5 % longer.
	awk 'BEGIN {
		srand(20); print "application,version,machine,time,repetition,result"
		for (a = 0; a < 200; a++) for (m = 0; m < 50; m++) for (v = 0; v < 2; v++) for (r = 1; r <= 50; r++)
			printf "app%d,%d,node%02d,%d,%d,%.6g\n", a, v, m, 1500000000 + 86400 * v, r,
				(10 + m / 5) * (a % 10 == 0 && v ? 1.05 : 1) * (1 + .02 * (rand() - .5))
	}' >"$kept/results.csv"
	"$assay" init "$kept/lab" >/dev/null
	"$assay" -C "$kept/lab" result import "$kept/results.csv" >/dev/null
fi
# timed NAME COMMAND...: adds a line "wall-clock seconds, processor seconds, KiB, status" to $work/NAME.samples; its output is in $work/NAME.out.
timed() {
	/usr/bin/python3 -I -S - "$work/$1" "$@" <<-'END'
		import os, sys, time
		to, arguments = sys.argv[1], sys.argv[3:]
		began = time.perf_counter()
		output = [(os.POSIX_SPAWN_OPEN, 1, to + ".out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), (os.POSIX_SPAWN_DUP2, 1, 2)]
		_, status, used = os.wait4(os.posix_spawn(arguments[0], arguments, os.environ, file_actions=output), 0)
		wall = time.perf_counter() - began
		print(f"{wall:.5f} {used.ru_utime + used.ru_stime:.5f} {used.ru_maxrss} {os.waitstatus_to_exitcode(status)}", file=open(to + ".samples", "a"))
	END
}
# all COMMAND...: with app0 to app199.
all() {
	i=0
	while [ "$i" -lt 200 ]; do
		timed "$1" "$assay" -C "$kept/lab" "$@" "app$i@0" "app$i@1"
		i=$((i + 1))
	done
}
# The night: every result was run, and every decision is that of 'gate'.
night() {
	cp -r "$kept/lab" "$kept/night"
	mkdir "$work/documents"
	i=0
	while [ "$i" -lt 200 ]; do
		"$assay" -C "$kept/lab" gate --format json "app$i@0" "app$i@1" >"$work/documents/$i" 2>/dev/null || :
		i=$((i + 1))
	done
	sqlite3 -batch "$kept/night/.assay/runs.db" <<-END
		PRAGMA foreign_keys = OFF;
		CREATE TEMP TABLE app AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 199)
			SELECT i, 'app' || i AS name, printf('%016x', i + 1) AS id, CAST(readfile('$work/documents/' || i) AS TEXT) AS document FROM n;
		INSERT INTO plan (id, application, manifest, manifest_hash, repetitions, warm_ups, seed, started_ms, complete)
			SELECT id, name, '', '', 50, 0, 1, 1500000000000, 1 FROM app;
		UPDATE run SET plan = printf('%016x', substr(application, 4) + 1);
		INSERT INTO execution (plan, machine, version, input, repetition, application, taken_ms, outcome, metric, wall_ns, user_us, sys_us, out, err)
			SELECT plan, machine, version, '', repetition, application, taken_ms, 'ok', metric, CAST(metric * 1e9 AS INTEGER),
				CAST(metric * 1e6 AS INTEGER), 0, x'', x'' FROM run;
		INSERT INTO night VALUES ('0123456789abcdef', 1500000000000, 0, 1500090000000, 3, '');
		INSERT INTO night_comparison (night, number, manifest, application, input, candidate, baseline, against, hosts, min_effect,
			budget_s, state, plan, fresh_plan, decision, detail, seconds) SELECT '0123456789abcdef', i + 1, name, name, '', '1', '0', 'version', '', .03, 0, 'decided', id, '', id, '', 60 FROM app;
		INSERT INTO decision (id, night, number, made_ms, application, baseline, candidate, rules, plan, fresh_plan, min_effect, decision, by_processor,
			ratio, low, high, level, document) SELECT id, '0123456789abcdef', i + 1, 1500090000000, name, '0', '1', 1, id, '', .03,
			document ->> '\$.decision', 0, document ->> '\$.effect.ratio', document ->> '\$.effect.low', document ->> '\$.effect.high',
			document ->> '\$.effect.level', json_object('decision', document ->> '\$.decision', 'runs', json(document)) FROM app;
		INSERT INTO decision_reason SELECT id, key, value ->> '\$.code', value ->> '\$.text' FROM app, json_each(document, '\$.reasons');
		INSERT INTO decision_machine SELECT id, key, value ->> '\$.machine', ln(value ->> '\$.ratio') FROM app, json_each(document, '\$.machines');
	END
}
# of_night NAME COMMAND...
of_night() {
	name=$1
	shift
	timed "$name" "$assay" -C "$kept/night" nightly run "$@"
}
# row NAME COMMAND
row() {
	awk -v name="$1" '{ wall += $1; cpu += $2; most = $3 > most ? $3 : most; n[$4]++ }
		END { printf "| %s | %d | %.2f | %.2f | %.0f | %d, %d, %d |\n", name, NR, wall, cpu, most / 1024, n[0], n[3], NR - n[0] - n[3] }' "$work/$2.samples"
}
all gate --format json
all report -o "$work/page"
[ -d "$kept/night" ] || night
of_night show show
of_night junit show --format junit
of_night pages pages -o "$work/pages"
{
	evidence_head 'Deciding about a million results'
	echo '200 applications on 50 machines without fingerprints, two versions, 50 repetitions each; every tenth is 5 % slower. A command for each'
	echo 'application, one after the other, as a script would; and a night of the same, whose pages decide about all of them anew from the raw results'
	echo 'and render them. Wanted: 5 s and 256 MiB to decide and render all.'
	echo
	echo "| command | applications | wall-clock s | processor s | MiB, the most | ended with 0, 3, another status |"
	echo '| --- | ---: | ---: | ---: | ---: | --- |'
	row '`assay gate --format json`' gate
	row '`assay report -o`' report
	row '`assay nightly show` (the whole night)' show
	row '`assay nightly show --format junit` (the whole night)' junit
	row "\`assay nightly pages\` (the whole night: $(find "$work/pages" -type f | wc -l) files, $(du -sm "$work/pages" | cut -f 1) MiB)" pages
	echo
	echo 'Every command of `gate`, wall-clock seconds:'
	echo
	awk '{ printf "%s%.3f", (NR > 1 ? " " : ""), $1 } END { print "" }' "$work/gate.samples" | fold -s -w 140
	echo
	echo 'Of `report`:'
	echo
	awk '{ printf "%s%.3f", (NR > 1 ? " " : ""), $1 } END { print "" }' "$work/report.samples" | fold -s -w 140
} >"$work/page.md"
mv "$work/page.md" "$work/page"
table=docs/evidence/bench_gate
evidence_done
