#!/bin/sh
# From a regression to the function, without being asked: `assay gate --run` and nights measure functions of versions that are slower.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_why.sh"
application entries -fpatchable-function-entry=5
application plain ''

what='a regression leads to the function'
run -C "$lab" gate entries@old entries@slow --run --format json
expect_status 3
expect_stderr 'measuring functions on 1 host'
expect_json .decision regression
expect_json .why.hosts 1
expect_json .why.runs 38
expect_json .why.code null
expect_json .functions.explains true
run -C "$lab" gate entries@old entries@slow
expect_stdout 'the change is explained by' ' changed (' 'p.c:5)'

what='what is known is not measured again'
run -C "$lab" gate entries@old entries@slow --run --format json
expect_json .why '(nothing)'

what='what is not slower asks nothing'
run -C "$lab" gate entries@old entries@same --run --budget 1s --format json
expect_json .why '(nothing)'

what='a function that takes longer is measured although its code is the same'
run -C "$lab" gate entries@old entries@longer --run --format json
expect_status 3
expect_json .why.code null
expect_stdout '"name": "same"' # first, or after `main`, whose code has changed and which takes as long: by chance

what='a night names the function as well, and notes what it could not measure'
cat >"$lab/suite.yaml" <<'END'
comparisons:
  - { application: entries, candidates: worse, against: [old] }
  - { application: plain, candidates: slow, against: [old] }
fingerprints: { battery: none }
confirm: { fresh_runs: no }
END
run -C "$lab" nightly run --format json
expect_status 3
expect_json .notes[0].code functions_not_measured
expect_json .decisions[0].application entries .decisions[0].decision regression
cases=$((cases + 1))
case $(json .decisions[0].cause) in *'most in '*' (p.c:'*) ;; *) fail "the cause names no function: $(json .decisions[0].cause)" ;; esac
expect_json .decisions[0].functions[0].name changed .decisions[0].functions[0].line 5
decision=$(json .decisions[0].id)
run -C "$lab" explain "$decision" --format json
expect_json .functions[0].name changed .functions[0].kind "$(json .evidence.runs.functions.functions[0].kind)"
run -C "$lab" verify "$decision" --format json
expect_json .verdict same
run -C "$lab" gate entries@old entries@worse
expect_stdout 'the change is explained by' ' changed (' 'p.c:5)'
echo 'why: off' >>"$lab/suite.yaml"
run -C "$lab" nightly run --applications plain --format json
expect_status 3
expect_json .notes[0] '(nothing)'
sed -i 's/^why: off/why: soon/' "$lab/suite.yaml"
run -C "$lab" nightly run
refused 2 suite.yaml:6: "'why'" soon
finish
