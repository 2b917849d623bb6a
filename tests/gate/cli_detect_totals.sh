# What is said of functions is of all their calls in a run: how the same work is divided between calls is no change, more calls are; what data changed elsewhere
# shows in functions that did not change; what --least puts aside is said.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
command -v gcc >/dev/null || skip 'there is no gcc'
cd "$tmp" || exit 1

# build SOURCE PROGRAM [FLAG...]
build() {
	source=$1 program=$2
	shift 2
	"$ASSAY" emulate build -- gcc -O1 -g -std=c11 -D_GNU_SOURCE "$@" "$source" -pthread -o "$program" || exit 1
}

# sample PROGRAM RUNS [ARGUMENT...]: into the directory PROGRAM.runs
sample() {
	program=$1 runs=$2
	shift 2
	for i in $(seq "$runs"); do
		mkdir -p "$program.runs/$i"
		ASSAY_EMULATE_DIRECTORY=$program.runs/$i "./$program" "$@" >/dev/null || exit 1
	done
}

# fold adds up lengths of period 7; in PARTS calls each instead of one, OFTEN times as often, or a little more of them in calls that lie between samples.
cat >calls.c <<'EOF'
#include <stdio.h>
#ifndef PARTS
#define PARTS 1
#endif
#ifndef OFTEN
#define OFTEN 1
#endif
#ifndef RARELY
#define RARELY 0
#endif
static volatile int numbers[4096];
static long sum;
__attribute__((noinline)) void fold(int from, int n) { for (int i = from; i < from + n; i++) sum += numbers[i & 4095]; }
__attribute__((noinline)) void other(void) { for (int i = 0; i < 750000; i++) sum += numbers[i & 4095]; }
int main(void)
{
	for (int i = 0; i < 100; i++) {
		int n = 400 * (1 + i % 7) + (i % 7 == 3 ? RARELY : 0);
		for (int k = 0; k < OFTEN; k++)
			for (int part = 0; part < PARTS; part++)
				fold(part * n / PARTS, n / PARTS);
		if (i % 50 == 0)
			other();
	}
	printf("%ld\n", sum);
	return 0;
}
EOF
build calls.c calls
build calls.c parts -DPARTS=2
build calls.c often -DOFTEN=8
build calls.c rarely -DRARELY=4000
sample calls 9
for program in parts often rarely; do
	sample $program 4
done

what="the same work in more calls"
run detect calls.runs parts.runs --rate .1 --format json
expect_status 0
expect_json .decision pass

what="more calls, none of which is dearer"
run detect calls.runs often.runs --rate .1 --format json
expect_status 3
expect_json .functions[0].name fold
expect_json .functions[0].kind more_work
expect_json .functions[1].anomalous false

