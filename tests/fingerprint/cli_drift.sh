#!/bin/sh
# Recorded sessions of six unchanged machines (docs/evidence/drift.csv), imported week by week: `host drift` says of hardly any that it
# differs from its past. Then one of them is 10 % slower in its last three weeks, and is found; one odd session of a stressor is no change.
. "$ASSAY_SOURCE/tests/lib_cli.sh"

# weeks NAME SLOW ODD: the record as the laboratory $tmp/NAME, a week at a time, with emu03 slower from week SLOW on and cpu of emu05
# halved in week ODD; prints of each week how many machines differ from their past.
weeks() {
	run init "$tmp/$1"
	for week in $(seq 12); do
		{
			echo machine,time,repetition,stressor,rate
			awk -F, -v week="$week" -v slow="$2" -v odd="$3" '$2 == week {
				factor = $1 == "emu03" && week >= slow ? .9 : $1 == "emu05" && $4 == "cpu" && week == odd ? .5 : 1
				for (pass = 1; pass <= 3; pass++)
					if ($(4 + pass) != "nan")
						printf "%s,%d,%d,%s,%.9g\n", $1, 1500000000 + week * 604800, pass, $4, $(4 + pass) * factor
			}' "$ASSAY_SOURCE/docs/evidence/drift.csv"
		} >"$tmp/machines.csv"
		"$ASSAY" -C "$tmp/$1" host import "$tmp/machines.csv" >"$tmp/out" 2>"$tmp/err" || fail "week $week cannot be imported"
		"$ASSAY" -C "$tmp/$1" host drift >"$tmp/$1.$week" 2>&1
		sed -n "s/^Compared with their own past, \([0-9]*\) of [0-9]* machines differs*\(; .*\)*\$/\1/p" "$tmp/$1.$week"
	done
}

what='nothing changed'
weeks still 99 99 >"$tmp/found"
cases=$((cases + 1))
[ "$(grep -c . "$tmp/found")" -eq 12 ] && [ "$(awk '{ n += $1 } END { print n }' "$tmp/found")" -le 3 ] ||
	fail "more than 3 times in 66 a machine differs that has not changed: $(tr '\n' ' ' <"$tmp/found")"

what='one machine is slower'
weeks slow 10 11 >"$tmp/found"
run -C "$tmp/slow" host drift --format json
expect_json .machines[2].machine emu03
expect_json .machines[2].past.all_stressors.differs true
expect_near .machines[2].past.all_stressors.ratio .9 .05
expect_json .machines[2].past.history 12
expect_json .machines[4].past.differing 0
run -C "$tmp/slow" host drift
expect_stdout 'Compared with their own past, 1 of 6 machines differs; a change of about ' 'all stressors'
run -C "$tmp/slow" host show emu03@2017-07-21 emu03
expect_stdout 'do not differ beyond the noise between sessions'

finish
