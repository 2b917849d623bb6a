#!/bin/sh
# pages.sh ASSAY DIRECTORY: manual pages of the program and of each of its commands, compressed, and completions for three shells.
set -eu
assay=$1 to=$2
rm -rf "$to"
mkdir -p "$to/man1"
"$assay" manual >"$to/man1/assay.1"
sed -n 's/\\-/-/g; s/^\.B assay //p' "$to/man1/assay.1" | while read -r command; do
	# shellcheck disable=SC2086 # its words
	"$assay" manual $command >"$to/man1/assay-$(echo "$command" | tr ' ' -).1"
done
gzip -9n "$to"/man1/*
"$assay" completion bash >"$to/assay"
"$assay" completion zsh >"$to/_assay"
"$assay" completion fish >"$to/assay.fish"
: >"$to/made"
