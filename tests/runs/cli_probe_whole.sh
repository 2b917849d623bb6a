# Programs stay whole under the probe, whatever they do with their stacks and signals: they print what they print by themselves, and end.
. "${ASSAY_SOURCE:?}/tests/lib_probe.sh"

# whole FUNCTIONS PROGRAM ARGUMENT...: at both budgets, in half a minute at most.
whole() {
	functions=$1
	shift
	native=$("$@")
	for budget in 0 0.03; do
		rm -rf samples
		timeout 30 "$ASSAY" record --for functions -o samples --functions "$functions" --budget $budget -- "$@" >printed 2>"$tmp/err"
		status=$?
		expect_status 0
		expect_printed "$native"
		run inspect samples --format json
		expect_json .files[0].finished true
	done
}

what='handlers that jump out of what they interrupt, the probe too'
gcc $flags "$source/jumps.c" -o jumps || exit 1
whole leaf,deep,main ./jumps 400

what='an alternate stack within the stack'
gcc $flags "$source/stack_in_stack.c" -o stack_in_stack || exit 1
whole leaf,work,main ./stack_in_stack signal
expect_member calls work 20

what='a coroutine on a stack within the stack'
whole leaf,step,main ./stack_in_stack coroutine
expect_member calls step 100
expect_member calls leaf 200

what='coroutines in a thread that was there before the library'
gcc $flags -fPIC -shared "$source/switches.c" -o libswitches.so &&
	gcc $flags "$source/switches_host.c" -o switches_host -ldl -pthread -Wl,-rpath,"$tmp" || exit 1
native=$(./switches_host)
for budget in 0 0.03; do
	rm -rf samples
	timeout 30 "$ASSAY" record --for functions -o samples --functions yields,leaf --module ./libswitches.so --budget $budget -- ./switches_host >printed 2>"$tmp/err"
	status=$?
	expect_printed "$native"
	run inspect samples --format json
	expect_member calls yields 100
	expect_member calls leaf 149
done

what='who calls a measured function, and what it ends with'
gcc $flags "$source/callers.c" -o callers -ldl -Wl,-rpath,"$tmp",--enable-new-dtags || exit 1
whole asks,opens,main ./callers
expect_printed '1 1'

what='functions that end by jumping to swapcontext(), and the frames that a program sees'
gcc $flags "$source/contexts.c" -o contexts || exit 1
whole resume,yield,begin,step,inner,frames,main ./contexts

what='all of that at once, in several threads, at random instructions'
gcc $flags "$source/hostile.c" -o hostile -pthread || exit 1
whole leaf,tail,deep,yields,handler,thread ./hostile 400
expect_member calls thread 4

what='a program that runs with the rights of another user does not obey the environment of who starts it'
gcc $flags "$source/calls.c" -o plain_calls -Wl,--no-as-needed "$library" -Wl,-rpath,"$(dirname "$library")" || exit 1
run record --for functions --functions work --list linked.list -- ./plain_calls 3
run build --for counters -- gcc -g -O1 "$source/stack_in_stack.c" -o plain_emulated
expect_status 0
nobody='setpriv --reuid 65534 --regid 65534 --clear-groups'
if [ "$(id -u)" = 0 ] && chmod 755 "$tmp" && $nobody test -r "$library" -a -x ./plain_calls; then
	for program in calls emulated; do
		cp plain_$program set_$program && chown 65533 set_$program && chmod 4755 set_$program
		for kind in plain set; do
			rm -rf taken && mkdir -m 777 taken
			$nobody env ASSAY_PROBE_LIST="$tmp/linked.list" ASSAY_PROBE_DIRECTORY="$tmp/taken" ASSAY_EMULATE_DIRECTORY="$tmp/taken" \
				./${kind}_$program 3 >printed 2>"$tmp/err"
			expect_printed "$(./plain_$program 3)"
			cases=$((cases + 1))
			[ "$(ls taken | wc -l)" = $([ $kind = plain ] && echo 1 || echo 0) ] || fail "${kind}_$program: sample files: $(ls taken)"
		done
	done
else
	echo 'not tested: programs that run with the rights of another user (only root can make them)'
fi

what='a file system that writes to another place each time; with room, and without'
# on MEGABYTES KIND PROGRAM ARGUMENT...: a file system of that size for the samples, which end in ./taken.
on() {
	rm -rf taken && mkdir -p taken
	unshare -m sh -c 'mkdir -p small && mount -t tmpfs -o size="$1"m none small && mkdir small/a small/b small/c small/d || exit 77
		at=small/a
		if [ "$2" = overlay ]; then
			at=small/d
			mount -t overlay -o lowerdir=small/a,upperdir=small/b,workdir=small/c none $at || exit 77
		fi
		shift 2
		ASSAY_PROBE_DIRECTORY=$at "$@"
		status=$?
		cp $at/*.samples taken
		exit $status' sh "$@" >printed 2>"$tmp/err"
	status=$?
}
ASSAY_PROBE_BUDGET=0 && export ASSAY_PROBE_BUDGET
run record --for functions --functions fib,tiny --list whole.list -- ./plain_calls 20
native=$(./plain_calls 20)
for kind in overlay plain; do
	on 64 $kind env ASSAY_PROBE_LIST=whole.list ./plain_calls 20
	[ $status = 77 ] && echo 'not tested: mounts (only root may, and not everywhere)' && break
	expect_status 0
	expect_printed "$native"
	run inspect taken --format json
	expect_json .files[0].finished true
	expect_member samples fib 21891
	expect_member samples tiny 20000
	on 1 $kind env ASSAY_PROBE_LIST=whole.list ./plain_calls 20
	expect_status 0
	expect_printed "$native"
	run inspect taken --format json
	cases=$((cases + 1))
	grep -q '"dropped": "No space left on device"' "$tmp/out" || fail 'it should be said why samples were dropped'
done

finish
