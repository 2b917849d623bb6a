#!/bin/sh
# How what inputs cost depends on lambda and on the inputs drawn: what the models keep, how much of it in each draw, and in how many rounds. Rows as
# of cost.sh, and with a directory KEPT those; PROGRAMS chooses some.
. tests/lib_evidence.sh
. tests/lib_debian.sh
. tests/lib_cost.sh
{
	evidence_head "What an input should cost: lambda, and what is kept"
	cat <<'END_TEXT'
Rows are those of [what an input should cost](cost.md). Ten draws of each number of inputs learned. *Columns*: all that are known or counted; those that never vary in what was learned, or follow another in it, leave; *terms of single columns*: of the model of degree 1, which is what the first LASSO keeps;
*terms*: of the default model, fewest to most of the draws, with products. *Columns used*: by terms, on average; *in 9 of 10 draws* and *in any*: how many are; *shared*: the part that two draws have both of what one of them has, on average over pairs of draws. Counts that go together take each other's place: columns that follow each
other in all inputs count as one here, those that nearly do as several.

The second table is of the LASSO of single columns alone, without cross-validation, coefficients not negative: lambda as a part of that at which all are 0; the columns that are kept, the error on inputs not drawn, and that of what was kept, fitted again without its price. The model chooses between all of these by cross-validation.

END_TEXT
	for program in ${PROGRAMS:-bzip2 lz4 sqlite3 jq mawk jsoncpp}; do
		cost_rows "$program"
		printf '## %s\n\n' "$program"
		build/release/tests/bench_cost "$kept/$program.rows" sensitivity
		echo
	done
} >"$work/page"
evidence_done
