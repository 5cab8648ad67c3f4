"""dp-accounting: nanoseconds of one more round of a Gaussian mechanism, after so many: dp_accounting_round.py START HOW.

`compose` adds it to the account, and `epsilon` also reads ε at δ = 1e-6.
"""

import sys

import dp_accounting
from dp_accounting.rdp import RdpAccountant
from measure import rate

start, how = int(sys.argv[1]), sys.argv[2]
account = RdpAccountant()
event = dp_accounting.GaussianDpEvent(100.0)
account.compose(event, start)


def round_():
    account.compose(event)
    if how == "epsilon":
        account.get_epsilon(1e-6)


print(1e9 / rate(1, round_))
