#!/bin/sh
# What looks save beside designs that are fixed, and whether what a decision says that it could have found is found. Some three minutes.
needs=nothing
. tests/lib_evidence.sh
{ cmake --preset release -DASSAY_TESTS=ON && cmake --build --preset release --target bench_nightly; } >"$work/log"
bench=build/release/tests/bench_nightly
designs() {
	echo '| repetitions | passed at +0 % | called at +2 % | found at +3.5 % | +4 % | +5 % | +10 % | repetitions on the average, of each column |'
	echo '| --- | --- | --- | --- | --- | --- | --- | --- |'
	"$bench" --designs "docs/evidence/$1.csv" 300 0 .02 .035 .04 .05 .1
	echo
}
detectable() {
	echo '| repetitions | said to be detectable: median (90 % of the comparisons) | found |'
	echo '| --- | --- | --- |'
	"$bench" --detectable "docs/evidence/$1.csv" 300
	echo
}
{
	evidence_head 'What looks save, and what could have been found'
	cat <<'END'
**Replayed from recorded noise**, as in [what decisions of nights are worth](nightly.md): 300 comparisons a number, six hosts, decided as a night decides,
without fresh runs; the smallest effect that matters is 3 %. `looks`: at 4, 8, 16, 32 and 64 repetitions until it is settled; else one look after so many.

## What looks save

Beside hogs that compute ([raw numbers](nightly.csv)); each host's runs are a stretch of one record.

END
	designs nightly
	cat <<'END'
Beside another program that streams through memory ([raw numbers](nightly_memory.csv)):

END
	designs nightly_memory
	cat <<'END'
What was asked is half of the runs of a fixed design of the same power. Looks go on until a slowdown is certain to be as large as what matters, so that 2 %
are never called; which fixed design is "the same" has to find as many at +3.5 %, and to call none at +2 %.

## What could have been found

Each comparison in which nothing is planted says how large a slowdown it would have found four times in five; that much is planted into another one, of
all its time. Here noise is drawn from the record run by run, so that no two comparisons share any. .8 is wanted; 300 comparisons know that to .045.

Beside hogs that compute:

END
	detectable nightly
	echo 'Beside another program that streams through memory:'
	echo
	detectable nightly_memory
} >"$work/page"
evidence_done