what="one call in seven does much more"
run detect calls.runs rarely.runs --rate .1 --format json
expect_status 3
expect_json .functions[0].name fold
expect_json .functions[0].kind more_work
what='how often is said, and of a pass that no run is anomalous that decides anything'
run detect calls.runs often.runs --rate .1
expect_status 3
expect_stdout 'more work: it is called 8 times as often' '  in a run'
run detect calls.runs parts.runs --rate .1
expect_status 0
expect_stdout '0 of 4 runs are anomalous, and 4 differ in ways that decide nothing'

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
expect_stdout "some.runs: 2 runs are left out: their sample files are cut off (the first: 'some.runs/2/"
cp -R calls.runs short.runs
truncate -s 0 short.runs/1/*
truncate -s 5 short.runs/3/*
truncate -s 700 short.runs/5/*
truncate -s 4096 short.runs/7/*
rm short.runs/9/*
run detect calls.runs short.runs --rate .1
expect_status 0
expect_stdout "short.runs: 4 runs are left out: their sample files are cut off (the first: 'short.runs/1/" \
	'short.runs: 1 directory is empty and counts as no run'
echo nothing >"$(ls short.runs/1/*)"
run detect calls.runs short.runs --rate .1
refused 2 'not a sample file'
run detect calls.runs all.runs --rate .1
refused 6 'sample files of all its 4 runs are cut off' "'all.runs/1/"
run detect all.runs calls.runs --rate .1
refused 6 'sample files of all its 4 runs are cut off'

what='runs that were killed are no runs beside those that ended, and comparable with each other'
sed 's/return 0;/__builtin_trap();/' calls.c >killed.c
build killed.c killed
for i in $(seq 9); do
	mkdir -p "killed.runs/$i"
	ASSAY_EMULATE_DIRECTORY=killed.runs/$i ./killed >/dev/null 2>&1
done
run detect calls.runs killed.runs --rate .1
refused 6 'in none of its 9 runs the program ended in order'
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
expect_stdout 'crashes.runs: 2 runs are left out: the program was killed or crashed there'
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
expect_stdout 'inconclusive  they cannot be compared; 1 of 2 functions differs' \
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
sed 's/fold/summed/g' calls.c >renamed.c
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
expect_stdout 'stripped.runs: 100 % of what it does is in functions without a name: the program is stripped'

# The words of threads are apart by `apart`, which main knows: add is what it was.
cat >data.c <<'EOF'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#ifndef APART
#define APART 32
#endif
static volatile long *words, apart;
__attribute__((noinline)) void add(long at) { for (int i = 0; i < 20000; i++) words[at * apart]++; }
__attribute__((noinline)) void *thread(void *number) { for (int i = 0; i < 10; i++) add((long)number); return NULL; }
int main(void)
{
	pthread_t threads[4];
	words = calloc(4096, sizeof(long));
	apart = APART;
	for (long i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, thread, (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	printf("%ld\n", words[0]);
	return 0;
}
EOF
build data.c data
build data.c beside -DAPART=1
sample data 9
sample beside 3

what='the change is in main, what it does in a function that did not change'
run detect data.runs beside.runs --rate .1 --old-build data --new-build beside --format json
expect_status 3
expect_json .functions[0].name add
expect_json .functions[0].kind false_sharing
grep -q unchanged_judged out || fail 'it is not said that all functions were judged'

what='what is found in a function that does less than asked for'
run detect calls.runs often.runs --rate .1 --least .5
expect_status 0
expect_stdout 'fold: more work: it is called 8 times as often, but that is put aside'

# What one function saves, another has to do in part: beside it, or more than it.
cat >moved.c <<'EOF'
#include <stdio.h>
#include <stdlib.h>
static volatile int numbers[4096];
static long sum;
__attribute__((noinline)) void prepare(int n) { for (int i = 0; i < n; i++) sum += numbers[i & 4095]; }
__attribute__((noinline)) void search(int n) { for (int i = 0; i < n; i++) sum += numbers[i & 4095] + 1; }
int main(void)
{
	for (int i = 0; i < 50; i++) {
		prepare(PREPARE);
		search(SEARCH);
	}
	printf("%ld\n", sum);
	return 0;
}
EOF
build moved.c neither -DPREPARE=1000 -DSEARCH=5000
build moved.c prepared -DPREPARE=1500 -DSEARCH=2000
build moved.c overdone -DPREPARE=4000 -DSEARCH=2000
sample neither 9
sample prepared 4
sample overdone 4
what="what one function has more, another saves several times over"
run detect neither.runs prepared.runs --rate .1 --format json
expect_status 0
expect_json .decision improved
expect_stdout outweighed
expect_json .functions[0].name prepare
expect_json .functions[0].kind more_work
what="what is saved does not make up for it"
run detect neither.runs overdone.runs --rate .1 --format json
expect_status 3
expect_json .functions[0].name prepare

# What all the calls save that there are no more, not those that are left.
cat >ticks.c <<'EOF'
#include <stdio.h>
static volatile int numbers[4096];
static long sum;
__attribute__((noinline)) void tick(int i) { sum += numbers[i & 4095]; }
__attribute__((noinline)) void rest(void) { for (int i = 0; i < 200000; i++) sum += numbers[i & 4095]; }
int main(void)
{
	for (int i = 0; i < TICKS; i++)
		tick(i);
	rest();
	printf("%ld\n", sum);
	return 0;
}
EOF
build ticks.c ticks -DTICKS=3000
build ticks.c fewer -DTICKS=30
sample ticks 9
sample fewer 4
what='a hundredth as many calls'
run detect ticks.runs fewer.runs --rate .1 --format json
expect_status 0
expect_json .decision improved
expect_json .functions[0].name tick
finish
