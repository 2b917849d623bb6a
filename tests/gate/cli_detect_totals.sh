# What is said of functions is of all their calls in a run: how the same work is divided between calls is no change, more calls are; what data changed elsewhere
# shows in functions that did not change; what --least puts aside is said.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_fold.sh"

build "$fold" calls
build "$fold" parts -DPARTS=2
build "$fold" often -DOFTEN=8
build "$fold" rarely -DRARELY=4000
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
expect_json .functions[0].kind calls
expect_json .functions[1].anomalous false

what="one call in seven does much more"
run detect calls.runs rarely.runs --rate .1 --format json
expect_status 3
expect_json .functions[0].name fold
expect_json .functions[0].kind more_work
what='how often is said, and of a pass that no run is anomalous that decides anything'
run detect calls.runs often.runs --rate .1
expect_status 3
expect_stdout 'called 8 times as often, each call the same' '  in a run'
run detect calls.runs parts.runs --rate .1
expect_status 0
expect_stdout '0 of 4 runs are anomalous, and 4 differ without effect on the decision'

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

what='what is found in a function that does less than asked for'
run detect calls.runs often.runs --rate .1 --least .5
expect_status 0
expect_stdout 'fold: called 8 times as often, each call the same, but it is excluded'

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
build moved.c moved -DPREPARE=4000 -DSEARCH=2000
build moved.c overdone -DPREPARE=6000 -DSEARCH=2000
sample neither 9
sample prepared 4
sample moved 4
sample overdone 4
what="what one function has more, another saves several times over"
run detect neither.runs prepared.runs --rate .1 --format json
expect_status 0
expect_json .decision improved
expect_stdout outweighed
expect_json .functions[0].name prepare
expect_json .functions[0].kind more_work
what="work that moved is no finding"
run detect neither.runs moved.runs --rate .1 --format json
expect_status 0
expect_json .decision pass
expect_json .reasons[0].code moved
expect_json .reasons[0].text 'work moved between functions: the sum is the same as before'
expect_json .functions[0].anomalous false
expect_json .functions[1].anomalous false
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
