#!/bin/sh
# Each folder may include only what stands to its left in this list; model only base.
set -eu
cd "${ASSAY_SOURCE:?}"
status=0
allowed_base='base'
allowed_fleet='base fleet'
allowed_fingerprint='base fleet fingerprint'
allowed_runs='base fleet fingerprint runs'
allowed_model='base model'
allowed_gate='base fleet fingerprint runs model gate'
files=0
for folder in base fleet fingerprint runs model gate; do
	eval "allowed=\$allowed_$folder"
	for file in $(find "$folder" -name '*.[ch]'); do
		files=$((files + 1))
		for included in $(sed -n 's/^#include "\([^/"]*\)\/.*/\1/p' "$file"); do
			case " $allowed " in
			*" $included "*) ;;
			*)
				echo "$file includes $included/, which does not stand to the left of $folder/"
				status=1
				;;
			esac
		done
		grep -n '^#include "[^/"]*"' "$file" && { echo "$file includes a file without its folder"; status=1; }
		case $file in
		runs/inside/*)
			if grep -n '^#include "runs/running/' "$file"; then
				echo "$file: what looks inside programs may be used by what runs them, not the other way round"
				status=1
			fi
			;;
		esac
		case $file in
		runs/inside/probe/* | runs/inside/emulate/*)
			if grep -n '^#include "' "$file" | grep -vE "\"(runs/inside/record|${file%/*})/|\"fleet/counting/(refused|software).h\""; then
				echo "$file goes into other people's processes: of this project it may include the record format, and what the kernel counts and why it does not"
				status=1
			fi
			;;
		*/cmd_*.c | base/cli*.c | base/error.c | base/mem.c) ;;
		fleet/helper/* | fleet/cgroup/* | fleet/counting/* | fleet/emulate/knobs/*) ;; # programs and libraries of their own, that run on other hosts
		*)
			# Only commands print or exit; error.c and mem.c end a program that cannot go on.
			if grep -nE '\b(printf|puts|fputs|putchar|perror|exit|_exit|abort)\(' "$file"; then
				echo "$file prints or exits: only cmd_*.c may"
				status=1
			fi
			;;
		esac
	done
done
for file in $(ls); do
	case $file in
	CMakeLists.txt | CMakePresets.json | README.md | main.c | base | fleet | fingerprint | runs | model | gate | machines | tests | docs | build) ;;
	*)
		echo "$file does not belong at the top level"
		status=1
		;;
	esac
done
echo "$files files looked at"
[ "$files" -gt 50 ] || { echo "too few files: is this the source directory?"; status=1; }
exit $status
