"""lasso_peer.py FILE BENCH_LASSO: scikit-learn's LassoCV and ours on the rows of bench_cost, as a Markdown row; tests/evidence/cost_lasso.sh says
what is in it."""
import subprocess
import sys
import time
import warnings

import numpy
from sklearn.linear_model import Lasso, LassoCV, LassoLars

warnings.simplefilter("ignore")  # they do not converge
table = numpy.loadtxt(sys.argv[1], delimiter="\t", skiprows=1)
y, X = table[:, 0], table[:, 1:]
X = (X - X.mean(axis=0)) / numpy.where(X.std(axis=0) > 0, X.std(axis=0), 1)


def fitted(model):
    """The model, and the processor time that it took."""
    began = time.process_time()
    model.fit(X, y)
    return model, time.process_time() - began


def off(beta, lam):
    """How far the conditions of Karush, Kuhn and Tucker are from met, in deviations of y."""
    pull = X.T @ (y - y.mean() - X @ beta) / len(y)
    return numpy.where(beta != 0, numpy.abs(pull - lam * numpy.sign(beta)), numpy.maximum(0, numpy.abs(pull) - lam)).max() / y.std()


said = [subprocess.run([sys.argv[2], sys.argv[1]], capture_output=True, text=True, check=True).stdout.split() for _ in range(3)]
ours, lam, at, beta = min(float(run[0]) for run in said), float(said[0][1]), int(said[0][2]), numpy.array([float(x) for x in said[0][3:]])
peers = [fitted(LassoCV(cv=5)) for _ in range(3)]
peer, theirs = peers[0][0], min(seconds for _, seconds in peers)
exact, lasted = fitted(Lasso(alpha=lam, tol=1e-13, max_iter=10**6))
lars, _ = fitted(LassoLars(alpha=lam, max_iter=10**5))
apart = [numpy.abs(beta - other.coef_).max() / numpy.abs(beta).max() for other in (peer, exact, lars)]
chosen = int(numpy.argmin(numpy.abs(peer.alphas_ - peer.alpha_)))
print(f"| {len(y)} x {X.shape[1]} | {ours:.3f} | {theirs:.3f} | {theirs / ours:.1f} | {at}, {chosen} | {off(beta, lam):.0e} | {off(peer.coef_, peer.alpha_):.0e} "
      f"| {apart[0]:.0e} | {lasted:.1f} | {off(exact.coef_, lam):.0e} | {apart[1]:.0e} | {off(lars.coef_, lam):.0e} | {apart[2]:.0e} |")
