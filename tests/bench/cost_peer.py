"""cost_peer.py FILE: peers of scikit-learn on the rows of bench_cost, a Markdown row for each number of inputs learned: random forests (100 trees)
of all features and of those known before a run, and a polynomial of degree 2 of all that is known before a run, by least squares."""
import random
import sys

import numpy
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

with open(sys.argv[1], encoding="utf-8") as source:
    names = source.readline().rstrip("\n").split("\t")
    table = numpy.array([[float(x) for x in line.split("\t")] for line in source])
known = sum(" " not in name for name in names)
for learned in (n for n in (14, 28, 40, 60, 140, 300) if n < len(table)):
    errors = []
    for draw in range(5):
        order = list(range(len(table)))
        random.Random(100 * learned + draw).shuffle(order)
        train, test = table[order[:learned]], table[order[learned:]]
        peers = ((RandomForestRegressor(n_estimators=100, random_state=draw), len(names)), (RandomForestRegressor(n_estimators=100, random_state=draw), known),
                 (make_pipeline(StandardScaler(), PolynomialFeatures(2), LinearRegression()), known))
        least = 1e-3 * train[:, 0].min()
        errors.append([numpy.mean(numpy.abs(numpy.maximum(least, peer.fit(train[:, 1:columns], train[:, 0]).predict(test[:, 1:columns])) / test[:, 0] - 1))
                       for peer, columns in peers])
    print(f"| {learned} |" + "|".join(f" {100 * error:.1f} % " for error in numpy.mean(errors, axis=0)) + "|")
