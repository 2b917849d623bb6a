# A damaged database, a laboratory that somebody else uses or that cannot be written, a full disk: one clear line, the right exit
# status, and nothing that was stored is lost.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"

tidy() {
	umount "$tmp/mounted" 2>/dev/null
}

make_package "$tmp/package" 6 8
make_package "$tmp/large" 100 60 1400000000
healthy_lab "$tmp/package"

# ---- the database ----

db=$tmp/broken/.assay/runs.db
readers() {
	for command in 'result list' "result export $tmp/x" 'check' 'profile same@1.0' 'gate same@1.0 same@1.1'; do
		# shellcheck disable=SC2086
		run -C "$tmp/broken" $command
		refused 1 .assay/runs.db "$1"
	done
	run -C "$tmp/broken" host import "$tmp/package/t/machines.csv"
	refused 1 .assay/runs.db "$1"
}
what='database: of a newer version'
fresh
newer() { # SQLite's user_version: 4 bytes, big-endian, at offset 60
	printf '\000\000\000\143' | dd of="$1" bs=1 seek=60 conv=notrunc 2>/dev/null
}
newer "$db"
cp "$db" "$tmp/newer.db"
readers 'newer assay'
expect_same_files "$db" "$tmp/newer.db"
what='database: of a pre-release'
fresh
printf assa | dd of="$db" bs=1 seek=68 conv=notrunc 2>/dev/null # SQLite's application_id
cp "$db" "$tmp/older.db"
readers 'was made by a pre-release of assay: move its directory away, and a new one is made'
expect_same_files "$db" "$tmp/older.db"
rm -r "$tmp/broken/.assay"
import_package "$tmp/broken" "$tmp/package"
expect_status 0
still_there "$tmp/broken"
what='database: cut in half'
fresh
truncate -s "$(($(wc -c <"$lab/.assay/runs.db") / 2))" "$db"
readers 'was truncated'
what='database: cut after 50 bytes'
truncate -s 50 "$db"
readers 'not a database of assay'
what='database: garbage'
head -c 50000 "$ASSAY" >"$db"
readers "not a database of assay: restore it from a copy of 'assay backup'"
what='database: of something else'
if command -v sqlite3 >/dev/null 2>&1; then
	rm -f "$db"
	sqlite3 "$db" 'CREATE TABLE t (x)'
	readers 'not a database of assay'
	fresh
	sqlite3 "$db" 'DROP TABLE battery' 2>/dev/null || sqlite3 "$db" 'DROP VIEW failed_run; DROP TABLE failure'
	run -C "$tmp/broken" check
	refused 1 'is missing): restore it from a copy'
else
	echo 'no sqlite3(1) here: a database of something else was not looked at'
fi
what='database: as it is when its first writer is killed before the tables are made'
if command -v sqlite3 >/dev/null 2>&1; then
	run init "$tmp/unborn"
	sqlite3 "$tmp/unborn/.assay/runs.db" 'PRAGMA journal_mode = WAL' >/dev/null
	run -C "$tmp/unborn" result list
	expect_status 0
	expect_stdout 'No results yet'
	import_package "$tmp/unborn" "$tmp/package"
	expect_status 0
	still_there "$tmp/unborn"
fi
what='database: a directory'
rm -f "$db"
mkdir "$db"
readers "runs.db'"
what='database: pages overwritten'
fresh
size=$(wc -c <"$db")
head -c $((size - 4096)) /dev/zero | tr '\000' 'z' | dd of="$db" bs=4096 seek=1 conv=notrunc 2>/dev/null
run -C "$tmp/broken" check
refused 1 .assay/runs.db damaged
run -C "$tmp/broken" result export "$tmp/x"
refused 1 .assay/runs.db damaged
what='database: of 0 bytes, as a file system leaves it that was repaired'
fresh
: >"$db"
readers "is empty, all stored data is lost: restore it from a copy of 'assay backup'"
what='database: half made by one that was killed'
run init "$tmp/young"
: >"$tmp/young/.assay/runs.db.new"
import_package "$tmp/young" "$tmp/package"
expect_status 0
still_there "$tmp/young"
[ "$(ls "$tmp/young/.assay" | grep -c new)" = 0 ] || fail "left behind: $(ls "$tmp/young/.assay")"
what='database: not there'
rm "$db"
import_package "$tmp/broken" "$tmp/package"
expect_status 0
still_there "$tmp/broken"

