#!/bin/sh
# 1,000 hosts behind a stub launcher with drawn delays, deaths and queues: how they end, and what they cost the controller. Two minutes.
. tests/lib_evidence.sh
{
	evidence_head "A thousand hosts behind a command"
	/usr/bin/python3 tests/bench/launched_table.py "$assay" "$work" "${HOSTS:-1000}"
} >"$work/page"
evidence_done
