#!/bin/sh
# What decisions of nights are worth: replayed from recorded noise, measured by calibration on an emulated fleet, under noise by force, and with
# nights that are killed. Hours of it: done in slices. Each slice goes on where the last one ended, for SECONDS_OF_SLICE (default: 8 hours), with its state
# in $NIGHTLY_STATE, and the page is made of what is there. PARTS names what is to go on, without a page; "" makes the page alone: each part may have a
# process of its own, with the same state. RECORD=1 records the noise anew. Needs root for a quota, stress-ng for hogs.
needs=nothing
. tests/lib_evidence.sh
state=${NIGHTLY_STATE:-$PWD/build/evidence-nightly}
until=$(($(date +%s) + ${SECONDS_OF_SLICE:-28800}))
parts=${PARTS-calibrations kills reboots nights}
lab=$state/lab-$(echo "$parts" | tr ' ' -)
mkdir -p "$state"
{ cmake --preset release -DASSAY_TESTS=ON && cmake --build --preset release --target assay bench_nightly bench_looks; } >"$work/log" # what is there is left
raw=docs/evidence/nightly.csv
raw_memory=docs/evidence/nightly_memory.csv
quota=/sys/fs/cgroup/cpu/assay-evidence-$$
hogs=
fleets=$lab
leave() {
	for pid in $hogs; do kill "$pid" 2>/dev/null || true; done
	[ ! -d "$quota" ] || rmdir "$quota" 2>/dev/null || true
}
time_left() { [ "$(date +%s)" -lt "$until" ]; }

# program DIRECTORY LOOPS: some 75 ms of processor time with 1500000
program() {
	mkdir -p "$1"
	printf '#!/bin/sh\nexec awk '\''BEGIN { for (i = 0; i < %d; i++) x += i %% 7; print x }'\''\n' "$2" >"$1/burn"
	chmod 755 "$1/burn"
}

# ---- noise, recorded once ----

manifest() {
	printf '%s\n' 'files: [burn]' "command: ['{files}/burn']" 'versions: { a: , b: }' 'repetitions: 300' 'sampling: off' >"$work/lab/apps/burn.yaml"
}

# Runs of one program, one after another, until the hogs are sent away: times, delays.
record() {
	"$assay" -C "$work/lab" run burn --quiet >"$work/log"
	for pid in $hogs; do kill "$pid" || true; done
	hogs=
	python3 - "$work/lab/.assay/runs.db" <<'END'
import json, sqlite3, sys
rows = sqlite3.connect(sys.argv[1]).execute("SELECT wall_ns, user_us, sys_us, signature FROM execution WHERE outcome = 'ok' ORDER BY taken_ms")
for wall, user, system, signature in rows:
    of = json.loads(signature)
    print(wall, user, system, of["run_delay_ns"], sep=",")
END
}

if [ -n "${RECORD:-}" ] || [ ! -f "$raw" ]; then
	"$assay" init "$work/lab" >"$work/log"
	echo 'hosts: [{ name: h1, transport: local, type: t1 }]' >>"$work/lab/lab.yaml"
	program "$work/lab/apps" 100000
	manifest
	for i in 1 2 3; do
		sh -c 'while :; do timeout $(($$ % 3 + 1)) sh -c "while :; do :; done"; sleep 1; done' &
		hogs="$hogs $!"
	done
	record >"$raw"
fi
if [ -n "${RECORD:-}" ] || [ ! -f "$raw_memory" ]; then
	rm -rf "$work/lab"
	"$assay" init "$work/lab" >"$work/log"
	echo 'hosts: [{ name: h1, transport: local, type: t1 }]' >>"$work/lab/lab.yaml"
	mkdir -p "$work/lab/apps"
	printf '#!/bin/sh\nexec awk '\''BEGIN { for (i = 0; i < 40000; i++) x[i * 7919 %% 40009] = i; for (k in x) s += x[k]; print s }'\''\n' >"$work/lab/apps/burn"
	chmod 755 "$work/lab/apps/burn"
	manifest
	sh -c 'while :; do stress-ng --stream 1 --timeout $(($$ % 2 + 1)) >/dev/null 2>&1; sleep 4; done' &
	hogs=$!
	record >"$raw_memory"
