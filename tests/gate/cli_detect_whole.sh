# Two whole programs of tests/apps/whole, one of them in both directions and with its code in another place: the fault is found where
# it is, the way back is no regression, and a shifted build is the same program. How often that is right over all of them, several compilers
# and levels: tests/evidence/detect_builds.sh.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
cd "$tmp" || exit 1
whole=$ASSAY_SOURCE/tests/apps/whole

# build OUTPUT COMPILER-WORDS...
build() {
	output=$1
	shift
	"$ASSAY" build --for counters -- gcc -O2 -g -std=c11 -D_GNU_SOURCE -w "$@" -pthread -o "$output" || exit 1
}

# sample PROGRAM DIRECTORY RUNS SIZE: the same inputs for each program
sample() {
	for i in $(seq "$3"); do
		mkdir -p "$2/$i"
		ASSAY_EMULATE_DIRECTORY=$2/$i "./$1" 4 $(($4 + i * 4)) "$i" >/dev/null || exit 1
	done
}

{
	echo 'static volatile int kept;'
	for i in $(seq 41); do
		echo "__attribute__((used, noinline)) void front_$i(int x) { for (int i = 0; i < x; i++) kept += i * $i; }"
	done
} >front.c
# worker_stats: no function but the one that hands out has changed. json_reader: the callee of a callee, by recursive descent.
for program in worker_stats:account:false_sharing:800 json_reader:scan_string:copying:40; do
	IFS=: read -r name function kind size <<END
$program
END
	build "$name.good" "$whole/$name.c"
	build "$name.bad" -DBAD "$whole/$name.c"
	sample "$name.good" "$name/good" 9 "$size"
	sample "$name.bad" "$name/bad" 9 "$size"
	what="$name: the fault is found"
	run detect "$name/good" "$name/bad" --rate .1 --format json
	expect_status 3
	expect_json .functions[0].name $function
	expect_json .functions[0].kind $kind
done
what="the way back is better"
run detect json_reader/bad json_reader/good --rate .1 --format json
expect_status 0
expect_json .decision improved

what='a copy in functions that only the new version has: it is the callers that do more'
"$ASSAY" build --for counters -- g++ -O0 -g -w "$whole/filters.cc" -pthread -o filters.good || exit 1
"$ASSAY" build --for counters -- g++ -O0 -g -w -DBAD "$whole/filters.cc" -pthread -o filters.bad || exit 1
sample filters.good filters/good 9 150
sample filters.bad filters/bad 9 150
run detect filters/good filters/bad --rate .1 --format json
expect_status 3
expect_json .functions[0].kind allocation
expect_json .functions[0].further_kinds[0] copying
expect_json .functions[0].name '(anonymous namespace)::Block<long>::Block((anonymous namespace)::Block<long> const&)'
grep -q '"caller": *"(anonymous namespace)::Limit<long>::apply' out || fail 'the caller is not named'
run detect filters/bad filters/good --rate .1 --format json
expect_status 0

# One loop has become two, whose ends are foretold twice as often wrongly; what was called 14 times each time stands in its caller now.
build split.good "$whole/refactored.c"
build split.bad -DBAD -Dalways_inline=noinline "$whole/refactored.c"
build split.joined -DBAD "$whole/refactored.c"
for program in good bad joined; do
	sample split.$program split/$program 9 1500
done
what="further branches alone are a regression"
run detect split/good split/bad --rate .1 --format json
expect_status 3
expect_json .functions[0].name serve
expect_json .functions[0].kind branch
what="calls that are saved outweigh further branches"
run detect split/good split/joined --rate .1 --format json
expect_status 0
expect_stdout outweighed
expect_json .functions[0].name serve

# At -O0 what is inlined has as many blocks and accesses in its caller as it had before, and a call and its return are no event of any counter; natively
# this version takes .95 to .97 of the time.
for version in good joined; do
	"$ASSAY" build --for counters -- gcc -O0 -g -std=c11 -D_GNU_SOURCE -w $([ $version = good ] || echo -DBAD) "$whole/refactored.c" -pthread -o split0.$version || exit 1
	sample split0.$version split0/$version 9 1500
done
what="calls that are saved outweigh further branches at -O0, too"
run detect split0/good split0/joined --rate .1 --format json
expect_status 0
expect_json .decision pass
expect_stdout outweighed
what="and fewer branches are no improvement where calls take what they save"
run detect split0/joined split0/good --rate .1 --format json
expect_status 0
expect_json .decision pass

build uneven.own "$whole/../special/uneven.c"
build uneven.taken -DTAKEN "$whole/../special/uneven.c"
for program in own taken; do
	sample uneven.$program uneven/$program 9 0
done
what="work that threads take from each other is no more work, but on pages of others"
run detect uneven/own uneven/taken --rate .1 --format json
expect_status 3
expect_json .functions[0].name part
expect_json .functions[0].kind remote_memory
expect_json .functions[0].further_kinds 0
run detect uneven/own uneven/own --rate .1 --format json
expect_json .decision pass
run inspect uneven/taken --format json
expect_near '.functions[0].counters["emulated:accesses"]' 245763 .001

what='what compilers add to each file of a program is none of its functions'
cat >smooth.cc <<'END'
struct Smooth { Smooth(); int apply(int value); int by; };
Smooth::Smooth() : by(3) {}
__attribute__((noinline)) int Smooth::apply(int value) { return value / by; }
static Smooth smooth;
int main(int argc, char **)
{
	int sum = 0;
	for (int i = 0; i < 1000; i++)
		sum += smooth.apply(i);
	return sum == argc;
}
END
echo 'struct Table { Table(); int values[4]; }; Table::Table() { for (int &v : values) v = 1; } Table table;' >table.cc
for compiler in 'g++ -O0' 'g++ -O2' 'g++ -O2 -flto' 'clang++ -O0' 'clang++ -O2'; do
	command -v "${compiler%% *}" >/dev/null || continue
	rm -rf starts
	mkdir starts
	# shellcheck disable=SC2086
	"$ASSAY" build --for counters -- $compiler -g -w smooth.cc table.cc -pthread -o starts.program || exit 1
	ASSAY_EMULATE_DIRECTORY=starts ./starts.program || exit 1
	cases=$((cases + 1))
	grep -a -q 'Smooth' starts/*.samples || fail "$compiler: no names"
	grep -a -q -E '_sub_[ID]_[0-9]' starts/*.samples && fail "$compiler: a registration is among the functions"
done

what='an unrelated file in front, functions in another order, a larger environment'
build shifted -ffunction-sections -Wl,--sort-section=name front.c "$whole/json_reader.c"
PADDING=$(printf '%3333s' '')
export PADDING
sample shifted json_reader/shifted 9 40
run detect json_reader/good json_reader/shifted --rate .1 --format json
expect_status 0
expect_json .decision pass
finish
