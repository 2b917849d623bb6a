#!/bin/sh
# Copies of a laboratory while it is written to, and what is removed from it by policy.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_run.sh"

tidy() {
	kill_marked
	umount "$tmp/small" 2>/dev/null
}

run_lab kept
rm "$lab"/apps/*.example* 2>/dev/null
run -C "$lab" run tiny --version a --input x
expect_status 0

what='a copy'
ln -s ../lab.yaml "$lab/apps/link"
mkfifo "$lab/apps/pipe"
run -C "$lab" backup "$tmp/copy" --format json
expect_status 0
cases=$((cases + 1))
[ ! -e "$tmp/copy.partial" ] && [ -L "$tmp/copy/apps/link" ] && [ ! -e "$tmp/copy/apps/pipe" ] && [ -x "$tmp/copy/apps/tiny/run.sh" ] || fail 'the copy is not as it should be'
cases=$((cases + 1))
[ "$(stat -c %a "$tmp/copy" "$tmp/copy/.assay")" = '700
700' ] || fail 'others can read the copy'
for command in 'result list' 'nightly show --list' 'host list'; do
	# shellcheck disable=SC2086 # words
	run -C "$lab" $command
	cp "$tmp/out" "$tmp/of_lab"
	# shellcheck disable=SC2086 # words
	run -C "$tmp/copy" $command
	expect_same_files "$tmp/out" "$tmp/of_lab"
done

what='a copy is on the disk, directories too, before it has its name'
cat >"$tmp/sync.c" <<'END'
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Keeps what is synced and renamed, in order; syncing fails where that is asked for. */
static void keep(const char *what, const char *path)
{
	FILE *to = fopen(getenv("KEPT"), "a");

	if (to)
		fprintf(to, "%s %s\n", what, path), fclose(to);
}

int syncfs(int fd)
{
	char link[64], path[4096];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n < 0 ? 0 : n] = '\0';
	keep("syncfs", path);
	if (getenv("FAILS"))
		return errno = EIO, -1;
	return (int)syscall(SYS_syncfs, fd);
}

