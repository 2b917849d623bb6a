#!/bin/sh
# Fingerprints where several come together: two controllers on one box, and emulated hosts whose profile is changed.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
[ -w /dev/shm ] || skip 'there is no /dev/shm to write to'

tidy() {
	for dir in "$tmp"/*/; do
		[ -d "$dir/.assay/emulated" ] && "$ASSAY" host down "$dir" >/dev/null 2>&1
	done
}

# A stress-ng that notices when another one runs: a directory can be made once only.
mkdir "$tmp/fake"
cat >"$tmp/fake/stress-ng" <<END
#!/bin/sh
[ "\$1" = --version ] && { echo 'stress-ng, version 0.15.06 (gcc 12.2, x86_64 Linux 6.1)'; exit; }
mkdir "$tmp/alone" || echo "\$*" >>"$tmp/together"
sleep .03
rmdir "$tmp/alone"
while [ "\$1" != -t ]; do shift; done
printf -- '---\nsystem-info:\n      stress-ng-version: 0.15.06\n\nmetrics:\n    - stressor: %s\n      bogo-ops: 100\n' "\${3#--}"
printf '      wall-clock-time: 0.1\n      user-time: 0.1\n      system-time: 0.0\n\n...\n'
END
chmod 755 "$tmp/fake/stress-ng"
printf 'name: tiny\npasses: 3\nseconds: 10\nstressors:\n  - { stressor: cpu }\n  - { stressor: vm }\n  - { stressor: qsort }\n' >"$tmp/tiny.yaml"

what='two controllers, one box'
for lab in one two; do
	"$ASSAY" init "$tmp/$lab" >/dev/null
	printf 'hosts:\n  - name: here\n    transport: local\n    env: { PATH: "%s" }\n' "$tmp/fake:$PATH" >>"$tmp/$lab/lab.yaml"
	"$ASSAY" -C "$tmp/$lab" host measure --battery "$tmp/tiny.yaml" --format json >"$tmp/$lab.out" 2>"$tmp/$lab.err" &
	eval "$lab=\$!"
done
for lab in one two; do
	eval "wait \$$lab"
	status=$?
	cp "$tmp/$lab.out" "$tmp/out"
	cp "$tmp/$lab.err" "$tmp/err"
	expect_status 0
	expect_json .hosts[0].measured 9
done
cases=$((cases + 1))
[ ! -e "$tmp/together" ] || fail "measured at the same time: $(cat "$tmp/together")"

# The same test can fail: one that comes while another one is at work says so.
what='two without the lock'
cases=$((cases + 1))
mkdir "$tmp/alone"
"$tmp/fake/stress-ng" -t 1 --cpu >/dev/null 2>&1
[ -e "$tmp/together" ] || fail 'the stand-in does not notice another one'

# A real-time clock that is ahead by the seconds in a file, set by a stress-ng while it is at work.
cat >"$tmp/clock.c" <<'END_C'
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *out)
{
	char text[32] = "";
	int fd = clock == CLOCK_REALTIME ? open(getenv("AHEAD"), O_RDONLY | O_CLOEXEC) : -1, failed = (int)syscall(SYS_clock_gettime, clock, out);

	if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0)
		out->tv_sec += atol(text);
	if (fd >= 0)
		close(fd);
	return failed;
}
END_C
mkdir "$tmp/clock"
printf '#!/bin/sh\n[ "$1" = --version ] || cp "%s/jump" "%s/ahead"\nexec "%s/fake/stress-ng" "$@"\n' "$tmp" "$tmp" "$tmp" >"$tmp/clock/stress-ng"
chmod 755 "$tmp/clock/stress-ng"
if command -v gcc >/dev/null && gcc -shared -fPIC -o "$tmp/clock.so" "$tmp/clock.c"; then
	sed 's/passes: 3/passes: 1/' "$tmp/tiny.yaml" >"$tmp/once.yaml"
	for jump in 172800 -172800; do
		what="the clock is set by $jump s while a fingerprint is taken"
		rm -rf "$tmp/ahead" "$tmp/alone" "$tmp/one"
		echo "$jump" >"$tmp/jump"
		"$ASSAY" init "$tmp/one" >/dev/null
		printf 'hosts:\n  - name: here\n    transport: local\n    env: { PATH: "%s" }\n' "$tmp/clock:$PATH" >>"$tmp/one/lab.yaml"
		(
			export AHEAD="$tmp/ahead" LD_PRELOAD="$tmp/clock.so" ASAN_OPTIONS="verify_asan_link_order=0:${ASAN_OPTIONS:-}"
			exec "$ASSAY" -C "$tmp/one" host measure --battery "$tmp/once.yaml" --format json
		) >"$tmp/out" 2>"$tmp/err"
		status=$?
		expect_status 0
		expect_json .hosts[0].measured 3
		cases=$((cases + 1))
		awk '$1 == "\"seconds\":" { found = $2 + 0 > 0 && $2 + 0 < 3600 } END { exit !found }' "$tmp/out" || fail 'its seconds are not those of the clock on the wall'
	done
else
	echo 'not tried: a clock that is set needs gcc'
fi

what='a host that becomes another'
if [ "$(id -u)" != 0 ] || [ ! -x /usr/sbin/sshd ] || ! command -v stress-ng >/dev/null; then
	echo 'not tried: drift of an emulated host needs root, openssh-server and stress-ng'
	finish
fi
lab=$tmp/fleet
printf 'name: tiny\npasses: 2\nseconds: 60\nstressors:\n  - { stressor: brk, arguments: [--brk-ops, 50000] }\n  - { stressor: crypt, arguments: [--crypt-ops, 300] }\n' >"$tmp/small.yaml"
for profile in base vm; do
	run host up "$lab" --hosts 2 --profiles "base,$profile"
	expect_status 0
	run -C "$lab" host measure --battery "$tmp/small.yaml"
	expect_status 0
	expect_stdout 'emulated'
done
run -C "$lab" host drift
expect_status 0
run -C "$lab" host drift --format json # by text both are one range where the machine is busy
expect_json_parses
cases=$((cases + 1))
tr -d ' \n' <"$tmp/out" | grep -q '"machine":"emu02"' || fail 'emu02 should be named'
run -C "$lab" host list
expect_stdout base vm
run host down "$lab"
expect_status 0
what='an emulated host that another laboratory does not know as one'
run host up "$lab" --hosts 1 --profiles vm
"$ASSAY" init "$tmp/other" >/dev/null
cp "$lab/known_hosts" "$tmp/other"
sed -e '/^ *\(profile\|type\|env\):/d' -e "s|identity_file: .assay|identity_file: $lab/.assay|" "$lab/lab.yaml" >"$tmp/other/lab.yaml"
printf 'command: [echo, "cost 5"]\nversions: { a: }\nrepetitions: 2\nmetric: { source: regex, pattern: "cost ([0-9]+)" }\n' >"$tmp/other/apps/app.yaml"
run -C "$tmp/other" host measure --battery "$tmp/small.yaml"
expect_status 0
run -C "$tmp/other" host show --passes emu01 --format json
expect_json .origin emulated
expect_json .profile vm
run -C "$tmp/other" run app --format json
expect_status 0
run -C "$tmp/other" result list --format json
expect_json .applications[0].machines 1
run host down "$lab"

finish
