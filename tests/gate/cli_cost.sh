#!/bin/sh
# What inputs cost: features that are recorded with runs, the model that is learned from them, predictions, and what is refused.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_run.sh"

run_lab lab
mkdir "$lab/apps/bin" "$lab/apps/data"
# work.sh FILE PERCENT: costs 1000 + 20 * outer + 3 * bytes of the file, and some noise; of what outer takes, PERCENT.
cat >"$lab/apps/bin/work.sh" <<'END'
#!/bin/sh
read -r n m <"$1"
echo "cost $((1000 + n * $2 / 5 + 3 * $(wc -c <"$1") + m * 7 % 41))"
END
cat >"$lab/apps/bin/features.sh" <<'END'
#!/bin/sh
[ ! -e "$2/fails" ] || [ "$(cat "$2/fails")" != "${1##*/}" ] || { echo "cannot parse it" >&2; exit 3; }
[ ! -e "$2/taken" ] || cat "$2/taken"
[ ! -e "$2/broken" ] || { echo "many outer"; exit 0; }
read -r n m <"$1"
[ -e "$2/renamed" ] && name=rounds || name=outer
printf '%s\n' "$n $name" "$((2 * n + 5)) twice" "$n same" "${n}e-1 tenth" "$m unrelated" '3 always'
END
chmod 755 "$lab/apps/bin/"*.sh
awk -v to="$lab/apps/data" 'BEGIN {
	srand(5)
	for (i = 1; i <= 64; i++) {
		file = sprintf("%s/%s%02d", to, i <= 44 ? "a" : "b", i)
		printf "%d %d\n", 100 + int(rand() * 2000), int(rand() * 1000) >file
		for (k = int(rand() * 900); k > 0; k--)
			printf "x%s", k % 60 ? "" : "\n" >file
		close(file)
	}
}'
cat >"$lab/apps/work.yaml" <<END
files: [bin]
inputs_of: data
features: ['{files}/bin/features.sh', '{files}/data/{input}', "$tmp"]
versions:
  old: { command: ['{files}/bin/work.sh', '{files}/data/{input}', '100'] }
  new: { command: ['{files}/bin/work.sh', '{files}/data/{input}', '110'] }
  same: { command: ['{files}/bin/work.sh', '{files}/data/{input}', '100'] }
repetitions: 1
warm_ups: 0
sampling: off
metric: { source: regex, pattern: 'cost ([0-9]+)' }
END
names() {
	ls "$lab/apps/data" | grep "^$1" | tr '\n' ',' | sed 's/,$//'
}

what='nothing was run'
run -C "$lab" cost train work@old
refused 2 "application 'work' was not run"
run -C "$lab" cost train 'w$(id)@old'
refused 2 "run 'w\$(id)'"
run -C "$lab" cost train work/a01@old
refused 2 "without an input, as 'work'"
what='no inputs'
mv "$lab/apps/data" "$lab/apps/elsewhere"
run -C "$lab" run work
refused 2 "work.yaml:2: 'inputs_of': there is no directory"
mv "$lab/apps/elsewhere" "$lab/apps/data"

what='features that are none'
: >"$tmp/broken"
run -C "$lab" run work --versions old --inputs a01
expect_status 1
cases=$((cases + 1))
cat "$tmp/err" "$tmp/out" | grep -q "output of the command 'features' for input 'a01'" || fail 'it should say what was printed'
rm "$tmp/broken"
what='features of names that are taken, and a command that fails for one input: the others are run'
for name in 'bytes of the input' 'loop work.c:8 main' 'value n work.c:8 main 1'; do
	echo "7 $name" >"$tmp/taken"
	run -C "$lab" run work --versions old --inputs a01
	expect_status 1
	cases=$((cases + 1))
	cat "$tmp/err" "$tmp/out" | grep -q "for input 'a01': '7 $name' uses a reserved name" || fail 'it should name the line'
done
rm "$tmp/taken"
echo a02 >"$tmp/fails"
run -C "$lab" run work --versions old --inputs a01,a02,a03 --quiet
cases=$((cases + 2))
cat "$tmp/err" "$tmp/out" | grep -q "failed for input 'a02': exit status 3: cannot parse it" || fail 'it should name the input and say why'
sqlite3 "$lab/.assay/runs.db" "SELECT input FROM execution WHERE outcome = 'ok' ORDER BY input" >"$tmp/ok"
[ "$(echo $(cat "$tmp/ok"))" = 'a01 a03' ] || fail "run were: $(cat "$tmp/ok")"
rm "$tmp/fails"
sqlite3 "$lab/.assay/runs.db" "DELETE FROM execution"

