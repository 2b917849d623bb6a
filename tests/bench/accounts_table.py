"""What the kernel's accounts cost the ten commands of sampling_table.py: a table from the lines of bench_accounts.

    accounts_table.py BENCH ROUNDS WORK   measures what WORK/accounts-NAME.csv does not have yet, and prints the table
"""
import math
import statistics
import sys

from sampling_table import FORKS, commands, interval, measure


def main(bench, rounds, work):
    everything = []
    print("| program | pairs | CPU time, ms (median) | with accounts | 90 % interval | wall-clock time | 90 % interval | helper's own CPU time, ms (median) |\n"
          "| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, command in commands(work).items():
        if name == FORKS:
            continue
        # CPU time of the command in us, its wall-clock time in ns, CPU time of the helper in us.
        runs = measure(bench, rounds, f"{work}/accounts-{name}.csv", command, 2)
        logs, walls = ([math.log(r[1][k] / r[0][k]) for r in runs] for k in (0, 1))
        everything.append((logs, walls))
        print(f"| {name} | {len(runs)} | {statistics.median(r[0][0] for r in runs) / 1000:.0f} | {' | '.join(interval(logs) + interval(walls))} | "
              f"{statistics.median(r[1][2] for r in runs) / 1000:.1f} |")
    n = min(len(logs) for logs, _ in everything)
    cells = [interval([statistics.mean(both[k][i] for both in everything) for i in range(n)]) for k in (0, 1)]
    print(f"| all | {n} | | {' | '.join(f'**{mean}** | {reach}' for mean, reach in cells)} | |")


main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
