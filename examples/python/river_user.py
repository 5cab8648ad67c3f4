"""For people who know River: a stream, one record at a time, with a privacy guarantee.

    pip install ./crates/undertone-py river && python examples/python/river_user.py
"""

# %% A stream: 1 250 web pages, phishing or not, nine features in [0, 1].
from river import datasets, evaluate, linear_model, metrics

from undertone import BudgetError, Learner, format_epsilon
from undertone.river import PrivateClassifier

pages = datasets.Phishing()
names = list(next(iter(pages))[0])

# %% What River does, with no privacy at all. (Phishing's features are scaled already.)
river = evaluate.progressive_val_score(pages, linear_model.LogisticRegression(), metrics.Accuracy())
print(f"River, no privacy:      {river.get():.3f}")

# %% The same loop with a private learner. ε and δ have no defaults: they are a decision. Features are named
# beforehand, because their number is public, and so is the bound on a record's norm.
learner = Learner(
    names, classes=[False, True], epsilon=8.0, delta=1e-5, feature_norm=3.0, batch=8, window=8
)
accuracy = metrics.Accuracy()
for x, y in pages:
    accuracy.update(y, learner.predict_one(x))
    learner.learn_one(x, y)
print(f"private, ε = 8 for ever: {accuracy.get():.3f}")
print(f"spent so far: ε = {format_epsilon(learner.get_epsilon())} after {learner.records} records")

# %% The bound holds however long the stream is: each record is used in eight steps and then forgotten.
for sentence in learner.privacy_statement:
    print(" -", sentence)

# %% Predictions of the learner are for its owner. The public model may be published.
model = learner.public_model
print(f"public model on all pages: {sum(model.predict_one(x) == y for x, y in pages) / 1250:.3f}")
model.save("phishing.safetensors")

# %% River's own evaluation takes `undertone.river.PrivateClassifier`, and so do its pipelines.
private = PrivateClassifier(
    features=names, classes=[False, True], epsilon=8.0, delta=1e-5, feature_norm=3.0, batch=8
)
print(evaluate.progressive_val_score(pages, private, metrics.Accuracy()))

# %% A budget can also be for a number of steps. Learning stops when it is spent.
short = Learner(names, classes=[False, True], epsilon=1.0, delta=1e-5, feature_norm=3.0, batch=32, rounds=10)
try:
    for x, y in pages:
        short.learn_one(x, y)
except BudgetError as error:
    print("stopped:", error)
assert short.get_epsilon() <= 1.0
