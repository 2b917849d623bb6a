#!/bin/sh
# Mutations: how many changes of one line no test notices. What survived so far (docs/evidence/mutations.csv) is tried again on this
# revision, then MUTATIONS_COUNT (30) further functions are drawn with MUTATIONS_SEED (today's date). Hours: a mutant takes from seconds to
# minutes. MUTATIONS_WORK keeps copies, builds and the map of what reaches what for a second call. For root, on one's own machine: tests run
# in namespaces of their own, so that a mutant which removes or kills what it should not reaches only its own.
. tests/lib_evidence.sh
[ "$(id -u)" = 0 ] || { echo "evidence: this needs root, for the namespaces that mutants are kept in" >&2; exit 1; }
[ -z "$(git status --porcelain)" ] || { echo "evidence: what is tried is the last commit; there are changes beside it" >&2; exit 1; }
copy=${MUTATIONS_WORK:-$work}
kept=docs/evidence/mutations.csv
mkdir -p "$copy"
ln -sfn "$(realpath "$data/..")" "$copy/shared"
if [ -d "$copy/tree" ]; then
	git -C "$copy/tree" fetch -q origin
	git -C "$copy/tree" checkout -q -f --detach "$(git rev-parse HEAD)"
else
	git clone -q . "$copy/tree"
fi
cp "$kept" "$work/all.csv" 2>/dev/null || true
python3 tests/bench/mutations.py again "$copy" "$work/all.csv" tests/bench/mutations.equivalent
python3 tests/bench/mutations.py draw "$copy" "$work/all.csv" "${MUTATIONS_SEED:-$(date +%Y%m%d)}" "${MUTATIONS_COUNT:-30}"
cp "$work/all.csv" "$kept"
{
	evidence_head "Mutations: which changes of one line no test notices"
	python3 tests/bench/mutations.py page "$kept" tests/bench/mutations.equivalent
} >"$work/page"
evidence_done
