#!/bin/sh
# The timer and the line for cron of docs/nightly.md, with Debian's systemd as the first process of namespaces of its own, over a copy of this
# machine's files that is thrown away, and an installation in /usr/local. Needs root, systemd, overlayfs and cgroup v2. Two minutes.
needs=nothing
. tests/lib_evidence.sh
[ "$(id -u)" = 0 ] && [ -x /lib/systemd/systemd ] || { echo 'evidence: needs root and systemd' >&2; exit 1; }
cmake --preset release >"$work/log" && cmake --build --preset release >>"$work/log" && cmake --install build/release --prefix "$work/installed" >>"$work/log"
mkdir "$work/packages" "$work/said" "$work/root" "$work/over"
(cd "$work/packages" && apt-get download cron cron-daemon-common) >>"$work/log" 2>&1 || true
group=/sys/fs/cgroup/unified/assay-evidence-$$
[ -d /sys/fs/cgroup/unified ] || group=/sys/fs/cgroup/assay-evidence-$$
leave() {
	find "$group" -depth -type d -exec rmdir {} \; 2>/dev/null || true
}

# What the user types; the lines of the page come from it, so that they are those that were tried.
page_of=docs/nightly.md
timer=$(sed -n 's/^    \(systemctl --user enable .*\)/\1/p' $page_of)
line=$(sed -n 's/^    0 22 \(\* \* \* .*\)/\1/p' $page_of)
cat >"$work/user.sh" <<END
cd ~
assay init lab >/dev/null
cd lab
printf '%s\n' 'hosts:' '  - { name: h1, transport: local, type: t1, on: here }' '  - { name: h2, transport: local, type: t2, on: here }' \\
	'  - { name: h3, transport: local, type: t3, on: here }' >>lab.yaml
rm -f apps/*
printf '%s\n' "versions: { v1: { command: [/bin/echo, 'cost 100'] }, v2: { command: [/bin/echo, 'cost 130'] } }" 'repetitions: 2' 'warm_ups: 0' \\
	"metric: { source: regex, pattern: 'cost ([0-9.]+)' }" >apps/app.yaml
printf '%s\n' 'comparisons: [{ application: app, against: v1, budget: 20s }]' 'fingerprints: { battery: none }' >suite.yaml
nights() { assay nightly show --list | grep -c ' ended '; }
# nights_are N: for three minutes at most
nights_are() {
	for _ in \$(seq 180); do
		[ "\$(nights)" -ge "\$1" ] && break
		sleep 1
	done
}
say() { echo "| \$1 | \$2 |"; }
export XDG_RUNTIME_DIR=/run/user/\$(id -u)
loginctl enable-linger
say '\`loginctl enable-linger\`' "status \$?"
for _ in \$(seq 20); do [ -S \$XDG_RUNTIME_DIR/bus ] && break; sleep 1; done
$timer
say '\`systemctl --user enable --now ...\`' "status \$?; next: \$(systemctl --user --no-pager list-timers | sed -n 's/\(.* 22:00:00 UTC\).*/\1/p')"
unit=assay-nightly@\$(systemd-escape --path "\$PWD")
systemctl --user start "\$unit.service"
say 'its service, a night with a regression' "status \$?; \$(systemctl --user show "\$unit.service" -p Result -p ExecMainStatus | paste -sd ' ')"
mkdir -p ~/.config/systemd/user/assay-nightly@.timer.d
printf '[Timer]\nOnCalendar=*:*:0/20\nAccuracySec=1s\n' >~/.config/systemd/user/assay-nightly@.timer.d/soon.conf
systemctl --user daemon-reload
before=\$(nights)
systemctl --user restart "\$unit.timer"
nights_are \$((before + 2))
say 'every 20 s instead of at 22:00' "nights: \$before, and \$(nights) soon"
systemctl --user stop "\$unit.timer"
rm ~/.config/systemd/user/assay-nightly@.timer.d/soon.conf
systemctl --user daemon-reload
sleep 10
touch -d '3 days ago' ~/.local/share/systemd/timers/stamp-*
before=\$(nights)
systemctl --user start "\$unit.timer"
nights_are \$((before + 1))
say 'begun again after three days, at another time than 22:00' "nights: \$before, and \$(nights) at once"
systemctl --user stop "\$unit.timer"
if command -v crontab >/dev/null; then
	sleep 10
	before=\$(nights)
	echo '* * $line' | crontab -
	nights_are \$((before + 1))
	sleep 10
	crontab -r
	say "cron's line, every minute instead of at 22:00" "nights: \$before, and \$(nights); \\\`night.md\\\`: \$(head -n 1 night.md)"
fi
say 'the log' "\$(sed -n 's/.* ended with/ended with/p' .assay/night.log | sort | uniq -c | paste -sd ' ')"
END

cat >"$work/boot.sh" <<'END'
set -eu
mount -t tmpfs -o size=2g none "$work/over"
mkdir "$work/over/upper" "$work/over/work"
mount -t overlay -o "lowerdir=/,upperdir=$work/over/upper,workdir=$work/over/work" none "$work/root"
cd "$work/root"
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs run
mount --rbind /dev dev
mount -t tmpfs -o mode=1777 tmpfs dev/shm
mkdir -p opt/try/said
mount --bind "$work/said" opt/try/said
cp -a "$work/installed/." usr/local/
cp -a "$work/packages" "$work/user.sh" opt/try/
rm -f etc/machine-id usr/sbin/policy-rc.d
tr -d - </proc/sys/kernel/random/uuid >etc/machine-id
chroot . useradd -m -s /bin/bash night
cat >etc/systemd/system/try.service <<'UNIT'
[Unit]
After=basic.target dbus.service systemd-logind.service
Wants=dbus.service systemd-logind.service
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'for name in cron-daemon-common cron; do dpkg -i /opt/try/packages/$${name}_*.deb; done; systemctl start cron; su night -c "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin bash /opt/try/user.sh" >/opt/try/said/table 2>/opt/try/said/errors'
ExecStopPost=/bin/systemctl poweroff --force --force
TimeoutStartSec=700
UNIT
printf '%s\n' '[Unit]' 'Requires=basic.target' 'Wants=try.service' >etc/systemd/system/try.target
exec chroot . /usr/bin/env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system --unit=try.target >"$work/said/boot" 2>&1
END
export work
mkdir "$group"
(echo 0 >"$group/cgroup.procs" && exec timeout 800 unshare --pid --mount --uts --ipc --cgroup --net --fork --kill-child=KILL --propagation private sh "$work/boot.sh") || true
[ -s "$work/said/table" ] || { tail -n 20 "$work/said/boot" "$work/said/errors" >&2; echo 'evidence: systemd did not come so far' >&2; exit 1; }
{
	evidence_head 'The timer and the line for cron'
	echo "As [docs/nightly.md](../nightly.md#5-every-night-by-itself) has them, tried by an ordinary user under $(/lib/systemd/systemd --version | head -n 1 | sed 's/ (.*//')$(ls "$work/packages" | sed -n 's/^cron_\([^_]*\)_.*/ and cron \1/p'), begun"
	echo 'for it in namespaces of their own; three local hosts, a version that is always slower.'
	echo
	echo '| what | what came of it |'
	echo '| --- | --- |'
	cat "$work/said/table"
} >"$work/page"
evidence_done
