"""Estimators: scikit-learn's own checks, pipelines, copies."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from undertone.sklearn import PrivateClassifier, PrivateRegressor

#: Checks of scikit-learn that do not apply, and why.
NOT_APPLICABLE = {
    "check_sample_weight_equivalence_on_dense_data": "records have no weights: each counts once",
}


@parametrize_with_checks(
    [
        PrivateClassifier(epsilon=50.0, delta=1e-3, feature_norm=4.0, seed=0),
        PrivateRegressor(epsilon=50.0, delta=1e-3, feature_norm=4.0, label_bound=3.0, seed=0),
    ],
    expected_failed_checks=lambda estimator: NOT_APPLICABLE,
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.fixture
def data():
    X, y = make_classification(3000, 6, n_informative=4, n_redundant=0, class_sep=1.5, random_state=1)
    return X, np.where(y == 1, "ill", "well")


def test_it_works_in_pipelines_and_cross_validation(data):
    X, y = data
    pipeline = make_pipeline(
        FunctionTransformer(np.tanh), PrivateClassifier(epsilon=4.0, delta=1e-6, feature_norm=2.0)
    )
    scores = cross_val_score(pipeline, X, y, cv=3)
    assert scores.mean() > 0.75


def test_fit_spends_its_budget_once(data):
    X, y = data
    classifier = PrivateClassifier(epsilon=2.0, delta=1e-6, feature_norm=4.0).fit(X, y)
    assert 1.9 < classifier.epsilon_spent_ <= 2.0
    assert any("Spent" in sentence for sentence in classifier.privacy_statement_)


def test_fit_states_its_own_epsilon_first_and_labels_what_would_be_spent_for_ever(data):
    X, y = data
    statement = PrivateClassifier(epsilon=4.0, delta=1e-6, feature_norm=4.0).fit(X, y).privacy_statement_
    planned = next(place for place, sentence in enumerate(statement) if sentence.startswith("Planned: ε = 4.0000"))
    for_ever = next(place for place, sentence in enumerate(statement) if sentence.startswith("For ever"))
    assert planned < for_ever
    assert "never more than the cap of ε = 4:" in statement[for_ever]
    assert "if it ran on for ever with the same noise" in statement[for_ever]
    # The control: noise that is chosen for ever has one number.
    stream = PrivateClassifier(epsilon=4.0, delta=1e-6, feature_norm=4.0).partial_fit(X, y, classes=np.unique(y))
    assert not any("Planned" in one or "ran on" in one for one in stream.privacy_statement_)
    assert any(one.startswith("For ever: ε = ") for one in stream.privacy_statement_)


def test_a_stream_after_fit_goes_on_from_what_was_published(data):
    X, y = data
    classifier = PrivateClassifier(epsilon=8.0, delta=1e-6, feature_norm=4.0, step=1e-9).fit(X[:2000], y[:2000])
    fitted = classifier.public_model_.values
    classifier.partial_fit(X[2000:], y[2000:])
    np.testing.assert_allclose(classifier.public_model_.values, fitted, atol=1e-3)
    assert 7.9 < classifier.epsilon_spent_ <= 8.0, "every record has paid once, those of fit too"
    assert any("started from" in sentence for sentence in classifier.privacy_statement_)


def test_errors_do_not_repeat_values():
    with pytest.raises(ValueError, match="not a number") as caught:
        PrivateClassifier(epsilon=1.0, delta=1e-6).fit([["secret-value"], ["b"]], [0, 1])
    assert "secret-value" not in str(caught.value)


def test_a_stream_is_learnt_part_by_part(data):
    X, y = data
    classifier = PrivateClassifier(epsilon=4.0, delta=1e-6, feature_norm=4.0)
    with pytest.raises(ValueError, match="classes"):
        classifier.partial_fit(X[:10], y[:10])
    for start in range(0, len(X), 100):
        classifier.partial_fit(X[start : start + 100], y[start : start + 100], classes=["ill", "well"])
    assert classifier.score(X, y) > 0.75
    assert classifier.epsilon_spent_ <= 4.0
    with pytest.raises(ValueError, match="not among"):
        classifier.partial_fit(X[:1], ["dead"])
    with pytest.raises(ValueError, match="first call"):
        classifier.partial_fit(X[:1], y[:1], classes=["ill", "dead"])


def test_a_copy_predicts_and_learns_no_more(data):
    X, y = data
    classifier = PrivateClassifier(epsilon=4.0, delta=1e-6, feature_norm=4.0)
    classifier.partial_fit(X, y, classes=["ill", "well"])
    copied = pickle.loads(pickle.dumps(classifier))
    assert (copied.predict(X) == classifier.predict(X)).all()
    assert copied.epsilon_spent_ == classifier.epsilon_spent_
    with pytest.raises(RuntimeError, match="twice"):
        copied.partial_fit(X[:1], y[:1])
    pickle.loads(pickle.dumps(copied)).predict(X)
    clone(classifier).fit(X, y)
    copied.fit(X, y)


def test_privacy_numbers_have_no_defaults():
    with pytest.raises(TypeError, match="epsilon"):
        PrivateClassifier()
