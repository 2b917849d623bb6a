# Which runs `assay detect` compares: those that were cut off, killed, of other inputs or of other programs take no part, and that is said.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_fold.sh"

build "$fold" calls
build "$fold" often -DOFTEN=8
sample calls 9
sample often 4

# cut DIRECTORY RUN...: most of their files is lost
cut() {
	directory=$1
	shift
	for i in "$@"; do
		for file in "$directory/$i"/*; do
			truncate -s $(($(stat -c %s "$file") / 3)) "$file"
		done
	done
}
what='runs whose files are cut off take no part'
cp -R calls.runs some.runs
cp -R often.runs all.runs
cut some.runs 2 5
cut all.runs 1 2 3 4
run detect some.runs often.runs --rate .1 --format json
expect_status 4
expect_json .samples[0].runs 7
expect_json .samples[0].cut_off 2
expect_json .reasons[0].code cut_off
run detect calls.runs some.runs --rate .1
expect_status 0
expect_stdout "some.runs: 2 runs are excluded: their sample files are cut off (the first: 'some.runs/2/"
cp -R calls.runs short.runs
truncate -s 0 short.runs/1/*
truncate -s 5 short.runs/3/*
truncate -s 700 short.runs/5/*
truncate -s 4096 short.runs/7/*
rm short.runs/9/*
run detect calls.runs short.runs --rate .1
expect_status 0
expect_stdout "short.runs: 4 runs are excluded: their sample files are cut off (the first: 'short.runs/1/" \
	'short.runs: 1 directory is empty and excludeds'
echo nothing >"$(ls short.runs/1/*)"
run detect calls.runs short.runs --rate .1
refused 2 'not a sample file'
run detect calls.runs all.runs --rate .1
refused 6 'sample files of all its 4 runs are cut off' "'all.runs/1/"
run detect all.runs calls.runs --rate .1
refused 6 'sample files of all its 4 runs are cut off'

what='runs that were killed are no runs beside those that ended, and comparable with each other'
sed 's/return 0;/__builtin_trap();/' "$fold" >killed.c
build killed.c killed
for i in $(seq 9); do
	mkdir -p "killed.runs/$i"
	ASSAY_EMULATE_DIRECTORY=killed.runs/$i ./killed >/dev/null 2>&1
done
run detect calls.runs killed.runs --rate .1
refused 6 'the program was killed or crashed in all of its 9 runs'
run detect killed.runs killed.runs --rate .1
expect_status 0
cp -R often.runs mixed.runs
cp -R killed.runs/5 mixed.runs
run detect calls.runs mixed.runs --rate .1 --format json
expect_status 3
expect_json .samples[1].killed 1
expect_json .reasons[0].code killed

what='where only the new version crashes, nothing is known to be as good'
cp -R calls.runs crashes.runs
cp -R killed.runs/5 crashes.runs/50
cp -R killed.runs/6 crashes.runs/60
run detect calls.runs crashes.runs --rate .1
expect_status 4
expect_stdout 'crashes.runs: 2 runs are excluded: the program was killed or crashed in them'
run detect crashes.runs crashes.runs --rate .1
expect_status 0

what='several runs in one directory'
cp -R calls.runs twice.runs
for i in $(seq 9); do
	ASSAY_EMULATE_DIRECTORY=twice.runs/$i ./calls >/dev/null
done
run detect calls.runs twice.runs --rate .1
expect_stdout "run '1' of twice.runs has 2 sample files, where runs of calls.runs have 1: was its directory used for several runs?"
cp calls kept
cp often calls
ASSAY_EMULATE_DIRECTORY=twice.runs/4 ./calls >/dev/null
mv kept calls
run detect calls.runs twice.runs --rate .1
refused 2 "twice.runs: run '4' has samples of two builds of '"

# asked PROGRAM DIRECTORY RUNS SIZE FIRST: each run with a seed of its own
asked() {
	for i in $(seq "$3"); do
		mkdir -p "$2/$i"
		ASSAY_EMULATE_DIRECTORY=$2/$i "./$1" "$4" "$(($5 + i))" >/dev/null || exit 1
	done
}
asked calls sized.runs 9 6000 0
asked often seeds.runs 4 6000 50
asked often larger.runs 4 7000 50
asked calls seeded.runs 4 6000 50
what='other seeds are like inputs, other sizes are other work'
run detect sized.runs seeds.runs --rate .1 --format json
expect_status 3
run detect sized.runs seeded.runs --rate .1
expect_status 0
run detect sized.runs larger.runs --rate .1 --format json
expect_status 4
expect_json .reasons[0].code other_work
expect_json .functions[0].name fold
run detect sized.runs larger.runs --rate .1
expect_status 4
expect_stdout 'inconclusive  the versions cannot be compared; 1 of 2 functions differs' \
	'the inputs differ: number 1 of the arguments is 6000 in all runs of sized.runs, and 7000 in those of larger.runs'
cp calls named
sample named 4 large
run detect calls.runs named.runs --rate .1 --format json
expect_status 4
expect_json .reasons[0].code other_work

what='two programs are no versions of one'
for program in first second; do
	{
		echo 'static volatile int numbers[64];'
		for part in a b c; do
			echo "__attribute__((noinline)) void ${program}_$part(int n) { for (int i = 0; i < n; i++) numbers[i & 63]++; }"
		done
		echo "int main(void) { for (int i = 0; i < 50; i++) { ${program}_a(1000); ${program}_b(1000); ${program}_c(1000); } return 0; }"
	} >"$program.c"
	build "$program.c" "$program"
	sample "$program" 9
done
run detect first.runs second.runs --rate .1 --format json
expect_status 4
expect_json .reasons[0].code other_program
sed 's/fold/summed/g' "$fold" >renamed.c
build renamed.c renamed
sample renamed 4
run detect calls.runs renamed.runs --rate .1
expect_status 0

what='a program without names'
cp often stripped
strip stripped
sample stripped 4
run detect calls.runs stripped.runs --rate .1
expect_status 6
expect_stdout 'stripped.runs: 100 % of its work is in functions without a name: the program is stripped'
finish