what='a name that cannot be an input'"'"'s'
: >"$lab/apps/data/odd, odd"
run -C "$lab" run work --versions old --inputs a01,a03 --quiet
expect_status 0
expect_error "1 of 65 names in " "data' excluded: " "'odd, odd' cannot be the name of an input"
rm "$lab/apps/data/odd, odd"
sqlite3 "$lab/.assay/runs.db" "DELETE FROM execution"

what='runs'
for part in a0 a1 a2 a3 a4; do
	run -C "$lab" run work --versions old --inputs "$(names $part)" --quiet
	expect_status 0
done

what='too few inputs'
run -C "$lab" cost train work@old --of metric --min-runs 60
refused 6 'ran 44 inputs' '60 are needed' --min-runs
what='a model'
run -C "$lab" cost train work@old --of metric --paper
expect_status 0
expect_stdout 'T = ' ' * ' '(bytes of the input)' 'learned from 44 inputs (44 runs)' '1 never varies' 'The published procedure' \
	'nine of ten new inputs'
cp "$tmp/out" "$tmp/once"
run -C "$lab" cost train work@old --of metric --paper
cases=$((cases + 1))
cmp -s "$tmp/out" "$tmp/once" || fail 'the same runs gave another model'
run -C "$lab" cost train work@old --of metric --format json
expect_json_parses
expect_json .inputs 44
expect_json .usable true
cases=$((cases + 1))
awk -v error="$(json .error)" -v each="$(json '.terms[0].coefficient')" 'BEGIN { exit !(error < .01 && each > 19.5 && each < 20.5) }' ||
	fail "an exact sum has an error of $(json .error), a coefficient of $(json '.terms[0].coefficient')"
run -C "$lab" cost train work@old --of metric --max-error 0
expect_status 4
expect_stdout unreliable --max-error
for command in predict 'cost explain'; do
	# shellcheck disable=SC2086 # two words
	run -C "$lab" $command work@old --of metric --max-error 0 outer=1000
	refused 6 'the model errs by' --max-error
done

what='what is another feature in other units'
run -C "$lab" cost train work@old --of metric
expect_stdout '- same is (outer)' '- tenth is 0.1 * (outer)' '- twice is 2 * (outer) + 5'
cases=$((cases + 1))
! grep -q 'e-1[0-9]' "$tmp/out" || fail "what rounding left: $(grep e-1 "$tmp/out")"

what='predictions'
run -C "$lab" predict work@old --of metric outer=1000 'bytes of the input=500' --format json
expect_status 0
cases=$((cases + 1))
awk -v value="$(json .value)" 'BEGIN { exit !(value > 22250 && value < 22750) }' || fail "22500 expected, not $(json .value)"
run -C "$lab" cost explain work@old --of metric --input a07
expect_status 0
expect_stdout 'it was run, and cost' 'every run' outer
run -C "$lab" predict work@old --of metric --input a07 'bytes of the input=500'
expect_status 0
cases=$((cases + 1))
! grep -q 'it was run' "$tmp/out" || fail 'an input that was changed was not run'
run -C "$lab" predict work@old --of metric outer=90000 'bytes of the input=500'
expect_status 4
expect_stdout 'unlike all learned inputs' "'outer' is 90000" 'in what was learned'
printf '1000 outer\n500 bytes of the input\n' >"$tmp/features"
run -C "$lab" predict work@old --of metric --features "$tmp/features"
expect_status 0
printf '1000 outer\nmany bytes of the input\n' >"$tmp/features"
run -C "$lab" predict work@old --of metric --features "$tmp/features"
refused 2 "$tmp/features: line 2: 'many' is not a number"
for size in outer=nan outer=inf outer=1e999; do
	run -C "$lab" predict work@old --of metric "$size" 'bytes of the input=500'
	refused 2 "'$size' is not of the form NAME=NUMBER"
done
run -C "$lab" predict work@old --of metric outer=1000 'bytes of the input=-500'
refused 2 "'bytes of the input' cannot be -500"
printf '1000 outer\n-500 bytes of the input\n' >"$tmp/features"
run -C "$lab" cost explain work@old --of metric --features "$tmp/features"
refused 2 "'bytes of the input' cannot be -500"
run -C "$lab" predict work@old --of metric outer=1 'bytes of the input=500' outer=2
refused 2 "'outer=1' and 'outer=2' have the same name"
run -C "$lab" predict work@old --of metric outer=1000
refused 6 "not known for this input: 'bytes of the input'"
run -C "$lab" predict work@old --of metric outter=1000
refused 2 "no feature 'outter'" "'outer'"
run -C "$lab" predict work@old --of metric --input zz
refused 2 "no input 'zz'"
run -C "$lab" predict work@old --of metric --input b50
refused 6 "not known for this input: 'outer'"
run -C "$lab" predict work@old
refused 2 'for a machine' 'or an input'
run -C "$lab" cost train work@older
refused 2 "version 'older' was not run" work@old

