# What a command stresses on this machine: without a laboratory, and without changing anything.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
mkdir "$tmp/here"
cd "$tmp/here" || exit 1

what='a command that waits'
run profile --here --budget 0.5 --format json -- sleep 0.2
expect_status 0
expect_json_parses
expect_json '.levels[0].name' waiting
expect_json '.levels[0].how' measured
expect_json .levels 3
cases=$((cases + 1))
case $(json .sentence) in "'sleep 0.2' spends "*' % of its time waiting, '*) ;; *) fail "the sentence is: $(json .sentence)" ;; esac

what='calls are counted'
run profile --here --budget 0.1 --format json -- dd if=/dev/zero of=/dev/null bs=7 count=30000
expect_status 0
cases=$((cases + 1))
[ "$(json .counts.read_calls | cut -d. -f1)" -ge 30000 ] || fail "30,000 calls of read() were $(json .counts.read_calls)"
cases=$((cases + 1))
[ "$(json .counts.write_bytes | cut -d. -f1)" -ge 210000 ] || fail "210,000 bytes were $(json .counts.write_bytes)"
cases=$((cases + 1))
[ "$(json '.levels[0].name')" != waiting ] || [ "$(json '.levels[0].verdict')" = indicative ] || fail 'what never waits is trusted to wait'

what='where its time went, or why that is not known'
run profile --here --budget 1 --format json -- dd if=/dev/zero of=/dev/null bs=1M count=3000
expect_status 0
cases=$((cases + 1))
if [ -n "$(json .samples)" ] && [ "$(json .samples)" != null ] && [ "$(json .samples)" -gt 30 ]; then
	case $(json '.categories[0].name') in 'reading and writing' | 'own code of dd' | 'C library' | 'other work') ;; *) fail "dd is at work in $(json '.categories[0].name')" ;; esac
fi

what='a file whose name has lines'
mkdir "$tmp/names"
cp "$(command -v dd)" "$tmp/names/$(printf 'a\n7 nowhere b')"
run profile --here --budget 0.1 -- "$tmp/names/$(printf 'a\n7 nowhere b')" if=/dev/zero of=/dev/null bs=16 count=200000
expect_status 0

what='time that ticks cannot divide is not divided'
run profile --here --budget 0.1 --format json -- true
expect_status 0
cases=$((cases + 1))
if json .cpu_s | awk '{ exit !($1 < .001 * 4) }'; then
	case $(json .sentence) in *' computing or in the kernel'*) ;; *) fail "the sentence is: $(json .sentence)" ;; esac
fi

what='what is left is ended, and told'
run profile --here --budget 0.1 -- sh -c 'setsid sleep 1000 & exit 0'
expect_status 0
cases=$((cases + 1))
grep -q 'still running when it ended, and was ended then: 1 process$' "$tmp/out" || fail 'nothing is said of the process that was left'

what='a command that prints without end'
run profile --here --budget 0.1 -- yes
refused 6 'more than 64 MiB' '/dev/null'

what='words of the command are its own'
run profile --here --budget 0.1 -- sh -c 'test "$1" = --help' sh --help
expect_status 0

what='what is shown of a command is harmless'
run profile --here --budget 0.1 -- sh -c "$(printf ': \033[31m\n')"
expect_status 0
cases=$((cases + 1))
! grep -q "$(printf '\033')\[31m" "$tmp/out" || fail 'an escape sequence of the command reached the terminal'

what='a command that fails'
run profile --here --budget 5 -- sh -c 'echo no such table >&2; exit 3'
refused 6 'exit status 3' 'no such table'
run profile --here -- "$tmp/nonesuch"
refused 6 'No such file'

what='wrong usage'
run profile --here
refused 2 'COMMAND'
run profile app@1 app@2
refused 2 '--here'
run profile --here --budget 0 -- true
refused 2 'budget'

what='nothing stays'
cases=$((cases + 1))
[ -z "$(ls -A)" ] || fail "files are left: $(ls -A)"
finish