fi

# ---- an emulated fleet, its processes in a group whose quota can be taken away ----

fleet_up() {
	if mkdir "$quota" 2>/dev/null; then
		sh -c 'echo $$ >"$0/tasks"; exec "$@"' "$quota" "$assay" host up "$lab" --hosts 4 >/dev/null 2>&1
	else
		"$assay" host up "$lab" --hosts 4 >/dev/null 2>&1
	fi
	program "$lab/apps/same1" 1500000
	program "$lab/apps/same2" 1500000
	echo '# another build of the same' >>"$lab/apps/same2/burn"
	program "$lab/apps/slow" 1575000
	printf '%s\n' "command: ['{build}/burn']" 'versions: { same1: { directory: same1 }, same2: { directory: same2 }, slow: { directory: slow } }' \
		'repetitions: 4' 'sampling: off' >"$lab/apps/burn.yaml"
	printf '%s\n' 'comparisons: [{ application: burn, candidates: [same2, slow], against: same1, budget: 30s }]' \
		'fingerprints: { battery: none }' >"$lab/suite.yaml"
	for cost in 100 101 120; do
		printf '#!/bin/sh\necho cost %d\n' "$cost" >"$lab/apps/cost$cost"
		chmod 755 "$lab/apps/cost$cost"
	done
}

# hog KIND FILE: comes for a second and goes for some four, again and again, in the background; the file has when it was there.
hog() {
	case $1 in
	cpu) one='stress-ng --cpu 3 --timeout 1' ;;
	memory) one='stress-ng --stream 2 --timeout 1' ;;
	disk) one="stress-ng --hdd 2 --hdd-bytes 64M --temp-path $state --timeout 1" ;;
	quota) one='eval echo 40000 >"$quota/cpu.cfs_quota_us"; sleep 1; echo -1 >"$quota/cpu.cfs_quota_us"' ;;
	esac
	(
		trap 'exit 0' TERM
		while :; do
			sleep "$(awk -v s="$n$(date +%N)" 'BEGIN { srand(s); print 3 + 2 * rand() }')" & wait $!
			since=$(date +%s%3N)
			eval "$one" >/dev/null 2>&1 || true
			echo "$since $(date +%s%3N)" >>"$2"
		done
	) &
	hogs=$!
}

# ---- 1. calibrations ----

calibrations() {
	for percent in 2 3 5 10; do
		[ ! -s "$state/calibrate-$percent.json" ] || continue
		time_left || return 0
		"$assay" -C "$lab" calibrate burn@same1 --percent $percent --pairs "$([ $percent = 2 ] && echo 300 || echo 118)" --budget "${CALIBRATE:-4m}" --quiet --format json \
			>"$work/calibrate.json" && mv "$work/calibrate.json" "$state/calibrate-$percent.json"
	done
}

# ---- 2. noise by force ----

