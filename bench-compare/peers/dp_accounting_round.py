"""dp-accounting: nanoseconds to compose one more round and read ε, after so many rounds."""

import sys

import dp_accounting
from dp_accounting.rdp import RdpAccountant
from measure import rate

start = int(sys.argv[1])
account = RdpAccountant()
event = dp_accounting.GaussianDpEvent(100.0)
account.compose(event, start)


def round_():
    account.compose(event)
    account.get_epsilon(1e-6)


print(1e9 / rate(1, round_))
