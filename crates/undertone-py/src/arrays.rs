//! Converts Python's values to records: rows of a matrix, or one dict or sequence at a time.

use crate::errors::RecordError;
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use undertone_models::{Features, Prediction, Record, Setup};

/// A matrix of float64, as the Python files pass it.
pub(crate) type Matrix<'py> = PyReadonlyArray2<'py, f64>;
/// A vector of float64: labels, or the numbers of classes.
pub(crate) type Vector<'py> = PyReadonlyArray1<'py, f64>;

/// The names of features and classes, and whether an intercept is added.
pub(crate) struct Schema {
    /// Without the intercept.
    pub(crate) features: usize,
    intercept: bool,
    names: Option<Py<PyTuple>>,
    /// The labels of the classes, and the number of each.
    classes: Option<(Py<PyList>, Py<PyDict>)>,
}

impl Schema {
    pub(crate) fn new(
        py: Python<'_>,
        setup: &Setup,
        names: Option<Vec<String>>,
        classes: Option<Bound<'_, PyList>>,
    ) -> PyResult<Schema> {
        let intercept = setup.agreement.records.intercept;
        let features = setup.agreement.record_features() - usize::from(intercept);
        if let Some(names) = names.as_ref().filter(|names| names.len() != features) {
            let found = names.len();
            let text = format!("{found} names of features, and the model takes {features}");
            return Err(PyValueError::new_err(text));
        }
        let names = names.map(|names| PyTuple::new(py, names).map(Bound::unbind)).transpose()?;
        let expected = setup.agreement.model.loss.classes();
        let classes = match (classes, expected) {
            (Some(labels), Some(count)) if labels.len() == count as usize => {
                let numbers = PyDict::new(py);
                for (number, label) in labels.iter().enumerate() {
                    numbers.set_item(label, number)?;
                }
                if numbers.len() != labels.len() {
                    return Err(PyValueError::new_err("classes: one is named twice"));
                }
                Some((labels.unbind(), numbers.unbind()))
            }
            (Some(labels), expected) => {
                let (found, expected) = (labels.len(), expected.unwrap_or(0));
                let text = format!("{found} classes, and the loss has {expected}");
                return Err(PyValueError::new_err(text));
            }
            (None, Some(count)) => {
                let labels = PyList::new(py, 0..count)?;
                return Schema::new(py, setup, None, Some(labels))
                    .map(|schema| Schema { names, ..schema });
            }
            (None, None) => None,
        };
        Ok(Schema { features, intercept, names, classes })
    }

    pub(crate) fn clone_ref(&self, py: Python<'_>) -> Schema {
        Schema {
            features: self.features,
            intercept: self.intercept,
            names: self.names.as_ref().map(|names| names.clone_ref(py)),
            classes: self
                .classes
                .as_ref()
                .map(|(list, dict)| (list.clone_ref(py), dict.clone_ref(py))),
        }
    }

    /// The labels of the classes; none for regression.
    pub(crate) fn labels<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyList>> {
        // A copy: reversing the original list would change predictions.
        self.classes.as_ref().map(|(list, _)| list.bind(py).get_slice(0, usize::MAX >> 1))
    }

    /// The names of the features, if they have any.
    pub(crate) fn names<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyTuple>> {
        self.names.as_ref().map(|names| names.bind(py).clone())
    }

    /// Whether a learner with another schema reads features by the same names in the same order. A model without names can
    /// be read by any.
    pub(crate) fn has_same_names(&self, py: Python<'_>, other: &Schema) -> PyResult<bool> {
        match (self.names(py), other.names(py)) {
            (None, _) => Ok(true),
            (Some(_), None) => Ok(false),
            (Some(own), Some(theirs)) => own.eq(theirs),
        }
    }

    /// Whether another schema has the same classes in the same order.
    pub(crate) fn has_same_classes(&self, py: Python<'_>, other: &Schema) -> PyResult<bool> {
        match (self.labels(py), other.labels(py)) {
            (None, None) => Ok(true),
            (Some(own), Some(theirs)) => own.eq(theirs),
            (Some(_), None) | (None, Some(_)) => Ok(false),
        }
    }

