#!/bin/sh
# Sources that look at the architecture compile for aarch64, too, without a warning: by the cross compiler, with the machine's own headers of
# libraries. The whole program and its tests: the preset aarch64 (docs/architectures.md).
set -eu
cd "${ASSAY_SOURCE:?}"
commands=$(dirname "${ASSAY:?}")/compile_commands.json
compiler=$(command -v aarch64-linux-gnu-gcc) || { echo 'skipped: there is no aarch64-linux-gnu-gcc (sh tests/install aarch64)' && exit 77; }
[ -f "$commands" ] || { echo "skipped: there is no $commands" && exit 77; }
! command -v ccache >/dev/null || compiler="ccache $compiler"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What is left out of a controller for aarch64 (CMakeLists.txt), and what takes its place.
only_here='runs/inside/(emulate|features/counting)/|runs/inside/probe/probe_(trampoline|hook|interpose)\.c|^fleet/counting/'
tells='__x86_64__|__aarch64__|asm|intrin|cpuid|__builtin_ia32|vector_size|target\(|SYS_|ucontext|record_system|EM_'

# options FILE: with which this build compiles it.
options() {
	sed -n "s|^ *\"command\": \"\(.*\) -o [^ ]* -c $PWD/$1\",*\$|\1|p" "$commands" | head -n 1 | sed 's/\\"/"/g; s/\\\\/\\/g' |
		sed 's/^ *\(ccache *\)*[^ ]*//; s/ -fsanitize[^ ]*//g; s/ -fno-sanitize[^ ]*//g; s/ -fprofile[^ ]*//g; s/ -m[a-z][^ ]*//g'
}

# compile FILE [LIKE]: with the options of LIKE.
compile() {
	given=$(options "${2:-$1}")
	[ -n "$given" ] || return 0 # of another program
	eval "$compiler $given -O1 -Werror -idirafter /usr/include -idirafter /usr/include/x86_64-linux-gnu -o $work/object.o -c $1" || {
		echo "$1 does not compile for aarch64"
		return 1
	}
	compiled=$((compiled + 1))
}

compiled=0
wrong=0
for file in $(find base fleet fingerprint runs model gate main.c -name '*.c' | grep -vE "$only_here" | xargs grep -lE "$tells" | sort); do
	compile "$file" || wrong=$((wrong + 1))
done
for name in unpatched dlopen; do
	compile "runs/inside/probe/probe_$name.c" runs/inside/probe/probe_frames.c || wrong=$((wrong + 1))
done
[ "$compiled" -ge 20 ] || { echo "only $compiled sources were compiled" && exit 1; }
[ "$wrong" = 0 ] || exit 1
echo "$compiled sources that look at the architecture compile for aarch64"
