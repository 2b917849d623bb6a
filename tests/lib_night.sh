# The laboratory of a night, for the scripts cli_nightly*.sh, after lib_run.sh: $lab with three hosts, and applications with known costs.

tidy() {
	kill_marked
}

run_lab night "$(hosts_here 3)"
# cost.sh FACTOR SCRATCH: a cost near FACTOR. While SCRATCH/hold is there, it waits.
cat >"$lab/apps/tiny/cost.sh" <<'END_OF_SCRIPT'
#!/bin/sh
while [ -e "$2/hold" ]; do sleep .05; done
n=$(cat "$2/$1.count" 2>/dev/null || echo 0)
echo $((n + 1)) >"$2/$1.count"
[ "$1" != 130 ] || [ "$n" -lt 6 ] || set -- 100 "$2" # is slower six times, and never again
awk -v f="$1" -v n="$n" 'BEGIN { x = sin(n * 78.233 + f) * 43758.5453; x -= int(x); printf "cost %.6f\n", f * (1 + .002 * x) }'
END_OF_SCRIPT
chmod 755 "$lab/apps/tiny/cost.sh"
rm "$lab/apps/tiny.yaml" "$lab"/apps/*.example* 2>/dev/null

# application NAME COST...: versions v1, v2, ... with these costs
application() {
	name=$1
	shift
	{
		echo 'files: [tiny/cost.sh]'
		echo 'versions:'
		n=0
		for cost; do
			n=$((n + 1))
			echo "  v$n: { command: ['{files}/cost.sh', '$cost', '$tmp/scratch'] }"
		done
		printf '%s\n' 'repetitions: 2' 'warm_ups: 0' "metric: { source: regex, pattern: 'cost ([0-9.]+)' }"
	} >"$lab/apps/$name.yaml"
}
mkdir -p "$tmp/scratch"

# suite_of_two: compares the latest versions of two applications, of which one became slower.
suite_of_two() {
	application good 100 100.01
	application bad 100 100.02 120
	cat >"$lab/suite.yaml" <<'END_OF_SUITE'
comparisons:
  - { application: good }
  - { application: bad, against: [previous, v1], budget: 1m }
fingerprints: { battery: none }
END_OF_SUITE
}
