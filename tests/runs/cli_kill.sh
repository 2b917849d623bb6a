# An import that is killed at any moment leaves a laboratory that can be read, and that the next import completes.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"

KILLS=10

if [ -f "${ASSAY_QUIHO:-}/results.csv" ]; then
	package=$ASSAY_QUIHO
else
	package=$tmp/package
	make_package "$package" 60 100
fi

what='an undisturbed import'
run init "$tmp/whole"
start=$(date +%s%N)
run -C "$tmp/whole" import quiho "$package"
end=$(date +%s%N)
expect_status 0
shortest=$(((end - start) / 1000000))
run -C "$tmp/whole" runs export
cp "$tmp/out" "$tmp/export"

# Random, but the same in every run: moments from the start to a little behind the end of an import, in parts of the time that it takes.
moments=$(awk -v n=$KILLS 'BEGIN {
	seed = 20170615
	for (i = 0; i < n; i++) {
		seed = (seed * 16807) % 2147483647
		printf "%.4f\n", 1.1 * seed / 2147483647
	}
}')

reaped=0
i=0
for moment in $moments; do
	i=$((i + 1))
	delay=$(awk -v ms="$shortest" -v part="$moment" 'BEGIN { printf "%.4f", ms / 1000 * part }')
	what="kill $i, after $delay s"
	# Every other time into the laboratory that the kill before has left, as far as it had come.
	if [ $((i % 2)) -eq 1 ]; then
		rm -rf "$tmp/lab"
		run init "$tmp/lab"
	fi
	"$ASSAY" -C "$tmp/lab" import quiho "$package" >"$tmp/out" 2>"$tmp/err" </dev/null &
	victim=$!
	sleep "$delay"
	kill -KILL "$victim" 2>/dev/null
	wait "$victim" 2>/dev/null
	status=$?
	# The machine may be less busy than when the time was taken: after one that came too late all others come earlier.
	[ "$status" -eq 137 ] && reaped=$((reaped + 1)) || shortest=$((shortest * 3 / 4))

	# Either nothing of the import is there, or all of it.
	run -C "$tmp/lab" runs list --format json
	expect_status 0
	expect_no_stderr
	cases=$((cases + 1))
	found=$(json .applications)
	if [ "$found" != 0 ]; then
		run -C "$tmp/lab" runs export
		expect_same_files "$tmp/out" "$tmp/export"
	fi
	if [ $((i % 2)) -eq 0 ]; then
		what="import after kill $i"
		run -C "$tmp/lab" import quiho "$package"
		expect_status 0
		expect_no_stderr
		run -C "$tmp/lab" catalog check
		expect_status 0
		run -C "$tmp/lab" runs export
		expect_same_files "$tmp/out" "$tmp/export"
		cases=$((cases + 1))
		diff -r "$tmp/lab/machines" "$tmp/whole/machines" >"$tmp/out" || fail 'the catalog is not that of an undisturbed import'
	fi
done

what='the moments of the kills'
echo "$reaped of $KILLS imports were killed before their end"
cases=$((cases + 1))
[ "$reaped" -ge $((KILLS / 4)) ] || fail 'too many kills came too late to prove anything'

finish
