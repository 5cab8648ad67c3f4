"""p2pfl: seconds a round of five nodes in a ring, a model of 13 000 parameters, a step that sleeps.

    p2pfl_ring.py memory|grpc default|fast

`fast` are the settings that the package itself has for simulations, with shorter waits between gossips.
"""

import os
import sys
import tempfile
import time

os.environ["RAY_AUTH_MODE"] = "disabled"

import numpy as np
from p2pfl.settings import Settings

# Before other parts are imported, which would start it. Without it a node learns in its own thread, as ours do.
Settings.general.DISABLE_RAY = True
Settings.general.LOG_LEVEL = "ERROR"
Settings.general.LOG_DIR = tempfile.mkdtemp()
Settings.ssl.USE_SSL = False

from datasets import Dataset
from p2pfl.communication.protocols.protobuff.grpc import GrpcCommunicationProtocol
from p2pfl.communication.protocols.protobuff.memory import MemoryCommunicationProtocol
from p2pfl.learning.dataset.p2pfl_dataset import P2PFLDataset
from p2pfl.learning.frameworks.learner import Learner
from p2pfl.learning.frameworks.p2pfl_model import P2PFLModel
from p2pfl.management.logger import logger
from p2pfl.node import Node
from p2pfl.utils.utils import set_standalone_settings

NODES, PARAMETERS, ROUNDS = 5, 13_000, 4
STEP_SECONDS = 0.3


class Vector(P2PFLModel):
    """Parameters that are an array and nothing else."""

    def get_parameters(self):
        return [self.model]

    def set_parameters(self, params):
        if isinstance(params, bytes):
            params, self.additional_info = self.decode_parameters(params)
        self.model = params[0]

    def get_framework(self):
        return "numpy"


class Step(Learner):
    """A step that takes a moment: with none at all, models reach nodes that are still voting, and are lost."""

    def fit(self):
        time.sleep(STEP_SECONDS)
        model = self.get_model()
        model.set_contribution([self.addr], 1)
        return model

    def interrupt_fit(self):
        pass

    def evaluate(self):
        return {}

    def get_framework(self):
        return "numpy"


def node(protocol, place):
    protocols = {"memory": MemoryCommunicationProtocol, "grpc": GrpcCommunicationProtocol}
    table = Dataset.from_dict({"x": [0.0], "y": [0]})
    address = f"127.0.0.1:{47_310 + place}" if protocol == "grpc" else f"node-{place}"
    made = Node(Vector(np.zeros(PARAMETERS)), P2PFLDataset(table), address, learner=Step(), protocol=protocols[protocol]())
    made.start()
    return made


def until(condition, seconds):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"nothing came of it within {seconds} s")
        time.sleep(0.005)
    return time.monotonic()


def main():
    protocol, settings = sys.argv[1:3]
    if settings == "fast":
        set_standalone_settings()
        Settings.general.DISABLE_RAY = True
    logger.set_level("ERROR")
    nodes = [node(protocol, place) for place in range(NODES)]
    for place, one in enumerate(nodes):
        one.connect(nodes[(place + 1) % NODES].addr)
    until(lambda: all(len(one.get_neighbors(only_direct=False)) == NODES - 1 for one in nodes), 60)
    nodes[0].set_start_learning(rounds=ROUNDS, epochs=1, trainset_size=NODES)
    rounds = lambda: [one.state.round for one in nodes]
    # The first round waits for whoever came last; after the last one a node says None.
    begin = until(lambda: all(r is not None and r >= 1 for r in rounds()), 240)
    end = until(lambda: any(r is None or r >= ROUNDS for r in rounds()), 240)
    print((end - begin) / (ROUNDS - 1), flush=True)
    os._exit(0)


main()
