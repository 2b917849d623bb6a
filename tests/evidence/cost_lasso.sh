#!/bin/sh
# The exact LASSO beside scikit-learn's on the counted features of Debian's programs: coefficients, and time for a path with five folds. With a
# directory KEPT, rows that are there are not measured again (cost.sh); PROGRAMS chooses some.
. tests/lib_evidence.sh
. tests/lib_debian.sh
. tests/lib_cost.sh
{
	evidence_head "The LASSO beside scikit-learn's"
	cat <<'END_TEXT'
Rows are drawn inputs of [what an input should cost](cost.md), columns their counted features and what is known before a run, of mean 0 and variance 1: counts that go together. As the model drops what follows another column before it
fits, columns leave here of whose deviation beside those before them less than a hundredth is left (and all behind as many as half of the rows): where a column is a sum of others the minimum itself is not unique, two programs may be at it and
apart, and where it nearly is one coordinate descent does not end. Both have the same rows: the path of 100 lambdas and that of each of five folds, and the coefficients (any sign) at the lambda with the least error on folds left out, by active sets
here (`lasso_path_compute()`, which the product uses) and by scikit-learn's LassoCV: at its own tolerance, with which it is not at the minimum; and as an *oracle*, with the first tolerance of 1e-11, 1e-13 and 1e-15 of the dual gap with which it is off by less than 1e-11
(or the last; *over* a limit it was given up). Seconds are of one processor, the least of five here and three there. *Off*: by how much a pull differs from lambda where a coefficient is not 0, or exceeds it where it is, at most, in deviations of the cost; of the exact minimum it is 0.
*Apart*: the largest difference of coefficients, in parts of the largest, from the oracle and from a single Lasso at the same lambda with tolerance 1e-15; of the latter also the largest difference of fitted values, in deviations of the cost.

| program | rows x columns | columns that are left | here, s | LassoCV, s | times | off | oracle, s | times | lambda here, there | off here | off oracle | apart | Lasso: off | apart | fitted values apart |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
END_TEXT
	for program in ${PROGRAMS:-bzip2 lz4 sqlite3 jq mawk jsoncpp}; do
		cost_rows "$program"
		/usr/bin/python3 tests/bench/lasso_peer.py "$kept/$program.rows" build/release/tests/bench_lasso | sed "s/^|/| $program |/"
	done
} >"$work/page"
evidence_done