what='a link to a disk that is not mounted'
run init "$tmp/linked"
import_package "$tmp/linked" "$tmp/package"
for part in .assay/runs.db .assay machines lab.yaml; do
	mv "$tmp/linked/$part" "$tmp/unmounted"
	ln -s "$tmp/mounted" "$tmp/linked/$part"
	for command in 'result list' 'host list' 'check' 'nightly show --list' "host import $tmp/package/machines.csv" "backup $tmp/none"; do
		case $part:$command in
		machines:result*|machines:nightly*|machines:backup*) continue ;; # these do without
		esac
		# shellcheck disable=SC2086 # words
		run -C "$tmp/linked" $command
		refused 1 "'$tmp/linked/$part' is a dangling symbolic link"
		[ "$(readlink "$tmp/linked/$part")" = "$tmp/mounted" ] || fail "$command replaced the link"
		rm -rf "$tmp/none.partial"
	done
	mv "$tmp/unmounted" "$tmp/mounted"
	[ $part = lab.yaml ] || still_there "$tmp/linked"
	rm "$tmp/linked/$part"
	mv "$tmp/mounted" "$tmp/linked/$part"
done
ln -s nowhere "$tmp/linked/baselines.yaml"
run -C "$tmp/linked" baseline list
refused 1 "baselines.yaml' is a dangling symbolic link"

# ---- who may write ----

what='another process writes to the laboratory'
if command -v flock >/dev/null 2>&1; then
	( exec 9>>"$lab/.assay/lock" && flock 9 && exec sleep 60 ) &
	holder=$!
	tidy() { kill "$holder" 2>/dev/null; }
	while flock -n "$lab/.assay/lock" true; do sleep .02; done
	run -C "$lab" host import "$tmp/large/t/machines.csv"
	refused 1 "$lab" 'another assay'
	still_there
	kill "$holder"
	wait "$holder" 2>/dev/null
	what='the lock dies with its holder'
	import_package "$lab" "$tmp/package"
	expect_status 0
else
	echo 'no flock(1) here: locks were not looked at'
fi

