#!/bin/sh
# Nights look at the records of runs: what others took from the candidate's is no regression, costs no fresh runs, and can be verified as long as the
# records are there. The program makes the records, so that their content is known. Real disturbances: `sh tests/run --evidence nightly`.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_run.sh"
command -v gcc >/dev/null || skip 'there is no gcc'
command -v sqlite3 >/dev/null || skip 'there is no sqlite3'

cat >"$tmp/made.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
/* made COST SCRATCH NAME N PROGRAM ARGUMENT...: PROGRAM DIRECTORY ARGUMENT..., in the directory for records, with the last word "slow" made "queue"
 * from the Nth run of this name on; says the cost, and a little noise. Runs of this name after as many as SCRATCH/hold.NAME has bytes wait while it
 * is there. */
int main(int argc, char **argv)
{
	char path[4096], *last = strstr(argv[argc - 1], ":slow:"), other[100];
	struct timespec now;
	struct stat hold;
	int status, runs;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", argv[2], argv[3]);
	file = fopen(path, "a+");
	fputc('.', file);
	runs = (int)ftell(file);
	fclose(file);
	snprintf(path, sizeof(path), "%s/hold.%s", argv[2], argv[3]);
	while (stat(path, &hold) == 0 && runs > hold.st_size)
		usleep(10000);
	if (last && runs >= atoi(argv[4])) {
		snprintf(other, sizeof(other), "%.*s:queue:%s", (int)(last - argv[argc - 1]), argv[argc - 1], last + 6);
		argv[argc - 1] = other;
	}
	if (fork() == 0) {
		const char *program = argv[5];

		argv[4] = (char *)program;
		argv[5] = getenv("ASSAY_INTERPOSE_DIRECTORY");
		unsetenv("LD_PRELOAD");
		execv(program, argv + 4);
		_exit(127);
	}
	wait(&status);
	clock_gettime(CLOCK_REALTIME, &now);
	printf("cost %.9f\n", atof(argv[1]) * (1 + (double)(now.tv_nsec / 1000 % 1000) * 1e-6));
	return status != 0;
}
C
mkdir "$tmp/build" "$tmp/scratch"
run_lab night "$(hosts_here 3)"
rm "$lab/apps/tiny.yaml" "$lab"/apps/*.example* 2>/dev/null
gcc -static -O1 "$tmp/made.c" -o "$tmp/build/made" 2>"$tmp/err" || skip 'nothing can be linked statically'
# version NAME COST N ARGUMENTS: of tool_variance
version() { echo "  $1: { directory: $tmp/build, command: ['{build}/made', '$2', $tmp/scratch, $1, '$3', '${ASSAY_VARIANCE:?}', '2', '2', 'counted', 'whole'$4] }"; }
{
	printf '%s\n' 'repetitions: 2' 'warm_ups: 0' 'variance: yes' "metric: { pattern: 'cost (.*)' }" 'versions:'
	version old 2 0 ''
	version queue 3 0 ", '1:0:99:queue:1.5'"
	version slow 3 1000 ", '1:0:99:slow:1.5'"
	version later 3 7 ", '1:0:99:slow:1.5'" # the first six runs are the first look
} >"$lab/apps/p.yaml"
# suite CANDIDATES
suite() {
	printf '%s\n' "comparisons: [{ application: p, candidates: [$1], against: old, budget: 2s }]" 'fingerprints: { battery: none }' >"$lab/suite.yaml"
}
# of CANDIDATE MEMBER: of its decision; of the document where MEMBER begins with a dot
of() {
	sqlite3 "$lab/.assay/runs.db" "SELECT $(case $2 in .*) echo "json_extract(document, '\$$2')" ;; *) echo "$2" ;; esac) FROM decision
		WHERE candidate = '$1' ORDER BY made_ms DESC, number DESC LIMIT 1"
}
# expect_of CANDIDATE MEMBER VALUE
expect_of() {
	cases=$((cases + 1))
	[ "$(of "$1" "$2")" = "$3" ] || fail "$2 of $1 is $(of "$1" "$2"), expected $3"
}

what='a slowdown that others made, one of the code, and one that fresh runs cannot confirm'
suite 'queue, slow, later'
run -C "$lab" nightly run
expect_status 3
expect_stdout '1 regression, 2 environment' 'p@queue: the candidate'"'"'s recorded runs took 1.' 'without what the environment cost them: in repetition' \
	'p@later: a regression was found, but not confirmed: the environment slowed' 'waiting for a CPU'
expect_of queue decision environment
expect_of queue '.reasons[0].code' variance
expect_of queue .runs.variance.explains 1
expect_of queue .fresh_plan ''
cases=$((cases + 1))
[ "$(of queue .level)" != "$(of slow .level)" ] || fail 'measuring ended with what others had taken from the first runs'
expect_of slow decision regression
expect_of slow .confirmed.fresh.outcome seen
expect_of slow .confirmed.control.outcome still
expect_of slow .runs.variance.explains 0
expect_of later decision environment
expect_of later '.reasons[0].code' fresh_disturbed
expect_of later .runs.variance.explains 0
expect_of later .confirmed.fresh.outcome disturbed
expect_of later '.confirmed.fresh.variance.sides[1].runs' 6
cases=$((cases + 1))
[ "$(grep -c ' confirming p queue' "$lab/.assay/night.log")" = 0 ] || fail 'fresh runs were made for nothing'
run -C "$lab" explain "$(of later id)"
expect_stdout 'Confirmation runs were made: their environment slowed the runs' ' --run --budget 20m --min-effect 0'

what='its pages'
run -C "$lab" nightly pages -o "$tmp/pages"
expect_status 0
page=$tmp/pages/index.html
says 'the candidate&#39;s recorded runs took' 'waiting for a CPU'
page=$tmp/pages/$(of queue id).html
says 'Time lost to the environment' 'Decided in the night'

what='it follows from the records, as long as they are there'
for version in queue slow later; do
	run -C "$lab" verify "$(of $version id)" --format json
	expect_status 0
	expect_json .verdict same
done
mv "$lab/.assay/samples" "$tmp/samples"
run -C "$lab" verify "$(of later id)" --format json
expect_status 6
expect_json .verdict archived
run -C "$lab" verify "$(of queue id)"
expect_status 6
expect_stdout 'not verifiable: some of its records of' 'removed or cannot be read'
mv "$tmp/samples" "$lab/.assay/samples"
sqlite3 "$lab/.assay/runs.db" "UPDATE sample_file SET pruned = 1 WHERE version = 'queue'"
run -C "$lab" verify "$(of queue id)" --format json
expect_status 6
expect_json .verdict archived
run -C "$lab" verify "$(of slow id)" --format json
expect_json .verdict same
sqlite3 "$lab/.assay/runs.db" 'UPDATE sample_file SET pruned = 0'
sqlite3 "$lab/.assay/runs.db" "UPDATE decision SET document = replace(document, '\"decision\": \"environment\"', '\"decision\": \"regression\"') WHERE candidate = 'queue'"
run -C "$lab" verify "$(of queue id)" --format json
expect_status 1
expect_json .verdict differs

what='a night that is killed'
suite queue
{
	cat "$tmp/scratch/queue"
	printf ...
} >"$tmp/scratch/hold.queue"
allowed=$(wc -c <"$tmp/scratch/hold.queue")
"$ASSAY" -C "$lab" nightly run >/dev/null 2>&1 &
killed=$!
for _ in $(seq 1200); do # three of its runs have ended, and the fourth waits
	[ "$(wc -c <"$tmp/scratch/queue")" -le "$allowed" ] || break
	sleep .1
done
kill -9 $killed
rm "$tmp/scratch/hold.queue"
wait $killed 2>/dev/null
run -C "$lab" nightly run --format json
expect_status 5
cases=$((cases + 1))
grep -q 'continuing the night' "$tmp/err" || fail 'it had ended'
expect_json .decisions 1 '.decisions[0].decision' environment '.decisions[0].reasons[0].code' variance
run -C "$lab" verify "$(json '.decisions[0].id')"
expect_status 0

finish
