# The documentation against the program: options that it mentions exist, codes of its tables stand in the sources, links lead somewhere.
set -eu
cd "${ASSAY_SOURCE:?}"
status=0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# ---- options ----

"${ASSAY:?}" --help | sed -n 's/^  \([a-z][a-z -]*[a-z]\)   *.*$/\1/p' | sed 's/  .*//' >"$tmp/commands"
while read -r command; do
	# shellcheck disable=SC2086 # a command may have two words
	"$ASSAY" $command --help
done <"$tmp/commands" | grep -oE -- '--[a-z][a-z-]+' | sort -u >"$tmp/options"
# Lines that show a command of ours, or name an option in backticks; those of other programs stand in the list.
others='--more --exec --recursive --global --preset --build --install --evidence --fuzz --yaml --version --benchmark --export-json --size --wrap'
grep -ohE '(assay [a-z].*|`--[a-z][a-z-]+)' README.md docs/*.md | grep -oE -- '--[a-z][a-z-]+' | sort -u >"$tmp/mentioned"
for option in $(comm -23 "$tmp/mentioned" "$tmp/options"); do
	case " $others " in
	*" $option "*) ;;
	*)
		echo "no command has $option: $(grep -lF -- "$option" README.md docs/*.md | tr '\n' ' ')"
		status=1
		;;
	esac
done

# ---- codes ----

# The first cells of tables whose heading has "code", in backticks.
awk '/^\|/ { if (!on) { on = 1; codes = ($0 ~ /code/) } else if (codes && match($0, /^\| *`[a-z_0-9]+`/)) { split($0, part, "`"); print part[2] } next } { on = 0 }' \
	docs/*.md | sort -u >"$tmp/codes"
[ "$(wc -l <"$tmp/codes")" -ge 20 ] || { echo 'too few codes: are the tables of docs/formats.md still there?'; status=1; }
while read -r code; do
	grep -rqF "\"$code\"" --include='*.[ch]' base fleet fingerprint runs model gate || { echo "the sources have no code '$code'"; status=1; }
done <"$tmp/codes"

# The other way round: codes of the sources' tables (rows of X-macros) are documented.
grep -rhoE --include='*.[ch]' '^[[:space:]]*X\([A-Z_0-9]+, *"[a-z_0-9]+"' base fleet fingerprint runs gate | sed 's/.*"\([a-z_0-9]*\)"/\1/' | sort -u |
	while read -r code; do
		grep -qwF "$code" README.md docs/*.md docs/evidence/statistics.md || echo "docs/ has no code '$code'"
	done >"$tmp/undocumented"
[ ! -s "$tmp/undocumented" ] || { cat "$tmp/undocumented"; status=1; }

# ---- links ----

for page in README.md docs/*.md docs/evidence/*.md; do
	directory=$(dirname "$page")
	for link in $(grep -oE '\]\([^)]+\)' "$page" | sed 's/^](//; s/)$//' | grep -vE '^(https?:|mailto:)' | sort -u); do
		file=${link%%#*} anchor=
		case $link in *'#'*) anchor=${link#*#} ;; esac
		target=$directory/$file
		[ -n "$file" ] || target=$page
		if [ ! -e "$target" ]; then
			echo "$page: '$link' leads nowhere"
			status=1
		elif [ -n "$anchor" ]; then
			sed -n 's/^##* *//p' "$target" | tr 'A-Z' 'a-z' | sed 's/[^a-z0-9 _-]//g; s/ /-/g' | grep -qxF "$anchor" ||
				{ echo "$page: '$link': no such heading"; status=1; }
		fi
	done
done
exit $status
