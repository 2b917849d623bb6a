#!/bin/sh
# pages.sh DIRECTORY ASSAY...: manual pages of the program and of each of its commands, compressed, and completions for three shells.
set -eu
to=$1
shift
rm -rf "$to"
mkdir -p "$to/man1"
"$@" help --man >"$to/man1/assay.1"
sed -n 's/\\-/-/g; s/^\.B assay //p' "$to/man1/assay.1" | while read -r command; do
	# shellcheck disable=SC2086 # its words
	"$@" help --man $command >"$to/man1/assay-$(echo "$command" | tr ' ' -).1"
done
gzip -9n "$to"/man1/*
"$@" help --completion bash >"$to/assay"
"$@" help --completion zsh >"$to/_assay"
"$@" help --completion fish >"$to/assay.fish"
: >"$to/made"
