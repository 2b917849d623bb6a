#!/bin/sh
# Decisions of nights that are replayed from recorded noise. RECORD=1 records it anew, on this machine: half an hour when it is quiet.
needs=nothing
. tests/lib_evidence.sh
[ -x build/release/tests/bench_looks ] || { cmake --preset release >"$work/log" && cmake --build --preset release --target assay bench_nightly bench_looks >>"$work/log"; }
raw=docs/evidence/nightly.csv
if [ -n "${RECORD:-}" ] || [ ! -f "$raw" ]; then
	"$assay" init "$work/lab" >"$work/log"
	echo 'hosts: [{ name: h1, transport: local, type: t1 }]' >>"$work/lab/lab.yaml"
	cat >"$work/lab/apps/burn" <<'END'
#!/bin/sh
exec awk 'BEGIN { for (i = 0; i < 100000; i++) x += i % 7; print x }'
END
	chmod 755 "$work/lab/apps/burn"
	printf '%s\n' 'files: [burn]' "command: ['{files}/burn']" 'versions: { a: , b: }' 'repetitions: 300' 'sampling: off' >"$work/lab/apps/burn.yaml"
	"$assay" -C "$work/lab" run burn --quiet >"$work/log"
	python3 - "$work/lab/.assay/runs.db" >"$raw" <<'END'
import json, sqlite3, sys
rows = sqlite3.connect(sys.argv[1]).execute("SELECT wall_ns, user_us, sys_us, signature FROM execution WHERE outcome = 'ok' ORDER BY taken_ms")
for wall, user, system, signature in rows:
    print(wall, user, system, json.loads(signature)["run_delay_ns"], sep=",")
END
fi
{
	evidence_head 'Decisions on replayed noise'
	awk -F, '{ wall[NR] = $1 / 1e6; cpu[NR] = ($2 + $3) / 1e3; waited[NR] = $4 / 1e6 }
		function median(x,   i, k, t) {
			for (i = 2; i <= NR; i++) for (k = i; k > 1 && x[k] < x[k - 1]; k--) { t = x[k]; x[k] = x[k - 1]; x[k - 1] = t }
			return x[int((NR + 1) / 2)]
		}
		END { printf "**Replayed, not measured on a fleet.** The noise is that of %d runs of one program (a loop over 1 MiB of memory), one after another on one machine that was\nbusy with other work ([raw numbers](nightly.csv)): medians of %.1f ms of wall-clock time, %.1f ms of processor time and %.1f ms of waiting\nfor a processor. ", NR, median(wall), median(cpu), median(waited) }' "$raw"
	cat <<'END'
Each pair has six hosts, each a stretch of that series from a place that is drawn (seed 17), with the versions in turn; the pairs
share one series, so that they are less different than as many nights. Planted: so much more processor time, and as much longer on
the wall. `looks`: as `assay gate --run` decides, at 3, 6, 12, 24 and 48 repetitions with corrected intervals; `all at once`: after 48.
The decision is by all the rules; "by wall alone" is what the interval of the wall-clock time says at the end: regression, inconclusive.

| design | planted | pairs | pass | improved | regression | inconclusive | environment | by wall alone | repetitions |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
END
	build/release/tests/bench_nightly "$raw" 300 0 .02 .03 .05 .1
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
