#!/bin/sh
# Checks that each test function of tests/*/test_*.c is in a list of tests: cmocka does not miss one that a merge has dropped.
set -eu
cd "${ASSAY_SOURCE:?}"
found=$(find tests -name 'test_*.c*' -exec awk '
	function report() {
		for (name in line)
			if (!(name in used))
				print file ":" line[name] ": " name "() is in no list of tests"
		split("", line)
		split("", used)
	}
	FNR == 1 { report(); file = FILENAME }
	/^static void [a-z_0-9]+\(void \*\*[a-z_]+\)$/ { sub(/\(.*/, "", $3); line[$3] = FNR; tests++; next }
	{
		gsub(/\/\*.*\*\/|"[^"]*"/, "")
		n = split($0, words, /[^A-Za-z0-9_]+/)
		for (i = 1; i <= n; i++)
			used[words[i]] = 1
	}
	END { report(); print tests " tests looked at" }' {} +)
printf '%s\n' "$found"
[ "$(printf '%s\n' "$found" | wc -l)" -eq 1 ] || exit 1
[ "${found%% *}" -gt 500 ] || { echo "too few tests: is this the source directory?"; exit 1; }
