"""Writes crates/undertone-core/tests/data/gaussian_tails.csv: δ(ε) of Gaussian noise, computed with 80 digits.

    pip install mpmath && python scripts/gaussian_tails.py

The tests of the account compare with these numbers. Nothing of the Rust code is used here.
"""

from pathlib import Path

from mpmath import erfc, exp, findroot, log, mp, mpf, nstr, sqrt

mp.dps = 80
FILE = Path(__file__).parent.parent / "crates/undertone-core/tests/data/gaussian_tails.csv"
MUS = ["1e-6", "1e-4", "0.003", "0.05", "0.3", "0.9", "0.999", "1", "1.001", "1.3", "2", "3.5", "7", "15", "40", "120", "3000"]
LOG10_DELTAS = [-0.1, -0.5, -1, -2, -3, -5, -6, -9, -12, -20, -60, -200]


def tail(x):
    """1 − Φ(x)."""
    return erfc(x / sqrt(mpf(2))) / 2


def delta_of(epsilon, mu):
    """δ(ε) = Φ(−ε/μ + μ/2) − e^ε Φ(−ε/μ − μ/2)."""
    return tail(epsilon / mu - mu / 2) - exp(epsilon) * tail(epsilon / mu + mu / 2)


def epsilon_of(mu, delta):
    """The ε with δ(ε) = δ, or 0 where δ(0) is below already."""
    if delta_of(mpf(0), mu) <= delta:
        return mpf(0)
    low, high = mpf(0), mu * mu / 2 + mu * sqrt(2 * log(1 / delta))
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of(middle, mu) > delta else (low, middle)
    return findroot(lambda e: log(delta_of(e, mu)) - log(delta), (low, high), solver="anderson", tol=1e-60)


def main():
    rows = ["mu,delta,epsilon,delta_at_half_epsilon"]
    for text in MUS:
        # Both are read as f64 by the tests, so they are the f64 here too.
        mu = mpf(float(text))
        for power in LOG10_DELTAS:
            delta_float = 10.0**power
            epsilon = epsilon_of(mu, mpf(delta_float))
            # At an ε that is an f64, so that δ there can be compared.
            half = mpf(float(epsilon / 2))
            digits = 60
            rows.append(f"{text},{delta_float!r},{nstr(epsilon, digits)},{nstr(delta_of(half, mu), digits)}")
    FILE.write_text("\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
