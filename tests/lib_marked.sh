# What the hosts of a test leave running: for laboratories whose hosts have ASSAY_TEST_MARK=$tmp in their environment.

# Processes that hosts of this test have started and that still run.
marked() {
	grep -lzF "ASSAY_TEST_MARK=$tmp" /proc/[0-9]*/environ 2>/dev/null
}

kill_marked() {
	for environ in $(marked); do
		pid=${environ#/proc/}
		kill -KILL "${pid%/environ}" 2>/dev/null
	done
}

tidy() {
	kill_marked
}

# Ends within a minute, for what comes after a kill needs a moment; others may be measuring at the same time.
no_process_left() {
	cases=$((cases + 1))
	for _ in $(seq 600); do
		[ -z "$(marked)" ] && return
		sleep .1
	done
	fail "still running: $(marked)"
}