if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null 2>&1; then
	cp "$ASSAY" "$tmp/assay"
	fresh
	chmod 755 "$tmp"
	chmod -R go+rX,go-w "$tmp/assay" "$tmp/broken" "$tmp/large"
	program=$ASSAY
	ASSAY=$tmp/unprivileged
	printf '#!/bin/sh\nexec setpriv --reuid 65534 --regid 65534 --clear-groups "%s" "$@"\n' "$tmp/assay" >"$ASSAY"
	chmod 755 "$ASSAY"
	what='a laboratory that may only be read'
	still_there "$tmp/broken"
	for command in 'result list' 'host list' 'profile same@1.0' 'gate same@1.0 same@1.1'; do
		# shellcheck disable=SC2086
		run -C "$tmp/broken" $command
		expect_status 0
		expect_no_stderr
	done
	run -C "$tmp/broken" host import "$tmp/large/t/machines.csv"
	refused 1 "$tmp/broken/.assay" "belongs to user 'root'"
	run -C "$tmp/broken" result export "$tmp/broken/x"
	refused 1 'Permission denied' broken/x
	run init "$tmp/broken/inner"
	refused 1 'Permission denied' inner
	what='a store that may only be read, by its owner'
	chown -R 65534:65534 "$tmp/broken/.assay"
	chmod -R u=rX,go= "$tmp/broken/.assay"
	run -C "$tmp/broken" result list
	expect_status 0
	expect_no_stderr
	run -C "$tmp/broken" host import "$tmp/large/t/machines.csv"
	refused 1 "$tmp/broken/.assay" 'Permission denied'
	what='a catalog that may only be read'
	chmod -R u+w "$tmp/broken/.assay"
	mkdir "$tmp/more"
	mkdir "$tmp/more/t"
	sed 's/node0/other/' "$tmp/package/t/machines.csv" >"$tmp/more/t/machines.csv"
	chmod -R a+rX "$tmp/more"
	run -C "$tmp/broken" host import "$tmp/more/t/machines.csv"
	refused 1 "machines/other1.json" 'Permission denied' 'import again'
	what='files that may not be read'
	chmod 600 "$tmp/broken/lab.yaml"
	run -C "$tmp/broken" result list
	refused 1 lab.yaml 'Permission denied'
	chmod 644 "$tmp/broken/lab.yaml"
	chmod 0 "$db"
	run -C "$tmp/broken" result list
	refused 1 runs.db 'Permission denied'
	chmod 600 "$db"
	chmod 600 "$tmp/broken/machines/node02.json"
	run -C "$tmp/broken" host list
	refused 1 node02.json 'Permission denied'
	ASSAY=$program
	if unshare -m true 2>/dev/null; then
		what='a laboratory on a read-only file system'
		chown -R root:root "$tmp/broken"
		printf '#!/bin/sh\nexec unshare -m sh -c "%s" "%s" "%s" "$@"\n' \
			'mount --bind \"\$0\" \"\$0\" && mount -o remount,ro,bind \"\$0\" && exec \"\$@\"' "$tmp/broken" "$program" >"$tmp/read_only"
		chmod 755 "$tmp/read_only"
		ASSAY=$tmp/read_only
		for command in 'result list' 'host list' 'host drift' 'profile same@1.0' 'gate same@1.0 same@1.1'; do
			# shellcheck disable=SC2086
			run -C "$tmp/broken" $command
			expect_status 0
			expect_no_stderr
		done
		for command in "host import $tmp/large/t/machines.csv" 'host measure' 'run example' 'host retire other1'; do
			# shellcheck disable=SC2086
			run -C "$tmp/broken" $command
			refused 1 "the laboratory '$tmp/broken' is on a read-only file system" 'cp -R'
		done
		ASSAY=$program
	fi
else
	echo 'not root: read-only laboratories were not looked at'
fi

# ---- file systems of other machines ----

if [ "$(id -u)" = 0 ] && command -v bindfs >/dev/null && mkdir "$tmp/mounted" && bindfs "$lab" "$tmp/mounted" 2>/dev/null; then
	what='a laboratory on FUSE'
	for command in 'result list' 'check' "host import $tmp/package/t/machines.csv"; do
		# shellcheck disable=SC2086
		run -C "$tmp/mounted" $command
		refused 1 .assay/runs.db 'not on a known local file system' 'local disk'
	done
	umount "$tmp/mounted"
	still_there "$lab"
else
	echo 'no FUSE here (root, /dev/fuse, bindfs): a laboratory on it was not looked at'
fi

# ---- full disks ----

what='standard output is full'
if [ -c /dev/full ]; then
	while read -r words; do
		what="standard output is full: $words"
		# shellcheck disable=SC2086
		"$ASSAY" -C "$lab" $words >/dev/full 2>"$tmp/err"
		status=$?
		: >"$tmp/out"
		refused 1 'standard output' 'No space left'
	done <<END
--help
--version
result --help
result export --help
host import $tmp/package/t/machines.csv
host list
host show node01
host list --types
check
result list
result show same@1.0
result export $tmp/x
profile same@1.0
gate same@1.0 same@1.1
gate same@1.0 same@1.1 --format json
END
fi
what='standard output is closed'
for words in 'result list' "host import $tmp/package/t/machines.csv" "result export $tmp/x"; do
	# shellcheck disable=SC2086
	"$ASSAY" -C "$lab" $words >&- 2>"$tmp/err"
	status=$?
	: >"$tmp/out"
	refused 1 'standard output'
done
still_there

