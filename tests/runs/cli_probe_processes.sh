# The probe in programs that fork, exec, are killed, load libraries, leave where they began; and what the kernel and PAPI count in them.
. "${ASSAY_SOURCE:?}/tests/lib_probe.sh"

what='fork: each process has a file of its own'
gcc $flags "$source/processes.c" -o processes || exit 1
probe --functions forker,step --budget 0 -- ./processes
expect_status 0
expect_printed 100
cases=$((cases + 1))
[ "$(member samples step | sort -n | tr '\n' ' ')" = '30 100 ' ] || fail "samples of step: $(member samples step | tr '\n' ' ')"
cases=$((cases + 1))
[ "$(member calls forker | sort -n | tr '\n' ' ')" = '1 ' ] || [ "$(member samples forker | sort -n | tr '\n' ' ')" = '0 1 ' ] ||
	fail 'forker began in the parent: it is the parent that measured it'
what='a call on the stack of a signal handler is counted, not measured'
cases=$((cases + 1))
member calls step | grep -q '^101$' || fail "calls of step: $(member calls step | tr '\n' ' ')"

what='nothing but calls that are counted'
probe --functions handler --budget 0 -- ./processes
expect_status 6
expect_error '1 call of selected functions, of which none could be measured'

what='vfork: the child ends with exit(), and its parent goes on to be measured'
probe --functions step --budget 0 -- ./processes vfork
expect_status 0
cases=$((cases + 1))
[ "$(member samples step | sort -n | tr '\n' ' ')" = '30 100 ' ] || fail "samples of step: $(member samples step | tr '\n' ' ')"

what='a child that begins threads before it calls anything that is measured'
gcc $flags "$source/daemon.c" -o daemon -pthread || exit 1
probe --functions step --budget 0 -- ./daemon
expect_status 0
expect_printed 0
cases=$((cases + 1))
[ "$(member samples step | sort -n | tr '\n' ' ')" = '70 100 ' ] || fail "samples of step: $(member samples step | tr '\n' ' ')"
what="a child's calls are its own, not its parent's"
for budget in 0 0.03; do
	probe --functions step --budget $budget -- ./daemon
	expect_status 0
	cases=$((cases + 1))
	[ "$(member calls step | sort -n | tr '\n' ' ')" = '70 100 ' ] || fail "calls of step: $(member calls step | tr '\n' ' ')"
done
what='a child for which there can be no file goes on'
probe --functions step --budget 0 -- ./daemon gone
expect_status 0
expect_printed 0
expect_member samples step 100

what='a server that leaves where it began, and its user'
gcc $flags "$source/leaves.c" -o leaves || exit 1
mkdir empty
if ./leaves empty >/dev/null; then
	probe --functions step --budget 0 -- ./leaves empty
	expect_status 0
	expect_member samples step 100000
else
	echo 'not tested: another root directory and user (only root may)'
fi

what='exec: what was measured before is kept'
probe --functions step --budget 0 -- ./processes exec
expect_status 0
cases=$((cases + 1))
member samples step | grep -q '^100$' || fail "samples of step: $(member samples step | tr '\n' ' ')"

what='a program that is killed'
probe --functions step --budget 0 -- ./processes killed
expect_status 1
cases=$((cases + 1))
grep -q "'./processes' was killed by signal 9" said || fail 'it should be said how the program ended'
cases=$((cases + 1))
member samples step | grep -q '^100$' || fail "samples of step: $(member samples step | tr '\n' ' ')"
cases=$((cases + 1))
grep -q '"finished": false' "$tmp/out" || fail 'a file should say that its process did not end in order'

what='handlers of signals that call, and jump out of whatever they interrupt, the beginning of a thread too'
g++ $flags "$source/rough.cc" -o rough -pthread || exit 1
native=$(./rough)
for budget in 0 0.03; do
	probe --functions leaf,handler,deep,thrower,catcher,jumper,thread --budget $budget -- ./rough
	expect_status 0
	expect_printed "$native"
	expect_member calls deep 124500
	expect_member calls jumper 4960
	expect_member calls thread 40
	cases=$((cases + 3))
	[ "$(member threads handler)" -le 41 ] || fail "$(member threads handler) threads: main and 40 others expected"
	[ "$(member calls leaf | cut -d. -f1 | wc -c)" -lt 10 ] || fail "$(member calls leaf) calls of leaf"
	[ "$(member ns leaf | cut -d. -f1 | wc -c)" -lt 9 ] || fail "a call of leaf takes $(member ns leaf) ns"
done

what='a library that is loaded later, three times'
mkdir plugins
gcc $flags -fPIC -shared "$source/plugin.c" -o plugins/libplugin.so || exit 1
gcc $flags "$source/loader.c" -o loader -ldl -Wl,-rpath,"$tmp/plugins",--enable-new-dtags || exit 1
native=$(./loader)
probe --functions plugin,plugin_inner --module plugins/libplugin.so --budget 0 -- ./loader
expect_status 0
expect_printed "$native"
expect_member samples plugin_inner 30
expect_member calls plugin 30

