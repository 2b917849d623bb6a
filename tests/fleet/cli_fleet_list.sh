# assay host list: hosts of lab.yaml, and -w and -x as all commands of the fleet have them.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"

what='a new laboratory has no hosts'
run init "$tmp/lab"
run -C "$tmp/lab" host list
expect_status 0
expect_stdout 'no hosts yet: add them' 'host import FILE'

what='the example without its comment signs'
sed -i 's/^# //' "$tmp/lab/lab.yaml"
run -C "$tmp/lab" host list
expect_status 0
expect_no_stderr
expect_stdout 'name    id        address         user   groups     type       box' \
	'node12  xeon-112  10.0.0.22:2222  bench  rack1,big  xeon-2640  node12' \
	'guest1  guest1    guest1          -      -          -          box1' \
	'here    here      this machine    -      -          -          here' \
	'15 hosts: node[01-12],guest[1-2],here'

what='-w and -x'
run -C "$tmp/lab" host list -w 'node[01-04],@all' -x @big --exclude guest2
expect_status 0
expect_stdout '2 of 15 hosts: guest1,here'
cases=$((cases + 1))
grep -q node01 "$tmp/out" && fail 'node01 is excluded'
run -C "$tmp/lab" host list --hosts @rack1 -w here
expect_status 0
expect_stdout '13 of 15 hosts: node[01-12],here'

what='JSON'
run -C "$tmp/lab" host list -w node02,here --format json
expect_status 0
expect_no_stderr
expect_json_parses
expect_json .n 2
expect_json .names node02,here
expect_json '.hosts[0].id' xeon-102
expect_json '.hosts[0].address' 10.0.0.12
expect_json '.hosts[0].port' 2222
expect_json '.hosts[0].groups[1]' big
expect_json '.hosts[0].env.OMP_NUM_THREADS' 8
expect_json '.hosts[0].emulated' false
expect_json '.hosts[1].transport' local
expect_json '.hosts[1].address' null

what='an emulated host says so, and a port behind an address of version 6 can be read'
printf 'hosts:\n  - {name: emu1, profile: io, address: "::1", port: 22001}\n' >"$tmp/lab/lab.yaml"
run -C "$tmp/lab" host list
expect_status 0
expect_stdout 'io (emulated)' '[::1]:22001' '1 host: emu1'
run -C "$tmp/lab" host list --format json
expect_json '.hosts[0].emulated' true
expect_json '.hosts[0].type' io

what='any of a type, by what Slurm says of its nodes'
mkdir "$tmp/slurm"
cat >"$tmp/slurm/sinfo" <<-'END'
	#!/bin/sh
	echo "$*" >>"$0.calls"
	printf '%s\n' 'n1|rome|allocated|none' 'n2|rome|drained|disk' 'n3|rome|idle|none' 'n4|rome|idle*|none' 'n5|rome|mixed|none'
END
chmod +x "$tmp/slurm/sinfo"
printf 'hosts:\n  - {name: "n[1-5]", transport: slurm, type: rome}\n  - {name: m1, type: milan}\n' >"$tmp/lab/lab.yaml"
any() {
	PATH="$tmp/slurm:$PATH" run -C "$tmp/lab" host list "$@"
}
any -w 'any 1 of type:rome'
expect_stdout '1 of 6 hosts: n3'
any -w 'any 3 of type:rome' -w m1
expect_stdout '4 of 6 hosts: n[1,3,5],m1'
any -w 'any 2 of type:rome' -x n3
expect_stdout '2 of 6 hosts: n[1,5]'
any -w 'any 6 of type:rome'
refused 2 "any 6 of 'type:rome' are requested, but lab.yaml has only 5"
cases=$((cases + 1))
[ "$(wc -l <"$tmp/slurm/sinfo.calls")" = 4 ] || fail 'sinfo should have been asked once a command'
any -w type:rome
expect_stdout '5 of 6 hosts: n[1-5]'
cases=$((cases + 1))
[ "$(wc -l <"$tmp/slurm/sinfo.calls")" = 4 ] || fail 'without "any" sinfo should not have been asked'
what='what is off, planned or ending is neither idle nor busy'
while read -r state; do
	cat >"$tmp/slurm/sinfo" <<-END
		#!/bin/sh
		printf '%s\n' 'n1|rome|$state|none' 'n2|rome|allocated+|none' 'n3|rome|mix|none' 'n4|rome|idle|none' 'n5|rome|down|none'
	END
	any -w 'any 3 of type:rome'
	expect_stdout '3 of 6 hosts: n[2-4]'
done <<'END'
idle~
idle#
idle!
idle%
idle$
idle@
idle^
idle-
mixed~
mixed-
allocated#
idle+drain
planned
completing
blocked
future
inval
npc
perfctrs
reboot_issued
no_respond
new_in_slurm_99
END
what='a line that is no node costs only itself'
while IFS= read -r line; do
	cat >"$tmp/slurm/sinfo" <<-END
		#!/bin/sh
		printf '%s\n' '$line' 'n1|rome|down|none' 'n3|rome|idle|none'
	END
	any -w 'any 1 of type:rome'
	expect_stdout '1 of 6 hosts: n3'
done <<'END'
sinfo: a notice
n9|rome|idle
|||
x/2|rome|idle|none
END
what='where Slurm does not say, none of its nodes is chosen'
while read -r says; do
	printf '#!/bin/sh\n%s\n' "$says" >"$tmp/slurm/sinfo"
	any -w 'any 1 of type:rome'
	refused 1 "the states of Slurm's nodes are not known" sinfo
	any -w 'any 1 of type:milan'
	expect_stdout '1 of 6 hosts: m1'
done <<'END'
echo 'Unable to contact slurm controller' >&2; exit 1
echo 'no table'
exit 0
END
printf 'hosts:\n  - {name: emu1, profile: io, address: "::1", port: 22001}\n' >"$tmp/lab/lab.yaml"

while IFS='|' read -r words wanted also; do
	what="wrong usage: $words"
	# shellcheck disable=SC2086
	run -C "$tmp/lab" $words
	refused 2 "$wanted" "${also:-}"
done <<'END'
host list -w emu2|no host 'emu2'|did you mean 'emu1'
host list -x emu2|no host 'emu2'|did you mean 'emu1'
host list -w @io|no group '@io'
host list -w emu[1-|'emu[1-', character 7|']' is missing
host list -w ,|must name hosts
host list -x|'-x' needs a value: HOSTS
host list -x @all|no host is left by -x '@all'
host list extra|unexpected argument 'extra'
host lst|unknown command 'host lst'|did you mean 'host list'
END

what='a malformed inventory'
printf 'hosts:\n  - name: a[1-3]\n    port: 99999\n' >"$tmp/lab/lab.yaml"
run -C "$tmp/lab" host list
refused 2 'lab.yaml:3' "not '99999'"

finish
