# assay host import: the nodes of a cluster into lab.yaml, from a sinfo that is a script.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"

mkdir "$tmp/bin"
cat >"$tmp/bin/sinfo" <<'END'
#!/bin/sh
cat "$SINFO_SAYS"
END
chmod 755 "$tmp/bin/sinfo"
PATH=$tmp/bin:$PATH
SINFO_SAYS=$tmp/says
export PATH SINFO_SAYS
lab=$tmp/lab
run init "$lab"
expect_status 0

what='nodes of several partitions, with and without features'
printf '%s\n' 'n01|rome,nvme|idle|none' 'n01|rome,nvme|idle|none' 'n02|rome,nvme|drained|bad | disk' 'n03|(null)|idle|none' >"$tmp/says"
cp "$lab/lab.yaml" "$tmp/before"
run -C "$lab" host import slurm --types milan,rome --dry-run --format json
expect_status 0
expect_json .added 3
expect_json .nodes[1].reason 'bad | disk'
cmp -s "$tmp/before" "$lab/lab.yaml" || fail "--dry-run changed lab.yaml"
run -C "$lab" host import slurm --types milan,rome --partition lab
expect_status 0
expect_stdout '3 of 3 nodes added to lab.yaml'
run -C "$lab" host list --format json
expect_json .n 3
expect_json .hosts[1].type rome
expect_json .hosts[0].transport slurm
run -C "$lab" host list -w @nvme --format json
expect_json .n 2

what='what is there stays; what is gone is said'
printf '%s\n' 'n01|rome|idle|none' 'n04|rome|idle|none' >"$tmp/says"
run -C "$lab" host import slurm --format json
expect_status 0
expect_json .added 1
expect_json .gone[0] n02

what='a line that is no node is excluded'
printf '%s\n' "n'6: x|rome|idle|none" 'n04|rome|idle|none' >"$tmp/says"
run -C "$lab" host import slurm
expect_status 0
expect_stdout "1 line of sinfo excluded: sinfo's line 1: " 'cannot be the name of a host'

what='nothing is written of a list that makes no sense'
cp "$lab/lab.yaml" "$tmp/before"
printf '%s\n' "n'6: x|rome|idle|none" >"$tmp/says"
run -C "$lab" host import slurm
refused 2 "cannot be the name of a host"
cmp -s "$tmp/before" "$lab/lab.yaml" || fail "lab.yaml was changed"

what='by a login node with a port of its own'
printf '#!/bin/sh\necho "$@" >>"%s"\ncat "$SINFO_SAYS"\n' "$tmp/asked" >"$tmp/bin/ssh"
chmod 755 "$tmp/bin/ssh"
printf '%s\n' 'n06|rome|idle|none' 'n07|rome|drained|disk' >"$tmp/says"
run -C "$lab" host import slurm --login me@front:2222 --dry-run
expect_status 0
expect_stdout '2 of 2 nodes would be added to lab.yaml'
holds "$tmp/asked" 'the words of ssh' '-p 2222 -l me -- front'
printf 'hosts:\n  - { name: "n0[7,6]", transport: slurm, login: "me@front:2222", type: rome }\n' >"$lab/lab.yaml"
: >"$tmp/asked"
run -C "$lab" host list -w 'any 1 of type:rome' --format json
expect_json .hosts[0].name n06
holds "$tmp/asked" 'the words of ssh' '-p 2222 -l me -- front'

what='neither a batch system nor a file'
run -C "$lab" host import pbs
refused 2 "cannot read 'pbs'"

finish
