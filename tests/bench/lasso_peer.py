"""lasso_peer.py FILE BENCH_LASSO: scikit-learn's LassoCV and ours on the rows of bench_cost, as a Markdown row: rows and columns; seconds of a
processor (least of three) that both took, scikit-learn with the tolerance that it has by itself; by how much our coefficients differ at most from
those of scikit-learn's Lasso at our lambda where its tolerance is so small that it ends exactly, and of LassoCV, in parts of the largest."""
import subprocess
import sys
import time
import warnings

import numpy
from sklearn.linear_model import Lasso, LassoCV

warnings.simplefilter("ignore")  # it does not converge in as many sweeps as it takes by itself
table = numpy.loadtxt(sys.argv[1], delimiter="\t", skiprows=1)
y, X = table[:, 0], table[:, 1:]
X = (X - X.mean(axis=0)) / numpy.where(X.std(axis=0) > 0, X.std(axis=0), 1)
said = [subprocess.run([sys.argv[2], sys.argv[1]], capture_output=True, text=True, check=True).stdout.split() for _ in range(3)]
ours, lam, at, beta = min(float(run[0]) for run in said), float(said[0][1]), int(said[0][2]), numpy.array([float(x) for x in said[0][3:]])
theirs = []
for _ in range(3):
    began = time.process_time()
    peer = LassoCV(cv=5).fit(X, y)
    theirs.append(time.process_time() - began)
began = time.process_time()
exact = Lasso(alpha=lam, tol=1e-13, max_iter=10**6).fit(X, y)
lasted = time.process_time() - began
apart = [numpy.abs(beta - other).max() / numpy.abs(beta).max() for other in (exact.coef_, peer.coef_)]
gap = exact.dual_gap_ / numpy.mean((y - y.mean())**2)
chosen = int(numpy.argmin(numpy.abs(peer.alphas_ - peer.alpha_)))
print(f"| {len(y)} x {X.shape[1]} | {ours:.3f} s | {min(theirs):.3f} s | {min(theirs) / ours:.1f} | {at}, {chosen} | {apart[1]:.1e} | {apart[0]:.1e} "
      f"| {gap:.0e} in {lasted:.1f} s |")
