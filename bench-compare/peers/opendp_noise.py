"""OpenDP: exact Laplace noise on a vector of floats, samples a second."""

import sys

import opendp.prelude as dp
from measure import rate

dp.enable_features("contrib")
count = int(sys.argv[1])
space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l1_distance(T=float)
laplace = dp.m.make_laplace(*space, scale=0.731234567)
values = [0.37 * (k % 17) for k in range(count)]
print(rate(count, lambda: laplace(values)))
