"""CPU seconds of xgboost's exact greedy trees of the paper's size on one thread: xgboost_peer.py MATRIX ROUNDS"""
import csv
import os
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"
import numpy
import xgboost

with open(sys.argv[1], encoding="utf-8") as file:
    header, *rows = list(csv.reader(file))
print(f"xgboost {xgboost.__version__}, `tree_method=exact`, one thread, CPU seconds:")
print()
for application in ("hpccg", "add-1"):
    column = header.index(application)
    used = [row for row in rows if row[column]]
    X = numpy.array([[float(value) for value in row[1:44]] for row in used])
    y = numpy.array([float(row[column]) for row in used])
    seconds = []
    for _ in range(int(sys.argv[2])):
        start = time.process_time()
        xgboost.XGBRegressor(n_estimators=1000, max_depth=4, learning_rate=.01, tree_method="exact", n_jobs=1).fit(X, y)
        seconds.append(time.process_time() - start)
    print(f"- {application}, {len(used)} x 43: median {sorted(seconds)[len(seconds) // 2]:.3f}; every sample:",
          " ".join(f"{s:.3f}" for s in seconds))
