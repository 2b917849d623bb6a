# Sources of Debian's packages, through a private list of apt's in $work. Sourced by tests/evidence/NAME.sh behind lib_evidence.sh.
mkdir -p "$work/apt/lists/partial" "$work/apt/cache/archives/partial" "$work/packages"
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Release: bookworm' | head -n 1)
[ -n "$mirror" ] || { echo "apt has no source for bookworm (apt-get indextargets)" >&2; exit 1; }
for suite in bookworm trixie; do
	echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main"
done >"$work/apt/sources.list"
cat >"$work/apt/apt.conf" <<END_CONF
Dir::Etc::sourcelist "$work/apt/sources.list";
Dir::Etc::sourceparts "-";
Dir::State::lists "$work/apt/lists";
Dir::Cache "$work/apt/cache";
APT::Sandbox::User "root";
END_CONF
chmod 755 "$work"
APT_CONFIG=$work/apt/apt.conf apt-get -qq update
# unpack PACKAGE SUITE DIRECTORY: the upstream sources; their version is printed.
unpack() {
	mkdir -p "$work/packages/$1-$2" "$3"
	(cd "$work/packages/$1-$2" && APT_CONFIG=$work/apt/apt.conf apt-get -qq source --download-only "$1/$2" >/dev/null)
	tar xf "$(ls "$work/packages/$1-$2"/*.orig.tar.* | grep -v "\.asc$")" -C "$3"
	if [ "$(ls -A "$3" | wc -l)" = 1 ]; then # most have one directory around everything
		mv "$3/$(ls -A "$3")" "$3.inner"
		rmdir "$3"
		mv "$3.inner" "$3"
	fi
	basename "$work/packages/$1-$2"/*.dsc .dsc
}
