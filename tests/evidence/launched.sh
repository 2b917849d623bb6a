#!/bin/sh
# Laboratories of HOSTS hosts (60,240,1000) behind a stub launcher with drawn delays, deaths and queues: a command on all of them, fingerprints
# and runs, killed and resumed; how hosts end, and what they cost the controller. Needs root.
. tests/lib_evidence.sh
{
	evidence_head "A thousand hosts behind a command"
	cat <<-'END_TEXT'
	Each host is a namespace with a machine id and `/dev/shm` of its own, behind a launcher with drawn delays. What is run there is short, and what
	goes there and comes back is as always: its stress-ng and its application are scripts that tell the host's own number (one pass of one stressor;
	two runs of one version). `dies_once`, `dies_within`: the host dies at work with all that is there, the first time or each time;
	`loses_launcher`: the launcher alone is killed then, and the stream stays; `dies_before`: the launcher ends, and no host was there; `hangs`: it
	says nothing for ten minutes; `wrong_status`: it ends with 9 whatever has happened; `noise`: it greets before the host answers; `queues`: 1 to 2 s
	pass before each start.

	END_TEXT
	/usr/bin/python3 tests/bench/launched_lab.py "$assay" "$work" "${HOSTS:-60,240,1000}"
} >"$work/page" || { cat "$work/page" >&2; exit 1; }
evidence_done
