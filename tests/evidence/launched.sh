#!/bin/sh
# 1,000 hosts behind a stub launcher with drawn delays, deaths and queues: how they end, and what they cost the controller; then MEASURED hosts
# (60,240: first so many, then so many) fingerprinted and used as a whole, killed and resumed. Ten minutes; root.
. tests/lib_evidence.sh
{
	evidence_head "A thousand hosts behind a command"
	/usr/bin/python3 tests/bench/launched_table.py "$assay" "$work" "${HOSTS:-1000}"
	printf '\n## Fingerprinted, and used\n\n'
	mkdir "$work/measured"
	/usr/bin/python3 tests/bench/launched_lab.py "$assay" "$work/measured" "${MEASURED:-60,240}"
} >"$work/page"
evidence_done
