# `variance: yes`: records of runs come home, `timeline APP@VERSION` finds the run that lost most, and a slowdown that others made is no regression.
# What happened in the records is known: the program has them made, and is linked statically, so that nothing else is recorded.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_here.sh"
command -v gcc >/dev/null || skip 'there is no gcc'
command -v sqlite3 >/dev/null || skip 'there is no sqlite3'
tidy() { kill_marked; }

cat >"$tmp/made.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
/* made COST PROGRAM ARGUMENT...: PROGRAM DIRECTORY ARGUMENT..., in the directory for records; says the cost, and a little noise */
int main(int argc, char **argv)
{
	struct timespec now;
	int status;

	(void)argc;
	if (fork() == 0) {
		const char *program = argv[2];

		argv[1] = (char *)program;
		argv[2] = getenv("ASSAY_INTERPOSE_DIRECTORY");
		unsetenv("LD_PRELOAD");
		execv(program, argv + 1);
		_exit(127);
	}
	wait(&status);
	clock_gettime(CLOCK_REALTIME, &now);
	printf("cost %.9f\n", atof(argv[1]) * (1 + (double)(now.tv_nsec / 1000 % 1000) * 1e-6));
	return status != 0;
}
C
make_lab lab
mkdir "$tmp/build"
gcc -static -O1 "$tmp/made.c" -o "$tmp/build/made" 2>"$tmp/err" || skip 'nothing can be linked statically'
# version NAME COST ARGUMENTS: of tool_variance
version() { echo "  $1: { directory: $tmp/build, command: ['{build}/made', '$2', '${ASSAY_VARIANCE:?}', '2', '2', 'counted', 'whole'$3] }"; }
{
	echo 'repetitions: 4'
	echo 'warm_ups: 0'
	echo 'variance: yes'
	echo "metric: { pattern: 'cost (.*)' }"
	echo 'versions:'
	version old 2 ''
	version queue 3 ", '1:0:99:queue:1.5'"
	version slow 3 ", '1:0:99:slow:1.5'"
} >"$lab/apps/p.yaml"

what='records come home with the runs'
run -C "$lab" run p
expect_status 0
run -C "$lab" timeline p@queue --format json
expect_status 0
expect_json .run.recorded 4
expect_json .run.machine here
expect_json '.regions[0].processes[0].rank' 1
expect_json '.regions[0].parts[0].cause' run_queue
expect_json .by_environment 1
run -C "$lab" timeline p@old
expect_stdout 'no variance' 'of 4 recorded runs'
sed -n 2,4p "$tmp/out" | grep -q 'recorded runs lost most: machine here, repetition' || fail 'which run it is stands beside the answer'

what='a slowdown that others made'
run -C "$lab" gate p@old p@queue --format json
expect_status 5
expect_json .decision environment
expect_json '.reasons[0].code' variance
expect_json .variance.explains true
expect_json '.variance.sides[1].runs' 4
run -C "$lab" gate p@old p@queue
expect_stdout 'environment ' 'times without what the environment cost them: in repetition ' ' on here, rank 1 lost' 'waiting for a CPU that other programs were using'
run -C "$lab" report p@old p@queue -o "$tmp/page.html"
expect_status 0
expect_stdout 'environment'
grep -q 'Time lost to the environment' "$tmp/page.html" || fail 'the page has no section on variance'

what='a slowdown of the code'
run -C "$lab" gate p@old p@slow --format json
expect_status 3
expect_json .decision regression
expect_json .variance.explains false

what='an improvement that others made, by what they took from the baseline, and one of the code'
run -C "$lab" gate p@queue p@old --format json
expect_status 5
expect_json .decision environment '.reasons[0].code' variance .variance.explains true '.variance.sides[0].runs' 4
run -C "$lab" gate p@slow p@old --format json
expect_status 0
expect_json .decision improved .variance.explains false

