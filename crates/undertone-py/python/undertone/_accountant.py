"""The account of one learner, without learning: what its releases cost."""

from __future__ import annotations

from typing import Any, Sequence

from . import _undertone
from ._settings import make_config
from ._undertone import Config

__all__ = ["Accountant"]


class Accountant(_undertone.Accountant):
    """Follows the privacy of a learner round by round: in zCDP, in pure ε, and as ε at any δ.

    Takes a :class:`Config`, a preset's name, a file's path or a dict, or else the keywords of
    :class:`Learner`. A round takes O(1) time in the account, however many rounds came before.

    >>> from undertone import Accountant, BudgetError
    >>> account = Accountant("mushrooms")
    >>> account.step(100)
    >>> account.get_epsilon(delta=1e-6) < account.lifetime_epsilon(delta=1e-6) <= 8.0
    True
    >>> account.would_exceed(1000), round(account.remaining(), 1) > 0
    (False, True)
    """

    def __new__(
        cls, config: Any = None, *, learner: int = 0, features: int | Sequence[str] | None = None, **options: Any
    ) -> "Accountant":
        if config is None:
            if features is None:
                raise TypeError("Accountant needs a config, or features, epsilon and delta")
            config = make_config(features, **options)
        elif features is not None or options:
            raise TypeError("a config has all settings: change it with config.replace")
        return super().__new__(cls, config, learner)

    @staticmethod
    def plan(
        config: Any,
        *,
        target_epsilon: float,
        delta: float,
        rounds: int | None = None,
        tune: bool = False,
        records: int | None = None,
    ) -> Config:
        """The config with the least noise that meets a target for ever, or for `rounds` rounds.

        `undertone.plan` also returns a report.

        >>> from undertone import Accountant
        >>> Accountant.plan("mushrooms", target_epsilon=1.0, delta=1e-6).lifetime_epsilon <= 1.0
        True
        """
        return _undertone.plan(
            config, target_epsilon=target_epsilon, delta=delta, rounds=rounds, tune=tune, records=records
        )[0]
