# Sources of the programs whose inputs' costs are evidence, and what was counted in them, below $kept. Sourced behind lib_debian.sh.
kept=${KEPT:-$work/kept}
mkdir -p "$kept"
for package in $(/usr/bin/python3 tests/bench/cost_programs.py); do
	[ -f "$kept/$package.version" ] && continue
	rm -rf "${kept:?}/$package"
	version=$(unpack "$package" bookworm "$kept/$package")
	echo "$version" >"$kept/$package.version"
done
# cost_rows PROGRAM: its rows, for bench_cost; what is there already is not measured again.
cost_rows() {
	[ ! -s "$kept/$1.rows" ] || return 0
	for step in draw time count; do
		/usr/bin/python3 tests/bench/cost_programs.py "$step" "$1" "$assay" "$kept" "$kept" "docs/evidence/cost_$1.csv" "${INPUTS:-360}" >"$kept/$1.rows.new"
	done
	mv "$kept/$1.rows.new" "$kept/$1.rows"
}
