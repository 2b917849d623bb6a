# Guests of aarch64 on this machine, for the scripts of tests/evidence: Debian's kernel and programs in QEMU's emulation, from an initramfs,
# so that no disk is there. Needs the packages of the section pmu of tests/packages.
guest_kernel=linux-image-cloud-arm64

# guest_directories DIRECTORY: the guest's file system, with busybox of DIRECTORY/root.
guest_directories() {
	for name in bin dev etc lib proc root run sys tmp; do mkdir -p "$1/guest/$name"; done
	cp "$1/root/bin/busybox" "$1/guest/bin/busybox"
}

# guest_init DIRECTORY: standard input becomes the guest's first program, behind what all have.
guest_init() {
	{
		cat <<-'END_SH'
		#!/bin/busybox sh
		export PATH=/bin
		/bin/busybox --install -s /bin
		mount -t proc proc /proc
		mount -t sysfs sysfs /sys
		mount -t devtmpfs dev /dev
		ln -s /proc/self/fd /dev/fd
		chmod 1777 /tmp
		END_SH
		cat
	} >"$1/guest/init"
	chmod 755 "$1/guest/init"
}

# guest_programs DIRECTORY PATH...: of DIRECTORY/root, with the libraries that they are linked with.
guest_programs() {
	to=$1/guest from=$1/root
	shift
	for path; do
		mkdir -p "$to/$(dirname "$path")"
		cp -L "$from/$path" "$to/$path"
		guest_libraries "$from/$path"
	done
}
guest_libraries() {
	for library in $(aarch64-linux-gnu-readelf -d "$1" 2>/dev/null | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
		[ ! -e "$to/lib/$library" ] || continue
		found=$(find "$from" -path '*/lib/*' -name "$library" | head -n 1)
		[ -n "$found" ] || { echo "guest: $1 needs $library, which is in no package" >&2; exit 1; }
		cp -L "$found" "$to/lib/$library"
		guest_libraries "$found"
	done
}

# guest_modules DIRECTORY NAME...: of the kernel, as /lib/NAME.ko.
guest_modules() {
	to=$1/guest from=$1/root
	shift
	for name; do cp "$(find "$from/lib/modules" -name "$name.ko")" "$to/lib/"; done
}

guest_pack() {
	(cd "$1/guest" && find . | sort | cpio --quiet -o -H newc) | gzip -1 >"$1/initrd.gz"
}

# guest_run DIRECTORY PROCESSOR SECONDS OPTION...: until it is off, at most so long; its console is standard output.
guest_run() {
	guest=$1 processor=$2 seconds=$3
	shift 3
	timeout --foreground "$seconds" qemu-system-aarch64 -M virt -cpu "$processor" -kernel "$guest"/root/boot/vmlinuz-* \
		-initrd "$guest/initrd.gz" -nographic -nodefaults -no-reboot -serial stdio -append 'console=ttyAMA0 quiet panic=-1 nokaslr' \
		"$@" </dev/null
}
