# For scripts about fuzz targets, at the top of the source directory.

# read_by READERS: the paths in a line of tests/fuzz/targets, one a line; files without a directory are in that of the one before.
read_by() {
	directory=.
	for file in $1; do
		case $file in
		*/*) directory=$(dirname "$file/.") path=$file ;;
		*) path=$directory/$file ;;
		esac
		[ -d "$path" ] || directory=$(dirname "$path")
		echo "$path"
	done
}
