#!/bin/sh
# Checks that each header of the product compiles alone: what it uses it includes. Headers of the plugins in C++ are excluded.
set -eu
cd "${ASSAY_SOURCE:?}"
find base fleet fingerprint runs model gate -name '*.h' ! -path runs/inside/features/counting/\* -print0 |
	xargs -0 -n 64 "${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -DASSAY_VERSION='""' -I. -fsyntax-only -x c
