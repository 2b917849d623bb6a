# For tests/run and machines/demo, at the top of the source directory: builds presets of CMake's, and leaves what sudo made to its caller.

# build PRESET WHAT OPTION...: says so in a line at its start and end, shows the compiler's output only when it fails.
build() {
	preset=$1 what=$2 log=build/$1.log built=$(date +%s)
	shift 2
	for path in build "build/$preset" "$log"; do
		[ ! -e "$path" ] || [ -w "$path" ] || {
			echo "$0: '$path' belongs to another user, root perhaps: 'sudo rm -rf build' removes what was built" >&2
			exit 1
		}
	done
	mkdir -p build
	echo "Building $preset ($what; some minutes when it is the first time; $log says how far it is)"
	if ! { cmake --preset "$preset" "$@" && cmake --build --preset "$preset"; } >"$log" 2>&1; then
		tail -n 60 "$log" >&2
		echo "$0: building '$preset' failed (all of it: $log)" >&2
		exit 1
	fi
	echo "Built $preset in $(($(date +%s) - built)) s."
}

# give_back PATH...: to the user who called sudo, so that they can go on without it.
give_back() {
	[ "$(id -u)" = 0 ] && [ -n "${SUDO_UID:-}" ] || return 0
	for path in "$@"; do
		[ ! -e "$path" ] || chown -hR "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" "$path" || true
	done
}