# Nights that are as short as they can be with the noise of a real one: a program of some 30 ms, and 12 s for a candidate that is the same.
nights() {
	revision=$(git rev-parse --short HEAD)
	grep -qsx "$revision" "$state/recorded-at" || echo "$revision" >>"$state/recorded-at"
	for version in same1 same2 slow; do
		program "$lab/apps/short-$version" "$([ $version = slow ] && echo 525000 || echo 500000)"
	done
	echo '# another build of the same' >>"$lab/apps/short-same2/burn"
	printf '%s\n' "command: ['{build}/burn']" 'versions: { same1: { directory: short-same1 }, same2: { directory: short-same2 }, slow: { directory: short-slow } }' \
		'repetitions: 8' 'sampling: off' >"$lab/apps/short.yaml"
	kinds='cpu memory quota disk'
	n=$(cat "$state/hogs.csv" 2>/dev/null | grep -c same2 || true)
	while [ "$n" -lt "${NIGHTS:-100}" ] && time_left; do
		kind=$(echo "$kinds" | cut -d' ' -f$((n % 4 + 1)))
		printf '%s\n' 'comparisons:' '  - { application: short, candidates: [same2], against: same1, budget: 12s }' >"$lab/suite.yaml"
		[ $((n / 4 % 2)) = 1 ] || echo '  - { application: short, candidates: [slow], against: same1, budget: 30s }' >>"$lab/suite.yaml"
		echo 'fingerprints: { battery: none }' >>"$lab/suite.yaml"
		rm -rf "$lab/.assay/runs.db"*
		: >"$work/hogs"
		hog "$kind" "$work/hogs"
		"$assay" -C "$lab" nightly run --quiet --format json >"$work/night.json" 2>>"$state/log" || true
		kill "$hogs"
		wait "$hogs" 2>/dev/null || true
		hogs=
		[ "$kind" != quota ] || echo -1 >"$quota/cpu.cfs_quota_us"
		python3 tests/bench/nightly_hogs.py row "$work/night.json" "$lab/.assay/runs.db" "$work/hogs" "$kind" >"$work/rows" && cat "$work/rows" >>"$state/hogs.csv"
		n=$((n + 1))
	done
}

# ---- 3. kill -9 ----

# A metric that no clock makes, so that the same decisions are the only right ones.
kills_lab() {
	rm -rf "$1"
	"$assay" init "$1" >/dev/null
	printf 'hosts:\n' >>"$1/lab.yaml"
	for i in 1 2 3; do echo "  - { name: h$i, transport: local, type: t$i, on: here }" >>"$1/lab.yaml"; done
	cp "$lab"/apps/cost* "$1/apps/"
	printf '%s\n' 'files: [cost100, cost101, cost120]' "versions: { v1: { command: ['{files}/cost100'] }, v2: { command: ['{files}/cost101'] }, v3: { command: ['{files}/cost120'] } }" \
		'repetitions: 4' "metric: { source: regex, pattern: 'cost ([0-9]+)' }" >"$1/apps/cost.yaml"
	printf '%s\n' 'comparisons: [{ application: cost, candidates: [v2, v3], against: v1 }]' 'fingerprints: { battery: none }' >"$1/suite.yaml"
}
decided() {
	python3 -c 'import json, sys; print([(d["application"], d["candidate"], d["decision"], d["ratio"], d["low"], d["high"]) for d in json.load(sys.stdin)["decisions"]])'
}
kills() {
	[ -s "$state/undisturbed" ] || {
		kills_lab "$work/kills"
		"$assay" -C "$work/kills" nightly run --quiet --format json 2>/dev/null | decided >"$state/undisturbed"
	}
	n=$(cat "$state/kills.csv" 2>/dev/null | grep -c . || true)
	while [ "$n" -lt 10 ] && time_left; do
		kills_lab "$work/kills"
		killed=0
		for times in 1 2 3; do # three times each, from before the first run to the fresh ones
			"$assay" -C "$work/kills" nightly run --quiet >/dev/null 2>&1 &
			pid=$!
			sleep "$(awk -v s="$n$times" 'BEGIN { srand(s); print .2 + 4 * rand() }')"
			kill -9 $pid 2>/dev/null && killed=$((killed + 1))
			wait $pid 2>/dev/null || true
		done
		"$assay" -C "$work/kills" nightly run --quiet --format json 2>/dev/null | decided >"$work/after"
		cmp -s "$work/after" "$state/undisturbed" && echo "$killed,same" >>"$state/kills.csv" || echo "$killed,differs" >>"$state/kills.csv"
		n=$((n + 1))
	done
}