# disk_is_full WHAT TEXT TEXT: what is written below $tmp/disk by `limited` beyond a limit fails, with that text for the database and
# that for other files.
disk_is_full() {
	what="$1: a large import"
	run init "$tmp/disk/lab"
	expect_status 0
	import_package "$tmp/disk/lab" "$tmp/package"
	expect_status 0
	limited -C "$tmp/disk/lab" host import "$tmp/large/t/machines.csv"
	refused 1 "$tmp/disk/lab" "$2"
	still_there "$tmp/disk/lab"
	what="$1: an export over an older one"
	mkdir "$tmp/disk/x"
	cp "$tmp/export" "$tmp/disk/x/machines.csv"
	run init "$tmp/labx"
	run -C "$tmp/labx" host import "$tmp/large/t/machines.csv"
	limited -C "$tmp/labx" result export "$tmp/disk/x"
	refused 1 x/machines.csv "$3"
	expect_same_files "$tmp/disk/x/machines.csv" "$tmp/export"
	cases=$((cases + 1))
	[ "$(ls -A "$tmp/disk" "$tmp/disk/lab/machines" | grep -c '^\.assay-')" -eq 0 ] || fail 'temporary files were left behind'
	what="$1: a small import afterwards"
	import_package "$tmp/disk/lab" "$tmp/package"
	expect_status 0
}
mkdir "$tmp/disk"
if [ "$(id -u)" -eq 0 ] && mount -t tmpfs -o size=1m none "$tmp/disk" 2>/dev/null; then
	tidy() { umount "$tmp/disk"; }
	limited() { run "$@"; }
	disk_is_full 'disk full' 'disk is full' 'No space left'
	what='disk full: not a byte left'
	dd if=/dev/zero of="$tmp/disk/fill" bs=1024 2>/dev/null
	run -C "$tmp/disk/lab" host import "$tmp/more/t/machines.csv"
	expect_status 1
	expect_error "$tmp/disk/lab" 'No space left'
	still_there "$tmp/disk/lab"
	run init "$tmp/disk/another"
	expect_status 1
	expect_error "$tmp/disk/another" 'No space left'
	what='disk full: a program is recorded'
	run record -o "$tmp/disk/records" -- sleep .01
	refused 1 'its disk is full' "$tmp/disk/records"
	rm "$tmp/disk/fill"
	umount "$tmp/disk"

	what='disk nearly full: what was printed is removed, where the database cannot be written anew'
	mount -t tmpfs -o size=24m none "$tmp/disk"
	run init "$tmp/disk/lab"
	echo 'hosts: [{ name: h1, transport: local, type: t }]' >>"$tmp/disk/lab/lab.yaml"
	printf '%s\n' 'command: [/bin/echo, cost 7]' 'versions: { a: , b: }' 'repetitions: 4' 'warm_ups: 0' "metric: { source: regex, pattern: 'cost ([0-9.]+)' }" \
		>"$tmp/disk/lab/apps/x.yaml"
	run -C "$tmp/disk/lab" run x
	expect_status 0
	sqlite3 "$tmp/disk/lab/.assay/runs.db" "UPDATE execution SET out = randomblob(900000); UPDATE execution SET taken_ms = 1 WHERE version = 'a' AND repetition < 3"
	dd if=/dev/zero of="$tmp/disk/fill" bs=1024 count=$(($(df -k "$tmp/disk" | awk 'END { print $4 }') - 120)) 2>/dev/null
	run -C "$tmp/disk/lab" prune --older-than 1 --format json
	expect_status 0
	expect_json .executions 2 .output_bytes 1800000
	cases=$((cases + 2))
	[ "$(json .unused_bytes)" -gt 1800000 ] || fail "$(json .unused_bytes) bytes are unused"
	[ "$(sqlite3 "$tmp/disk/lab/.assay/runs.db" 'SELECT sum(length(out) > 800000) FROM execution')" = 6 ] || fail 'what was printed is there'
	rm "$tmp/disk/fill"
	run -C "$tmp/disk/lab" prune --older-than 1 --format json
	expect_json .unused_bytes 0
	umount "$tmp/disk"
	tidy() { :; }
else
	echo 'no small disk could be mounted: only a limit of file size was looked at'
fi
limited() {
	(ulimit -f 512 && exec "$ASSAY" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null)
	status=$?
	shown "$@"
}
rm -rf "$tmp/disk" "$tmp/labx"
mkdir "$tmp/disk"
disk_is_full 'limit of file size' 'cannot read or write' 'File too large'

finish
