#!/bin/sh
# Change points of drawn series whose changes are known.
needs=nothing
. tests/lib_evidence.sh
cmake --preset release >"$work/log" && cmake --build --preset release --target bench_change_points >>"$work/log"
{
	evidence_head 'Change points'
	cat <<'END'
A thousand series a row, 60 points each, drawn with normal noise of 1 % (seed 4711) where nothing else is said; level .01, smallest effect 1 %. Beside it the rule of
Apache Otava in its plainest form (Fleming and others, "Hunter", ICPE 2023; default of its page: p at most .001): the same division by energy
statistics, accepted where Student's t test of both sides says so, without its windows. It is our reading of its description, not a run
of the program: that is a Python package, which neither Debian nor npm has. Of rates it publishes few: in a year of use 63 regressions and
17 improvements, and one regression missed that a user reported (Ingo, talk at ICPE 2025); no share of false ones that we know of. Its paper
compares it with PELT and DYNP on real series with injected changes. Where nothing changes, what is found is false.

END
	build/release/tests/bench_change_points docs/evidence/nightly.csv
	cat <<'END'

*Recorded* are 600 runs of one program, one after another beside hogs that come and go ([raw numbers](nightly.csv)); a point is the median of four of
them, a series a stretch of 60 points from a place that is drawn, forwards or backwards, with the change planted: all are parts of one series. The
recorded machines of quiho have no such series: one version of each application, at one or two times.

Noise that remembers is found as changes by both, for a wave of nights that are slow alike is a change for as long as it lasts: `history` shows
the machines' fingerprints beside each change for this reason.
END
} >"$work/page"
evidence_done