# In a shell of its own: everything but the store is lost when that is killed, all processes at once, /dev/shm and /run; the next one has another boot id.
after_boot() {
	exec unshare --mount --pid --fork --kill-child=KILL --propagation private sh -c '
		mount -t proc proc /proc
		mount -t tmpfs -o mode=1777 tmpfs /dev/shm
		mount -t tmpfs tmpfs /run
		cat /proc/sys/kernel/random/uuid >/run/boot-id
		mount --bind /run/boot-id /proc/sys/kernel/random/boot_id
		exec "$@"' sh "$@"
}
reboots() {
	[ -s "$state/undisturbed" ] || return 0
	n=$(cat "$state/reboots.csv" 2>/dev/null | grep -c . || true)
	while [ "$n" -lt 10 ] && time_left; do
		kills_lab "$work/reboots"
		lost=0
		for times in 1 2 3; do
			after_boot "$assay" -C "$work/reboots" nightly run --quiet >/dev/null 2>&1 &
			pid=$!
			sleep "$(awk -v s="4$n$times" 'BEGIN { srand(s); print .2 + 4 * rand() }')"
			kill -9 $pid 2>/dev/null && lost=$((lost + 1))
			wait $pid 2>/dev/null || true
		done
		after_boot "$assay" -C "$work/reboots" nightly run --quiet --format json 2>/dev/null | decided >"$work/after"
		cmp -s "$work/after" "$state/undisturbed" && echo "$lost,same" >>"$state/reboots.csv" || echo "$lost,differs" >>"$state/reboots.csv"
		n=$((n + 1))
	done
}

[ -z "$parts" ] || fleet_up
for part in $parts; do $part; done
[ -z "${PARTS:-}" ] || exit 0

# ---- the page ----

