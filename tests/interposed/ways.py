"""A program whose functions are graphs that chance makes: blocks of statements, calls and jumps. usage: ways.py SEED >PROGRAM.cc
It is C++, for exceptions, and ends after a number of blocks that all functions share."""
import random
import sys

FUNCTIONS, BLOCKS, FUEL = 24, 12, 20000
LOOK, LEAF, CALL, THROW, TRY, OUT = "look", "leaf", "call", "throw", "try", "out"


def statements(dice, function):
    lines = [dice.choice(["x = x * 1664525u + 1013904223u;", "x ^= x >> 7;", "table[x % 64] += x;", "y += table[y % 64];", "y = y * 3 + x;"])
             for _ in range(dice.choice([0, 1, 1, 2, 5]))]
    kind = dice.choice([None] * 6 + [LOOK, LEAF, LEAF, CALL, THROW, TRY, OUT])
    callee = f"f{dice.randrange(function)}(y)" if function else "1"
    at = dice.randrange(len(lines) + 1)
    lines[at:at] = {None: [], LOOK: [f"y += look({function});"], LEAF: [f"y += leaf{dice.randrange(4)}(x);"], CALL: [f"y += {callee};"],
                    THROW: ["if (x % 97 == 3) throw y;"], TRY: [f"try {{ y += {callee}; }} catch (unsigned n) {{ y += n; }}"],
                    OUT: ['if (x % 5 == 1) std::fwrite("xyz", 1, 3, stderr);']}[kind]
    return " ".join(lines)


def jump(dice):
    to = [dice.randrange(BLOCKS) for _ in range(4)]
    inner = f"for (unsigned i = 0; i < (x & 31); i++) {{ y += table[(i + x) % 64]; if (y & 1) x += i; {dice.choice(['', 'y ^= leaf1(i);', 'if (y % 13 == 1) break;'])} }}"
    return dice.choice([f"if (x & 4) goto b{to[0]};", f"if (y % 3) goto b{to[0]}; else goto b{to[1]};", f"goto b{to[0]};", "if (x % 7 == 2) return y;", "", inner,
                        f"switch (x % 5) {{ case 0: goto b{to[0]}; case 1: goto b{to[1]}; case 3: goto b{to[2]}; default: break; }}"])


def function(dice, number):
    print(f"__attribute__((noinline)) {dice.choice(['', 'static '])}unsigned f{number}(unsigned y)\n{{")
    for block in range(BLOCKS):
        print(f"b{block}: if (fuel-- <= 0) return y; {statements(dice, number)} {jump(dice)}")
    print(f"\treturn {f'f{dice.randrange(number)}(y)' if number and dice.random() < .5 else 'y'};\n}}")


def main():
    dice = random.Random(int(sys.argv[1]))
    print("#include <cstdio>\n#include <cstdlib>\n#include <unistd.h>\nextern \"C\" int look(int);\nstatic unsigned x = 1, table[64];\nstatic long fuel;")
    for i, body in enumerate(["return n * 7;", "return n & 1 ? n / 3 : n + 1;", "while (n > 9) n /= 3; return n;", "return leaf1(n) + leaf2(n + 1);"]):
        print(f"__attribute__((noinline)) static unsigned leaf{i}(unsigned n) {{ {body} }}")
    for i in range(FUNCTIONS):
        function(dice, i)
    print("int main()\n{\n\tunsigned sum = 0;")
    for i in range(FUNCTIONS):
        print(f"\tfuel = {FUEL // FUNCTIONS}; try {{ sum += f{i}({i}); }} catch (unsigned n) {{ sum += n; }} look({i});")
    print('\tif (sum == 42) std::abort();\n\tstd::puts(sum % 2 ? "odd" : "even");\n\tif (sum % 3 == 0) _exit(0);\n}')


main()