what='a child that loads a library before it calls anything that is measured'
gcc $flags "$source/child.c" -o child -ldl -Wl,-rpath,"$tmp/plugins",--enable-new-dtags || exit 1
run record --for functions --functions step --list child.list -- ./child
run record --for functions --functions plugin_inner --module plugins/libplugin.so --list plugin.list -- true
cat plugin.list >>child.list
rm -rf samples && mkdir samples
ASSAY_PROBE_BUDGET=0 LD_PRELOAD=$library ASSAY_PROBE_LIST=child.list ASSAY_PROBE_DIRECTORY=samples ./child >printed 2>"$tmp/err"
expect_printed 0
cases=$((cases + 1))
[ -s "$tmp/err" ] && fail 'nothing is to be said'
run inspect samples/*.samples --format json
cases=$((cases + 2))
[ "$(member samples plugin_inner | sort -n | tr '\n' ' ')" = '10 20 ' ] || fail "samples of plugin_inner: $(member samples plugin_inner | tr '\n' ' ')"
[ "$(member calls step | sort -n | tr '\n' ' ')" = 'null 100 ' ] || fail "calls of step: $(member calls step | tr '\n' ' ')"

what='threads that were there before the library, and one that loads it'
gcc $flags "$source/late.c" -o late -ldl -pthread -Wl,-rpath,"$tmp/plugins",--enable-new-dtags || exit 1
for how in '' worker; do
	probe --functions plugin_inner --module plugins/libplugin.so --budget 0 -- ./late $how
	expect_status 0
	expect_printed 'done'
	expect_member samples plugin_inner 50
	expect_member calls plugin_inner 50
done

what='what the kernel counts'
gcc $flags "$source/calls.c" -o calls && gcc -O2 "$source/refuse.c" -o refuse || exit 1
probe --functions work --budget 0 --counters perf::PAGE-FAULTS,perf::CONTEXT-SWITCHES -- ./calls 5
if [ "$status" -ne 0 ] || grep -q 'are not available' said; then
	echo 'skipped: this user may not count'
else
	expect_status 0
	expect_json .files[0].back_end software
	expect_member samples work 5
	cases=$((cases + 1))
	[ -n "$(member perf::PAGE-FAULTS work)" ] || fail 'page faults of work expected'
	gcc $flags "$source/closes.c" -o closes || exit 1
	probe --functions step --budget 0 --counters perf::PAGE-FAULTS,perf::CONTEXT-SWITCHES -- ./closes
	expect_status 0
	expect_printed '0 0'
	expect_member samples step 21

	# by_hand PROGRAM ARGUMENT...: context switches, whatever the machine can count
	by_hand() {
		rm -rf by_hand.samples && mkdir -m 777 by_hand.samples
		ASSAY_PROBE_BUDGET=0 ASSAY_PROBE_LIST=functions.list ASSAY_PROBE_DIRECTORY=by_hand.samples ASSAY_PROBE_INPUT=by_hand \
			ASSAY_PROBE_COUNTERS=software:perf::PAGE-FAULTS,perf::CONTEXT-SWITCHES "$@" >printed 2>"$tmp/err"
		run inspect by_hand.samples/*.samples --format json
	}
	run record --for functions --functions work --list functions.list -- ./calls
	if ./refuse counters true; then
		what='a filter of system calls forbids counting'
		by_hand ./refuse counters env "LD_PRELOAD=$library" ./calls 3
		expect_printed "$(./calls 3)"
		expect_json .files[0].back_end time
		cases=$((cases + 1))
		grep -q '"not_counted": "a filter of system calls (seccomp)' "$tmp/out" || fail 'it should be said that a filter forbids it'
	fi
	if [ "$(id -u)" = 0 ] && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -ge 2 ] && chmod 755 "$tmp" &&
		setpriv --reuid 65534 --regid 65534 --clear-groups test -r "$library" -a -x ./calls; then
		what='another user may not count what happens in the kernel: context switches are not 0 for that'
		by_hand setpriv --reuid 65534 --regid 65534 --clear-groups env "LD_PRELOAD=$library" ./calls 3
		expect_printed "$(./calls 3)"
		expect_json .files[0].back_end time
		cases=$((cases + 1))
		grep -q '"not_counted": "this user has no permission: kernel.perf_event_paranoid is [2-9], 1 would' "$tmp/out" || fail 'the setting should be said'
	else
		echo 'not tested: another user, who may not count what happens in the kernel'
	fi
fi

what='counters through PAPI, in a child too, unless its parent had other threads'
if gcc $flags "$source/counted.c" -o counted -lsde -pthread 2>"$tmp/err"; then
	run record --for functions --functions step --list counted.list -- ./counted
	expect_status 0
	# how it runs, the counter's mean in parent and child (a call in which it went backwards is not counted), how many files say why not
	for row in 'alone:3 7 :0' 'backwards:3 7 :0' 'threads:null 3 :1' 'timer:null 3 :1'; do
		how=${row%%:*} refused=${row##*:} counted=${row#*:} counted=${counted%:*}
		rm -rf samples && mkdir samples
		LD_PRELOAD=$library ASSAY_PROBE_LIST=counted.list ASSAY_PROBE_DIRECTORY=samples ASSAY_PROBE_BUDGET=0 \
			ASSAY_PROBE_COUNTERS=papi:sde:::steps::taken ./counted "$how" >printed 2>"$tmp/err"
		status=$?
		expect_status 0
		run inspect samples/*.samples --format json
		grep -c '"not_counted": "the child of a process with several threads"' "$tmp/out" >refused_children
		cases=$((cases + 3))
		[ "$(member samples step | sort -n | tr '\n' ' ')" = '30 100 ' ] || fail "$how: samples of step: $(member samples step | tr '\n' ' ')"
		[ "$(member sde:::steps::taken step | sort -n | tr '\n' ' ')" = "$counted" ] ||
			fail "$how: counted in step: $(member sde:::steps::taken step | tr '\n' ' ')"
		[ "$(cat refused_children)" = "$refused" ] || fail "$how: the reason belongs to the child of several threads alone"
	done
else
	echo 'not tested: counters through PAPI (no libsde; libpapi-dev has it)'
fi

finish
