#!/bin/sh
# Six machines over 26 weeks: how often `host drift` says of an unchanged one that it differs, and how soon it finds one that is slower.
# The method before is that of a revision that is named; its numbers are kept here.
needs=nothing
. tests/lib_evidence.sh
cmake --preset release >"$work/log" && cmake --build --preset release --target bench_drift >>"$work/log"
build/release/tests/bench_drift docs/evidence/drift.csv "${REPETITIONS:-200}" >"$work/tables"
{
	evidence_head 'Drift: six machines over 26 weeks'
	cat <<'END'
## The noise between sessions

From [drift.csv](drift.csv): 72 sessions of the battery `quick` (3 passes), on six emulated hosts of one machine with two processors, which changed in nothing. Twelve rounds,
one every two and a half to four minutes, while builds and tests of other work ran there: a load of 1 in the first round, 12 to 24 in the others. Standard deviations of
logs of rates per second of CPU time. *Between sessions*: of the medians, without the part that the passes explain. *In common*: of the median over the stressors of how far
each is from its mean on the host.

END
	sed '/^$/,$d' "$work/tables"
	cat <<'END'

Load shows little in rates per second of CPU time: what stressors have in common is 2 %, though single ones vary by up to 50 %. How much a stressor varies
between sessions goes with how much it varies between passes. Between consecutive rounds what is in common has a correlation of 0.17; the kurtosis of a stressor goes from 2 to 20 (normal: 3).

## Weeks

Drawn laboratories of six machines of one type, through the code of `host drift`, which is asked every week from the second on: 200 laboratories per row. In each the third machine is
10 % slower in everything from a drawn week on, the fifth to the 24th. *Unchanged hosts*: share of the weeks of the unchanged hosts in which one is said to differ, from its past or from its type.
*Weeks with one*: share of the weeks in which that is said of any. *Found*: the slower one is, in the week of the change or one of the next two.

END
	sed '1,/^$/d' "$work/tables"
	cat <<'END'

*Recorded* are whole recorded sessions, or the first passes of them: for a week either a round is drawn, and a session of it for each host, or any session for each host. *Normal* noise has the deviations of the first table;
*heavy tails* are t with 3 degrees of freedom, of stressors, passes, and of what is in common. The busy host is 20 % slower in 0.3 of its weeks, and its conditions say a load of 3.9 on 4 processors instead of 0.05.

The method before (revision 3f4d306e: the first and the latest fingerprint with a constant of .025 for the noise between sessions, and from six fingerprints on the best division of each stressor's history), in the same laboratories:

| noise | unchanged hosts | weeks with one | found in three weeks | ever |
| --- | --- | --- | --- | --- |
| recorded, a round for all hosts | 0.173 | 0.540 | 0.98 | 1.00 |
| recorded, each host drawn | 0.176 | 0.636 | 0.96 | 1.00 |
| normal, as large as recorded | 0.036 | 0.182 | 0.76 | 0.98 |

Where what the stressors of a host have in common varies by 4 % from week to week, 10 % are found in three weeks in 0.41, and later in 0.79. A noise that remembers from week to week raises the rate:
differences of neighbours do not show all of it.
END
} >"$work/page"
evidence_done
