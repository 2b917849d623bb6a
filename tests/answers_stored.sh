# The questions about what is stored (tests/answers sources this): see ask, ask_file, ask_kind, ask_page and keep there.

about_quiho() {
	cp -R "$fixture/quiho" "$work/quiho"
	ask quiho host list
	ask quiho host list --types
	ask quiho check
	ask quiho host drift
	ask quiho host list
	ask quiho result list
	ask_file "$work/tables/results.csv" quiho result export "$work/tables"
	ask quiho host list --fingerprints
	for machine in issdm-41 issdm-0 scruffy.soe.ucsc.edu nobody; do
		ask quiho host show "$machine"
		ask quiho host show --passes "$machine"
	done
	ask quiho host show issdm-41 issdm-0
	ask quiho host show issdm-0 scruffy.soe.ucsc.edu
	ask quiho host show scruffy.soe.ucsc.edu@2017-06-15 scruffy.soe.ucsc.edu
	for app in hpccg comd stream/add-1 stream/copy-30 mysqlslap/innodb_load fio/write-fiofile-4k-seq comd@imported comd@1.0 nothing; do
		ask quiho result show "$app"
		ask quiho result show "$app" --failed --output
	done
	quiho_profiles
	quiho_gates
	quiho_pages
	quiho_changes
}

quiho_profiles() {
	for app in hpccg comd lulesh miniaero miniamr minife scikit-learn stream/add-1 stream/triad-30 mysqlslap/innodb_load \
		mysqlslap/memory_scan fio/randread-fiofile-4k-seq fio/write-fiofile-4096k-seq; do
		ask quiho profile "$app"
	done
	ask quiho profile hpccg@imported --top 3 --resamples 50 --seed 7
	ask quiho profile nothing
	for app in hpccg comd miniamr stream/add-1 mysqlslap/innodb_load fio/read-fiofile-4k-seq scikit-learn; do
		ask quiho profile "$app" --model paper
		ask quiho suggest "$app"
	done
	ask quiho profile comd --model paper --top 4
	ask quiho suggest comd --top 2
	for machine in issdm-41 issdm-0 scruffy.soe.ucsc.edu; do
		for app in miniamr hpccg stream/copy-2 mysqlslap/innodb_key; do
			ask quiho predict "$app" --machine "$machine"
		done
	done
	ask quiho predict miniamr --machine nobody
}

quiho_gates() {
	for pair in 'mysqlslap/innodb_load mysqlslap/memory_load' 'mysqlslap/memory_load mysqlslap/innodb_load' \
		'mysqlslap/innodb_key mysqlslap/innodb_scan' 'stream/add-1 stream/add-2' 'stream/copy-1 stream/scale-1' 'stream/add-1 stream/add-30' \
		'hpccg comd' 'miniamr lulesh' 'fio/read-fiofile-4k-seq fio/read-fiofile-128k-seq' 'hpccg hpccg' 'stream/add-1 hpccg' 'hpccg nothing'; do
		# shellcheck disable=SC2086
		ask quiho gate $pair
	done
	for pair in 'mysqlslap/innodb_load mysqlslap/memory_load' 'stream/add-1 stream/add-2' 'miniamr lulesh'; do
		# shellcheck disable=SC2086
		ask quiho gate $pair --min-effect 0.3 --all
	done
	ask quiho gate mysqlslap/innodb_load mysqlslap/memory_load --all --top 3
}

quiho_pages() {
	ask quiho host list --format html
	ask_page quiho report mysqlslap/innodb_load mysqlslap/memory_load
	ask_page quiho report stream/add-1 stream/add-2 --model paper
	ask_page quiho report hpccg nothing
}

# On the copy: what writes, and what it leaves.
quiho_changes() {
	ask quiho host retire issdm-0 --reason 'sold'
	ask quiho host show issdm-0
	ask quiho host retire issdm-0 --undo
	ask quiho host accept issdm-41 --reason 'memory replaced'
	ask quiho host rename issdm-41 renamed
	ask quiho host rename renamed issdm-0
	ask quiho host rename renamed issdm-0 --merge
	ask quiho host show renamed
	keep quiho machines/issdm-0.json
	ask quiho host import "$fixture/tables/machines.csv"
	ask none init "$work/fresh"
	ask fresh host import "$fixture/tables/machines.csv"
	ask fresh result import "$fixture/tables/results.csv" --version 2.1
	ask fresh result list
	ask fresh host list --types
	ask_file "$work/tables/machines.csv" fresh result export "$work/tables"
	ask fresh host import "$work/empty"
	keep fresh .assay/runs.db
	keep fresh machines/issdm-0.json
}

