#!/bin/sh
# Measures the structure of the code: sh tests/house.sh [OPTION] [DIRECTORY], a checkout (default: this one). A few seconds.
#   sh tests/house.sh            lines by folder, functions, public functions with one client, cycles of folders
#   sh tests/house.sh --list     also each public function with at most one client, the longest functions, functions that parse options
#   sh tests/house.sh --pairs    also the public functions with one client, by pair of files: candidates for a merge
#   sh tests/house.sh --budget   only the lines by folder against tests/budget; exit status 1 if a folder exceeds its budget
#
# Definitions:
# - product: C, C++, headers, shell and Python that git tracks in base fleet fingerprint runs model gate, and main.c. Scripts without a suffix
#   are recognized by "#!". All lines count, also blank lines and comments.
# - function: a definition whose name stands on a line that starts in the first column, and whose body stands between '{' and '}' in the first
#   column, as .clang-format writes them. Its length is from the line of its name to that '}'.
# - public function: a header of the product declares it, and a .c file of the product defines it, not static. Functions that a macro defines
#   and hooks that only the linker knows (malloc of the emulation, for example) do not count.
# - client: another .c file of the product that uses the name, or a header with a macro or inline function that does. "None" means that only
#   tests use it, or nothing.
# - cycle: folders that reach each other by their includes ("a/b/c.h" is in a/b), at three depths: the first name, two names, all names.
# - parse function: it has a struct argp_state and a key among its parameters.
set -eu
list=
case ${1:-} in
--list) list=list && shift ;;
--pairs) list=pairs && shift ;;
--budget) list=budget && shift ;;
esac
cd "${1:-$(dirname "$0")/..}"
files=$(git ls-files base fleet fingerprint runs model gate main.c)
[ -n "$files" ] || { echo "tests/house.sh: there is no product in $PWD" >&2; exit 2; }

# ---- lines ----

# kinds: "KIND FILE" of every file of the product.
kinds() {
	for file in $files; do
		[ -f "$file" ] || continue # removed, but git still tracks it
		case $file in
		*.c) echo "C $file" ;;
		*.cc) echo "C++ $file" ;;
		*.h) echo "header $file" ;;
		*.sh) echo "shell $file" ;;
		*.py) echo "Python $file" ;;
		*.*) ;;
		*)
			read -r first <"$file" || true
			case $first in
			'#!'*python*) echo "Python $file" ;;
			'#!'*sh*) echo "shell $file" ;;
			esac
			;;
		esac
	done
}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
kinds >"$tmp/kinds"
sed 's/^[^ ]* //' "$tmp/kinds" | xargs awk '{ n[FILENAME]++ } END { for (f in n) print n[f], f }' >"$tmp/lines"

