"""OpenDP: nanoseconds to compose one more Laplace release of one number, after so many: opendp_round.py START HOW.

`compose` hands a measurement to the odometer of make_fully_adaptive_composition, which draws its noise too;
`epsilon` also asks the odometer for the privacy loss so far.
"""

import statistics
import sys
import time

import opendp.prelude as dp

dp.enable_features("contrib")
start, how = int(sys.argv[1]), sys.argv[2]
space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
compositor = dp.c.make_fully_adaptive_composition(*space, dp.max_divergence())
release = dp.m.make_laplace(*space, scale=100.0)


def seconds_of_rounds():
    """A new odometer, since its cost grows with its rounds: after `start` of them, at most a hundredth more."""
    odometer = compositor(0.0)
    for _ in range(start):
        odometer(release)
    for _ in range(max(1, min(20, start // 100))):
        begin = time.perf_counter()
        odometer(release)
        if how == "epsilon":
            odometer.privacy_loss(1.0)
        yield time.perf_counter() - begin


times = [seconds for _ in range(max(1, 4000 // start)) for seconds in seconds_of_rounds()]
print(1e9 * statistics.median(times))
