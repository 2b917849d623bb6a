# What a command stresses where the kernel, or a container, does not let everything be seen: each gets the level that it supports, or a
# reason with the remedy.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
command -v gcc >/dev/null || skip 'there is no gcc'
gcc -o "$tmp/refuse" "$ASSAY_SOURCE/tests/probed/refuse.c" || exit 1
chmod 755 "$tmp"

# denied COMMAND...: under it, a fraction of a second is profiled in which $work is done: the kernel reads and writes.
reads='dd if=/dev/zero of=/dev/null bs=64k count=30000 && true'
work=$reads
denied() {
	"$@" "$ASSAY" stat --budget 0.3 --format json -- sh -c "$work" >"$tmp/out" 2>"$tmp/err" </dev/null
	status=$?
	expect_status 0
	expect_json_parses
}

# because CODE TEXT...: among the reasons, in the text of that code
because() {
	code=$1
	shift
	cases=$((cases + 1))
	text=
	for i in 0 1 2 3 4; do
		[ "$(json ".trust.reasons[$i].code")" = "$code" ] && text=$(json ".trust.reasons[$i].text")
	done
	[ -n "$text" ] || fail "no reason is $code: $(json .trust)"
	for wanted; do
		case $text in *"$wanted"*) ;; *) fail "'$wanted' is not said: $text" ;; esac
	done
}

# The accounts alone: the three levels, and nothing below them.
accounts_alone() {
	cases=$((cases + 1))
	[ "$(json '.levels[2].level')" = time ] && [ -z "$(json '.levels[3].level')" ] || fail "levels are $(json .levels)"
	cases=$((cases + 1))
	[ "$(json .counts.read_calls | cut -d. -f1)" -ge 30000 ] || fail "30,000 reads were $(json .counts.read_calls)"
}

what='a filter of system calls, as containers have'
if "$tmp/refuse" counters true; then
	denied "$tmp/refuse" counters
	because sampling_forbidden seccomp 'docker run --cap-add PERFMON'
	accounts_alone
fi

what='a setting that forbids all of it, as Debian has it'
echo 3 >"$tmp/three"
# shellcheck disable=SC2016 # the inner shell's words
set_three='mount --bind "$0" /proc/sys/kernel/perf_event_paranoid && exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"'
if [ "$(id -u)" = 0 ] && unshare -m sh -c "$set_three" "$tmp/three" true 2>/dev/null && "$tmp/refuse" setting true &&
	setpriv --reuid=65534 --regid=65534 --clear-groups "$ASSAY" --version >/dev/null 2>&1; then
	mkdir -m 777 "$tmp/home"
	HOME=$tmp/home denied unshare -m sh -c "$set_three" "$tmp/three" "$tmp/refuse" setting
	because sampling_forbidden 'kernel.perf_event_paranoid is 3, 1 would allow it' 'sysctl kernel.perf_event_paranoid=1' CAP_PERFMON
	accounts_alone

	what='an ordinary user, as most systems have it'
	if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" = 2 ]; then
		HOME=$tmp/home denied setpriv --reuid=65534 --regid=65534 --clear-groups
		because kernel_hidden 'sysctl kernel.perf_event_paranoid=1' CAP_PERFMON
		cases=$((cases + 1))
		[ "$(json .counts.read_calls | cut -d. -f1)" -ge 30000 ] || fail "30,000 reads were $(json .counts.read_calls)"
	fi
fi

what='no /proc and no /sys'
if ! grep -q __asan_init "$ASSAY" && # which needs /proc itself
	unshare -m sh -c 'mount -t tmpfs none /proc && mount -t tmpfs none /sys' 2>/dev/null; then
	work='exec sleep 0.2' # whether it waited for a CPU then is not known; of several processes, what was at work is seen
	# shellcheck disable=SC2016 # the inner shell's words
	denied unshare -m sh -c 'mount -t tmpfs none /proc && mount -t tmpfs none /sys && exec "$@"' sh
	because busy_unknown /proc/pressure/cpu
	expect_json .trust.verdict indicative
	expect_json .counts.read_calls null
	work=$reads
	run stat --budget 0.1 -- true
fi

what='users and processes of a container'
if unshare -Urpf --mount-proc true 2>/dev/null; then
	denied unshare -Urpf --mount-proc
	cases=$((cases + 1))
	[ "$(json .counts.read_calls | cut -d. -f1)" -ge 30000 ] || fail "30,000 reads were $(json .counts.read_calls)"
fi
finish
