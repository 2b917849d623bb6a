#!/bin/sh
# What works on which architecture is as docs/architectures.md has it: each row of its tables is tried, and a row that cannot be tried fails.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"
. "${ASSAY_SOURCE:?}/tests/lib_here.sh"
. "${ASSAY_SOURCE:?}/tests/lib_other.sh"
command -v gcc >/dev/null || skip 'there is no gcc'
command -v stress-ng >/dev/null || skip 'there is no stress-ng'
export XDG_CACHE_HOME="$tmp/cache"
tidy() { kill_marked; }
page=$ASSAY_SOURCE/docs/architectures.md

# ---- a laboratory of each architecture, for both hosts are this machine; programs for both ----

make_lab x86_64
other=
case ${ASSAY_OTHER_PROGRAMS:-} in
*helper*counting*) ! other_hosts "$tmp/other" || other=yes ;;
esac
"$ASSAY" init "$tmp/aarch64" >/dev/null
printf 'hosts:\n  - { name: there, transport: command, launcher: [%s, there] }\n' "$tmp/other/aarch64" >>"$tmp/aarch64/lab.yaml"
printf '#include <unistd.h>\nint main(void)\n{\n\treturn write(1, "\\n", 1) != 1;\n}\n' >"$tmp/p.c"
gcc -O1 -g -fpatchable-function-entry=5 -o "$tmp/p-x86_64" "$tmp/p.c"
# The head of a program, as far as it says what it is for.
printf '\177ELF\002\001\001\000\000\000\000\000\000\000\000\000\002\000\267\000\001\000\000\000%040d' 0 | tr 0 '\000' >"$tmp/p-aarch64"
chmod +x "$tmp/p-aarch64"
printf '#!/bin/sh\nexec gcc "$@"\n' >"$tmp/aarch64-linux-gnu-gcc" # refused by its name, before it is called
chmod +x "$tmp/aarch64-linux-gnu-gcc"
battery "$tmp/tiny.yaml" 1 1 null
echo text >"$tmp/file"
printf '#!/bin/sh\n' >"$tmp/script"
chmod +x "$tmp/script"

# manifest PROGRAM PROBE
manifest() {
	printf "command: ['{build}/%s']\nversions: { one: { directory: %s } }\nrepetitions: 1\nwarm_ups: 0\n%s\n" "$1" "$tmp/$1" "$2" >"$lab/app.yaml"
}

# ---- one cell ----

on() {
	run -C "$lab" "$@"
}

# compiler ARCHITECTURE: its path.
compiler() {
	case $1 in
	x86_64) command -v gcc-12 || command -v gcc ;;
	*) echo "$tmp/aarch64-linux-gnu-gcc" ;;
	esac
}

# try ROW ARCHITECTURE: runs it; status 0 is yes. False: nobody knows the row.
try() {
	lab=$tmp/$2
	program=$tmp/p-$2
	case $1 in
	'fleet check'*) # its status is of problems, such as a load
		on fleet check --format json
		status=1
		! grep -q "\"architecture\": \"$2\"" "$tmp/out" || status=0
		;;
	'fleet exec') on fleet exec -- true ;;
	'fleet put'*)
		on fleet put "$tmp/file" "$tmp/put-$2"
		[ "$status" != 0 ] || on fleet get "$tmp/put-$2" "$tmp/got"
		;;
	'fingerprint run') on fingerprint run --battery "$tmp/tiny.yaml" ;;
	'fingerprint run --counters'*)
		on fingerprint run --battery "$tmp/tiny.yaml" --counters
		[ -n "$(find "$tmp/cache" -name 'counting-*')" ] || status=1
		rm -f "$tmp/cache/assay"/counting-*
		;;
	run)
		manifest script ''
		on run "$lab/app.yaml"
		;;
	'run --probe, back end probe')
		manifest p-x86_64 'probe: { functions: [main], counters: [] }'
		on run "$lab/app.yaml" --probe
		;;
	'run --probe, back end emulated')
		manifest p-emulated 'probe: { back_end: emulated, functions: [main] }'
		on run "$lab/app.yaml" --probe
		;;
	changes*) run changes "$program" "$program" ;;
	doctor) run doctor "$program" ;;
	probe) run probe --functions main -o "$tmp/probed" -- "$program" ;;
	'emulate build') run emulate build -- "$(compiler "$2")" -O1 -g -o "$tmp/p-emulated" "$tmp/p.c" ;;
	'emulate run')
		[ "$2" = aarch64 ] || program=$tmp/p-emulated
		run emulate run -o "$tmp/emulated-$2" -- "$program"
		;;
	'features build'*) run features build -- "$(compiler "$2")" -O1 -g -o "$tmp/p-features" "$tmp/p.c" ;;
	'features run')
		[ "$2" = aarch64 ] || program=$tmp/p-features
		run features run -o "$tmp/features-$2" -- "$program"
		;;
	'variance build'*) run variance build -- "$(compiler "$2")" -O1 -g -o "$tmp/p-variance" "$tmp/p.c" ;;
	'variance record') run variance record -o "$tmp/records-$2" -- "$program" ;;
	'assay, built by cmake')
		# This one is built, or it would not be tried.
		[ "$2" = aarch64 ] || return 0
		cmake -S "$ASSAY_SOURCE" -B "$tmp/cmake" -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 >"$tmp/out" 2>"$tmp/err"
		status=$?
		;;
	*) return 1 ;;
	esac
	return 0
}

# cell ROW ARCHITECTURE TEXT: what stands there is so.
cell() {
	cases=$((cases + 1))
	what="$1, $2"
	status=0
	: >"$tmp/out" >"$tmp/err"
	try "$1" "$2" || { fail 'a row that this script cannot try'; return; }
	case $3 in
	yes) [ "$status" = 0 ] || fail "the page says that it works" ;;
	'no: '*)
		[ "$status" != 0 ] || fail 'the page says that it is refused'
		cat "$tmp/out" "$tmp/err" | tr -s '\n ' '  ' >"$tmp/said"
		holds "$tmp/said" 'what is said' "${3#no: }"
		;;
	*) fail "a cell is yes, or no with the reason, and not '$3'" ;;
	esac
}

run emulate build -- gcc -O1 -g -o "$tmp/p-emulated" "$tmp/p.c"
rows=0
while IFS='|' read -r start name here there end; do
	[ -z "$start$end" ] || continue
	name=$(echo "$name" | sed 's/`//g; s/^ *//; s/ *$//')
	case $name in '' | ---) continue ;; esac
	rows=$((rows + 1))
	here=$(echo "$here" | sed 's/^ *//; s/ *$//') there=$(echo "$there" | sed 's/^ *//; s/ *$//')
	cell "$name" x86_64 "$here"
	case $name in
	fleet* | fingerprint* | run*) [ -n "$other" ] || continue ;; # where no program of aarch64 can be run, or there is none
	*' run' | *' record') ! grep -qs aarch64 /proc/sys/fs/binfmt_misc/* || continue ;; # where the kernel has an emulator for them
	esac
	cell "$name" aarch64 "$there"
done <<END
$(sed -n '/^## What works where$/,$p' "$page")
END
what='rows'
cases=$((cases + 1))
[ $rows = 18 ] || fail "18 rows expected, not $rows"
finish
