#!/bin/sh
# Change points of drawn series whose changes are known.
needs=nothing
. tests/lib_evidence.sh
cmake --preset release >"$work/log" && cmake --build --preset release --target bench_change_points >>"$work/log"
build/release/tests/bench_change_points docs/evidence/nightly.csv >"$work/tables"
{
	evidence_head 'Change points'
	cat <<'END'
Beside assay stands the method that Apache Otava publishes (Fleming and others, "Hunter: Using Change Point Detection to Hunt for Performance Regressions", ICPE 2023), written
again from that description: E-divisive means in overlapping windows of 50 points, accepted by Student's t test with p at most 0.01, of which the weakest are removed until
each has p at most 0.001 against its neighbours. It is our reading, not a run of the program, which neither Debian nor npm has. Of rates it publishes few: in a year of use
63 regressions and 17 improvements, and one regression missed that a user reported (Ingo, talk at ICPE 2025); no share of false ones that we know of.

## Histories

200 histories of 40 nights on three machines, each with normal noise of 1 %; a point is the median of the machines. Smallest change that matters: 3 %. *Found or false*: any
change is reported. *All exact*: each change is reported with the first version after it, 1 where there is none. *False*: a change is reported that is none within two nights of a real one. *Gone*:
in some night a change was reported that the history of the next night did not have within two nights: a creep has no place, and modes are not
distinguished from changes before eight points.

END
	sed -n '/^Histories/,$p' "$work/tables" | sed 1,2d
	cat <<'END'

## Single changes

A thousand series a row, 60 points each, drawn with normal noise of 1 % (seed 4711) where nothing else is said; level 0.01, smallest change that matters 1 %. Where nothing
changes, what is found is false.

END
	sed '/^Histories/,$d' "$work/tables"
	cat <<'END'

*Recorded* are 600 runs of one program, one after another beside load generators that come and go ([raw numbers](nightly.csv)); a point is the median of four of
them, a series a stretch of 60 points from a place that is drawn, forwards or backwards, with the change injected: all are parts of one series. The
recorded machines of quiho have no such series: one version of each application, at one or two times.

Otava's test finds more of what is hardly above the noise: a change of 1 %, one of 3 % three points before the end, and a step among two modes. There assay reports less, and says
from which size on a change would be found (`detectable`). Two spikes that follow each other at one height are a change that was taken back.

Noise that remembers is found as changes by both, for a wave of nights that are slow alike is a change for as long as it lasts: `history` shows
the machines' fingerprints beside each change for this reason.

## The penalty of a change

The penalties in `model/change_points.c` are quantiles of the largest penalty at which a series of independent normal noise still has a change, by simulation
(`bench_change_points --calibrate`; the seed is the number of points): one series in 100 exceeds the first, one in 1,000 the second. Between them it is interpolated in the logs of the number of points
and of the level. The unit is the square of the noise: of the median difference of neighbours, or of what the levels leave, if that is more.
END
} >"$work/page"
evidence_done
