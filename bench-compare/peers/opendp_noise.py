"""OpenDP: exact Laplace noise on a vector of floats, samples a second: opendp_noise.py COUNT [K], on a grid of 2^K or its own."""

import sys

import opendp.prelude as dp
from measure import rate

dp.enable_features("contrib")
count = int(sys.argv[1])
grid = int(sys.argv[2]) if len(sys.argv) > 2 else None
space = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=count), dp.l1_distance(T=float)
laplace = dp.m.make_laplace(*space, scale=0.731234567, k=grid)
values = [0.37 * (k % 17) for k in range(count)]
print(rate(count, lambda: laplace(values)))