what='records that are gone: it is said that they cannot be analysed'
mv "$lab/.assay/samples" "$tmp/samples"
run -C "$lab" gate p@old p@queue --format json
expect_status 3
expect_json '.variance.sides[1].runs' 0
expect_json '.variance.sides[1].unseen' 4
run -C "$lab" gate p@old p@queue
expect_stdout '4 recorded runs of the candidate cannot be analysed' 'is missing: restore it'
mv "$tmp/samples" "$lab/.assay/samples"
sqlite3 "$lab/.assay/runs.db" 'UPDATE sample_file SET pruned = 1 WHERE repetition > 1'
run -C "$lab" gate p@old p@queue --format json
expect_json '.variance.sides[1].runs' 1 '.variance.sides[1].unseen' 3
run -C "$lab" gate p@old p@queue
expect_stdout '3 recorded runs of the candidate cannot be analysed' 'was removed by'
sqlite3 "$lab/.assay/runs.db" 'UPDATE sample_file SET pruned = 0'

what='a record file that is wrong does not take those of other processes with it'
printf '#!/bin/sh\necho damaged >"$ASSAY_INTERPOSE_DIRECTORY/1-0.samples"\nexec /bin/ls /\n' >"$tmp/build/wrong"
chmod 755 "$tmp/build/wrong"
{
	echo 'repetitions: 1'
	echo 'warm_ups: 0'
	echo 'variance: yes'
	echo 'versions:'
	echo "  one: { directory: $tmp/build, command: ['{build}/wrong'] }"
} >"$lab/apps/wrong.yaml"
run -C "$lab" run wrong
expect_status 0
expect_stdout 'the records of a process are not kept: 1-0.samples: not a sample file'
run -C "$lab" timeline wrong@one --format json
expect_status 0
expect_json .run.recorded 1

what='what is more than is fetched of a run is left out alone'
printf '#!/bin/sh\ntruncate -s 300M "$ASSAY_INTERPOSE_DIRECTORY/2-0.samples"\nexec /bin/ls /\n' >"$tmp/build/wrong"
run -C "$lab" run wrong
expect_status 0
expect_stdout 'exceed the limit for a run (256 MiB in 8192 files): 1 of 4 files are excluded' 'on the machine itself keeps all'
run -C "$lab" timeline wrong@one --format json
expect_status 0
expect_json .processes 3

what='the directory for records is removed while the program runs'
printf '#!/bin/sh\nrm -r "$ASSAY_INTERPOSE_DIRECTORY"\nexec /bin/ls /\n' >"$tmp/build/wrong"
run -C "$lab" run wrong
expect_status 0
expect_stdout 'its records are missing: their directory was removed during the run'

what='a stored file that is gone, of one process, and of a whole run'
# stored REPETITION: the paths of its record files.
stored() {
	sqlite3 "$lab/.assay/runs.db" "SELECT '$lab/.assay/samples/' || substr(hash, 1, 2) || '/' || hash || '.samples.zst' FROM sample_file
		JOIN execution USING (plan, machine, version, input, repetition) WHERE application = 'gone' AND repetition = $1 ORDER BY hash"
}
printf '#!/bin/sh\n/bin/ls / >/dev/null\n/bin/ls /\n:\n' >"$tmp/build/wrong"
sed 's/repetitions: 1/repetitions: 3/' "$lab/apps/wrong.yaml" >"$lab/apps/gone.yaml"
run -C "$lab" run gone
run -C "$lab" timeline gone@one --format json
expect_status 0
expect_json .unreadable_files 0
expect_json .processes 3
expect_json .run.unreadable 0
rm "$(stored 1 | head -n 1)"
for repetition in 2 3; do
	for file in $(stored $repetition); do rm "$file"; done
done
run -C "$lab" timeline gone@one --format json
expect_status 0
expect_json .unreadable_files 1
expect_json .processes 2
expect_json .run.unreadable 2
run -C "$lab" timeline gone@one
expect_stdout '1 record file cannot be read: the sample file' 'is missing: restore it' '2 of 3 recorded runs cannot be read'
for file in $(stored 1 | tail -n 2); do rm "$file"; done
run -C "$lab" timeline gone@one
refused 1 'is missing: restore it'

what='nothing was recorded'
run -C "$lab" timeline p@none
refused 6 'variance: yes' 'not linked statically'
run -C "$lab" inspect p@old
refused 2 'no samples'
finish
