#!/bin/sh
# A long measurement that is told to end, by a signal to whoever started it, gives back what it has brought up, and leaves nobody behind.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"

mkdir -p "$tmp/tree/build/release"
ln -s "$ASSAY_SOURCE/tests" "$tmp/tree/tests"
cat >"$tmp/tree/build/release/assay" <<'END'
#!/bin/sh
echo "$@" >>"$CALLS"
END
cat >"$tmp/slow.sh" <<'END'
needs=nothing
. tests/lib_evidence.sh
mkdir "$work/lab" "$work/other"
fleets="$work/lab $work/o* $work/none"
leave() { echo left >>"$CALLS"; }
echo "$work" >"$CALLS.begun"
sh -c 'echo $$ >"$CALLS.busy"; sleep 1000; sleep 1000' || true
exit 0
END
chmod 755 "$tmp/tree/build/release/assay"
export CALLS="$tmp/calls"

# starts: the measurement, in the background; its process is $!.
starts() {
	rm -f "$CALLS"*
	(cd "$tmp/tree" && exec sh "$tmp/slow.sh" >"$tmp/out" 2>"$tmp/err") &
	for _ in $(seq 600); do
		[ ! -s "$CALLS.busy" ] || break
		sleep .1
	done
	work=$(cat "$CALLS.begun")
}

for signal in TERM HUP; do
	what="a measurement ended by $signal"
	starts
	kill -$signal $!
	status=0
	wait $! || status=$?
	expect_status 143
	cases=$((cases + 3))
	[ "$(cat "$CALLS")" = "host down $work/lab
host down $work/other
left" ] || fail "not given back: $(cat "$CALLS")"
	[ ! -e "$work" ] || fail "left: $work"
	[ ! -e "/proc/$(cat "$CALLS.busy")" ] || fail 'what it ran goes on'
done

what='a measurement that ends by itself'
sed -i 's/sleep 1000; sleep 1000/exit 3/; s/^exit 0/exit 7/' "$tmp/slow.sh"
starts
status=0
wait $! || status=$?
expect_status 7
holds "$CALLS" 'what was called' 'left'
finish
