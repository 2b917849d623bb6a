# Hosts of aarch64 on this machine, for the scripts of tests: programs of aarch64 run by QEMU's emulation of single programs, in a namespace
# of their own, so that the machine's settings stay as they are. Everything else of such a host is this machine.
# other_hosts DIRECTORY: writes DIRECTORY/aarch64, a launcher's script whose first argument is the host's name; false where this cannot be.
other_hosts() {
	emulator=$(command -v qemu-aarch64 || command -v qemu-aarch64-static) && command -v unshare >/dev/null || return 1
	mkdir -p "$1/bin"
	printf '#!/bin/sh\ncase $1 in -m) echo aarch64 ;; *) exec /bin/uname "$@" ;; esac\n' >"$1/bin/uname"
	magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
	mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
	cat >"$1/register" <<-END
	mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc &&
		printf '%s' ':aarch64:M::$magic:$mask:$emulator:F' >/proc/sys/fs/binfmt_misc/register || exit 126
	PATH=$1/bin:\$PATH
	exec "\$@"
	END
	printf '#!/bin/sh\nshift\nexec unshare -Urm sh %s "$@"\n' "$1/register" >"$1/aarch64"
	chmod +x "$1/bin/uname" "$1/aarch64"
	"$1/aarch64" probe true 2>/dev/null
}
