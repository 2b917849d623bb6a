#!/bin/sh
# The Debian package: what is in it, what it depends on, and that what it installs works.
. "${ASSAY_SOURCE:?}/tests/lib_cli.sh"

build=$(dirname "$ASSAY")
[ -f "$build/CPackConfig.cmake" ] || skip 'this build is not one that is installed'
command -v dpkg-shlibdeps >/dev/null || skip 'dpkg-shlibdeps is missing: sh tests/install test'

what='a package'
(cd "$build" && cpack -B "$tmp/made") >"$tmp/out" 2>"$tmp/err"
status=$?
expect_status 0
package=$(echo "$tmp"/made/assay_*_amd64.deb)
dpkg-deb -f "$package" >"$tmp/control"
holds "$tmp/control" 'the package' "Version: $("$ASSAY" --version | cut -d ' ' -f 2)" 'libssh-4' 'libsqlite3-0' 'libzydis' 'liblapacke' 'Recommends: openssh-client, stress-ng'
dpkg-deb -x "$package" "$tmp/root"

what='apt would install it'
apt-get -qq -s -o Debug::NoLocking=1 install "$package" >"$tmp/out" 2>"$tmp/err"
status=$?
expect_status 0
expect_stdout 'Inst assay'

what='what it installs'
cases=$((cases + 1))
[ "$("$tmp/root/usr/bin/assay" --version)" = "$("$ASSAY" --version)" ] || fail 'the program does not run'
for example in pre-push github-workflow.yml; do
	[ -s "$tmp/root/usr/share/doc/assay/examples/$example" ] || fail "$example is not in it"
done
for page in nightly.md reference/gate.md administrators.md changes.md schema/gate.json; do
	cases=$((cases + 1))
	[ -s "$tmp/root/usr/share/doc/assay/$page" ] || fail "$page is not in it"
done
[ ! -e "$tmp/root/usr/share/doc/assay/evidence" ] || fail 'evidence is in it'
cat >"$tmp/probed.c" <<'END'
__attribute__((noinline)) int twice(int x) { return 2 * x; }
int main(int argc, char **argv) { (void)argv; return twice(argc) - 2; }
END
flags=$(PKG_CONFIG_PATH="$tmp/root/usr/lib/pkgconfig" pkg-config --cflags assay-probe)
# shellcheck disable=SC2086 # words
cc -O1 $flags -o "$tmp/probed" "$tmp/probed.c" || fail 'the flags of assay-probe.pc'
(cd "$tmp" && root/usr/bin/assay record --for functions --functions twice -- ./probed) >"$tmp/out" 2>"$tmp/err"
status=$?
expect_status 0
cases=$((cases + 1))
script=$(PKG_CONFIG_PATH="$tmp/root/usr/lib/pkgconfig" pkg-config --variable=cxx_link assay-probe)
[ -f "${script#-Wl,-T,}" ] || fail "$script is not there"

what='manual pages'
for command in assay assay-gate assay-host-up assay-host-accept; do
	cases=$((cases + 1))
	zgrep -q '^\.SH NAME' "$tmp/root/usr/share/man/man1/$command.1.gz" || fail "$command.1.gz"
done
cases=$((cases + 1))
[ "$(find "$tmp/root/usr/share/man/man1" -type f | wc -l)" -eq "$(($("$ASSAY" help --man | grep -c '^\.B assay .') + 1))" ] || fail 'a command has no page'

what='completions'
cases=$((cases + 1))
bash -c "source '$tmp/root/usr/share/bash-completion/completions/assay' && complete -p assay" >"$tmp/out" 2>&1 || fail 'bash does not complete assay'

what='the timer of the night'
if command -v systemd-analyze >/dev/null; then
	mkdir -p "$tmp/units"
	for unit in service timer; do
		sed "s|=assay |=$tmp/root/usr/bin/assay |" "$tmp/root/usr/lib/systemd/user/assay-nightly@.$unit" >"$tmp/units/assay-nightly@srv-lab.$unit"
	done
	XDG_RUNTIME_DIR="$tmp/units" SYSTEMD_UNIT_PATH="$tmp/units:" systemd-analyze --user --man=no verify "$tmp/units/assay-nightly@srv-lab.timer" >"$tmp/out" 2>"$tmp/err"
	status=$?
	expect_status 0
	cases=$((cases + 1))
	! grep -q "$tmp/units" "$tmp/err" || fail 'systemd has something to say'
fi
finish
