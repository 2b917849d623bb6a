# For tests/run, evidence and machines/demo, at the top of the source directory: builds presets of CMake's, leaves what sudo made to its caller,
# and ends what is being done when it is told to.

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

# pass_on COMMAND...: waits for it as a process group of its own, to which signals are passed on: else a shell that is told to end waits for the
# command that it runs, or leaves it behind. Returns its status.
pass_on() {
	# In the background a shell's commands ignore the keyboard's signals, and so would all that they start.
	setsid env --default-signal "$@" &
	passed_to=$!
	trap 'kill -TERM "-$passed_to" 2>/dev/null || kill -TERM "$passed_to" 2>/dev/null || true' HUP INT TERM
	while :; do
		passed=0
		wait "$passed_to" || passed=$?
		kill -0 "$passed_to" 2>/dev/null || return "$passed"
	done
}
