#!/bin/sh
# Checks that no folder of the product exceeds its budget of lines (tests/budget).
set -eu
cd "${ASSAY_SOURCE:?}"
git rev-parse --git-dir >/dev/null 2>&1 || { echo "this is no checkout of git"; exit 77; }
exec sh tests/house.sh --budget
