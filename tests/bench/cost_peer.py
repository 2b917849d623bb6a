"""cost_peer.py FILE: a random forest of scikit-learn on the rows of bench_cost: a Markdown row for each number of inputs learned."""
import csv
import random
import sys

import numpy
from sklearn.ensemble import RandomForestRegressor

with open(sys.argv[1], encoding="ascii", newline="") as source:
    table = numpy.array([[float(x) for x in row] for row in list(csv.reader(source))[1:]])
for learned in (14, 28, 40, 60, 140, 200):
    errors = []
    for draw in range(10):
        order = list(range(len(table)))
        random.Random(100 * learned + draw).shuffle(order)
        train, test = table[order[:learned]], table[order[learned:]]
        forest = RandomForestRegressor(n_estimators=100, random_state=draw).fit(train[:, 1:], train[:, 0])
        errors.append(numpy.mean(numpy.abs(test[:, 0] / forest.predict(test[:, 1:]) - 1)))
    print(f"| {learned} | {100 * numpy.mean(errors):.1f} % |")
