#!/bin/sh
# Nights look at the records of runs: what others took from the candidate's is no regression, costs no fresh runs, and can be verified as long as the
# records are there. First what happened in the records is known, for the program has them made; then a real program, and a real disturbance.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_run.sh"
command -v gcc >/dev/null || skip 'there is no gcc'
command -v sqlite3 >/dev/null || skip 'there is no sqlite3'
hog=
tidy() {
	kill_marked
	[ -z "$hog" ] || kill "$hog"
}

cat >"$tmp/made.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
/* made COST SCRATCH NAME N PROGRAM ARGUMENT...: waits while there is SCRATCH/hold; PROGRAM DIRECTORY ARGUMENT..., in the directory for records, with the
 * last word "slow" made "queue" from the Nth run of this name on; says the cost, and a little noise */
int main(int argc, char **argv)
{
	char path[4096], *last = strstr(argv[argc - 1], ":slow:"), other[100];
	struct timespec now;
	int status, runs;
	FILE *file;

	snprintf(path, sizeof(path), "%s/hold", argv[2]);
	while (access(path, F_OK) == 0)
		usleep(10000);
	snprintf(path, sizeof(path), "%s/%s", argv[2], argv[3]);
	file = fopen(path, "a+");
	fputc('.', file);
	runs = (int)ftell(file);
	fclose(file);
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
	printf '%s\n' "comparisons: [{ application: p, candidates: [$1], against: old, budget: 10s }]" 'fingerprints: { battery: none }' 'repeat: no' >"$lab/suite.yaml"
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
run -C "$lab" nightly
expect_status 3
expect_stdout '1 regression, 2 environment' 'p@queue: the candidate'"'"'s recorded runs took 1.' 'without what the environment cost them: in repetition' \
	'p@later: a regression was found, and fresh runs cannot confirm it' 'waiting for a processor'
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
expect_stdout 'Fresh runs were made to confirm it: their environment slowed them'

what='its pages'
run -C "$lab" nightly pages -o "$tmp/pages"
expect_status 0
page=$tmp/pages/index.html
says 'the candidate&#39;s recorded runs took' 'waiting for a processor'
page=$tmp/pages/$(of queue id).html
says 'What the environment cost these runs' 'Decided in the night'

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
expect_stdout 'not verifiable: records of' 'removed, or cannot be read'
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

what='decisions of rules that did not look at records'
sqlite3 "$lab/.assay/runs.db" "SELECT document FROM decision WHERE candidate = 'slow'" | /usr/bin/python3 -c '
import re, sys
text = sys.stdin.read()[:-1]
while True: # the members, as if they had never been there
    found = re.search(r",\n *\"variance\": \{", text)
    if not found:
        break
    end, depth = found.end(), 1
    while depth:
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
    text = text[:found.start()] + text[end:]
sys.stdout.write(text)' >"$tmp/document"
id=$(of slow id)
sqlite3 "$lab/.assay/runs.db" "UPDATE decision SET document = CAST(readfile('$tmp/document') AS TEXT), request = replace(request, '\"rules\": 7', '\"rules\": 6') WHERE id = '$id'" \
	"SELECT writefile('$tmp/identity', night || char(10) || number || char(10) || request || char(10) || document) FROM decision WHERE id = '$id'" >/dev/null
sqlite3 "$lab/.assay/runs.db" "UPDATE decision SET id = '$(sha256sum "$tmp/identity" | cut -c -16)' WHERE id = '$id'"
run -C "$lab" verify "$(of slow id)" --format json
expect_status 0
expect_json .verdict same

what='a night that is killed'
suite queue
: >"$tmp/scratch/hold"
"$ASSAY" -C "$lab" nightly >/dev/null 2>&1 &
killed=$!
for _ in $(seq 200); do
	grep -c ' measuring p queue' "$lab/.assay/night.log" | grep -qx 2 && break
	sleep .1
done
(sleep 1 && rm "$tmp/scratch/hold" && sleep 2 && kill -9 $killed) 2>/dev/null
wait $killed 2>/dev/null
run -C "$lab" nightly --format json
expect_status 5
cases=$((cases + 1))
grep -q 'going on with the night' "$tmp/err" || fail 'it had ended'
expect_json .decisions 1 '.decisions[0].decision' environment '.decisions[0].reasons[0].code' variance
run -C "$lab" verify "$(json '.decisions[0].id')"
expect_status 0

what='a real program, and real programs that keep it from its processor'
cat >"$tmp/work.c" <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
/* work PIECES [FILE [ONCE]]: so many pieces of work on one processor, each with a write behind it, and FILE is there during some of them, or only in
 * the run that makes ONCE
 * work hog FILE: while there is FILE, the processor is somebody else's for most of the time */
int main(int argc, char **argv)
{
	int pieces = atoi(argv[1]), out = open("out", O_RDWR | O_CREAT, 0600);
	volatile unsigned long x = 0;
	double began = now();
	cpu_set_t all, one;

	if (argc > 3 && close(open(argv[3], O_CREAT | O_EXCL | O_WRONLY, 0600)))
		argc = 2;
	sched_getaffinity(0, sizeof(all), &all);
	CPU_ZERO(&one);
	for (int c = CPU_SETSIZE - 1; !CPU_COUNT(&one); c--)
		if (CPU_ISSET(c, &all))
			CPU_SET(c, &one);
	sched_setaffinity(0, sizeof(one), &one);
	if (!pieces && sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 1 }))
		return 1;
	while (!pieces) {
		for (double until = now() + .007; access(argv[2], F_OK) == 0 && now() < until;)
			;
		usleep(1000);
	}
	for (int p = 0; p < pieces; p++) {
		if (argc > 2 && p == pieces * 3 / 10)
			close(open(argv[2], O_CREAT | O_WRONLY, 0600));
		if (argc > 2 && p == pieces * 7 / 10)
			unlink(argv[2]);
		for (int i = 0; i < 1000000; i++)
			x += (unsigned long)i;
		if (pwrite(out, "x", 1, p) != 1)
			return 1;
	}
	printf("cost %.6f\n", now() - began);
	return 0;
}
C
gcc -O1 "$tmp/work.c" -o "$tmp/build/work"
(cd "$tmp/scratch" && exec "$tmp/build/work" hog hog) &
hog=$!
sleep .2
if kill -0 "$hog" 2>/dev/null; then # else this user may not have a processor for itself
	{
		printf '%s\n' 'repetitions: 2' 'warm_ups: 0' 'variance: yes' "metric: { pattern: 'cost (.*)' }" 'versions:'
		for version in "old:'100'" "kept:'100', $tmp/scratch/hog" "more:'250', $tmp/scratch/hog, $tmp/scratch/once"; do
			echo "  ${version%%:*}: { directory: $tmp/build, command: ['{build}/work', ${version#*:}] }"
		done
	} >"$lab/apps/real.yaml"
	printf '%s\n' 'comparisons: [{ application: real, candidates: [kept, more], against: old, min_effect: .8, budget: 15s }]' 'fingerprints: { battery: none }' >"$lab/suite.yaml"
	for attempt in 1 2 3; do # where all processors are busy with something else it is not always known who had this one
		rm -f "$tmp/scratch/once"
		run -C "$lab" nightly
		[ "$(of kept decision) $(of more decision)" != 'environment regression' ] || break
	done
	expect_status 3
	expect_stdout '1 regression, 1 environment' "real@kept: the candidate's recorded runs took" 'waiting for a processor'
	expect_of kept decision environment
	expect_of kept '.reasons[0].code' variance
	expect_of more decision regression
	expect_of more .confirmed.fresh.outcome seen
	cases=$((cases + 1))
	[ -e "$tmp/scratch/once" ] || fail 'no run of the slower version was disturbed'
	for version in kept more; do
		run -C "$lab" verify "$(of $version id)" --format json
		expect_json .verdict same
	done
fi
finish