    /// One feature vector: a dict by name, or a sequence of numbers.
    pub(crate) fn features(&self, x: &Bound<'_, PyAny>) -> PyResult<Features> {
        let mut values = Vec::with_capacity(self.features + usize::from(self.intercept));
        if let Ok(row) = x.cast::<PyDict>() {
            self.read_dict(row, &mut values)?;
        } else if let Ok(row) = x.extract::<Vector<'_>>() {
            values.extend(row.as_array());
        } else if x.hasattr("keys")? {
            // Other mappings, such as rows of pandas, are read by name too.
            let row = x.py().get_type::<PyDict>().call1((x,))?;
            self.read_dict(row.cast::<PyDict>()?, &mut values)?;
        } else {
            let row: Vec<f64> = x.extract().map_err(|_| {
                PyTypeError::new_err(
                    "a record's features are a dict by name, or a sequence of numbers",
                )
            })?;
            values.extend(row);
        }
        self.finish(values)
    }

    fn read_dict(&self, row: &Bound<'_, PyDict>, values: &mut Vec<f64>) -> PyResult<()> {
        let py = row.py();
        let mut found = 0;
        match &self.names {
            Some(names) => {
                for name in names.bind(py).iter_borrowed() {
                    values.push(read_entry(row.get_item(name)?, &mut found)?);
                }
            }
            None => {
                for place in 0..self.features {
                    values.push(read_entry(row.get_item(place)?, &mut found)?);
                }
            }
        }
        if found == row.len() {
            return Ok(());
        }
        // The message does not name the feature: in a bag of words the names are the record.
        Err(RecordError::new_err(
            "the record has a feature that is not known; features are fixed when the learner is made",
        ))
    }

    /// The rows of a matrix.
    pub(crate) fn rows(&self, matrix: &Matrix<'_>) -> PyResult<Vec<Features>> {
        let view = matrix.as_array();
        if view.ncols() != self.features {
            return Err(self.wrong_width(view.ncols()));
        }
        view.rows()
            .into_iter()
            .map(|row| {
                let mut values = Vec::with_capacity(self.features + usize::from(self.intercept));
                match row.as_slice() {
                    Some(row) => values.extend_from_slice(row),
                    None => values.extend(row),
                }
                self.finish(values)
            })
            .collect()
    }

    /// The rows of a matrix with their labels, classes by number.
    pub(crate) fn records(
        &self,
        matrix: &Matrix<'_>,
        labels: &Vector<'_>,
    ) -> PyResult<Vec<Record>> {
        let rows = self.rows(matrix)?;
        let labels = labels.as_array();
        if rows.len() != labels.len() {
            let text = format!("{} rows and {} labels", rows.len(), labels.len());
            return Err(PyValueError::new_err(text));
        }
        Ok(rows
            .into_iter()
            .zip(labels)
            .map(|(features, &label)| Record { features, label })
            .collect())
    }

    fn finish(&self, mut values: Vec<f64>) -> PyResult<Features> {
        if values.len() != self.features {
            return Err(self.wrong_width(values.len()));
        }
        values.extend(self.intercept.then_some(1.0));
        Ok(Features::Dense(values.into()))
    }

    fn wrong_width(&self, found: usize) -> PyErr {
        // scikit-learn's estimator checks require these words.
        let expected = self.features;
        RecordError::new_err(format!(
            "X has {found} features, but the learner expects {expected} features"
        ))
    }

    /// A label as the model's number.
    pub(crate) fn label(&self, y: &Bound<'_, PyAny>) -> PyResult<f64> {
        let Some((_, numbers)) = &self.classes else {
            return y.extract().map_err(|_| RecordError::new_err("the label must be a number"));
        };
        match numbers.bind(y.py()).get_item(y)? {
            Some(number) => number.extract(),
            None => Err(RecordError::new_err("the label is none of the classes")),
        }
    }

    /// A prediction, as Python's label.
    pub(crate) fn prediction_to_python<'py>(
        &self,
        py: Python<'py>,
        prediction: &Prediction,
    ) -> PyResult<Bound<'py, PyAny>> {
        match (prediction, &self.classes) {
            (Prediction::Class { class, .. }, Some((labels, _))) => {
                labels.bind(py).get_item(*class)
            }
            (Prediction::Class { class, .. }, None) => Ok(class.into_pyobject(py)?.into_any()),
            (Prediction::Value(value), _) => Ok(value.into_pyobject(py)?.into_any()),
        }
    }

    /// The probability of each class.
    pub(crate) fn probabilities<'py>(
        &self,
        py: Python<'py>,
        prediction: &Prediction,
    ) -> PyResult<Bound<'py, PyDict>> {
        let answer = PyDict::new(py);
        match (prediction, self.labels(py)) {
            (Prediction::Class { probabilities, .. }, Some(labels)) => {
                for (label, probability) in labels.iter().zip(probabilities) {
                    answer.set_item(label, *probability)?;
                }
                Ok(answer)
            }
            (Prediction::Value(_), _) | (Prediction::Class { .. }, None) => {
                Err(PyTypeError::new_err("a regression has no probabilities"))
            }
        }
    }
}

fn read_entry(entry: Option<Bound<'_, PyAny>>, found: &mut usize) -> PyResult<f64> {
    let Some(entry) = entry else { return Ok(0.0) };
    *found += 1;
    entry.extract().map_err(|_| RecordError::new_err("a feature is not a number"))
}
