#!/bin/sh
# The exact LASSO beside scikit-learn's on the counted features of Debian's programs: coefficients, and time for a path with five folds. With a
# directory KEPT, rows that are there are not measured again (cost.sh); PROGRAMS chooses some.
. tests/lib_evidence.sh
. tests/lib_debian.sh
. tests/lib_cost.sh
{
	evidence_head "The LASSO beside scikit-learn's"
	cat <<'END_TEXT'
Rows are drawn inputs of [what an input should cost](cost.md), columns their counted features and what is known before a run, of mean 0 and variance 1: counts that go together. The path of 100 lambdas
and that of each of five folds, and the coefficients (any sign) at the lambda with the least error on folds left out, by active sets here (`lasso_path_of()`, which the product uses) and by
scikit-learn 1.2.1's LassoCV with its own tolerance. Seconds are of one processor, the least of three. *Off*: by how much a pull differs from lambda where a coefficient is not 0, or exceeds it where it is, at most, in
deviations of the cost; of the exact minimum it is 0. *Apart*: the largest difference of coefficients, in parts of the largest, from LassoCV; from Lasso at the same lambda with tolerance 1e-13 and a million sweeps at
most; and from LassoLars there, which is exact where it does not diverge. A peer that is off itself is no oracle.

| program | rows x columns | here, s | LassoCV, s | times | lambda here, there | off here | off LassoCV | apart | Lasso: s | off | apart | LassoLars: off | apart |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
END_TEXT
	for program in ${PROGRAMS:-bzip2 lz4 sqlite3 jq mawk jsoncpp}; do
		cost_rows "$program"
		/usr/bin/python3 tests/bench/lasso_peer.py "$kept/$program.rows" build/release/tests/bench_lasso | sed "s/^|/| $program |/"
	done
} >"$work/page"
evidence_done
