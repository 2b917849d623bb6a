"""scikit-learn's side of bench_gbt: gbt_peer.py MATRIX.csv APPLICATION REPEATS

The same rows, features, parameters and output, with Debian's python3-sklearn:
/usr/bin/python3 tests/bench/gbt_peer.py ...
"""
import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"  # before numpy is loaded

import csv
import json
import sys
import time

import numpy
import sklearn
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.preprocessing import StandardScaler

FEATURES = 43


def read(path, application):
    with open(path, newline="") as file:
        rows = csv.reader(file)
        column = next(rows).index(application)
        used = [row for row in rows if row[column]]
    X = numpy.array([[float(value) for value in row[1:1 + FEATURES]] for row in used])
    return StandardScaler().fit_transform(X), numpy.array([float(row[column]) for row in used])


def main():
    if len(sys.argv) != 4:
        sys.exit("usage: gbt_peer.py MATRIX.csv APPLICATION REPEATS")
    X, y = read(sys.argv[1], sys.argv[2])
    seconds = []
    for _ in range(int(sys.argv[3])):
        model = GradientBoostingRegressor(n_estimators=1000, max_depth=4, min_samples_split=2, learning_rate=.01, random_state=0)
        start = time.process_time()
        model.fit(X, y)
        seconds.append(round(time.process_time() - start, 6))
    print(json.dumps({"program": "scikit-learn " + sklearn.__version__, "rows": len(y), "seconds": seconds,
                      "train_mse": float(numpy.mean((y - model.predict(X)) ** 2))}, separators=(",", ":")))


main()
