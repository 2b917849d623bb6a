#!/bin/sh
# Hosts of another architecture: which helper goes there, what they say of themselves, and what is refused.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_here.sh"
. "${ASSAY_SOURCE:?}/tests/lib_other.sh"
export XDG_CACHE_HOME="$tmp/cache"

run init "$tmp/lab"
printf '#!/bin/sh\necho riscv64\n' >"$tmp/uname"
chmod +x "$tmp/uname"
cat >"$tmp/lab/lab.yaml" <<END
hosts:
  - { name: far, transport: command, launcher: [env, 'PATH=$tmp:$PATH'] }
  - { name: arm, transport: command, launcher: [$tmp/other/aarch64, '{host}'] }
  - { name: here, transport: local }
END
lab() {
	run -C "$tmp/lab" "$@"
}

what='an architecture that no helper is for'
lab host check -w far
expect_status 1
expect_stdout "far: problem: failed: hosts of the architecture 'riscv64' are not supported, only x86_64 and aarch64"
what='a command runs there without the helper'
lab host exec -w far -- echo hello
expect_stdout 'hello'
ls "$tmp/cache" >/dev/null 2>&1 && fail 'nothing is deployed there'

case ${ASSAY_OTHER_PROGRAMS:-} in
*helper*) ;;
*)
	what='a build without the helper for aarch64'
	mkdir -p "$tmp/other"
	printf '#!/bin/sh\nshift\nPATH=%s:$PATH exec "$@"\n' "$tmp/other" >"$tmp/other/aarch64"
	printf '#!/bin/sh\necho aarch64\n' >"$tmp/other/uname"
	chmod +x "$tmp/other/aarch64" "$tmp/other/uname"
	lab host check -w arm
	expect_status 1
	expect_stdout 'this assay was built without its helper program for hosts of aarch64'
	finish
	;;
esac
other_hosts "$tmp/other" || skip 'aarch64 programs cannot be run here (qemu-user, unshare; Linux 6.7)'

what='the helper for aarch64 is deployed, and answers'
lab host exec -w arm -- /bin/echo hello
expect_status 0
expect_stdout hello
lab host exec -w here -- true
expect_status 0
helpers=$(ls "$tmp/cache/assay" | wc -l)
[ "$helpers" = 2 ] || fail "two helpers in one cache expected, not $helpers"

what='facts'
lab host check -w arm --format json
expect_json '.hosts[0].facts.architecture' aarch64
cpu=$(json '.hosts[0].facts.cpu_model')
case $cpu in
'ARM '*|'implementer '*) ;;
*) fail "the model of a CPU of aarch64 expected, not '$cpu'" ;;
esac

what='this machine without a launcher, when it is one of aarch64'
"$tmp/other/aarch64" here "$ASSAY" -C "$tmp/lab" host check -w here --format json >"$tmp/out" 2>"$tmp/err" </dev/null
expect_json '.hosts[0].facts.architecture' aarch64

command -v stress-ng >/dev/null || finish
what='a fingerprint, and the counting program'
battery "$tmp/tiny.yaml" 1 1 memcpy
lab host measure -w arm --battery "$tmp/tiny.yaml" --counters --format json
expect_status 0
expect_json .hosts[0].complete true
case $ASSAY_OTHER_PROGRAMS in
*counting*) [ "$(find "$tmp/cache" -name 'counting-*' | wc -l)" = 1 ] || fail 'the counting program should have been deployed' ;;
*) expect_stdout 'without its counting program for hosts of aarch64' ;;
esac
lab host show --passes arm --format json
expect_json .architecture aarch64
finish
