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
import quiho $tmp/package
catalog list
catalog show node01
catalog types
catalog check
runs list
runs show same@1.0
runs export
profile same@1.0
gate same@1.0 same@1.1
END
what='a file where the laboratory should be'
run -C "$lab/lab.yaml" runs list
refused 1 'lab.yaml' 'Not a directory'
what='init below a directory that is not there'
run init "$tmp/no/where"
refused 1 'no/where' 'there is no directory' 'mkdir -p'

# ---- an empty laboratory ----

what='an empty laboratory'
run init "$tmp/empty"
run -C "$tmp/empty" catalog list
expect_status 0
expect_stdout 'The catalog is empty' 'import quiho'
run -C "$tmp/empty" catalog types
expect_status 0
expect_stdout 'The catalog is empty' 'import quiho'
run -C "$tmp/empty" runs list
expect_status 0
expect_stdout 'No results yet' 'import quiho'
for command in 'runs list' 'catalog list' 'catalog types' 'catalog check'; do
	# shellcheck disable=SC2086
	run -C "$tmp/empty" $command --format json
	expect_status 0
	expect_json_parses
done
run -C "$tmp/empty" catalog show node01
refused 2 "no machine 'node01'"
run -C "$tmp/empty" profile same
refused 2 "no application 'same'" 'import quiho'
run -C "$tmp/empty" gate same same
refused 2 "no application 'same'" 'import quiho'

# ---- lab.yaml: row = what | text | what the line must have ----

while IFS='|' read -r title text wanted also; do
	what="lab.yaml: $title"
	fresh
	# shellcheck disable=SC2059
	printf -- "$text" >"$tmp/broken/lab.yaml"
	for command in 'runs list' "import quiho $tmp/package"; do
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
run -C "$tmp/broken" runs list
expect_status 0

# ---- the catalog ----

