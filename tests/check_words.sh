# Plain words: no file becomes harder to read, and what is clean stays so (tests/check_words.py has the rules, tests/words what is left).
set -eu
cd "${ASSAY_SOURCE:?}"
python3 tests/check_words.py
