#!/bin/sh
# Disturbances of a real program alone, as in variance.sh, of a seed of which nothing was seen: SEED, and what else that takes.
draw='a fresh draw'
. tests/evidence/variance.sh
