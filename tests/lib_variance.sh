# Records whose truth is known, for the scripts cli_*variance*.sh, after lib_cli.sh.

# made NAME ARGUMENTS...: $tmp/NAME, with records of a run (tests/tool_variance.c); into it, where it is there already.
made() {
	made_name=$1
	shift
	mkdir -p "$tmp/$made_name"
	"${ASSAY_VARIANCE:?}" "$tmp/$made_name" "$@" || fail "cannot make $made_name"
}
