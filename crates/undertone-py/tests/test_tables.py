"""Frames, tables and arrays of any kind give the same records."""

import numpy as np
import pandas
import pyarrow
import pytest

from undertone import Learner, Network, RecordError

NAMES = ["a", "b", "c"]


def values(X, y, classes=("no", "yes")):
    one = Learner(NAMES, classes=list(classes), epsilon=4.0, delta=1e-6, batch=8, seed=2)
    one.learn_many(X, y)
    return one.public_model.values.tobytes()


def test_all_kinds_of_tables_are_the_same(stream):
    X, y = stream
    expected = values(X, y)
    frame = pandas.DataFrame(X, columns=NAMES)
    frame.insert(0, "other", "text")
    assert values(frame[["c", "other", "b", "a"]], pandas.Series(y, index=frame.index + 5)) == expected
    assert values(pyarrow.Table.from_pandas(frame), pyarrow.array(y.tolist())) == expected
    assert values(X.tolist(), y.tolist()) == expected
    assert values(np.asfortranarray(X), y) == expected
    assert values(X[::-1], y) != expected, "the control"


@pytest.mark.parametrize("classes", [(0, 1), (False, True), (1.0, 3.0), (2, 1)])
def test_classes_may_be_of_any_kind(stream, classes):
    X, y = stream
    labels = np.where(y == "yes", classes[1], classes[0])
    assert values(X, labels, classes) == values(X, y)
    assert values(X, [label.item() for label in labels], classes) == values(X, y)
    with pytest.raises(RecordError, match="none of the classes"):
        values(X, np.where(y == "yes", 7, classes[0]), classes)


def test_a_missing_column_and_a_text_column_are_named(stream):
    X, y = stream
    frame = pandas.DataFrame(X, columns=NAMES)
    with pytest.raises(RecordError, match="'b'"):
        values(frame.drop(columns="b"), y)
    frame["c"] = "hidden"
    with pytest.raises(RecordError, match="'c'") as caught:
        values(frame, y)
    assert "hidden" not in str(caught.value)


def test_a_network_takes_every_kind_of_source(stream):
    X, y = stream
    parts = [(X[k::4], y[k::4]) for k in range(4)]
    frame = pandas.DataFrame(parts[1][0], columns=NAMES).assign(label=parts[1][1])
    table = pyarrow.Table.from_pandas(pandas.DataFrame(parts[2][0], columns=NAMES).assign(label=parts[2][1]))
    pairs = ((dict(zip(NAMES, row)), label) for row, label in zip(*parts[3]))
    options = dict(classes=["no", "yes"], epsilon=4.0, delta=1e-6, features=NAMES, label="label", batch=8, seed=1)
    mixed = Network([parts[0], frame, table, pairs], **options).run(20, progress=False)
    plain = Network(parts, **options).run(20, progress=False)
    assert mixed.public_model.values.tobytes() == plain.public_model.values.tobytes()