if [ "$list" = budget ]; then
	awk '
	FILENAME ~ /budget$/ { if ($1 != "" && $1 !~ /^#/) budget[$1] = $2; next }
	FILENAME ~ /lines$/ { lines[$2] = $1; next }
	$1 == "C" || $1 == "C++" || $1 == "header" {
		top = $2; sub(/\/.*/, "", top)
		n[top] += lines[$2]; n["all"] += lines[$2]
		if ($1 == "header") n["headers"] += lines[$2]
	}
	END {
		printf "%-12s %8s %8s\n", "folder", "lines", "budget"
		m = split("base fleet fingerprint runs model gate main.c all headers", order, " ")
		for (i = 1; i <= m; i++) {
			k = order[i]
			over = !(k in budget) || n[k] > budget[k]
			printf "%-12s %8d %8s%s\n", k, n[k], k in budget ? budget[k] : "none", over ? "   over budget" : ""
			bad = bad || over
		}
		if (bad) print "Remove lines, or raise tests/budget in a commit that says which feature justifies it and what was removed for it."
		exit bad
	}' tests/budget "$tmp/lines" "$tmp/kinds"
	exit
fi
awk '
FNR == NR { lines[$2] = $1; next }
{
	top = $2; sub(/\/.*/, "", top)
	n = lines[$2] + 0
	files[top]++; count[top, $1] += n; sum[top] += n
	allfiles++; all[$1] += n; total += n
	if ($1 == "header") headers++
	if (n > 700) { long++; names = names "  " $2 " " n "\n" }
}
function row(name, f, c, p, h, s, t) { printf "%-12s %6d %8d %8d %8d %8d %8d\n", name, f, c, p, h, s, t }
END {
	printf "%-12s %6s %8s %8s %8s %8s %8s\n", "lines", "files", "C", "C++", "headers", "scripts", "all"
	m = split("base fleet fingerprint runs model gate main.c", order, " ")
	for (i = 1; i <= m; i++) {
		k = order[i]
		row(k, files[k], count[k, "C"], count[k, "C++"], count[k, "header"], count[k, "shell"] + count[k, "Python"], sum[k])
	}
	row("all", allfiles, all["C"], all["C++"], all["header"], all["shell"] + all["Python"], total)
	printf "\n%-46s %8d\n%-46s %8d   in %d files\n%-46s %8d\n%s", \
		"lines of product", total, "of them in headers", all["header"], headers, "files above 700 lines", long, names
}' "$tmp/lines" "$tmp/kinds"

# ---- functions ----

# Files without comments, strings and preprocessor lines, a line a line, each with the file's name before it. keep=macros: with
# preprocessor lines; keep=used: what headers use, these and the bodies of inline functions.
cat >"$tmp/bare.awk" <<'END'
FNR == 1 { comment = 0; directive = 0 }
{
	line = $0; out = ""
	while (line != "") {
		if (comment) {
			at = index(line, "*/")
			if (!at) break
			line = substr(line, at + 2); comment = 0
		} else if (match(line, /\/\*|\/\/|"([^"\\]|\\.)*"|'([^'\\]|\\.)+'/)) {
			begin = substr(line, RSTART, 2)
			out = out substr(line, 1, RSTART - 1)
			line = substr(line, RSTART + RLENGTH)
			if (begin == "/*") comment = 1
			else if (begin == "//") line = ""
			else out = out "0"
		} else {
			out = out line
			line = ""
		}
	}
	starts = out ~ /^[ \t]*#/
	macro = directive || starts
	directive = macro && $0 ~ /\\$/
	if (macro ? !keep : keep == "used" && $0 !~ /^[ \t]/) out = ""
	print FILENAME "\t" out
}
END
product_c=$(sed -n 's/^C //p' "$tmp/kinds")
product_h=$(sed -n 's/^header //p' "$tmp/kinds")
tests_c=$(git ls-files tests | grep '\.[ch]$' || true)
# shellcheck disable=SC2086
{
	awk -f "$tmp/bare.awk" $product_c >"$tmp/c"
	awk -f "$tmp/bare.awk" $product_h >"$tmp/h"
	awk -v keep=macros -f "$tmp/bare.awk" $product_c >"$tmp/mentions"
	awk -v keep=used -f "$tmp/bare.awk" $product_h >>"$tmp/mentions"
	: >"$tmp/tests"
	[ -z "$tests_c" ] || awk -v keep=macros -f "$tmp/bare.awk" $tests_c >"$tmp/tests"
}

# Definitions: "LENGTH static|public NAME FILE SIGNATURE".
awk -F '\t' '
$1 != file { file = $1; n = 0; name = ""; inside = 0 }
{
	n++; line = substr($0, length($1) + 2)
	if (inside) {
		if (line ~ /^}/) {
			print n - began + 1, scope, name, file, signature
			inside = 0; name = ""
		}
	} else if (line ~ /^{/) {
		if (name != "") inside = 1
	} else if (line ~ /^[A-Za-z_]/) {
		began = n; signature = line; name = ""
		rest = line
		while (match(rest, /[A-Za-z_][A-Za-z_0-9]*[ ]*\(/)) {
			word = substr(rest, RSTART, RLENGTH); sub(/[ ]*\(/, "", word)
			if (word != "__attribute__" && word != "_Alignas" && word != "__asm__") { name = word; break }
			rest = substr(rest, RSTART + RLENGTH)
			sub(/^[^)]*\)+/, "", rest)
		}
		if (line ~ /;[ \t]*$/ || line ~ /^(typedef|struct [a-z_0-9]+ ?{|enum|union)/ && line !~ /\(/) name = ""
		scope = line ~ /(^|[ \t])static[ \t]/ ? "static" : "public"
	} else if (line ~ /^[ \t]+[^ \t]/ && name != "") {
		signature = signature " " line
		if (line ~ /;[ \t]*$/) name = ""
	} else if (line !~ /^[ \t]*$/) name = ""
}' "$tmp/c" "$tmp/h" >"$tmp/functions"

sort -n "$tmp/functions" | awk '
{ n++; length_of[n] = $1; if ($1 <= 8) short++; if ($1 > 60) long++; if ($2 == "static") own++; last = $3 " in " $4 }
/struct argp_state/ && /(error_t|int) [a-z_0-9]*\(int key/ { parse++ }
END {
	printf "\n%-46s %8d   %d static\n", "functions", n, own
	printf "%-46s %8d\n%-46s %8d\n%-46s %8d   %s\n", "length: median", length_of[int((n + 1) / 2)], "  90th percentile", length_of[int(n * .9 + .5)], \
		"  longest", length_of[n], last
	printf "%-46s %7.1f%%\n%-46s %8d\n", "  of at most 8 lines", 100 * short / n, "  of more than 60 lines", long
	printf "%-46s %8d\n", "functions that parse the options of a command", parse
}'

# ---- public functions ----

# Declarations of headers: names, of what is not static, no type and no pointer.
awk -F '\t' '
function declared(text, word) {
	gsub(/__attribute__[ ]*\(\([^;]*\)\)/, "", text)
	if (text ~ /(^|[ \t])(static|typedef)[ \t]/ || !match(text, /[A-Za-z_][A-Za-z_0-9]*[ ]*\(/)) return
	word = substr(text, RSTART, RLENGTH); sub(/[ ]*\(/, "", word)
	if (substr(text, 1, RSTART - 1) ~ /[A-Za-z_]/) print word
}
$1 != file { file = $1; text = ""; depth = 0 }
{
	line = substr($0, length($1) + 2)
	while (match(line, /[{};]/)) {
		sign = substr(line, RSTART, 1)
		if (depth == 0) text = text " " substr(line, 1, RSTART - 1)
		line = substr(line, RSTART + 1)
		if (sign == "{") depth++
		else if (sign == "}") { depth--; if (depth == 0 && text ~ /\)[ \t]*$/) text = "" }
		else if (depth == 0) { declared(text); text = "" }
	}
	if (depth == 0) text = text " " line
}' "$tmp/h" | sort -u >"$tmp/declared"

awk -v list="$list" -v declared="$tmp/declared" -v functions="$tmp/functions" -v product="$tmp/mentions" -v tests="$tmp/tests" '
function mentions(file, where, tab, from, words, i, n, w) {
	while ((getline line < file) > 0) {
		tab = index(line, "\t")
		from = substr(line, 1, tab - 1)
		n = split(substr(line, tab + 1), words, /[^A-Za-z_0-9]+/)
		for (i = 1; i <= n; i++) {
			w = words[i]
			if (!(w in home) || index(homes[w], " " from " ") || (w, from) in seen) continue
			seen[w, from] = 1
			if (where == "tests") tested[w]++
			else {
				clients[w]++
				client[w] = from
			}
		}
	}
}
function folder(path) { sub(/\/[^\/]*$/, "", path); return path }
BEGIN {
	while ((getline line < declared) > 0) wanted[line] = 1
	while ((getline line < functions) > 0) {
		split(line, f, " ")
		if (f[2] == "public" && f[3] in wanted && f[4] ~ /\.c$/) { home[f[3]] = f[4]; homes[f[3]] = homes[f[3]] " " f[4] " " }
	}
	mentions(product, "product")
	mentions(tests, "tests")
	for (w in home) {
		all++
		k = clients[w] + 0
		if (k == 0) { none++; if (!tested[w]) unused++ }
		else if (k == 1) { one++; if (folder(client[w]) == folder(home[w])) near++ }
		if (list == "pairs" && k == 1) { pair = home[w] " <- " client[w]; n_of[pair]++; names_of[pair] = names_of[pair] " " w }
		if (list == "list" && k <= 1) print (k ? "one client: " client[w] : (tested[w] ? "only tests" : "no client")) "\t" w "\t" home[w] | "sort"
	}
	for (pair in n_of) printf "%3d %s:%s\n", n_of[pair], pair, names_of[pair] | "sort -rn"
	close("sort")
	close("sort -rn")
	printf "\n%-46s %8d\n", "public functions", all
	printf "%-46s %8d   %.1f %%; %d (%.1f %%) in the same folder\n", "  with one client", one, 100 * one / all, near, 100 * near / all
	printf "%-46s %8d   of them %d that no test uses\n", "  with none in the product", none, unused
}'

# ---- folders ----

sed -n 's/^[Ch][a-z]* //p' "$tmp/kinds" | xargs awk '
/^#include "[^"]*\// { split($0, q, "\""); print FILENAME, q[2] }' >"$tmp/includes"
for depth in 1 2 9; do
	awk -v depth="$depth" '
	function folder(path, n, parts, i, out) {
		n = split(path, parts, "/") - 1
		if (n > depth) n = depth
		out = parts[1]
		for (i = 2; i <= n; i++) out = out "/" parts[i]
		return n ? out : ""
	}
	{
		from = folder($1); to = folder($2)
		if (from == "" || to == "" || from == to) next
		reach[from, to] = 1; name[from]; name[to]
	}
	END {
		for (k in name) for (i in name) if ((i, k) in reach) for (j in name) if ((k, j) in reach) reach[i, j] = 1
		for (i in name) {
			if (!((i, i) in reach) || i in shown) continue
			text = i
			for (j in name) if (j != i && (i, j) in reach && (j, i) in reach) { text = text " " j; shown[j] = 1 }
			circles++
			names = names "  " text "\n"
		}
		printf "%s%-46s %8d\n%s", depth == 1 ? "\n" : "", \
			"cycles of folders, " (depth == 1 ? "whole trees" : (depth == 2 ? "of two names" : "of all names")), circles, names
	}' "$tmp/includes"
done

if [ "$list" = list ]; then
	printf '\nlongest functions\n'
	sort -rn "$tmp/functions" | awk 'NR <= 30 { print "  " $1, $3, $4 }'
	printf '\nfunctions that parse options\n'
	awk '/struct argp_state/ && /(error_t|int) [a-z_0-9]*\(int key/ { print "  " $3, $4 }' "$tmp/functions"
fi