{
	evidence_head 'What decisions of nights are worth'
	echo "The state of this page: what follows says how much of each part was measured; \`sh tests/run --evidence nightly\` goes on with the rest."
	echo
	echo '## Replayed from recorded noise'
	echo
	awk -F, '{ wall[NR] = $1 / 1e6; cpu[NR] = ($2 + $3) / 1e3; waited[NR] = $4 / 1e6 }
		function median(x,   i, k, t) {
			for (i = 2; i <= NR; i++) for (k = i; k > 1 && x[k] < x[k - 1]; k--) { t = x[k]; x[k] = x[k - 1]; x[k - 1] = t }
			return x[int((NR + 1) / 2)]
		}
		END { printf "**Replayed, not measured on a fleet.** The noise is that of %d runs of one program, one after another on one machine with hogs that come\nand go ([raw numbers](nightly.csv)): medians of %.1f ms of wall-clock time, %.1f ms of processor time and %.1f ms of waiting\nfor a processor. ", NR, median(wall), median(cpu), median(waited) }' "$raw"
	cat <<'END'
Each pair has six hosts, each a stretch of that series from a place that is drawn (seed 17), with the versions in turn; the pairs
share one series, so that they are less different than as many nights. Planted: so much more processor time, and as much longer on
the wall. `looks`: at 4, 8, 16, 32 and 64 repetitions with corrected intervals, as a night decides; `all at once`: after 64. Confirmed: fresh runs, drawn
likewise, showed the regression again. "By wall alone" is what the interval of the wall-clock time says at the end: regression, inconclusive.

| design | planted | pairs | pass | improved | regression | inconclusive | environment | confirmed | by wall alone | repetitions |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
END
	build/release/tests/bench_nightly "$raw" 300 0 .02 .03 .05 .1
	cat <<'END'

### Beside streams through memory

**Replayed as well**, from 600 runs of a program that goes all over some megabytes, beside another one that streams memory for a second or two, again
and again ([raw numbers](nightly_memory.csv); its last two columns are not used): the kernel's accounts do not show that, and processor time grows by it.

| design | planted | pairs | pass | improved | regression | inconclusive | environment | confirmed | by wall alone | repetitions |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
END
	build/release/tests/bench_nightly "$raw_memory" 300 0 .02 .05 .1
	cat <<'END'

## Calibrations on an emulated fleet

Four emulated hosts, a program of about 75 ms; `assay calibrate`. Pairs are drawn from the runs: all but the "distinct" ones share runs with others
(resampled). Measured is how much more processor time the planted version took.

| planted | measured | repetitions | pairs | distinct | pass | improved | regression | inconclusive | environment | confirmed | repetitions used |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
END
	for percent in 2 3 5 10; do
		[ ! -s "$state/calibrate-$percent.json" ] || python3 - "$state/calibrate-$percent.json" <<'END'
import json, sys
c = json.load(open(sys.argv[1]))
for r in c["comparisons"]:
    planted = "nothing" if r["kind"] == "identical" else f"{r['percent']} % {r['kind']}"
    measured = "" if r["measured"] is None else f"{100 * r['measured']:+.1f} %"
    print("|", " | ".join(str(x) for x in (planted, measured, c["runs_each"], r["pairs"], r["pairs"] - r["resampled"], r["pass"], r["improved"],
          r["regression"], r["inconclusive"], r["environment"], r["seen_again"], round(r["repetitions"], 1))), "|")
END
	done
	cat <<'END'

## Noise by force

Nights on four emulated hosts, of a program of some 30 ms, while a hog comes for a second and goes for three to five, from the first run to
the last: three processes that compute, two that stream memory, a quota of .4 processors for all hosts' processes, two that write to the disk. One candidate
is another build of the same, with a budget of 12 s; in half of the nights there is another one that computes 5 % more, with 30 s. Everything is measured, nothing replayed.

END
	evidence_recorded "$state"
	[ ! -s "$state/hogs.csv" ] || python3 tests/bench/nightly_hogs.py table "$state/hogs.csv"
	cat <<'END'

Of the runs beside a hog: *disturbed* are those that decisions named, *by the right cause* those that were named by what the hog withholds: the processor
(run_delay), the group's share (throttled), the disk or, by the writers, the processor (io_stalled, run_delay), and of those that stream memory the processor
(run_delay). *A tenth slower*: on the wall, than the median of the same version's runs on that host without a hog.
END
	echo
	echo '## Nights that are killed'
	echo
	[ ! -s "$state/kills.csv" ] || awk -F, '{ n++; kills += $1; same += $2 == "same" } END { printf "%d nights of two comparisons on three hosts, with a metric that no clock makes; %d times kill -9 at moments that were drawn. The same decisions, ratios and\nintervals as the undisturbed night: %d of %d.\n", n, kills, same, n }' "$state/kills.csv"
	[ ! -s "$state/reboots.csv" ] || awk -F, '{ n++; lost += $1; same += $2 == "same" } END { printf "\n%d more nights lost everything but the store %d times: all processes at once, /dev/shm and /run; another boot id. The same decisions: %d of %d.\n", n, lost, same, n }' "$state/reboots.csv"
	cat <<'END'

## Which correction

Simulated (normal noise of 8 % a run, types that differ by .5 %, 3,000 nights each; five looks at 4 to 64 repetitions; threshold 3 %): how
often the interval at the end holds the truth, how often 5 % is found, and after how many repetitions.

| | nothing changed, 3 types: holds | the same, 6 types | 5 %, 3 types: found | 5 %, 6 types: found | repetitions |
| --- | --- | --- | --- | --- | --- |
END
	build/release/tests/bench_looks
	cat <<'END'

Pocock's constant supposes normal estimates and is too narrow at two degrees of freedom. Of those that hold .95 whatever is changed, the
one in use was taken: it holds by the union bound whatever the looks have in common, and finds more than equal parts. `tests/gate/test_looks.c`
repeats its row.
END
} >"$work/page"
evidence_done
