#!/bin/sh
# A laboratory with hosts of two architectures: what runs record, and what is made of both together.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_other.sh"
export XDG_CACHE_HOME="$tmp/cache"

case ${ASSAY_OTHER_PROGRAMS:-} in
*helper*) ;;
*) skip 'this build has no helper for aarch64' ;;
esac
other_hosts "$tmp/other" || skip 'aarch64 programs cannot be run here (qemu-user, unshare; Linux 6.7)'

lab=$tmp/lab
run init "$lab"
rm -f "$lab"/apps/*.example*
cat >"$lab/lab.yaml" <<END
hosts:
  - { name: arm1, transport: command, launcher: [$tmp/other/aarch64, '{host}'] }
  - { name: arm2, transport: command, launcher: [$tmp/other/aarch64, '{host}'] }
  - { name: here, transport: local }
END
# A cost that is higher on aarch64 alone, and its noise.
cat >"$lab/apps/cost.sh" <<'END'
#!/bin/sh
n=$(cat "$2/count" 2>/dev/null || echo 0)
echo $((n + 1)) >"$2/count"
cost=100
[ "$(uname -m)" != aarch64 ] || cost=$1
[ "$cost" != fails ] || exit 1
echo "cost $cost.$((n * 7 % 10))"
END
chmod 755 "$lab/apps/cost.sh"
mkdir "$tmp/scratch"
cat >"$lab/apps/app.yaml" <<END
files: [cost.sh]
versions:
  old: { command: ['{files}/cost.sh', '100', '$tmp/scratch'] }
  new: { command: ['{files}/cost.sh', '130', '$tmp/scratch'] }
  broken: { command: ['{files}/cost.sh', fails, '$tmp/scratch'] }
repetitions: 3
warm_ups: 0
metric: { source: regex, pattern: 'cost ([0-9.]+)' }
END
lab() {
	run -C "$lab" "$@"
}

what='the architecture is recorded, without any fingerprint'
lab run app
expect_status 7 # one version fails on aarch64
lab result export "$tmp/tables"
expect_status 0
column=$(head -n 1 "$tmp/tables/executions.csv" | tr , '\n' | grep -nx architecture | cut -d : -f 1)
cases=$((cases + 1))
[ "$(cut -d , -f 4,"$column" "$tmp/tables/executions.csv" | sort -u | grep -v machine, | tr '\n' ' ')" = 'arm1,aarch64 arm2,aarch64 here,x86_64 ' ] ||
	fail "not as expected: $(cut -d , -f 4,"$column" "$tmp/tables/executions.csv" | sort -u | tr '\n' ' ')"

what='each is decided by itself'
lab gate app@old app@new --format json
expect_status 3
expect_json .decision regression
expect_json .architectures[0].architecture aarch64
expect_json .architectures[0].decision regression
expect_json .architectures[0].machines 2
expect_json .architectures[1].architecture x86_64
expect_json .architectures[1].machines 1
expect_json .machines[1].machine arm2
what='failures, too'
lab gate app@old app@broken --format json
expect_status 3
expect_json '.reasons[0].code' architectures_apart
expect_json '.reasons[1].code' candidate_always_fails
expect_json .architectures[0].decision regression
expect_json .architectures[0].machines 0
what='a profile is of one'
lab profile app@new
holds "$tmp/err" 'a remark' 'results of 2 architectures are never combined: the 6 of aarch64 are used, the 3 others excluded'

what='a program for another architecture is refused before anything is run, on hosts of which it is not'
cp "$ASSAY_JSON" "$lab/apps/tool"
cat >"$lab/apps/native.yaml" <<'END'
files: [tool]
command: [sh, -c, 'echo cost 1']
versions: { old: , new: }
repetitions: 1
warm_ups: 0
metric: { source: regex, pattern: 'cost ([0-9]+)' }
END
lab run native
expect_status 7
holds "$tmp/err" 'the reason' "arm1: 'tool' of 'files' is for $(uname -m), but this host is aarch64: in " \
	'native.yaml give each version a directory or a build for each architecture'
lab result show native@new --format json
expect_json .results[0].machine here
expect_json '.results[1]' '(nothing)'
what='data pass, whatever they are'
chmod -x "$lab/apps/tool"
lab run native
expect_status 0

what='each host gets what a version has for its architecture'
for of in x86_64 aarch64; do
	mkdir -p "$lab/apps/$of"
	printf '#!/bin/sh\n[ "$(uname -m)" = %s ] && echo cost 1\n' "$of" >"$lab/apps/$of/program"
	chmod 755 "$lab/apps/$of/program"
done
(
	git init -q "$tmp/source" && cd "$tmp/source" || exit
	printf 'mkdir out && cp "$1/program" out\n' >build.sh
	git add build.sh
	git -c user.name=a -c user.email=a@b commit -qm one
	git tag v1
) >/dev/null 2>&1
cat >"$lab/apps/own.yaml" <<END
command: ['{build}/program']
versions:
  dirs: { directory: { aarch64: aarch64, x86_64: x86_64 } }
  built: { git: { repository: '$tmp/source', reference: v1, directory: out,
      build: { x86_64: [sh, build.sh, '$lab/apps/x86_64'], aarch64: [sh, build.sh, '$lab/apps/aarch64'] } } }
repetitions: 1
warm_ups: 0
metric: { source: regex, pattern: 'cost ([0-9]+)' }
END
lab run own
expect_status 0
lab result show own@built --format json
expect_json '.results[2].machine' here
build=$(json '.results[0].build')
expect_json '.results[2].build' "$build"

what='a host of an architecture that a version has nothing for'
sed 's/aarch64: aarch64, //' "$lab/apps/own.yaml" >"$lab/apps/less.yaml"
lab run less --versions dirs
expect_status 7
holds "$tmp/err" 'the reason' "arm2: version 'dirs' is for x86_64 only, not for aarch64: add it to its 'directory' ("
lab result show less@dirs --format json
expect_json '.results[0].machine' here
expect_json '.results[1]' '(nothing)'

what='a night confirms where it has found'
cat >"$lab/suite.yaml" <<'END'
comparisons:
  - { application: app, candidates: [new], against: [old] }
fingerprints: { battery: none }
END
lab nightly run --format json
expect_status 3
expect_json .decisions[0].decision regression
lab explain "$(json .decisions[0].id)" --format json
fresh=$(json .evidence.fresh_plan)
cases=$((cases + 1))
lab result export "$tmp/again"
expect_status 0
machines=$(grep ",${fresh:?}," "$tmp/again/executions.csv" | cut -d , -f 4 | sort -u | tr '\n' ' ')
[ "$machines" = 'arm1 arm2 ' ] || fail "fresh runs on '$machines'"
finish
