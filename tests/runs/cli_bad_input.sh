# Broken input and too little of it: one clear line, the right exit status, and nothing that was stored is lost.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"

make_package "$tmp/package" 6 8
healthy_lab "$tmp/package"

# ---- no laboratory ----

what='no laboratory'
while read -r words; do
	# shellcheck disable=SC2086
	run -C "$tmp/nowhere" $words
	refused 2 'nowhere' 'assay init' '-C DIR'
done <<END
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
END
what='a file where the laboratory should be'
run -C "$lab/lab.yaml" result list
refused 1 'lab.yaml' 'Not a directory'
what='init below a directory that is not there'
run init "$tmp/no/where"
refused 1 'no/where' 'there is no directory' 'mkdir -p'

# ---- an empty laboratory ----

what='an empty laboratory'
run init "$tmp/empty"
run -C "$tmp/empty" host list
expect_status 0
expect_stdout 'The catalog is empty' 'host import'
run -C "$tmp/empty" host list --types
expect_status 0
expect_stdout 'The catalog is empty' 'host import'
run -C "$tmp/empty" result list
expect_status 0
expect_stdout 'No results yet' 'result import'
for command in 'result list' 'host list' 'host list --types' 'check'; do
	# shellcheck disable=SC2086
	run -C "$tmp/empty" $command --format json
	expect_status 0
	expect_json_parses
done
run -C "$tmp/empty" host show node01
refused 2 "no machine 'node01'"
run -C "$tmp/empty" profile same
refused 2 "no application 'same'" 'result import'
run -C "$tmp/empty" gate same same
refused 2 "no application 'same'" 'result import'

# ---- lab.yaml: row = what | text | what the line must have ----

while IFS='|' read -r title text wanted also; do
	what="lab.yaml: $title"
	fresh
	# shellcheck disable=SC2059
	printf -- "$text" >"$tmp/broken/lab.yaml"
	for command in 'result list' "host import $tmp/package/t/machines.csv"; do
		# shellcheck disable=SC2086
		run -C "$tmp/broken" $command
		refused 2 lab.yaml: "$wanted" "$also"
	done
	cp "$lab/lab.yaml" "$tmp/broken/lab.yaml"
	still_there "$tmp/broken"