what='on another machine, by fingerprints'
run -C "$lab" predict work@old --of metric --input a07 --machine node08
refused 6 "'work@old' ran enough inputs on 0 hardware types" '4 are needed'
make_package "$tmp/machines" 8 6
cp -R "$lab" "$tmp/eight"
import_package "$tmp/eight" "$tmp/machines"
expect_status 0
# ran FACTOR: the same runs of ten inputs on seven of those machines, on which all takes FACTOR (SQL; m is the machine's number) times as long.
ran() {
	sqlite3 "$tmp/eight/.assay/runs.db" "DELETE FROM run WHERE application LIKE 'work/%' AND machine LIKE 'node%';
	DELETE FROM execution WHERE machine LIKE 'node%';
	CREATE TABLE node AS SELECT value AS m, 'node0' || value AS name FROM json_each('[1,2,3,4,5,6,7]');
	CREATE TABLE other AS SELECT * FROM execution WHERE input BETWEEN 'a01' AND 'a10' AND outcome = 'ok';
	CREATE TABLE there AS SELECT o.*, m, name FROM other AS o JOIN node;
	UPDATE there SET machine = name, metric = metric * ($1);
	ALTER TABLE there DROP COLUMN m; ALTER TABLE there DROP COLUMN name;
	INSERT INTO execution SELECT * FROM there;
	INSERT INTO run (application, version, machine, taken_ms, repetition, ordinal, metric, fingerprint, plan)
		SELECT t.application, t.version, t.machine, t.taken_ms, t.repetition, 0, t.metric, f.id, t.plan FROM there AS t JOIN fingerprint AS f
		ON f.machine = t.machine;
	DROP TABLE node; DROP TABLE other; DROP TABLE there"
}
ran '1000.0 / (100 + 40 * m)'
on='-C eight predict work@old --of metric --machine'
cd "$tmp" || exit 1
run $on node08 outer=1000 'bytes of the input=500' --format json
expect_status 0
expect_json .machine node08 .elsewhere.learned_on here .elsewhere.hardware_types 7 .elsewhere.machines 7 .elsewhere.type_ran false
expect_near .value 53571 .08
cases=$((cases + 1))
awk -v low="$(json .low)" -v high="$(json .high)" 'BEGIN { exit !(low < 53571 && high > 53571 && high / low < 2) }' ||
	fail "53571 expected between $(json .low) and $(json .high)"
run -C eight cost explain work@old --of metric --machine node08 --input a07
expect_status 0
expect_stdout ' on node08, 90 % interval' "by its fingerprint the same work should cost" "on 'here', where the model was learned"
run -C eight predict work@old --of metric --machine here --input a07 --format json
expect_json .machine here .elsewhere null
run $on nowhere --input a07
refused 2 "no machine 'nowhere' with a fingerprint"
sqlite3 "$tmp/eight/.assay/runs.db" "DELETE FROM run WHERE application LIKE 'work/%' AND machine BETWEEN 'node04' AND 'node07';
DELETE FROM execution WHERE machine BETWEEN 'node04' AND 'node07'"
run $on node08 --input a07
refused 6 "'work@old' ran enough inputs on 3 hardware types" '4 are needed' 'on 1 more'
ran '1 + (m * 5 % 7) * (m * 5 % 7)'
run $on node08 --input a07
refused 6 'fingerprints do not predict the cost of' "on 'node08'" --max-error 'run it there'
cd "$OLDPWD" || exit 1

what='the gate with other inputs'
run -C "$lab" gate work@old work@new --method cost
refused 2 "version 'new' was not run" work@old
run -C "$lab" run work --versions same,new --inputs "$(names b)" --quiet
expect_status 0
run -C "$lab" gate work@old work@same --method cost --of metric --min-effect 0.03
expect_status 0
expect_stdout pass 'the same work costs work@same' 'the smallest effect that matters is 1.03' 'the inputs differ' ' work: the candidate'
run -C "$lab" gate work@old work@new --method cost --of metric --min-effect 0.03 --format json
expect_status 3
expect_json .decision regression
expect_json .reasons[1].code other_inputs
expect_json .slower[0].term outer
cases=$((cases + 1))
awk -v slower="$(json '.slower[0].slower')" 'BEGIN { exit !(slower > .09 && slower < .11) }' || fail "10 % expected, not $(json '.slower[0].slower')"
run -C "$lab" gate work@same work@new --method cost --of metric
refused 6 'ran 20 inputs' "'assay cost train --min-runs'"
run -C "$lab" gate work@old work@new --of metric
refused 2 'belong to --method cost'