about_lab() {
	cp -R "$fixture/lab" "$work/lab"
	ask lab host list
	ask lab host list --types
	ask lab check
	ask lab host drift
	ask lab host list
	ask lab host list -w 'emu[01-03],emu07' -x emu02
	ask lab host list -w nobody
	ask lab result list
	ask_file "$work/tables/machines.csv" lab result export "$work/tables"
	for machine in emu01 emu02 emu06 emu12; do
		ask lab host show "$machine"
		ask lab host show --passes "$machine"
	done
	ask lab host list --fingerprints
	ask lab host show emu01 emu02
	ask lab host show emu01 emu06
	first=$("$ASSAY" -C "$work/lab" host list --fingerprints --format json | sed -n 's/^ *"id": "\(.*\)",$/\1/p' | head -n 1)
	ask lab host show "$first" emu01
	for app in sqlite@wal sqlite@rollback sqlite probed/x@a probed/yy@b probed fails/x@a fails/yy@a fails/yy@b; do
		ask lab result show "$app"
		ask lab result show "$app" --failed --output
	done
	lab_decisions
	lab_samples
	ask lab run sqlite --dry-run --seed 3
	ask lab run probed --dry-run --seed 3 --versions b --inputs yy --repetitions 2 -w emu01,emu05
	ask lab run emulated --dry-run --probe --seed 3
	ask lab run sqlite --resume
	ask lab run nothing
	ask lab host accept emu01 --reason 'it is like that'
	ask lab host retire emu12 --reason 'worn out'
	ask lab host rename emu11 other
	ask lab check
	for file in machines/emu01.json machines/emu12.json machines/other.json .assay/runs.db; do keep lab "$file"; done
}

lab_decisions() {
	for app in sqlite@wal sqlite@rollback probed/x@a fails/yy@a; do
		ask lab profile "$app"
		ask lab profile "$app" --model paper
		ask lab suggest "$app"
		ask lab predict "$app" --machine emu07
	done
	for pair in 'sqlite@wal sqlite@rollback' 'sqlite@rollback sqlite@wal' 'probed/x@a probed/x@b' 'fails/x@a fails/x@b' 'fails/yy@a fails/yy@b' \
		'fails/x@a fails/yy@b' 'sqlite sqlite' 'probed@a probed@b'; do
		# shellcheck disable=SC2086
		ask lab gate $pair
		# shellcheck disable=SC2086
		ask_page lab report $pair
	done
	ask lab gate sqlite@wal sqlite@rollback --min-effect 0.5 --all
	ask lab host list --format html
}

lab_samples() {
	for app in probed@a probed@b emulated@a emulated@b sqlite@wal probed emulated; do
		ask lab samples "$app"
	done
	ask lab samples probed@a --show ''
	ask lab samples emulated@b --show ''
	ask lab samples emulated@b -s zz
	for app in probed emulated; do
		ask lab detect "$app@a" "$app@b"
		ask lab detect "$app@a" "$app@b" --all --rate 0.2
		ask lab detect "$app@a" "$app@b" --all --rate 0.2 --type base
		ask lab detect "$app@a" "$app@a" --rate 0.2 --type vm
		ask lab changes "$app@a" "$app@b" --object p
	done
	ask lab detect emulated@a emulated@b --type base
	ask lab prune --samples --older-than 36500
	ask lab prune --samples --older-than 0
	ask lab samples emulated@a
}

about_samples() {
	builds=$fixture/builds samples=$fixture/samples
	for kept in seven/1 seven-27/2 hash_lock-bad/1 probed-seven/1 probed-seven-27/2 probed-calls/1 seven-few nothing; do
		ask none samples "$samples/$kept"
	done
	for fault in 1 3 5 6 27; do
		ask none detect "$samples/seven" "$samples/seven-$fault" --new-build "$builds/seven-$fault"
		ask none detect "$samples/seven" "$samples/seven-$fault" --all --old-build "$builds/seven" --new-build "$builds/seven-$fault"
	done
	for program in scalar_sum hash_lock extra_copy branch; do
		ask none detect "$samples/$program" "$samples/$program-bad" --all
		ask none detect "$samples/$program-bad" "$samples/$program" --rate 0.25
	done
	ask none detect "$samples/seven" "$samples/seven-same" --all
	ask none detect "$samples/seven-few" "$samples/seven-27"
	ask none detect "$samples/probed-seven" "$samples/probed-seven-27" --all
	ask none detect "$samples/probed-seven" "$samples/seven-27"
	ask none detect "$samples/seven" "$samples/seven-27" --model paper --all
	ask none detect "$samples/seven" "$samples/seven-same" --model paper
	detect_options
	about_builds
}

detect_options() {
	for option in --paper '--clusters each' '--clusters 2' --single-sample '--threshold deviation --t 3' '--threshold 0.1' '--threads 1' '--seed 9' \
		'--least 0.2' '--functions parse,tally' '--functions nothing' '--rate 0.5'; do
		# shellcheck disable=SC2086
		ask none detect "$samples/seven" "$samples/seven-27" $option
	done
	ask none detect "$samples/probed-seven" "$samples/probed-seven-27" --old-build "$builds/seven-plain" --new-build "$builds/seven-plain-27" --all
	ask none detect "$samples/seven" "$samples/seven-27" --old-build "$builds/seven-plain" --new-build "$builds/seven-plain-27"
}

