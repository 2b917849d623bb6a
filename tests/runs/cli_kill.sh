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
import_package "$tmp/whole" "$package"
end=$(date +%s%N)
expect_status 0
shortest=$(((end - start) / 2000000))
run -C "$tmp/whole" result export "$tmp/export"

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
	# Two kills of an import of machines, then two of one of results: the second one into the laboratory that the kill before has left, as
	# far as it had come.
	case $((i % 4)) in
	1) rm -rf "$tmp/lab" && run init "$tmp/lab" && file=machines ;;
	3) rm -rf "$tmp/lab" && run init "$tmp/lab" && run -C "$tmp/lab" host import "$tmp/of_package/machines.csv" && file=results ;;
	esac
	[ $file = machines ] && import='host import' || import='result import'
	# shellcheck disable=SC2086 # two words
	"$ASSAY" -C "$tmp/lab" $import "$tmp/of_package/$file.csv" >"$tmp/out" 2>"$tmp/err" </dev/null &
	victim=$!
	sleep "$delay"
	kill -KILL "$victim" 2>/dev/null
	wait "$victim" 2>/dev/null
	status=$?
	# The machine may be less busy than when the time was taken: after one that came too late all others come earlier.
	[ "$status" -eq 137 ] && reaped=$((reaped + 1)) || shortest=$((shortest * 3 / 4))

	# Either nothing of the import is there, or all of it.
	run -C "$tmp/lab" result export "$tmp/found"
	expect_status 0
	expect_no_stderr
	[ "$(wc -l <"$tmp/found/$file.csv")" = 1 ] || expect_same_files "$tmp/found/$file.csv" "$tmp/export/$file.csv"
	if [ $((i % 2)) -eq 0 ]; then
		what="import after kill $i"
		import_file "$tmp/lab" "$tmp/of_package/$file.csv"
		expect_status 0
		expect_no_stderr
		run -C "$tmp/lab" check
		expect_status 0
		run -C "$tmp/lab" result export "$tmp/found"
		expect_same_files "$tmp/found/$file.csv" "$tmp/export/$file.csv"
		cases=$((cases + 1))
		diff -r "$tmp/lab/machines" "$tmp/whole/machines" >"$tmp/out" || fail 'the catalog is not that of an undisturbed import'
	fi
done

what='the moments of the kills'
echo "$reaped of $KILLS imports were killed before their end"
cases=$((cases + 1))
[ "$reaped" -ge $((KILLS / 4)) ] || fail 'too many kills came too late to prove anything'

finish