what='what all inputs would tell'
run -C "$lab" gate work@old work@new
refused 2 "'work' has results by input, name one" "('assay gate work@old work@new --method cost' compares the expected cost of all inputs)"
run -C "$lab" gate work/a01@old work/b50@new
expect_stdout "comparing the expected cost of all inputs may show more: 'assay gate work@old work@new --method cost'"
run -C "$lab" gate work@same work@new
cases=$((cases + 1))
! grep -q 'method cost' "$tmp/err" || fail 'of 20 inputs it would be refused'

what='architectures are decided apart'
# The same runs on a machine of another architecture, where the candidate costs 8 % more: 4 % on average of both.
sqlite3 "$lab/.assay/runs.db" "CREATE TABLE other AS SELECT * FROM execution WHERE application LIKE 'work/%' AND outcome = 'ok';
UPDATE other SET machine = 'arm', architecture = 'aarch64', metric = metric * CASE version WHEN 'old' THEN 5 ELSE 5.4 END;
INSERT INTO execution SELECT * FROM other; DROP TABLE other"
run -C "$lab" gate work@old work@same --method cost --of metric --min-effect 0.05 --format json
expect_status 3
expect_json .decision regression
expect_json .architectures[0].architecture aarch64
expect_json .architectures[0].decision regression
expect_json .architectures[0].machines 1
expect_json .architectures[1].architecture x86_64
expect_json .architectures[1].decision pass
expect_json .machines[0].machine arm
expect_json .reasons[0].code architectures_apart
sqlite3 "$lab/.assay/runs.db" "DELETE FROM execution WHERE machine = 'arm'"

what='what other runs of an input say of it'
run -C "$lab" predict work@old --of metric --input b50 --format json
expect_status 0
expect_json .features_of new .same_as null .before false .measured null
run -C "$lab" predict work@old --of metric --input b50
expect_stdout 'its own features come from a run of this input by work@new'
echo '1 2' >"$lab/apps/data/b50" # it is another by now
run -C "$lab" predict work@old --of metric --input b50
refused 6 "not known for this input: 'outer'"

what='one input by two names'
cp "$lab/apps/data/a07" "$lab/apps/data/twin"
run -C "$lab" predict work@old --of metric --input a07 --format json
same=$(json .measured)
run -C "$lab" predict work@old --of metric --input twin --format json
expect_status 0
expect_json .same_as a07 .measured "$same"
run -C "$lab" predict work@old --of metric --input twin
expect_stdout "it is the same input as 'a07', under another name" 'it was run, and cost'
cp "$lab/.assay/runs.db" "$tmp/before.db"
run -C "$lab" run work --versions old --inputs twin --quiet
run -C "$lab" cost train work@old --of metric
expect_stdout 'learned from 44 inputs (45 runs)' "(1 input name with the content of another input: 'twin' is 'a07')"
run -C "$lab" predict work@old --of metric --input twin
expect_stdout 'it was run, and cost'
cp "$tmp/before.db" "$lab/.assay/runs.db"
rm "$lab/apps/data/twin"

what='own features that were renamed'
: >"$tmp/renamed"
run -C "$lab" run work --versions old --inputs a07 --quiet
expect_status 0
run -C "$lab" cost train work@old --of metric --max-error 9
expect_stdout '2 are missing in some runs, as where a feature was renamed (outer, ...)'
cases=$((cases + 1))
! grep -q nondeterministic "$tmp/out" || fail 'it is the same number by another name'
rm "$tmp/renamed"
cp "$tmp/before.db" "$lab/.assay/runs.db"

what='the gate with the same inputs'
run -C "$lab" run work --versions new --inputs "$(names a[012])" --quiet
run -C "$lab" gate work@old work@new --method cost --of metric --min-effect 0.03
expect_status 3
expect_stdout 'each input is compared with itself' outer 'did not take turns' 'run work --versions old,new'

what='what sessions of the baseline differ by is no change of the version'
cp "$lab/.assay/runs.db" "$tmp/before.db"
sqlite3 "$lab/.assay/runs.db" "UPDATE execution SET metric = metric * CASE substr(input, 2, 1) WHEN '1' THEN 1.08 WHEN '2' THEN .94 WHEN '3' THEN 1.04 WHEN '4' THEN .96 ELSE 1 END
	WHERE application LIKE 'work/a%' AND version = 'old'"