about_builds() {
	for file in seven-plain calls throws not-for-the-probe seven seven.c nothing; do
		ask none inspect "$builds/$file"
	done
	ask none changes "$builds/seven-plain" "$builds/seven-plain-27"
	ask none changes "$builds/seven-plain" "$builds/seven-plain-27" --all --wrapper 4
	ask none changes "$builds/seven-plain" "$builds/seven-plain"
	ask none changes "$builds/calls" "$builds/throws"
	ask none changes "$builds/not-for-the-probe" "$builds/calls"
	ask none changes "$builds/seven.c" "$builds/calls"
	ask none changes "$builds/seven-one" "$builds/seven-two" --git "$builds/repository" --refs one..two
	ask none changes "$builds/seven-one" "$builds/seven-two" --git "$builds/repository" --refs one..three
	ask_file "$work/list" none changes "$builds/seven-plain" "$builds/seven-plain-27" --list "$work/list"
	ask_file "$work/list" none changes "$builds/seven-plain" "$builds/seven-plain-27" --list-old "$work/list"
	ask_file "$work/list" none probe --functions tally,draw --list "$work/list" -- "$builds/seven-plain"
	ask_kind shape none counters --format json
	ask_kind shape none counters PAPI_TOT_INS,perf::PAGE-FAULTS --format json
	ask none counters NOTHING_AT_ALL
}

# ---- wrong usage: nothing but the exit status ----

commands='init:DIR
host up:DIR
host down:DIR
host list:
host trust:
host check:
host copy:FROM TO
host copy --fetch:FROM DIR
host exec:...
host measure:
host show --passes:WHICH
host show:A B
host list:
host show:MACHINE
host list --types:
check:
host drift:
host accept:MACHINE
host rename:OLD NEW
host retire:MACHINE
suggest:APP
run:APP
result list:
result show:APP
result export:DIR
host import:FILE
profile:APP
predict:APP
gate:A B
diff:A B
report:A B
changes:A B
inspect:FILE
counters:EVENTS
probe:...
build --for counters:...
record --for counters:...
samples:...
detect:A B'

# In a laboratory: words and values that are refused.
wrong_values() {
	while read -r words; do
		# shellcheck disable=SC2086
		ask_kind status quiho $words
	done <<'END'
profile hpccg --top 0
profile hpccg --top x
profile hpccg --model nothing
profile hpccg --resamples -1
profile hpccg --seed
gate hpccg comd --min-effect -1
gate hpccg comd --min-effect x
gate hpccg comd --method nothing
predict hpccg
report hpccg comd
host retire issdm-0
host accept issdm-0
result show hpccg --output
result export /nowhere/at/all
host list -w n[01-
host check -w @nothing
host check --fanout 0
host exec --timeout 0 -- true
host measure --battery nothing
run nothing --repetitions 0
END
}

about_usage() {
	echo "$commands" >"$work/commands"
	while IFS=: read -r command takes; do
		# shellcheck disable=SC2086
		{
			ask_kind status none $command --help
			ask_kind status none $command --no-such-option
			ask_kind status none $command --format xml
			case $takes in
			'...') ask_kind status none $command ;; # any number of words
			*)
				ask_kind status none $command $takes too-many
				case $command in init | 'host up' | 'host down') ;; *) ask_kind status none $command ;; esac
				;;
			esac
		}
	done <"$work/commands"
	[ ! -d "$work/quiho" ] || wrong_values
	while read -r words; do
		# shellcheck disable=SC2086
		ask_kind status none $words
	done <<'END'
nothing
catalog nothing
--help
--version
-C
-C /nowhere/at/all host list
detect a
detect a b --rate 2
detect a b --rate 0
detect a b --model nothing
detect a b --clusters 0
detect a b --threshold nothing
detect a b --t 9
detect a b --threads 0
detect a b --least 2
probe -- /nowhere/at/all
probe --functions a -- /nowhere/at/all
probe --functions a --budget -1 -- true
record --for counters -- /nowhere/at/all
record --for counters --nodes 0 -- true
build --for counters -- gcc -c /nowhere/at/all.c
build --for counters -- /nowhere/at/all
host up DIR --hosts 0
host up DIR --profiles nothing
inspect -C here FILE
changes a b --refs x
END
	ask_kind status none # no word at all
}

stored_questions() {
	if [ -d "$fixture/quiho" ] && [ -f "$quiho/results.csv" ]; then
		about_quiho
	else
		echo "tests/answers: excluded: questions about the recorded machines, which are not there (ASSAY_QUIHO=$quiho)" >&2
	fi
	about_lab
	about_samples
	about_usage
}
