# assay record of programs of several ranks: the same with Open MPI and MPICH, in C and Fortran; records say who waited for whom.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# of RANK CALL FIELD: the call's counter in that rank's records; a mean over its sites.
of() {
	for of_file in "$tmp"/records/*.samples; do
		"$ASSAY" inspect "$of_file" --format json | tr -d ' ,\n' >"$tmp/rank"
		grep -q "\"rank\":\"$1\"" "$tmp/rank" || continue
		sed 's/"name":/\n&/g' "$tmp/rank" | sed -n "s/^\"name\":\"$2\".*\"counters\":{\([^}]*\)}.*\"low\".*/\1/p" |
			sed -n "s/.*\"$3\":\([^\"]*\).*/\1/p" | tail -n 1
	done
}

# expect_of RANK CALL FIELD VALUE
expect_of() {
	cases=$((cases + 1))
	expect_of_value=$(of "$1" "$2" "$3")
	case $3 in
	peer | tag) expect_of_value=$(of "$1" "$2" args | awk -v of="$3" '{ print of == "peer" ? $1 % 1048576 - 1 : int($1 / 1048576) % 32768 }') ;;
	esac
	[ "$expect_of_value" = "$4" ] || fail "$3 of $2 in rank $1 is $expect_of_value, expected $4"
}

# recorded LAUNCHER PROGRAM...: in $tmp/records; all calls are timed unless $overhead says otherwise.
recorded() {
	rm -rf "$tmp/records"
	recorded_by=$1
	shift
	(cd "$tmp" && "$ASSAY" record -o records --overhead "${overhead:-0}" -- "$recorded_by" -np 2 "$@") >"$tmp/out" 2>"$tmp/err" ||
		fail "it failed: $(cat "$tmp/err" "$tmp/out")"
	cases=$((cases + 1))
	grep -q 'from 2 processes' "$tmp/err" || fail "two processes expected, the launcher is none: $(cat "$tmp/err")"
	[ "$(grep -c 'ended' "$tmp/out")" = 2 ] || fail "both ranks end: $(cat "$tmp/out")"
}

tried=
for mpi in openmpi mpich; do
	command -v "mpicc.$mpi" >/dev/null && command -v "mpirun.$mpi" >/dev/null || continue
	tried="$tried $mpi"
	unset OMPI_MCA_rmaps_base_oversubscribe
	[ "$mpi" = mpich ] || export OMPI_MCA_rmaps_base_oversubscribe=1

	what="$mpi, C"
	"mpicc.$mpi" -O1 -o "$tmp/ranks" "$ASSAY_SOURCE/tests/interposed/ranks.c" || fail 'cannot compile'
	recorded "mpirun.$mpi" ./ranks 3 1000
	expect_of 1 MPI_Send size 1000
	expect_of 1 MPI_Send peer 0
	expect_of 1 MPI_Send tag 77
	expect_of 0 MPI_Recv size 1000
	expect_of 0 MPI_Recv kind 7
	what="$mpi, C: of MPI_ANY_SOURCE, who it was"
	expect_of 0 MPI_Recv peer 1
	what="$mpi, C: what was waited for"
	expect_of 0 MPI_Wait peer 1
	expect_of 0 MPI_Wait tag 77
	what="$mpi, C: a communicator's ranks are the program's"
	expect_of 0 MPI_Bcast peer 1
	expect_of 0 MPI_Bcast size 4
	expect_of 0 MPI_Allreduce size 64
	expect_of 0 MPI_Allreduce kind 8
	expect_of 1 MPI_Gather size null
	expect_of 0 MPI_Gather size 32
	expect_of 1 MPI_File_write_at_all size 16
	what="$mpi, C: memory of others, in a window of the communicator's ranks"
	expect_of 1 MPI_Put size 160
	expect_of 1 MPI_Put kind 7
	expect_of 1 MPI_Put peer 0
	expect_of 1 MPI_Get size 80
	expect_of 1 MPI_Win_unlock peer 0
	expect_of 0 MPI_Win_fence kind 8
	cases=$((cases + 1))
	[ "$(of 0 MPI_Win_fence args)" = "$(of 0 MPI_Allreduce args)" ] || fail 'a window has the ranks of its communicator'
	cases=$((cases + 1))
	[ "$(of 0 MPI_Allreduce args)" = "$(of 1 MPI_Allreduce args)" ] || fail 'a communicator is the same one in all of its ranks'
	cases=$((cases + 1))
	[ "$(of 0 MPI_Allreduce args)" != "$(of 0 MPI_Barrier args)" ] || fail 'two communicators are two'
	cases=$((cases + 1))
	[ "$(cat "$tmp/ranks.data")" = 0123456789abcdef0123456789abcdef ] || fail 'the file is what both wrote'
	what="$mpi: what happens within a call is not recorded, nor are its threads"
	cases=$((cases + 1))
	! cat "$tmp"/records/*.samples | tr '\0' '\n' | grep -aqE '(epoll_wait|poll|writev|recvmsg)$' || fail 'calls of the library itself'
	what="$mpi: nor what happens within a call that is not looked at"
	overhead=1 recorded "mpirun.$mpi" ./ranks 1 0 10000000
	expect_of 0 MPI_Iprobe kind 7
	cases=$((cases + 1))
	! cat "$tmp"/records/*.samples | tr '\0' '\n' | grep -aqE '(epoll_wait|poll|writev|recvmsg)$' || fail 'calls of the library itself'

	what="$mpi, Fortran"
	if command -v "mpifort.$mpi" >/dev/null && "mpifort.$mpi" -O1 -o "$tmp/ranks_f" "$ASSAY_SOURCE/tests/interposed/ranks.f90" >"$tmp/err" 2>&1; then
		recorded "mpirun.$mpi" ./ranks_f
		expect_of 1 MPI_Send size 400
		expect_of 1 MPI_Send tag 77
		expect_of 0 MPI_Wait peer 1
		expect_of 0 MPI_Allreduce size 4
	fi
done
[ -n "$tried" ] || skip 'there is no MPI (sh tests/install mpi)'
finish
