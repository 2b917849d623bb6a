# Programs with emulated counters and samples of their runs, for scripts cli_detect*.sh, which source this after lib_cli.sh. They work in $tmp.
command -v gcc >/dev/null || skip 'there is no gcc'
cd "$tmp" || exit 1
fold=$ASSAY_SOURCE/tests/apps/special/fold.c

# build SOURCE PROGRAM [FLAG...]
build() {
	source=$1 program=$2
	shift 2
	"$ASSAY" build --for counters -- gcc -O1 -g -std=c11 -D_GNU_SOURCE "$@" "$source" -pthread -o "$program" || exit 1
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
