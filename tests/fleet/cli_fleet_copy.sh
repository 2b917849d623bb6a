#!/bin/sh
# `assay host copy` and `assay host copy --fetch`: the same bytes at the other end, and what is there stays when they fail.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_sshd.sh"
sshd_available || skip 'there is no sshd, ssh-keygen or setpriv (openssh-server, util-linux)'
export HOME="$tmp/home"
mkdir "$HOME"
unset SSH_AUTH_SOCK
sshd_start one "SetEnv XDG_CACHE_HOME=$tmp/cache"
run init "$tmp/lab"
cat >"$tmp/lab/lab.yaml" <<END
hosts:
  - { name: 'node[1-2]', address: 127.0.0.1, port: $port, identity_file: $tmp/user }
  - { name: here, transport: local }
  - { name: dead, address: 127.0.0.1, port: 1 }
END
put() {
	run -C "$tmp/lab" host copy "$@"
}
get() {
	run -C "$tmp/lab" host copy --fetch "$@"
}
run -C "$tmp/lab" host trust -w node1
expect_status 0
mkdir "$tmp/there"
head -c 3145728 /dev/urandom >"$tmp/random"
chmod 751 "$tmp/random"

what='put'
name="a b'\$(x)"
put -x dead "$tmp/random" "$tmp/there/$name"
expect_status 0
expect_no_stdout
expect_same_files "$tmp/random" "$tmp/there/$name"
cases=$((cases + 1))
[ "$(stat -c %a "$tmp/there/$name")" = 751 ] || fail 'the mode should be kept'
cases=$((cases + 1))
[ "$(ls "$tmp/there" | wc -l)" = 1 ] || fail 'nothing else should be there'

what='put into a directory'
put -w node1 --format json "$tmp/random" "$tmp/there/"
expect_status 0
expect_json .remote "$tmp/there/random"
expect_json .bytes 3145728
expect_json '.hosts[0].outcome' ok
expect_same_files "$tmp/random" "$tmp/there/random"
what='put an empty file'
: >"$tmp/empty"
put -w node1 "$tmp/empty" "$tmp/there/random"
expect_status 0
expect_same_files "$tmp/empty" "$tmp/there/random"

what='get'
get -x dead "$tmp/there/$name" "$tmp/got"
expect_status 0
for host in node1 node2 here; do
	expect_same_files "$tmp/random" "$tmp/got/$host"
done
cases=$((cases + 1))
[ "$(ls "$tmp/got" | wc -l)" = 3 ] || fail 'three files expected'
what='get, some fail, and what came before stays'
rm "$tmp/there/$name"
get -w node1,dead --format json "$tmp/there/$name" "$tmp/got"
expect_status 1
expect_json '.hosts[0].outcome' failed
expect_json '.hosts[0].bytes' null
expect_json '.hosts[1].outcome' unreachable
expect_same_files "$tmp/random" "$tmp/got/node1"
get -w node1,dead /etc/passwd "$tmp/got"
expect_status 7
expect_same_files /etc/passwd "$tmp/got/node1"
cases=$((cases + 1))
[ ! -e "$tmp/got/dead" ] || fail 'nothing came from there'

what='what is no file'
get -w node1 /dev/zero "$tmp/got"
expect_status 1
cases=$((cases + 1))
grep -q "failed: node1: cannot read '/dev/zero'" "$tmp/err" || fail 'the reason should be there'
put -w node1 "$tmp/random" "$tmp/nowhere/file"
expect_status 1
cases=$((cases + 1))
grep -q "failed: node1: cannot make a file beside '$tmp/nowhere/file': No such" "$tmp/err" || fail 'the reason should be there'
mkfifo "$tmp/pipe"
ln -s "$tmp/pipe" "$tmp/to_pipe"
for special in "$tmp/pipe" "$tmp/to_pipe" "$tmp/there"; do
	put -w node1 "$tmp/random" "$special"
	expect_status 1
	expect_stderr "failed: node1: cannot write '$special': it is not a regular file"
done
cases=$((cases + 1))
[ -p "$tmp/pipe" ] && [ -L "$tmp/to_pipe" ] || fail 'what is no regular file was replaced'
put -w node1 "$tmp/there" "$tmp/other"
refused 2 'is not a regular file'
put -w node1 "$tmp/not-there" "$tmp/other"
refused 2 'not-there'
truncate -s 2G "$tmp/huge"
put -w node1 "$tmp/huge" "$tmp/other"
refused 2 'more than 1024 MiB'
put -w node1 "$tmp/random" '~/file'
refused 2 "is not expanded on the hosts"
put -w node1 "$tmp/random" ''
refused 2 'is empty'
get -w node1 /proc/version "$tmp/random"
refused 1 'random'
put "$tmp/random"
refused 2 'FROM and TO'
get /proc/version "$tmp/got" more
refused 2 'more'
sshd_stop one
finish
