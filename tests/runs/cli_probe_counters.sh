# Hardware counters all the way: planned, packed, read by the probe, joined, made comparable. perf_event_open() is tests/probed/perf_event.c's,
# whose every event is the task clock; the processor is what libpfm is told.
. "${ASSAY_SOURCE:?}/tests/lib_probe.sh"
: "${ASSAY_COUNTED:?}" "${ASSAY_PERF_EVENT:?}"
ASSAY_ITSELF=$ASSAY

export LIBPFM_FORCE_PMU=skl LD_PRELOAD="$ASSAY_PERF_EVENT" ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0"
$ASSAY_COUNTED counters PAPI_TOT_INS >/dev/null 2>&1 || skip 'this user may not count'

# With the command whose counting program has such counters.
counted() {
	ASSAY=$ASSAY_COUNTED
	run "$@"
	ASSAY=$ASSAY_ITSELF
}

# Of the answer of `counters`: events of each run, a line a run.
runs_of() {
	awk '$1 == "\"events\":" { if (line) print line; line = "" }
		$1 == "\"absent\":" { if (line) print line; exit }
		$1 == "\"name\":" { gsub(/[",]/, "", $2); line = line (line ? " " : "") $2 }' "$tmp/out"
}

expect_runs() {
	cases=$((cases + 1))
	[ "$(runs_of)" = "$1" ] || fail "the runs are
$(runs_of)
expected
$1"
}

events=PAPI_TOT_INS,PAPI_TOT_CYC,PAPI_L1_DCM,PAPI_BR_INS,PAPI_BR_MSP,PAPI_L1_ICM
what='planned and packed: instructions in every run, and no more events than counters'
PERF_EVENT_COUNTERS=4 counted counters $events --format json
expect_status 0
expect_runs 'PAPI_TOT_INS PAPI_TOT_CYC PAPI_L1_DCM PAPI_BR_INS
PAPI_TOT_INS PAPI_BR_MSP PAPI_L1_ICM'
PERF_EVENT_COUNTERS=6 counted counters $events --format json
expect_runs 'PAPI_TOT_INS PAPI_TOT_CYC PAPI_L1_DCM PAPI_BR_INS PAPI_BR_MSP PAPI_L1_ICM'

what='an event that opens and stays 0 is none'
PERF_EVENT_STILL=c5,51 counted counters $events,PAPI_CA_SNP --format json # PAPI_BR_MSP, PAPI_L1_DCM
expect_status 0
expect_runs 'PAPI_TOT_INS PAPI_TOT_CYC PAPI_BR_INS PAPI_L1_ICM
PAPI_TOT_INS PAPI_CA_SNP'
expect_stdout '"it can be opened but always stays 0"'
cases=$((cases + 1))
[ "$(grep -c 'stays 0' "$tmp/out")" -eq 2 ] || fail 'two events stay 0'

what='a processor without presets: its own events, under the names that all have'
: >none.csv
PAPI_CSV_EVENT_FILE=$PWD/none.csv counted counters PAPI_TOT_INS,PAPI_TOT_CYC --format json
expect_status 0
expect_runs 'PAPI_TOT_INS PAPI_TOT_CYC'

what='Debian'"'"'s own kernel.perf_event_paranoid: what to do is said everywhere'
echo 3 >paranoid
if [ "$(id -u)" = 0 ] && mount --bind paranoid /proc/sys/kernel/perf_event_paranoid 2>/dev/null; then
	remedy='kernel.perf_event_paranoid is 3 (Debian'"'"'s default), 2 would allow it ('"'"'sysctl kernel.perf_event_paranoid=2'"'"' as root)'
	gcc $flags "$source/calls.c" -o calls || exit 1
	counted counters PAPI_TOT_INS
	expect_status 6
	expect_stdout "$remedy"
	counted inspect ./calls
	expect_stdout "$remedy"
	counted record --for functions --library "$library" -o samples --functions work --counters PAPI_TOT_INS -- ./calls
	holds "$tmp/err" 'standard error' "$remedy"
	run record --for functions --functions work --list calls.list -- ./calls
	mkdir by_hand
	LD_PRELOAD="$library:$LD_PRELOAD" ASSAY_PROBE_COUNTERS=papi:PAPI_TOT_INS ASSAY_PROBE_LIST=calls.list ASSAY_PROBE_DIRECTORY=by_hand ./calls >/dev/null 2>"$tmp/err"
	run inspect by_hand --format json
	expect_stdout "$remedy"
	expect_json .files[0].back_end time
	umount /proc/sys/kernel/perf_event_paranoid
else
	echo 'not tested: kernel.perf_event_paranoid=3 (it takes root and mounts)'
fi

what='and where the kernel refuses'
PERF_EVENT_ERRNO=13 counted counters PAPI_TOT_INS
expect_status 6
expect_stdout 'No hardware counters: '
PERF_EVENT_ERRNO=2 counted counters PAPI_TOT_INS
expect_stdout 'the kernel has no counters'

what='the probe counts in several runs'
gcc $flags "$source/calls.c" -o calls || exit 1
for side in old new; do
	for i in 1 2 3; do
		PERF_EVENT_COUNTERS=3 counted record --for functions --library "$library" -o $side.$i --budget 0 --functions work,tiny --counters PAPI_TOT_INS,PAPI_L1_DCM,PAPI_BR_MSP,PAPI_TOT_CYC -- ./calls 20
		expect_status 0
		mkdir -p $side
		mv $side.$i $side/$i
	done
done
run inspect old/1 --format json
expect_json .files[0].back_end papi
expect_member samples tiny '20000 20000'
for row in PAPI_TOT_INS:2 PAPI_L1_DCM:1 PAPI_BR_MSP:1 PAPI_TOT_CYC:1; do
	cases=$((cases + 1))
	[ "$(grep -al "c ${row%:*}$" old/1/*.samples | wc -l)" -eq "${row#*:}" ] || fail "${row%:*} is to be counted in ${row#*:} of 2 runs"
done

what='what PAPI itself does is taken off'
# How much is left of a function that does nothing: `sh tests/run --evidence probe`.
cases=$((cases + 1))
json .files[0].about.cost_inside | tr -d '"' | cut -d ' ' -f 3 | awk '{ exit !($1 > 50) }' || fail "reading the counters costs $(json .files[0].about.cost_inside)"

what='and they are joined'
run detect old new --all --format json
expect_json .backend papi
finish
