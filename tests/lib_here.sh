# Laboratories with this machine as their only host, for scripts that source this behind lib_cli.sh; what their hosts leave running is ended.
. "${ASSAY_SOURCE:?}/tests/lib_marked.sh"

# make_lab NAME [PATH]: $lab has this machine as `here`; its commands carry a mark by which they are found, and the PATH.
make_lab() {
	lab=$tmp/$1
	"$ASSAY" init "$lab" >/dev/null
	printf 'hosts:\n  - name: here\n    transport: local\n    env: { ASSAY_TEST_MARK: "%s", PATH: "%s" }\n' "$tmp" "${2:-$PATH}" >>"$lab/lab.yaml"
}

# battery FILE PASSES SECONDS STRESSOR...: a stressor of stress-ng as NAME:OPS ends after so many operations, however busy the machine is.
battery() {
	file=$1
	printf 'name: tiny\npasses: %s\nseconds: %s\nstressors:\n' "$2" "$3" >"$file"
	shift 3
	for stressor; do
		case $stressor in
		*:*) printf '  - { stressor: "%s", arguments: [--%s-ops, %s] }\n' "${stressor%:*}" "${stressor%:*}" "${stressor#*:}" ;;
		*) printf '  - { stressor: "%s" }\n' "$stressor" ;;
		esac
	done >>"$file"
}
