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
battery "$tmp/tiny.yaml" 1 60 null:5000
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
	[ "$ASSAY" = "$tmp/assay-aarch64" ] || lab=$tmp/$2
	program=$tmp/p-$2
	case $1 in
	'host check'*) # its status is of problems, such as a load
		on host check --format json
		status=1
		! grep -q "\"architecture\": \"$2\"" "$tmp/out" || status=0
		;;
	'host exec') on host exec -- true ;;
	'host copy'*)
		on host copy "$tmp/file" "$tmp/put-$2"
		[ "$status" != 0 ] || on host copy --fetch "$tmp/put-$2" "$tmp/got"
		;;
	'host measure') on host measure --battery "$tmp/tiny.yaml" ;;
	'host measure --counters'*)
		on host measure --battery "$tmp/tiny.yaml" --counters
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
	inspect) run inspect "$program" ;;
	'record --for functions') run record --for functions --functions main -o "$tmp/probed" -- "$program" ;;
	'build --for counters') run build --for counters -- "$(compiler "$2")" -O1 -g -o "$tmp/p-emulated" "$tmp/p.c" ;;
	'record --for counters')
		[ "$2" = aarch64 ] || program=$tmp/p-emulated
		run record --for counters -o "$tmp/emulated-$2" -- "$program"
		;;
	'build --for features'*) run build --for features -- "$(compiler "$2")" -O1 -g -o "$tmp/p-features" "$tmp/p.c" ;;
	'record --for features')
		[ "$2" = aarch64 ] || program=$tmp/p-features
		run record --for features -o "$tmp/features-$2" -- "$program"
		;;
	'build --for work'*) run build --for work -- "$(compiler "$2")" -O1 -g -o "$tmp/p-variance" "$tmp/p.c" ;;
	'record') run record -o "$tmp/records-$2" -- "$program" ;;
	*) return 1 ;;
	esac
	return 0
}

# try_itself ROW ARCHITECTURE: the same of an assay for that architecture, with programs for it.
try_itself() {
	ours=$ASSAY
	lab=$tmp/own-$2
	program=$lab/instrumented
	[ "$2" = x86_64 ] || ASSAY=$tmp/assay-aarch64
	case $1 in
	'host check'* | 'host exec'*) try "${1%%,*}" "$2" ;;
	'host measure'*) on host measure --battery "$tmp/tiny.yaml" ;;
	run,*)
		manifest script ''
		on run "$lab/app.yaml"
		;;
	gate | profile)
		make_package "$tmp/package" 12 3
		run init "$tmp/recorded-$2"
		import_package "$tmp/recorded-$2" "$tmp/package"
		case $1 in
		gate) run -C "$tmp/recorded-$2" gate app/slow@1.0 app/slow@1.0 ;;
		*) run -C "$tmp/recorded-$2" profile app/slow@1.0 ;;
		esac
		;;
	'changes of programs for x86'*) run changes "$tmp/p-x86_64" "$tmp/p-x86_64" ;;
	'changes of'*) [ "$2" = aarch64 ] && run changes "$program" "$program" || run changes "$tmp/p-aarch64" "$tmp/p-aarch64" ;;
	inspect*) run inspect "$program" ;;
	'record --for functions of a program of -finstrument'*) run record --for functions --functions main -o "$tmp/own-probed-$2" -- "$program" ;;
	'record --for functions of a program of -fpatch'*) run record --for functions --functions main -o "$tmp/own-patched-$2" -- "$lab/patchable" ;;
	'run --probe'*)
		cp "$program" "$tmp/own-p-$2"
		manifest "own-p-$2" 'probe: { functions: [main], counters: [] }'
		on run "$lab/app.yaml" --probe
		;;
	'record') run record -o "$tmp/own-records-$2" -- "$program" ;;
	'build --for work' | 'build --for counters' | 'build --for features') run $1 -- gcc -O1 -g -o "$tmp/own-built" "$tmp/p.c" ;;
	'record --for counters' | 'record --for features')
		kind=features
		[ "$1" = 'record --for features' ] || kind=counters
		run build --for $kind -- gcc -O1 -g -o "$tmp/own-built" "$tmp/p.c"
		run record --for $kind -o "$tmp/own-samples-$2" -- "$tmp/own-built"
		;;
	*) false ;;
	esac
	tried=$?
	ASSAY=$ours
	return $tried
}

# cell TRY ROW ARCHITECTURE TEXT: what stands there is so.
cell() {
	how=$1
	shift
	cases=$((cases + 1))
	what="$1, $2"
	status=0
	: >"$tmp/out" >"$tmp/err"
	"$how" "$1" "$2" || { fail 'a row that this script cannot try'; return; }
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

# ---- an assay for aarch64, where it was built (the preset aarch64) ----

itself=$ASSAY_SOURCE/build/aarch64-release/assay root=$ASSAY_SOURCE/build/aarch64
make_lab own-x86_64
gcc -O1 -g -finstrument-functions -o "$lab/instrumented" "$tmp/p.c"
gcc -O1 -g -fpatchable-function-entry=5 -o "$lab/patchable" "$tmp/p.c"
if [ -x "$itself" ] && [ -e "$tmp/other/aarch64" ] && command -v aarch64-linux-gnu-gcc >/dev/null; then
	make_lab own-aarch64
	aarch64-linux-gnu-gcc -O1 -g -finstrument-functions -o "$lab/instrumented" "$tmp/p.c"
	aarch64-linux-gnu-gcc -O1 -g -fpatchable-function-entry=5 -o "$lab/patchable" "$tmp/p.c"
	printf '#!/bin/sh\nQEMU_LD_PREFIX=%s exec %s there %s "$@"\n' "$root" "$tmp/other/aarch64" "$itself" >"$tmp/assay-aarch64"
	chmod +x "$tmp/assay-aarch64"
fi

run build --for counters -- gcc -O1 -g -o "$tmp/p-emulated" "$tmp/p.c"
rows=0
table=
while IFS='|' read -r start name here there end; do
	[ -z "$start$end" ] || continue
	name=$(echo "$name" | sed 's/`//g; s/^ *//; s/ *$//')
	case $name in
	'') table=$(echo "$here" | sed 's/^ *//; s/ *$//') && continue ;;
	---) continue ;;
	esac
	rows=$((rows + 1))
	here=$(echo "$here" | sed 's/^ *//; s/ *$//') there=$(echo "$there" | sed 's/^ *//; s/ *$//')
	if [ "$table" = 'on x86-64' ]; then
		cell try_itself "$name" x86_64 "$here"
		[ ! -e "$tmp/assay-aarch64" ] || cell try_itself "$name" aarch64 "$there"
		continue
	fi
	cell try "$name" x86_64 "$here"
	case $name in
	host* | run*) [ -n "$other" ] || continue ;; # where no program of aarch64 can be run, or there is none
	record | 'record --for counters' | 'record --for features') ! grep -qs aarch64 /proc/sys/fs/binfmt_misc/* || continue ;; # where the kernel has an emulator for them
	esac
	cell try "$name" aarch64 "$there"
done <<END
$(sed -n '/^## What works where$/,/^## The controller/p' "$page")
END
what='rows'
cases=$((cases + 1))
[ $rows = 35 ] || fail "35 rows expected, not $rows"
[ -e "$tmp/assay-aarch64" ] || echo 'not tried: an assay for aarch64, which is not built here (docs/architectures.md says how)'
finish
