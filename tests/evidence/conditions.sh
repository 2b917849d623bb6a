#!/bin/sh
# Whether the first finding about a real program is the disturbance that it had: cause, place in time and loss. Some 25 minutes, with breaks where
# wanted: CORPUS=DIRECTORY keeps what was recorded, SECONDS_NOW=N measures for so long and says what is missing (0: judges what there is).
# SEED: when each is disturbed. RUNS: of each program and disturbance. Needs root and cgroups of version 1.
. tests/lib_evidence.sh
corpus=${CORPUS:-$work/corpus}
sh tests/install mpi
mkdir -p "$corpus"
[ -f "$corpus/recorded-at" ] || git rev-parse --short HEAD >"$corpus/recorded-at"
/usr/bin/python3 tests/bench/conditions_real.py "$assay" "$corpus" "${SEED:-1}" "${RUNS:-3}" "${SECONDS_NOW:-3600}" >"$work/found"
{
	evidence_head 'Conditions: real programs and known disturbances'
	evidence_recorded "$corpus"
	cat <<-END
	Two ranks of MPI (\`tests/apps/special/four.c\`), GraphicsMagick (OpenMP), redis under load, a pipeline of sort, gzip and dd, two threads in Python, SQLite by
	Python, dd with synchronous writes, and hpcc. From a drawn time on, the process that uses most CPU time is disturbed for 1.5 s:

	- stop: by SIGSTOP and SIGCONT. The loss is that time.
	- quota: 20 % of a CPU for the cgroup of the whole program. The loss is the run-queue delay of the thread that waited most, or of all threads, as
	  /proc/PID/task/TID/schedstat has it.
	- load: two other programs compute on each CPU. The same.
	- disk: 40 reads and 40 writes a second. The loss is the time in which a thread of the process was in state D, read every 2 ms.
	- neighbour: another program walks over 64 MB of memory on the other CPU. Nobody counts the loss: right if the first finding names no wait.

	A cell has how often the first finding is right in cause; in place (the process, and .7 of what either lasts); in loss (the run time lost, within 10 %). Drawn with seed ${SEED:-1}.

	END
	cat "$work/found"
} >"$work/page"
evidence_done