int rename(const char *from, const char *to)
{
	keep("rename", to);
	return (int)syscall(SYS_renameat2, -100, from, -100, to, 0);
}
END
cc -shared -fPIC -o "$tmp/sync.so" "$tmp/sync.c" || fail 'sync.c cannot be compiled'
# watched COPY: a backup, with its calls in $tmp/calls
watched() {
	rm -f "$tmp/calls"
	LD_PRELOAD="$tmp/sync.so" KEPT="$tmp/calls" ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0" "$ASSAY" -C "$lab" backup "$1" >"$tmp/out" 2>"$tmp/err"
	status=$?
}
watched "$tmp/synced"
expect_status 0
cases=$((cases + 1))
[ "$(grep -x -A1 "syncfs $tmp/synced.partial" "$tmp/calls")" = "syncfs $tmp/synced.partial
rename $tmp/synced" ] || fail "it did: $(cat "$tmp/calls")"
FAILS=1
export FAILS
watched "$tmp/unsynced"
unset FAILS
refused 1 "$tmp/unsynced.partial" 'Input/output error'
cases=$((cases + 1))
[ ! -e "$tmp/unsynced" ] && [ ! -e "$tmp/unsynced.partial" ] || fail 'a copy that is not on the disk has its name'

what='a copy into itself, which each later copy would copy'
run -C "$lab" backup "$lab/inside"
refused 2 "'$lab/inside' is inside the laboratory" 'name a directory outside'
(cd "$lab/apps" && "$ASSAY" -C .. backup inside 2>"$tmp/err")
expect_error "'inside' is inside the laboratory"
cases=$((cases + 1))
[ -z "$(find "$lab" -name 'inside*')" ] || fail "left there: $(find "$lab" -name 'inside*')"
run -C "$lab" backup "$lab.beside" # whose name begins as the laboratory's
expect_status 0

what='a copy for which there is no room: for the empty database, what is in it, or a file'
cp -r "$lab" "$tmp/large"
sqlite3 "$tmp/large/.assay/runs.db" "INSERT INTO night (id, started_ms, deadline_ms, suite) VALUES ('x', 0, 0, hex(randomblob(500000)))"
cp -r "$lab" "$tmp/file"
head -c 1000000 /dev/zero >"$tmp/file/apps/zeros"
for small in 96:large:full 800:large:full 800:file:'No space left on device'; do
	[ "$(id -u)" = 0 ] && mkdir -p "$tmp/small" && mount -t tmpfs -o "size=${small%%:*}k" small "$tmp/small" 2>/dev/null || continue
	from=${small#*:}
	run -C "$tmp/${from%:*}" backup "$tmp/small/copy"
	refused 1 "${small##*:}"
	cases=$((cases + 2))
	grep -q 'not an error' "$tmp/err" && fail 'it was one'
	[ -z "$(ls -A "$tmp/small")" ] || fail "left there: $(ls -A "$tmp/small")"
	umount "$tmp/small"
done

what='refused'
run -C "$lab" backup "$tmp/copy"
refused 2 "'$tmp/copy' already exists"
mkdir "$tmp/cut.partial" # as kill -9 leaves it
run -C "$lab" backup "$tmp/cut"
refused 2 "'$tmp/cut.partial' exists: a backup was interrupted" 'remove it'
run -C "$lab" backup "$tmp/no/copy"
refused 1 "$tmp/no/copy.partial"
run -C "$tmp" backup "$tmp/other"
refused 2 'not a laboratory'

what='what is on another disk'
mv "$lab/apps" "$tmp/apps"
ln -s "$tmp/apps" "$lab/apps"
run -C "$lab" backup "$tmp/linked"
expect_status 0
expect_stderr 'symbolic links: 1; their targets are not in the copy'
rm "$lab/apps"
mv "$tmp/apps" "$lab/apps"

what='while others write'
"$ASSAY" -C "$lab" run tiny --version bb --input yy --repetitions 60 >/dev/null 2>&1 &
writer=$!
for i in 1 2 3 4 5; do
	run -C "$lab" backup "$tmp/copy$i"
	expect_status 0
	run -C "$tmp/copy$i" result list
	expect_status 0
	sleep .2
done
kill "$writer"
wait "$writer" 2>/dev/null

what='nothing is old'
export_to "$tmp/exported"
run -C "$lab" prune --older-than 1 --format json
expect_status 0
expect_json .executions 0

what='what programs printed'
run -C "$lab" prune --older-than 0 --dry-run --format json
n=$(json .executions)
cases=$((cases + 1))
[ "$n" -ge 3 ] || fail "only $n"
printed() {
	sqlite3 "$lab/.assay/runs.db" "SELECT CAST(out AS TEXT) FROM execution WHERE version = 'a' LIMIT 1" >"$tmp/out"
}
printed
expect_stdout 'cost 11'
run -C "$lab" prune --older-than 0
expect_status 0
expect_stdout "the output of $n executions was removed" 'can be verified'
printed
expect_stdout '[removed by assay prune]'
export_to "$tmp/now"
expect_same_files "$tmp/now" "$tmp/exported"
run -C "$lab" prune --older-than 0 --format json
expect_json .executions 0

# ---- a quota ----

what='neither an age nor a quota'
run -C "$lab" prune
refused 2 '--older-than' 'quota_gib'

what='a quota that what is new exceeds'
echo 'quota_gib: 0.002' >>"$lab/lab.yaml"
cat >"$lab/apps/wordy.yaml" <<'END'
command: [sh, -c, 'head -c 3000000 /dev/zero | tr "\0" x; exit 3'] # of failures more is kept: 1 MiB
versions: { a: , b: , c: }
repetitions: 1
warm_ups: 0
END
run -C "$lab" run wordy --quiet
run -C "$lab" prune --dry-run
expect_status 2
expect_stdout 'the output of 0 executions would be removed' 'the store is still larger than quota_gib in lab.yaml, 0.002'
run -C "$lab" prune
refused 2 'quota_gib in lab.yaml is 0.002'

what='and a night, which measures nothing then'
printf '%s\n' 'comparisons: [{ application: wordy, candidates: b, against: a, budget: 1s }]' 'fingerprints: { battery: none }' 'confirm: { fresh_runs: no }' >"$lab/suite.yaml"
run -C "$lab" nightly run --quiet
expect_status 6
expect_stdout 'nothing is measured' 'quota_gib in lab.yaml is 0.002'
cases=$((cases + 1))
[ "$(sqlite3 "$lab/.assay/runs.db" "SELECT count(*) FROM execution WHERE application = 'wordy'")" = 3 ] || fail 'it has measured'

what='what is old, the oldest first'
age() {
	sqlite3 "$lab/.assay/runs.db" "UPDATE execution SET taken_ms = taken_ms - $1 * 86400000 WHERE application = 'wordy' AND version = '$2'"
}
age 400 a
age 2 b
age 2 c
run -C "$lab" prune --dry-run --format json
expect_status 0
expect_json .executions 3
expect_json .dry_run true .over_quota false
run -C "$lab" prune --format json
expect_status 0
expect_json .executions 3
cases=$((cases + 1))
[ "$(json .store_bytes)" -le 2147483 ] || fail "it has $(json .store_bytes) bytes still"
run -C "$lab" prune --format json
expect_json .executions 0

what='a night removes, says so, and goes on'
run -C "$lab" run wordy --quiet
age 100 a
age 100 b
run -C "$lab" nightly run --dry-run
expect_stdout 'the store is larger than its quota of 0.002 GiB: would remove the output of 2 executions before'
run -C "$lab" nightly run --quiet --format json
expect_json '.notes[0].code' quota
holds "$lab/.assay/night.log" 'the log' 'quota: the store was larger than its quota of 0.002 GiB: removed the output of 2 executions before'

what='a night says that the quota is nearly used up'
for version in a b c; do age 2 $version; done
run -C "$lab" prune --format json
head -c $((2147483 * 95 / 100 - $(json .store_bytes))) /dev/zero >"$lab/.assay/padding"
run -C "$lab" nightly run --quiet --format json
expect_json '.notes[0].code' quota
holds "$lab/.assay/night.log" 'the log' 'quota: the store has 0.0019' 'GiB of its quota of 0.002'
head -c 2200000 /dev/zero >"$lab/.assay/padding"
run -C "$lab" nightly run --dry-run
expect_stdout 'GiB of its quota of 0.002: nothing would be measured; raise quota_gib'
rm "$lab/.assay/padding"
finish
