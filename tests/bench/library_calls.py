"""Nanoseconds of a call of functions of the C library, one after the other, of small arguments: what the emulation counts as basic blocks
(runs/inside/emulate/wrapped.h). usage: library_calls.py; compiles with gcc, takes seconds, prints the best of five."""
import os
import subprocess
import tempfile

ONE = """exp exp2 log log2 log10 sin cos tan asin acos atan sinh cosh tanh cbrt expm1 log1p erf erfc lgamma tgamma floor ceil round trunc rint
nearbyint lround lrint""".split()
TWO = "pow atan2 hypot fmod remainder".split()
OTHERS = {
    "strtol": "sum += strtol(number[i & 3], &end, 10);", "atoi": "sum += atoi(number[i & 3]);", "strtod": "sum += (long)strtod(real[i & 3], &end);",
    "snprintf": 'sum += snprintf(text, 200, "%s: %d", word[i & 3], i);', "sscanf": 'int v = 0; sum += sscanf(number[i & 3], "%d", &v) + v;',
    "fprintf": 'fprintf(nowhere, "%d %s\\n", i, word[i & 3]);', "fputs": "fputs(word[i & 3], nowhere);", "fputc": "fputc('x', nowhere);",
    "fwrite": "fwrite(word[0], 1, 5, nowhere);", "fgetc": "if (fgetc(lines) == EOF) rewind(lines);",
    "fgets": "if (!fgets(text, 200, lines)) rewind(lines);", "fread": "if (fread(text, 1, 16, lines) != 16) rewind(lines);",
    "rand": "sum += rand();", "drand48": "sum += (long)(10 * drand48());", "clock_gettime": "struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); sum += t.tv_nsec;",
    "time": "sum += time(NULL);", "localtime_r": "time_t t = 1600000000 + i; struct tm m; localtime_r(&t, &m); sum += m.tm_sec;",
    "strftime": 'struct tm m = { .tm_year = 100, .tm_mday = 3 }; sum += (long)strftime(text, 200, "%Y-%m-%d", &m);',
    "strcasecmp": "sum += strcasecmp(word[i & 3], word[(i + 1) & 3]);", "strcspn": 'sum += (long)strcspn(word[i & 3], " =;");',
    "strtok_r": 'strcpy(text, word[2]); char *s; sum += strtok_r(text, "=;", &s) != NULL;', "getenv": 'sum += getenv("HOME") != NULL;',
    "bsearch of 1000": "int key = i % 1000; sum += bsearch(&key, sorted, 1000, sizeof(int), compare) != NULL;",
    "memmem": 'sum += memmem(word[1], 22, "words", 5) != NULL;', "regexec": "sum += regexec(&pattern, word[1], 0, NULL, 0);",
}
HEAD = """#define _GNU_SOURCE
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
static FILE *nowhere, *lines;
static int sorted[1000];
static regex_t pattern;
static char text[256], *end;
static volatile long sum;
static volatile double real_sum;
static const char *volatile number[4] = { "7", "12345", "-42", "123456789" }, *volatile real[4] = { "3.14", "1e10", "-2.71828182", "100" };
static const char *volatile word[4] = { "hello", "a longer text of words", "name=value;other", "x" };
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e9 + t.tv_nsec; }
"""
MAIN = """int main(void)
{
	nowhere = fopen("/dev/null", "w");
	lines = tmpfile();
	for (int i = 0; i < 5000; i++)
		fprintf(lines, "a line of text %d\\n", i);
	rewind(lines);
	for (int i = 0; i < 1000; i++)
		sorted[i] = i;
	regcomp(&pattern, "l.*w[ao]", REG_EXTENDED);
"""


def mathematics():
    for names, arguments in ((ONE, "(%s)(.01 + .015 * (i & 63))"), (TWO, "(%s)(.5 + 1.7 * (i & 63)), (%s)(1.3 + (i & 7))")):
        for name in names:
            for suffix, kind in (("", "double"), ("f", "float")):
                yield name + suffix, f"real_sum += {name}{suffix}({arguments.replace('%s', kind)});"


def main():
    source, rows = HEAD, list(mathematics()) + list(OTHERS.items())
    for k, (_, code) in enumerate(rows):
        source += f"static double f{k}(void) {{ double t = now(); for (int i = 0; i < 200000; i++) {{ {code} }} return (now() - t) / 200000; }}\n"
    source += MAIN
    for k, (name, _) in enumerate(rows):
        source += f'{{ double best = f{k}(); for (int j = 0; j < 4; j++) best = fmin(best, f{k}()); printf("%-16s %.1f\\n", "{name}", best); }}\n'
    with tempfile.TemporaryDirectory() as where:
        with open(os.path.join(where, "calls.c"), "w") as out:
            out.write(source + "return 0; }\n")
        subprocess.run(["gcc", "-O1", "-fno-builtin", "-w", "calls.c", "-o", "calls", "-lm"], cwd=where, check=True)
        subprocess.run(["./calls"], cwd=where, check=True)


main()
