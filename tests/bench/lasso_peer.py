"""lasso_peer.py FILE BENCH_LASSO: scikit-learn's LassoCV and ours on the rows of bench_cost, as a Markdown row; tests/evidence/cost_lasso.sh says
what is in it."""
import signal
import subprocess
import sys
import tempfile
import time
import warnings

import numpy
from sklearn.linear_model import Lasso, LassoCV

SUMS = 1e-2  # a column of whose deviation less is left beside those before it leaves: with more the minimum is hardly unique, and descent endless
TOLERANCES, LIMIT = (1e-11, 1e-13, 1e-15), 90  # of LassoCV, until it is an oracle; seconds of one
ORACLE = 1e-11

warnings.simplefilter("ignore")  # they do not converge


def independent(X):
    """Numbers of the columns that are no sum of those before them."""
    kept, basis = [], numpy.empty((len(X), 0))
    for j in range(X.shape[1]):
        left = X[:, j].copy()
        for _ in range(2):
            left -= basis @ (basis.T @ left)
        size = numpy.linalg.norm(left)
        if basis.shape[1] < len(X) // 2 and size > SUMS * numpy.sqrt(len(X)):
            kept.append(j)
            basis = numpy.column_stack((basis, left / size))
    return kept


def fitted(model, X, y):
    """The model, and the processor time that it took; None: it took too long."""
    def late(*_):
        raise TimeoutError
    signal.signal(signal.SIGALRM, late)
    signal.alarm(LIMIT)
    began = time.process_time()
    try:
        model.fit(X, y)
    except TimeoutError:
        return None, LIMIT
    finally:
        signal.alarm(0)
    return model, time.process_time() - began


def off(X, y, beta, lam):
    """How far the conditions of Karush, Kuhn and Tucker are from met, in deviations of y."""
    pull = X.T @ (y - y.mean() - X @ beta) / len(y)
    return numpy.where(beta != 0, numpy.abs(pull - lam * numpy.sign(beta)), numpy.maximum(0, numpy.abs(pull) - lam)).max() / y.std()


def ours(path):
    said = [subprocess.run([sys.argv[2], path], capture_output=True, text=True, check=True).stdout.split() for _ in range(5)]
    return min(float(run[0]) for run in said), float(said[0][1]), int(said[0][2]), numpy.array([float(x) for x in said[0][3:]])


def main():
    table = numpy.loadtxt(sys.argv[1], delimiter="\t", skiprows=1)
    y, X = table[:, 0], table[:, 1:]
    X = (X - X.mean(axis=0)) / numpy.where(X.std(axis=0) > 0, X.std(axis=0), 1)
    all_columns, X = X.shape[1], X[:, independent(X)]
    with tempfile.NamedTemporaryFile("w", suffix=".rows") as out:
        numpy.savetxt(out, numpy.column_stack((y, X)), delimiter="\t", header="\t".join(["cost"] + ["c"] * X.shape[1]), comments="", fmt="%.17g")
        out.flush()
        seconds, lam, at, beta = ours(out.name)
    usual = min((fitted(LassoCV(cv=5), X, y) for _ in range(3)), key=lambda x: x[1])
    for tolerance in TOLERANCES:
        peer, lasted = fitted(LassoCV(cv=5, tol=tolerance, max_iter=10**7), X, y)
        if not peer or off(X, y, peer.coef_, peer.alpha_) < ORACLE:
            break
    exact, _ = fitted(Lasso(alpha=lam, tol=1e-15, max_iter=10**7), X, y)
    if not peer:
        oracle = [f"over {LIMIT}", f"over {LIMIT / seconds:.0f}", "", "", ""]
    else:
        same = abs(peer.alpha_ / lam - 1) < 1e-9
        oracle = [f"{lasted:.2f}", f"{lasted / seconds:.0f}", f"{int(numpy.argmin(numpy.abs(peer.alphas_ - peer.alpha_)))}",
                  f"{off(X, y, peer.coef_, peer.alpha_):.0e}", f"{numpy.abs(beta - peer.coef_).max() / numpy.abs(beta).max():.0e}" if same else "other lambda"]
    one = [f"{off(X, y, exact.coef_, lam):.0e}", f"{numpy.abs(beta - exact.coef_).max() / numpy.abs(beta).max():.0e}",
           f"{numpy.abs(X @ (beta - exact.coef_)).max() / y.std():.0e}"] if exact else ["", "", ""]
    print("|", " | ".join([f"{len(y)} x {all_columns}", f"{X.shape[1]}", f"{seconds:.4f}", f"{usual[1]:.3f}", f"{usual[1] / seconds:.1f}",
                           f"{off(X, y, usual[0].coef_, usual[0].alpha_):.0e}", *oracle[:2], f"{at}, {oracle[2]}", f"{off(X, y, beta, lam):.0e}", *oracle[3:], *one]), "|")


main()
