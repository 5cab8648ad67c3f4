"""Private decentralised online learning, with a budget that stays finite for ever.

`Learner` is one learner on its own stream, with the interface of River's models; `undertone.sklearn` has estimators
for scikit-learn. `Network` is several learners in this process, each with its own source. `Accountant` computes what
releases cost, `plan` finds the noise for a target, and `doctor`, `audit` and `verify` check the claims.
"""

from ._accountant import Accountant
from ._learner import Learner
from ._network import Network, Result
from ._settings import make_config
from ._undertone import (
    BudgetError,
    Config,
    ConfigError,
    DeclarationError,
    Loss,
    PublicModel,
    RecordError,
    __version__,
    audit,
    budget,
    doctor,
    format_epsilon,
    get_data,
    plan,
    presets,
    verify,
)

__all__ = [
    "Accountant",
    "BudgetError",
    "Config",
    "ConfigError",
    "DeclarationError",
    "Learner",
    "Loss",
    "Network",
    "PublicModel",
    "RecordError",
    "Result",
    "__version__",
    "audit",
    "budget",
    "doctor",
    "format_epsilon",
    "get_data",
    "make_config",
    "plan",
    "presets",
    "verify",
]