run -C "$lab" gate work@old work@new --method cost --of metric --format json
expect_status 4
expect_json .decision inconclusive .machines[0].sessions 5 .slower[0] '(nothing)'
expect_near .machines[0].drift .058 .1
expect_stdout 'the 5 sessions of ' 'standard deviation'
run -C "$lab" gate work@old work@new --method cost --of metric --min-effect .3
expect_status 0
what='one session tells nothing of that'
cp "$tmp/before.db" "$lab/.assay/runs.db"
sqlite3 "$lab/.assay/runs.db" "UPDATE execution SET plan = (SELECT plan FROM execution WHERE application = 'work/a01' AND version = 'old') WHERE application LIKE 'work/a%' AND version = 'old'"
run -C "$lab" gate work@old work@new --method cost --of metric --format json
expect_status 4
expect_json .decision inconclusive .machines[0].sessions 1 .machines[0].drift null .slower[0] '(nothing)'
expect_stdout one_session 'run work --versions old,new'
cp "$tmp/before.db" "$lab/.assay/runs.db"

what='what took turns is compared alone'
# Between the runs of one and those of the other the machine became a fifth slower.
cp "$lab/.assay/runs.db" "$tmp/before.db"
sqlite3 "$lab/.assay/runs.db" "UPDATE execution SET metric = metric * 1.2 WHERE application LIKE 'work/a%' AND version = 'new'"
run -C "$lab" gate work@old work@new --method cost --of metric --format json
cases=$((cases + 1))
awk -v ratio="$(json .effect.ratio)" 'BEGIN { exit !(ratio > 1.2) }' || fail "$(json .effect.ratio), not 1.3"
run -C "$lab" run work --versions old,new --inputs a01,a02,a03,a04,a05,a06 --quiet
expect_status 0
run -C "$lab" gate work@old work@new --method cost --of metric --format json
expect_status 3
cases=$((cases + 1))
awk -v ratio="$(json .effect.ratio)" 'BEGIN { exit !(ratio > 1.05 && ratio < 1.1) }' || fail "$(json .effect.ratio), not 1.09"
cases=$((cases + 1))
! grep -q not_interleaved "$tmp/out" || fail 'they took turns'
cp "$tmp/before.db" "$lab/.assay/runs.db"

what='the same build by another name'
sed 's/  same: .*/&\n  again: { command: ["{files}\/bin\/work.sh", "{files}\/data\/{input}", "100"] }/' "$lab/apps/work.yaml" >"$tmp/again.yaml"
cp "$lab/apps/work.yaml" "$tmp/work.yaml"
cp "$tmp/again.yaml" "$lab/apps/work.yaml"
run -C "$lab" run work --versions again --inputs "$(names a[01])" --quiet
expect_status 0
sqlite3 "$lab/.assay/runs.db" "UPDATE execution SET metric = metric * (1.2 + rowid % 5 * .002) WHERE version = 'again'"
run -C "$lab" gate work@old work@again --method cost --of metric --format json
expect_status 5
expect_json .decision environment
expect_json .reasons[0].code same_build
cp "$tmp/before.db" "$lab/.assay/runs.db"
cp "$tmp/work.yaml" "$lab/apps/work.yaml"

what='measured against expected'
run -C "$lab" gate work@old work@new --method cost --of metric --format json
expect_json '.inputs[12]' '(nothing)'
cases=$((cases + 1))
awk -v most="$(json .inputs[0].ratio)" -v least="$(json .inputs[11].ratio)" 'BEGIN { exit !(most >= least && most < 1.11 && least > 1.05) }' ||
	fail "1.09 or so expected of all inputs, not $(json .inputs[0].ratio) and $(json .inputs[11].ratio)"

what='the gate with inputs unlike those before'
for i in 1 2 3 4 5 6 7 8 9 10; do
	echo "$((i * 20000)) 3" >"$lab/apps/data/c$i"
done
run -C "$lab" run work --versions same --inputs "$(names c)" --quiet
run -C "$lab" gate work@old work@same --method cost --of metric
expect_status 4
expect_stdout inconclusive 'are unlike all inputs of the baseline' 'run them with the baseline, too'
# What is slower on the others stays so.
run -C "$lab" run work --versions new --inputs "$(names c)" --quiet
run -C "$lab" gate work@old work@new --method cost --of metric
expect_status 3
expect_stdout regression 'are unlike all inputs of the baseline'

what='nothing was counted'
run -C "$lab" cost train work@old --of metric --selected "$tmp/selected"
refused 6 'uses no counted features'

finish
