#!/bin/sh
# How often something that was not changed is called faster, before and after fresh runs, and how often a real improvement is still found. A few
# minutes.
needs=nothing
. tests/lib_evidence.sh
{ cmake --preset release -DASSAY_TESTS=ON && cmake --build --preset release --target bench_nightly; } >"$work/log"
bench=build/release/tests/bench_nightly
# rows RECORD [own]
rows() {
	echo '| hosts | metric | planted | pairs | improved by the runs | confirmed | regression by the runs | confirmed | pass | inconclusive | environment | repetitions |'
	echo '| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |'
	"$bench" --improved "docs/evidence/$1.csv" 1000 0 -.1 .1
	[ -z "${2:-}" ] || "$bench" --improved-own "docs/evidence/$1.csv" 1000 0 -.1 .1
	echo
}
{
	evidence_head 'Improvements that are none'
	cat <<'END'
**Replayed from recorded noise**, as in [what decisions of nights are worth](nightly.md): 1,000 pairs a row, six hosts, looked at as a night looks, from 4
repetitions on; the smallest change that matters is 3 %. *By the runs*: what they say, as of `gate`. *Confirmed*: fresh runs, drawn likewise, showed it
again, so that a night calls it; what is left of the improvements by the runs, or the regressions, a night calls inconclusive. The baseline beside itself,
which also withdraws findings in a night, is not replayed.

*Apart*: each host has a stretch of the record from a place of its own. *Of one computer*: half of what disturbs a run disturbs the runs of all hosts at
that time, as with guests of one computer or a disk that all share, so that hosts agree on what is only noise: each run is the mean of one line of the
record for all and one of its own.

*Wall-clock*: processor time and waiting of the same runs help to decide. *Its own*: a metric that the program states, of which they say nothing. Planted
is so much less, or more, processor time; where nothing is planted versions change places at random.

## Beside hogs that compute

Half of the time of a run is waiting for a processor ([raw numbers](nightly.csv)).

END
	rows nightly own
	cat <<'END'
## Beside another program that streams through memory

Processor time grows by it, and the kernel's accounts do not show it ([raw numbers](nightly_memory.csv)).

END
	rows nightly_memory
} >"$work/page"
evidence_done
