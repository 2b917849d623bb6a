# The schemas of docs/schema against the program: the keys of YAML files are those of their parsers, and docs/reference is what
# schemas and commands give.
set -eu
cd "${ASSAY_SOURCE:?}"
/usr/bin/python3 tests/schemas.py files
/usr/bin/python3 tests/schemas.py pages
