#!/bin/sh
# What each knob of emulated hosts moves: a host for each single profile, stressors of every kind on it, ROUNDS (1) times. Some five minutes.
needs=nothing
. tests/lib_evidence.sh
profiles=base,io,meta,vm,fault,walk,bw,clock,str,sort,malloc,process,sync,net,time
mkdir "$work/lab"
"$assay" host up "$work/lab" --profiles "$profiles" >&2
for round in $(seq "${ROUNDS:-1}"); do
	echo "round $round" >&2
	"$assay" -C "$work/lab" host measure --battery tests/bench/knobs.yaml >&2 || [ $? = 7 ] || exit 1
done
{
	evidence_head 'What the knobs of emulated hosts move'
	/usr/bin/python3 tests/bench/knobs_table.py "$work/lab" machines/emulated "$profiles"
} >"$work/page"
evidence_done
