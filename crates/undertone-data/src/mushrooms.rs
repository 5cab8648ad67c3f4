//! The built-in data set: mushrooms of the UCI repository, edible or poisonous.
//!
//! 8124 records of 22 categorical attributes, as the 112 binary features of the LIBSVM version.
//! UCI Machine Learning Repository, doi 10.24432/C5959T, CC BY 4.0; see `data/README.md`.

use std::fmt::Write;
use std::io::Read;

use flate2::read::GzDecoder;
use undertone_models::{Features, Record};

use super::Dataset;

static COMPRESSED: &[u8] = include_bytes!("../data/agaricus-lepiota.data.gz");

/// The number of features.
pub const DIMENSION: usize = 112;

/// The attributes in column order, each with its categories in the order of the LIBSVM version,
/// which leaves out stalk-root and every category that never occurs.
const ATTRIBUTES: [(&str, &str); 22] = [
    ("cap-shape", "cbfksx"),
    ("cap-surface", "ysgf"),
    ("cap-color", "cbegnpruwy"),
    ("bruises", "tf"),
    ("odor", "acfmlnpsy"),
    ("gill-attachment", "af"),
    ("gill-spacing", "cw"),
    ("gill-size", "bn"),
    ("gill-color", "beghkonpruwy"),
    ("stalk-shape", "et"),
    ("stalk-root", ""),
    ("stalk-surface-above-ring", "yskf"),
    ("stalk-surface-below-ring", "yskf"),
    ("stalk-color-above-ring", "cbegonpwy"),
    ("stalk-color-below-ring", "cbegonpwy"),
    ("veil-type", "p"),
    ("veil-color", "yown"),
    ("ring-number", "ton"),
    ("ring-type", "pnelf"),
    ("spore-print-color", "bhkonruwy"),
    ("population", "acnsvy"),
    ("habitat", "dgmlpuw"),
];

/// The mushrooms in file order, with classes 0 (edible) and 1 (poisonous).
#[must_use]
pub fn dataset() -> Dataset {
    let record = |(poisonous, indices): (bool, Vec<u32>)| {
        Record::new(
            Features::Sparse {
                dimension: DIMENSION as u32,
                values: vec![1.0; indices.len()].into(),
                indices: indices.into(),
            },
            f64::from(u8::from(poisonous)),
        )
    };
    let names = ATTRIBUTES.iter().flat_map(|(attribute, categories)| {
        categories.chars().map(move |category| format!("{attribute}={category}"))
    });
    let mut one_hot = Vec::with_capacity(ATTRIBUTES.len());
    let mut first = 0;
    for (_, categories) in ATTRIBUTES {
        one_hot.push(first..first + categories.len());
        first += categories.len();
    }
    Dataset {
        name: "mushrooms".to_string(),
        dimension: DIMENSION,
        image_shape: None,
        classes: Some(vec!["edible".to_string(), "poisonous".to_string()]),
        records: rows(&original_text()).map(record).collect(),
        feature_names: names.collect(),
        one_hot,
    }
}

/// The text of the LIBSVM version, byte for byte: label 1 is poisonous, 2 edible.
#[must_use]
pub fn libsvm_text() -> String {
    let mut text = String::new();
    for (poisonous, indices) in rows(&original_text()) {
        text.push_str(if poisonous { "1 " } else { "2 " });
        for index in indices {
            write!(text, "{}:1 ", index + 1).expect("writing to a String cannot fail");
        }
        text.push('\n');
    }
    text
}

fn original_text() -> String {
    let mut text = String::new();
    GzDecoder::new(COMPRESSED)
        .read_to_string(&mut text)
        .expect("a test checks the hash of the built-in file");
    text
}

/// Whether each mushroom is poisonous, and the indices of its features, from 0.
fn rows(text: &str) -> impl Iterator<Item = (bool, Vec<u32>)> + '_ {
    text.lines().map(|line| {
        let mut values = line.split(',');
        let poisonous = values.next() == Some("p");
        let mut first = 0;
        let mut indices = Vec::with_capacity(ATTRIBUTES.len());
        for (value, (_, categories)) in values.zip(ATTRIBUTES) {
            indices.extend(categories.find(value).map(|offset| first + offset as u32));
            first += categories.len() as u32;
        }
        (poisonous, indices)
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use sha2::{Digest, Sha256};

    use super::super::{LoadOptions, Task, libsvm};
    use super::*;

    fn sha256(text: &str) -> String {
        Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn both_texts_are_the_published_ones_byte_for_byte() {
        assert_eq!(
            sha256(&original_text()),
            "e65d082030501a3ebcbcd7c9f7c71aa9d28fdfff463bf4cf4716a3fe13ac360e"
        );
        assert_eq!(
            sha256(&libsvm_text()),
            "f39a4eb628dc61a7d43760815b061c9e497aa728ce1ad8bde57a09ef6043b538"
        );
    }

    #[test]
    fn the_dataset_agrees_with_the_libsvm_text_but_for_the_class_order() {
        let dataset = dataset();
        let options = LoadOptions::new(Task::Classification);
        let text = libsvm_text();
        let loaded = libsvm::load(text.as_bytes(), Path::new("mushrooms"), &options).unwrap();
        assert_eq!(dataset.records.len(), 8124);
        assert_eq!((dataset.dimension, loaded.dimension), (112, 112));
        assert_eq!(dataset.feature_names.len(), 112);
        for (own, read) in dataset.records.iter().zip(&loaded.records) {
            assert!(own.features == read.features);
            // There class 0 is label 1, poisonous.
            assert!((own.label + read.label - 1.0).abs() < 1e-12);
        }
        let poisonous: f64 = dataset.labels().iter().sum();
        assert!((poisonous - 3916.0).abs() < 1e-9);
    }

    #[test]
    fn features_carry_the_names_of_attribute_and_category() {
        let dataset = dataset();
        // The first mushroom is poisonous and smells pungent; the second edible, of almond.
        for (record, odor) in [(0, "odor=p"), (1, "odor=a")] {
            let names = dataset.records[record].features.entries();
            let names: Vec<&str> =
                names.map(|(index, _)| dataset.feature_names[index].as_str()).collect();
            assert_eq!(names.len(), 21);
            assert!(names.contains(&odor), "{names:?}");
        }
        assert_eq!(dataset.classes.unwrap()[1], "poisonous");
    }
}
