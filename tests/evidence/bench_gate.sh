#!/bin/sh
# A million results, 200 applications on 50 machines: how long it takes to decide about all of them, one command after the other, and to write
# their reports. Some two minutes; GATE_WORK keeps the laboratory.
. tests/lib_evidence.sh
kept=${GATE_WORK:-$work}
mkdir -p "$kept"
if [ ! -d "$kept/lab" ]; then
	mkdir -p "$kept/package"
	# Version 1 of every tenth application takes 5 % longer.
	awk 'BEGIN {
		srand(20); print "giturl,commit,user,timestamp,benchmark,machine,repetition,test,result,version"
		for (a = 0; a < 200; a++) for (m = 0; m < 50; m++) for (v = 0; v < 2; v++) for (r = 1; r <= 50; r++)
			printf "u,c,me,%d,app%d,node%02d,%d,app%d,%.6g,%d\n", 1500000000 + 86400 * v, a, m, r, a,
				(10 + m / 5) * (a % 10 == 0 && v ? 1.05 : 1) * (1 + .02 * (rand() - .5)), v
	}' >"$kept/package/results.csv"
	"$assay" init "$kept/lab" >/dev/null
	"$assay" -C "$kept/lab" import quiho "$kept/package" >/dev/null
fi
# all COMMAND...: with app0 to app199. Adds a line "seconds KiB status" a run to $work/samples.
all() {
	: >"$work/samples"
	i=0
	while [ "$i" -lt 200 ]; do
		/usr/bin/time -a -o "$work/samples" -f '%e %U %S %M %x' "$assay" -C "$kept/lab" "$@" "app$i@0" "app$i@1" >/dev/null 2>&1 || :
		i=$((i + 1))
	done
	grep -v '^Command' "$work/samples" >"$work/$1.samples"
}
# row NAME COMMAND
row() {
	awk -v name="$1" '{ wall += $1; cpu += $2 + $3; most = $4 > most ? $4 : most; n[$5]++ }
		END { printf "| %s | %d | %.2f | %.2f | %.0f | %d, %d, %d |\n", name, NR, wall, cpu, most / 1024, n[0], n[3], NR - n[0] - n[3] }' "$work/$2.samples"
}
all gate --format json
all report -o "$work/page"
{
	evidence_head 'Deciding about a million results'
	echo '200 applications on 50 machines without fingerprints, two versions, 50 repetitions each; every tenth is 5 % slower. A command for each'
	echo 'application, one after the other, as a script would. Wanted: 5 s and 256 MiB to decide and render all.'
	echo
	echo "| command | applications | wall-clock s | processor s | MiB, the most | ended with 0, 3, another status |"
	echo '| --- | ---: | ---: | ---: | ---: | --- |'
	row '`assay gate --format json`' gate
	row '`assay report -o`' report
	echo
	echo 'Every command of `gate`, wall-clock seconds:'
	echo
	awk '{ printf "%s%s", (NR > 1 ? " " : ""), $1 } END { print "" }' "$work/gate.samples" | fold -s -w 140
	echo
	echo 'Of `report`:'
	echo
	awk '{ printf "%s%s", (NR > 1 ? " " : ""), $1 } END { print "" }' "$work/report.samples" | fold -s -w 140
} >"$work/page.md"
mv "$work/page.md" "$work/page"
table=docs/evidence/bench_gate
evidence_done
