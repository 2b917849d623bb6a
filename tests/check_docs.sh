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
others='--more --exec --recursive --global --preset --build --install --evidence --fuzz --yaml --version --benchmark --export-json --benchmark-json --reporter --size --wrap'
grep -ohE '(assay [a-z].*|`--[a-z][a-z-]+)' README.md docs/*.md docs/design/*.md | grep -oE -- '--[a-z][a-z-]+' | sort -u >"$tmp/mentioned"
for option in $(comm -23 "$tmp/mentioned" "$tmp/options"); do
	case " $others " in
	*" $option "*) ;;
	*)
		echo "no command has $option: $(grep -lF -- "$option" README.md docs/*.md docs/design/*.md | tr '\n' ' ')"
		status=1
		;;
	esac
done

# ---- commands ----

# `assay COMMAND` in the documents, and 'assay COMMAND' in messages, whose strings may be broken in two lines.
{
	awk 'FNR == 1 { fence = 0 } /^ *```/ { fence = !fence }
		(fence || /^    /) && match($0, /^ *(\$ )?assay (-C [^ ]+ )?[a-z].*/) { print FILENAME ":" substr($0, RSTART, RLENGTH) }
		{ while (match($0, /`assay (-C [^ `]+ )?[a-z][^`]*/)) { print FILENAME ":" substr($0, RSTART, RLENGTH); $0 = substr($0, RSTART + RLENGTH) } }' \
		README.md docs/*.md docs/design/*.md docs/schema/*.json
	find base fleet fingerprint runs model gate -name '*.[ch]' -exec awk '
		BEGIN { RS = "\001" }
		{ gsub(/"\n[ \t]*"/, "") }
		{ while (match($0, /\047assay [a-z][a-z -]*/)) { print FILENAME ":" substr($0, RSTART + 1, RLENGTH - 1); $0 = substr($0, RSTART + RLENGTH) } }' {} +
} >"$tmp/quoted"
sed 's/^\([^:]*\):[`$ ]*assay \(-C [^ ]* \)\{0,1\}/\1 /; s/ -.*//' "$tmp/quoted" |
	awk 'NR == FNR { known[$0] = 1; next } !($2 in known) && !(($2 " " $3) in known) { print $1 ": there is no command \047" $2 (NF > 2 ? " " $3 : "") "\047" }' \
		"$tmp/commands" - | sort -u >"$tmp/unknown"
[ "$(wc -l <"$tmp/quoted")" -ge 400 ] || { echo 'too few commands are quoted: has their form changed?'; status=1; }
[ ! -s "$tmp/unknown" ] || { cat "$tmp/unknown"; status=1; }

# ---- codes ----

# The first cells of tables whose heading has "code", in backticks.
awk '/^\|/ { if (!on) { on = 1; codes = ($0 ~ /code/) } else if (codes && match($0, /^\| *`[a-z_0-9]+`/)) { split($0, part, "`"); print part[2] } next } { on = 0 }' \
	docs/*.md docs/design/*.md docs/reference/*.md | sort -u >"$tmp/codes"
[ "$(wc -l <"$tmp/codes")" -ge 20 ] || { echo 'too few codes: are the tables of docs/reference still there?'; status=1; }
# A code may be made of words that people read, as "by version".
grep -rhoE --include='*.[ch]' '"[a-z0-9][a-z_0-9 ]*"' base fleet fingerprint runs model gate | tr -d '"' | tr ' ' '_' | sort -u >"$tmp/strings"
comm -23 "$tmp/codes" "$tmp/strings" | sed 's/^/the sources have no code /' >"$tmp/wrong"

# The other way round: codes of the sources' tables (rows of X-macros) are documented.
grep -ohE '[a-z_0-9]+' README.md docs/*.md docs/design/*.md docs/reference/*.md docs/evidence/statistics.md fleet/lab/schema_1.sql runs/inside/interpose/interpose.h \
	machines/emulated/base.yaml | sort -u >"$tmp/words"
grep -rhoE --include='*.[ch]' '^[[:space:]]*X\([A-Z_0-9]+, *"[a-z_0-9]+"' base fleet fingerprint runs gate | sed 's/.*"\([a-z_0-9]*\)"/\1/' | sort -u |
	comm -23 - "$tmp/words" | sed 's/^/docs has no code /' >>"$tmp/wrong"
[ ! -s "$tmp/wrong" ] || { cat "$tmp/wrong"; status=1; }

# ---- functions and files ----

# The walk for newcomers names functions and files of the sources.
for name in $(sed -n '/^## A newcomer/,/^## Where/p' docs/architecture.md | grep -oE '`[a-z_0-9/.]+`' | tr -d '`' | sort -u); do
	case $name in
	*.*) git ls-files | grep -qE "(^|/)$name\$" || { echo "docs/architecture.md: there is no file '$name'"; status=1; } ;;
	*) grep -rqwF "$name" --include='*.[ch]' base fleet fingerprint runs gate main.c || { echo "docs/architecture.md: no source has '$name'"; status=1; } ;;
	esac
done

# ---- links ----

for page in README.md docs/*.md docs/design/*.md docs/reference/*.md docs/evidence/*.md; do
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