broken_catalog() {
	for command in 'catalog list' 'catalog show node01' 'catalog types' 'profile same@1.0' 'gate same@1.0 same@1.1' \
		"import quiho $tmp/package"; do
		what="$1: $command"
		# shellcheck disable=SC2086
		run -C "$tmp/broken" $command
		refused "$2" machines/node02.json "$3"
	done
	what="$1: catalog check"
	run -C "$tmp/broken" catalog check
	expect_status 2
	expect_no_stderr
	expect_stdout machines/node02.json "$3"
	run -C "$tmp/broken" catalog check --format json
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
run -C "$tmp/broken" catalog list
refused 1 node02.json directory
what='catalog file: a median changed by hand'
fresh
sed 's/"median": [0-9.]*/"median": 1/' "$lab/machines/node02.json" >"$tmp/broken/machines/node02.json"
run -C "$tmp/broken" catalog check
expect_status 2
expect_stdout node02 'changed by hand' '1 problem;'
what='catalog file: lost'
rm "$tmp/broken/machines/node02.json"
run -C "$tmp/broken" catalog check
expect_status 2
expect_stdout node02 'not in the catalog'
run -C "$tmp/broken" import quiho "$tmp/package"
expect_status 0
expect_stdout '1 file written'
still_there "$tmp/broken"

# ---- data packages ----

# refused_package STATUS TEXT...: importing $tmp/bad fails so, and changes nothing.
refused_package() {
	run -C "$lab" import quiho "$tmp/bad"
	refused "$@"
	still_there
}
what='package: no directory'
rm -rf "$tmp/bad"
refused_package 2 bad/results.csv 'no such file'
mkdir "$tmp/bad"
what='package: no results.csv'
refused_package 2 bad/results.csv 'no such file'
what='package: results.csv is a directory'
mkdir "$tmp/bad/results.csv"
refused_package 1 bad/results.csv directory
rmdir "$tmp/bad/results.csv"
what='package: results.csv is a FIFO'
mkfifo "$tmp/bad/results.csv"
refused_package 1 bad/results.csv 'not a regular file'
rm "$tmp/bad/results.csv"
what='package: empty'
: >"$tmp/bad/results.csv"
refused_package 2 results.csv:1 empty
what='package: nothing but a header'
echo "$HEADER" >"$tmp/bad/results.csv"
refused_package 6 results.csv 'no rows'
what='package: a missing column'
cut -d, -f1-8 "$tmp/package/results.csv" >"$tmp/bad/results.csv"
refused_package 2 results.csv:1 "'result'"
what='package: a column twice'
sed '1s/commit/giturl/' "$tmp/package/results.csv" >"$tmp/bad/results.csv"
refused_package 2 results.csv:1 giturl
# left_out LINE: importing $tmp/bad leaves out this row alone.
left_out() {
	run -C "$lab" import quiho "$tmp/bad"
	expect_status 0
	expect_stdout "1 row: the row cannot be read (first in line $1)"
	still_there
}
what='package: too few fields'
sed '7s/,[^,]*$//' "$tmp/package/results.csv" >"$tmp/bad/results.csv"
left_out 7
what='package: a quote that is not closed'
sed '7s/node/"node/' "$tmp/package/results.csv" >"$tmp/bad/results.csv"
left_out 7
what='package: text after a quote'
sed '7s/node01/"node"01/' "$tmp/package/results.csv" >"$tmp/bad/results.csv"
left_out 7
what='package: NUL'
sed '7s/node01/no@de/' "$tmp/package/results.csv" | tr '@' '\000' >"$tmp/bad/results.csv"
left_out 7
what='package: not UTF-8'
sed "7s/node01/no$(printf '\377')de/" "$tmp/package/results.csv" >"$tmp/bad/results.csv"
left_out 7
what='package: binary'
head -c 100000 "$ASSAY" >"$tmp/bad/results.csv"
refused_package 2 results.csv:1
what='package: a field without end'
{ cat "$tmp/package/results.csv"; head -c 100000 /dev/zero | tr '\000' 'x'; } >"$tmp/bad/results.csv"
left_out 218
what='package: what contradicts the store'
sed '7s/,[^,]*,$/,1,/' "$tmp/package/results.csv" >"$tmp/bad/results.csv"
refused_package 2 results.csv:7 's06 is 1 here, but 858.287032 is stored'

what='package: rows that cannot be used are counted by reason'
cp "$tmp/package/results.csv" "$tmp/bad/results.csv"
cat >>"$tmp/bad/results.csv" <<END
u,c,m,1500000000,app,node01,4,slow,nan,1.0
u,c,m,1500000000,app,node01,4,slow,inf,1.0
u,c,m,1500000000,app,node01,4,slow,1e999,1.0
u,c,m,1500000000,app,node01,4,slow,0x10,1.0
u,c,m,1500000000,app,node01,4,slow,,1.0
u,c,m,1500000000,app,node01,4,slow,-1,1.0
u,c,m,99999999999999999999,app,node01,4,slow,1,1.0
u,c,m,-5,app,node01,4,slow,1,1.0
u,c,m,1500000000,app,node01,0,slow,1,1.0
u,c,m,1500000000,app,node01,1e9,slow,1,1.0
u,c,m,1500000000,a@b,node01,4,slow,1,1.0
u,c,m,1500000000,app, node01,4,slow,1,1.0
u,c,m,1500000000,app,,4,slow,1,1.0
END
run -C "$lab" import quiho "$tmp/bad" --format json
expect_status 0
expect_json .not_used.not_a_number 4
expect_json .not_used.bad_number 1
expect_json .not_used.negative 1
expect_json .not_used.bad_timestamp 2
expect_json .not_used.bad_repetition 2
expect_json .not_used.bad_name 3
expect_json .results_added 0
run -C "$lab" import quiho "$tmp/bad"
expect_status 0
expect_stdout '4 rows: the result is not a finite number (first in line 218)' '1 row: the result is negative (first in line 223)'
still_there
what='package: no row that can be used'
sed -n '1p;218,223p' "$tmp/bad/results.csv" >"$tmp/bad/only"
mv "$tmp/bad/only" "$tmp/bad/results.csv"
refused_package 6 results.csv 'none of its 6 rows' '4: the result is not a finite number (first in line 2)'

cp "$tmp/package/results.csv" "$tmp/bad/results.csv"
what='machines.csv: a missing column'
echo 'machine,cores' >"$tmp/bad/machines.csv"
refused_package 2 machines.csv:1 cpu
what='machines.csv: a word for a number'
printf 'machine,cpu,cores,num_cpus,threads_per_core,board_name,board_serial,board_uuid\nnode01,x,many,1,1,a,b,c\n' >"$tmp/bad/machines.csv"
run -C "$lab" import quiho "$tmp/bad"
expect_status 0
expect_stdout '1 row of machines.csv (first ' "machines.csv:2: cores is 'many', not a number from 0 to 65536"
still_there
rm "$tmp/bad/machines.csv"

while IFS='|' read -r title text status_wanted wanted; do
	what="types file: $title"
	# shellcheck disable=SC2059
	printf "$text" >"$tmp/types.csv"
	run -C "$lab" import quiho "$tmp/package" --types "$tmp/types.csv"
	refused "$status_wanted" types.csv "$wanted"
	still_there
done <<'END'
empty||2|types.csv:1
a missing column|machine,timestamp\nnode01,1500000000\n|2|types.csv:1
END
while IFS='|' read -r title text wanted; do
	what="types file: $title"
	# shellcheck disable=SC2059
	printf "machine,timestamp,type\n$text" >"$tmp/types.csv"
	run -C "$lab" import quiho "$tmp/package" --types "$tmp/types.csv"
	expect_status 0
	expect_stdout "1 row of $tmp/types.csv (first $tmp/types.csv:$wanted: "
	still_there
done <<'END'
a bad time|node01,1400000000,a\nnode01,yesterday,b\n|3
no type|node01,1500000000,\n|2
too few fields|node01\n|2
a bad machine| x,1500000000,a\n|2
a quote that is not closed|"node01,1500000000,a\n|2
END
what='types file: not there'
run -C "$lab" import quiho "$tmp/package" --types "$tmp/nowhere.csv"
refused 2 nowhere.csv 'no such file'
still_there

# ---- little data ----

what='an application on one machine'
mkdir "$tmp/one"
awk -F, 'NR == 1 || ($6 == "node01" && ($10 != "1.1" || $7 == 1))' "$tmp/package/results.csv" >"$tmp/one/results.csv"
run init "$tmp/lab1"
run -C "$tmp/lab1" import quiho "$tmp/one"
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
run -C "$tmp/lab1" catalog list
expect_stdout '1 machine, 1 fingerprint, 1 hardware type'

what='no machine in common'
mkdir "$tmp/apart"
awk -F, 'NR == 1 || $5 == "stressng" || ($6 < "node04") == ($10 == "1.0")' "$tmp/package/results.csv" >"$tmp/apart/results.csv"
run init "$tmp/lab2"
run -C "$tmp/lab2" import quiho "$tmp/apart"
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
run -C "$tmp/lab3" import quiho "$tmp/bare"
expect_status 0
expect_stdout '72 results have no fingerprint'
run -C "$tmp/lab3" profile app/slow@1.0
refused 6 app/slow@1.0 'no fingerprint'
run -C "$tmp/lab3" gate app/slow@1.0 app/slow@1.1
expect_status 3
expect_stdout 'no known hardware type'

finish
