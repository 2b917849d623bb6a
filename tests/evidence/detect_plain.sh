#!/bin/sh
# Detection on fifteen programs as people write them, without an attribute on any function. Some ten minutes of runs and judging, on a busy machine
# half an hour. CORPUS=DIRECTORY keeps builds, runs and native times for the next time; `detect_plain.py ASSAY DIRECTORY 20 native` measures the latter
# alone, where it is quiet.
. tests/lib_evidence.sh
{
	evidence_head 'Detection on plain programs'
	echo 'Fifteen programs of `tests/apps/plain` (12 C, 3 C++), gcc -O2, 20 runs of each build with seeds of their own. Two faults each; `again` is the same'
	echo 'build with other seeds, `shifted` the code in another place, `tidy` a refactoring that is meant to be harmless; the end times it natively.'
	echo
	echo 'Three refactorings are not what they are meant to be. Each cell of `report` is a text of its own first: it is natively slower, and a regression is right. The'
	echo 'fields that `map_grow` of `wordcount` reads have come to lie in the same 16 bytes, so that no entry has them in two lines: a tenth of its misses, two'
	echo 'thousandths of the program: `improved` would be right, if nothing that a clock can see. `tidy` of `ring` reads two variables less for each item, so that'
	echo 'its consumers make as many accesses for one as its producers; their clocks keep step then, which they did not before, and what is handed over meets in'
	echo 'the same windows of logical time (docs/emulation.md): an error. Copies inside of libstdc++.so are not seen; in `bus` gcc has inlined the'
	echo "functions that have the faults, and callers or a \`std::function\`'s handler are named."
	echo
	/usr/bin/python3 tests/bench/detect_plain.py "$assay" "${CORPUS:-$work/corpus}"
} >"$work/page"
evidence_done