done <<'END'
a bracket that is not closed|name: [a\n|lab.yaml:
a tab|name: a\n\tmin_effect: .1\n|lab.yaml:2
unknown key|name: a\nmin_efect: 0.03\n|lab.yaml:2|min_effect
unknown key of a host|hosts:\n  - id: a\n    typ: b\n|lab.yaml:3|type
a word for a number|min_effect: small\n|lab.yaml:1|min_effect
a number out of range|min_effect: -1\n|lab.yaml:1|min_effect
NaN|min_effect: .nan\n|lab.yaml:1|min_effect
a huge number|min_effect: 1e999\n|lab.yaml:1|min_effect
a list for a name|name: [a, b]\n|lab.yaml:1|name
a name for a list|hosts: node01\n|lab.yaml:1|hosts
a host without id|hosts:\n  - type: b\n|lab.yaml:2|id
a host twice|hosts:\n  - id: a\n  - id: a\n|lab.yaml:3|twice
a key twice|name: a\nname: b\n|lab.yaml:2|name
a list at the top|- a\n|lab.yaml:1
not UTF-8|name: \377\376a\n|lab.yaml:1
NUL|name: a\000b\n|lab.yaml:1
END
what='lab.yaml is empty'
fresh
: >"$tmp/broken/lab.yaml"
run -C "$tmp/broken" result list
expect_status 0

# ---- the catalog ----

broken_catalog() {
	for command in 'host list' 'host show node01' 'host list --types' 'profile same@1.0' 'gate same@1.0 same@1.1' \
		"host import $tmp/package/t/machines.csv"; do
		what="$1: $command"
		# shellcheck disable=SC2086
		run -C "$tmp/broken" $command
		refused "$2" machines/node02.json "$3"
	done
	what="$1: check"
	run -C "$tmp/broken" check
	expect_status 2
	expect_no_stderr
	expect_stdout machines/node02.json "$3"
	run -C "$tmp/broken" check --format json
	expect_status 2
	expect_json_parses
	cp "$lab/machines/node02.json" "$tmp/broken/machines/node02.json"
	still_there "$tmp/broken"
}
while IFS='|' read -r title edit status_wanted wanted; do
	fresh
	sed "$edit" "$lab/machines/node02.json" >"$tmp/broken/machines/node02.json"
	broken_catalog "catalog file: $title" "$status_wanted" "$wanted"
done <<'END'
cut short|20,$d|2|node02.json:
a comma too many|s/"passes": 3,/"passes": 3,,/|2|node02.json:
unknown key|s/"passes"/"pases"/|2|passes
wrong type|s/"passes": 3/"passes": "3"/|2|passes
a fraction of a pass|s/"passes": 3/"passes": 3.5/|2|passes
a huge number|s/"taken_ms": [0-9]*/"taken_ms": 1e300/|2|taken_ms
a number that is infinite|s/"taken_ms": [0-9]*/"taken_ms": 1e999/|2|node02.json:
another machine|s/"id": "node02"/"id": "node07"/|2|node07
a newer format|s/"version": 1/"version": 99/|1|newer assay
END
fresh
: >"$tmp/broken/machines/node02.json"
broken_catalog 'catalog file: empty' 2 node02.json
fresh
head -c 300 /dev/urandom >"$tmp/broken/machines/node02.json"
broken_catalog 'catalog file: binary' 2 node02.json
what='catalog file: a directory'
fresh
rm "$tmp/broken/machines/node02.json"
mkdir "$tmp/broken/machines/node02.json"
run -C "$tmp/broken" host list
refused 1 node02.json directory
what='catalog file: a median changed by hand'
fresh
sed 's/"median": [0-9.]*/"median": 1/' "$lab/machines/node02.json" >"$tmp/broken/machines/node02.json"
run -C "$tmp/broken" check
expect_status 2
expect_stdout node02 'changed by hand' '1 problem;'
what='catalog file: lost'
rm "$tmp/broken/machines/node02.json"
run -C "$tmp/broken" check
expect_status 2
expect_stdout node02 'not in the catalog'
import_package "$tmp/broken" "$tmp/package"
expect_status 0
expect_stdout '1 file written'
still_there "$tmp/broken"

# ---- files of machines ----

# refused_file STATUS TEXT...: importing $bad fails so, and changes nothing.
bad=$tmp/bad.csv
good=$tmp/package/t/machines.csv
refused_file() {
	run -C "$lab" host import "$bad"
	refused "$@"
	still_there
}
what='machines: no file'
refused_file 2 bad.csv 'no such file'
what='machines: a directory'
mkdir "$bad"
refused_file 1 bad.csv directory
rmdir "$bad"
what='machines: a FIFO'
mkfifo "$bad"
refused_file 1 bad.csv 'not a regular file'
rm "$bad"
what='machines: empty'
: >"$bad"
refused_file 2 bad.csv:1 empty
what='machines: nothing but a header'
head -n 1 "$good" >"$bad"
refused_file 6 bad.csv 'no rows'
what='machines: a missing column'
cut -d, -f1-4 "$good" >"$bad"
refused_file 2 bad.csv:1 "'rate'"
what='machines: a column twice'
sed '1s/type/time/' "$good" >"$bad"
refused_file 2 bad.csv:1 time
what='machines: binary'
head -c 100000 "$ASSAY" >"$bad"
refused_file 2 bad.csv:1
what='machines: what contradicts the store'
awk -F, -v OFS=, 'NR == 7 { $5 = 1 } { print }' "$good" >"$bad"
refused_file 2 bad.csv:7 's06 is 1 here, but 858.287032 is stored'
# left_out LINE: importing $bad leaves out this row alone.
left_out() {
	run -C "$lab" host import "$bad"
	expect_status 0
	expect_stdout "1: the row cannot be read (first in line $1: "
	still_there
}
what='machines: too few fields'
sed '7s/,[^,]*$//' "$good" >"$bad"
left_out 7
what='machines: a quote that is not closed'
sed '7s/node/"node/' "$good" >"$bad"
left_out 7
what='machines: text after a quote'
sed '7s/node01/"node"01/' "$good" >"$bad"
left_out 7
what='machines: NUL'
sed '7s/node01/no@de/' "$good" | tr '@' '\000' >"$bad"
left_out 7
what='machines: not UTF-8'
sed "7s/node01/no$(printf '\377')de/" "$good" >"$bad"
left_out 7
what='machines: a field without end'
{ cat "$good"; head -c 100000 /dev/zero | tr '\000' 'x'; } >"$bad"
left_out $(($(wc -l <"$good") + 1))

what='machines: rows that cannot be used are counted by reason'
{
	echo machine,time,repetition,stressor,rate
	grep -v machine, "$good" | cut -d , -f 1-5
	cat <<END
node01,1500000000,4,cpu,nan
node01,1500000000,4,cpu,inf
node01,1500000000,4,cpu,1e999
node01,1500000000,4,cpu,0x10
node01,1500000000,4,cpu,
node01,1500000000,4,cpu,-1
node01,99999999999999999999,4,cpu,1
node01,-5,4,cpu,1
node01,1500000000,0,cpu,1
node01,1500000000,1e9,cpu,1
node01,1500000000,4,a@b,1
 node01,1500000000,4,cpu,1
,1500000000,4,cpu,1
END
} >"$bad"
sed 's/$/,quiho-2017/; 1s/,[^,]*$/,battery/' "$bad" >"$tmp/with"
mv "$tmp/with" "$bad"
run -C "$lab" host import "$bad" --format json
expect_status 0
expect_json .not_used.not_a_number 4
expect_json .not_used.bad_number 1
expect_json .not_used.negative 1
expect_json .not_used.bad_timestamp 2
expect_json .not_used.bad_repetition 2
expect_json .not_used.bad_name 3
expect_json .rates_added 0
run -C "$lab" host import "$bad"
expect_stdout "4: the result is not a finite number (first in line $(grep -n nan "$bad" | cut -d : -f 1))" '1: the result is negative'
still_there
what='machines: no row that can be used'
{ head -n 1 "$bad" && grep -A 5 nan "$bad"; } >"$tmp/with"
mv "$tmp/with" "$bad"
refused_file 6 bad.csv 'none of its 6 rows' '4: the result is not a finite number (first in line 2)'

what='machines: two types of one fingerprint'
printf 'machine,time,repetition,stressor,rate,type\nnode77,1500000000,1,cpu,1,a\nnode77,1500000000,2,cpu,1,b\n' >"$bad"
refused_file 2 bad.csv:3 "the hardware type is 'b' here, but 'a' in line 2"

# ---- little data ----

what='an application on one machine'
mkdir "$tmp/one"
awk -F, 'NR == 1 || ($6 == "node01" && ($10 != "1.1" || $7 == 1))' "$tmp/package/results.csv" >"$tmp/one/results.csv"
run init "$tmp/lab1"
import_package "$tmp/lab1" "$tmp/one"
expect_status 0
expect_stdout 'of 1 machine;' '1 file written'
run -C "$tmp/lab1" gate app/slow@1.0 app/slow@1.1
expect_status 4
expect_no_stderr
expect_stdout inconclusive 'fewer than 3 hardware types' 'from 1 hardware type'
run -C "$tmp/lab1" gate app/slow@1.0 app/slow@1.1 --format json
expect_status 4
expect_json .decision inconclusive
expect_json '.reasons[0].code' too_few_types
expect_json .effect.low null
run -C "$tmp/lab1" profile app/slow@1.0
expect_stdout 'from 1 hardware type' '1 machine'
run -C "$tmp/lab1" host list
expect_stdout '1 machine, 1 fingerprint, 1 hardware type'

what='no machine in common'
mkdir "$tmp/apart"
awk -F, 'NR == 1 || $5 == "stressng" || ($6 < "node04") == ($10 == "1.0")' "$tmp/package/results.csv" >"$tmp/apart/results.csv"
run init "$tmp/lab2"
import_package "$tmp/lab2" "$tmp/apart"
run -C "$tmp/lab2" gate app/slow@1.0 app/slow@1.1 --format json
expect_status 6
expect_no_stderr
expect_json .decision nothing_measured
expect_json '.reasons[0].code' no_common_machine
expect_json '.machines[0].used' false
expect_json '.machines[0].reason' only_baseline
expect_json .effect.ratio null
run -C "$tmp/lab2" gate app/slow@1.0 app/slow@1.1
expect_status 6
expect_stdout nothing_measured 'no machine ran both'

what='results without fingerprints'
mkdir "$tmp/bare"
awk -F, 'NR == 1 || $5 != "stressng"' "$tmp/package/results.csv" >"$tmp/bare/results.csv"
run init "$tmp/lab3"
import_package "$tmp/lab3" "$tmp/bare"
expect_status 0
printf 'machine,time,stressor,rate\nother,1500000000,cpu,1\n' >"$tmp/other.csv"
run -C "$tmp/lab3" host import "$tmp/other.csv"
expect_stdout '72 imported results have no fingerprint'
run -C "$tmp/lab3" profile app/slow@1.0
refused 6 app/slow@1.0 'no fingerprint'
run -C "$tmp/lab3" gate app/slow@1.0 app/slow@1.1
expect_status 3
expect_stdout 'no known hardware type'

finish
