//! Folders of images in whole runs, and where they are looked for.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use undertone::load::{Source, Strictness};
use undertone::neural::Shape;
use undertone_lab::compare::store::Store;
use undertone_lab::experiment::{LoadedExperiment, RawExperiment, load_file, resolved};
use undertone_lab::{ExperimentError, FileError, Measuring, Outcome, RunEntropy, simulate, stream};

/// How many images there are of each class.
const IMAGES: u32 = 60;

const CONFIG: &str = r#"
name = "images"
rounds = 6
method = "shielded"
[network]
learners = 3
topology = "complete"
weight = 0.3
[data]
source = "images"
partition = "iid"
test_fraction = 0.2
[records]
warmup = 20
batch = 2
[bounds]
feature_norm = 10.0
out_of_bounds = "refuse"
[model]
loss = "cnn"
input = { channels = 1, height = 6, width = 8 }
classes = 2
layers = [
    { kind = "conv", channels = 2, kernel = 3 },
    { kind = "relu" },
    { kind = "max-pool", size = 2 },
    { kind = "dense", outputs = 2 },
]
clip = 1.0
[memory]
kind = "exact"
[parameters]
set = "ball"
radius = 100.0
[schedule]
step = 4.0
step_exponent = 0.0
coupling = 1.0
coupling_exponent = 0.0
interval = 1
[noise]
kind = "gaussian"
exponent = 0.0
scale = 1e-3
[privacy]
delta = 1e-5
"#;

/// A grey image whose left or right half is bright, and the rest noise.
fn image(bright_left: bool, number: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, 8, 6);
    encoder.set_color(png::ColorType::Grayscale);
    let pixels: Vec<u8> = (0..48u32)
        .map(|index| {
            let noise = (number * 48 + index).wrapping_mul(2_654_435_761) >> 26;
            let bright = (index % 8 < 4) == bright_left;
            u8::try_from(noise).unwrap() + if bright { 180 } else { 0 }
        })
        .collect();
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&pixels).unwrap();
    writer.finish().unwrap();
    bytes
}

/// Writes a config and its images.
fn write_images(folder: &Path) {
    for class in ["left", "right"] {
        let class_folder = folder.join("images").join(class);
        fs::create_dir_all(&class_folder).unwrap();
        for number in 0..IMAGES {
            let bytes = image(class == "left", number);
            fs::write(class_folder.join(format!("{number}.png")), bytes).unwrap();
        }
    }
    fs::write(folder.join("images.toml"), CONFIG).unwrap();
}

fn loaded(folder: &Path, change: impl FnOnce(&mut RawExperiment)) -> LoadedExperiment {
    undertone::load(&Source::File(folder.join("images.toml")), change, Strictness::Run).unwrap()
}

fn run(loaded: &LoadedExperiment) -> Outcome {
    let setup = loaded.checked.setup().unwrap();
    let streams = stream::load(&loaded.checked, &loaded.folder, 1).unwrap();
    assert_eq!(streams.classes.as_deref().unwrap(), ["left", "right"]);
    assert_eq!((streams.name.as_str(), streams.test.len()), ("images", 24));
    let go = |_: Option<&_>| ControlFlow::Continue(());
    let (rounds, entropy) = (loaded.checked.rounds, RunEntropy::new(Some(1)));
    simulate(&setup, rounds, streams, entropy, Measuring::Evenly(3), go).unwrap()
}

fn refused(folder: &Path, change: impl FnOnce(&mut RawExperiment)) -> String {
    let loaded = loaded(folder, change);
    stream::load(&loaded.checked, &loaded.folder, 1).unwrap_err().to_string()
}

/// An `mlp`, which takes an image as a vector of 48 features.
fn mlp(raw: &mut RawExperiment) {
    raw.agreement.model.loss = Some("mlp".into());
    raw.agreement.model.input = None;
    raw.agreement.model.layers = None;
    raw.agreement.model.features = Some(48.into());
    raw.agreement.model.hidden = Some(vec![4]);
}

/// A linear model of the same features.
fn softmax(raw: &mut RawExperiment) {
    mlp(raw);
    raw.agreement.model.loss = Some("softmax".into());
    raw.agreement.model.hidden = None;
}

#[test]
fn networks_and_linear_models_learn_from_a_folder_of_images() {
    let folder = tempfile::tempdir().unwrap();
    write_images(folder.path());
    for change in [|_: &mut RawExperiment| (), mlp, softmax] {
        let loaded = loaded(folder.path(), change);
        let outcome = run(&loaded);
        let accuracy = outcome.rows.last().unwrap().metrics.test_accuracy_public.unwrap();
        assert!(accuracy > 0.9, "{:?}: {accuracy}", loaded.raw.agreement.model.loss);
    }
}

#[test]
fn the_config_as_it_was_run_finds_the_folder_from_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    write_images(folder.path());
    let loaded = loaded(folder.path(), |_| ());
    let first = run(&loaded);
    let scales = loaded.checked.setup().unwrap().scales();
    let elsewhere = tempfile::tempdir().unwrap();
    let path = elsewhere.path().join("config.toml");
    fs::write(&path, toml::to_string(&resolved(&loaded, &scales)).unwrap()).unwrap();
    let again = run(&load_file(&path, &Default::default()).unwrap());
    assert_eq!(first.public.values(), again.public.values());
}

#[test]
fn images_of_another_shape_than_the_networks_input_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    write_images(folder.path());
    // As many values, but not the same image.
    let turned = Shape { channels: 1, height: 8, width: 6 };
    let text = refused(folder.path(), |raw| raw.agreement.model.input = Some(turned));
    let expected = "model.input is 1×8×6: the images are 1×6×8 (channels × height × width)";
    assert_eq!(text, expected);
    let colour = Shape { channels: 3, height: 6, width: 8 };
    let text = refused(folder.path(), |raw| raw.agreement.model.input = Some(colour));
    assert!(text.contains("model.input is 3×6×8"), "{text}");
    let text = refused(folder.path(), |raw| {
        mlp(raw);
        raw.agreement.model.features = Some(47.into());
    });
    assert!(text.contains("model.features = 47: the data have 48 features"), "{text}");
    let text = refused(folder.path(), |raw| {
        softmax(raw);
        raw.agreement.model.classes = Some(3);
    });
    assert!(text.contains("needs 3 classes, but the data have 2"), "{text}");
}

#[test]
fn keys_about_columns_have_no_meaning_with_images() {
    let folder = tempfile::tempdir().unwrap();
    write_images(folder.path());
    type Change = fn(&mut RawExperiment);
    let cases: [(Change, &str); 3] = [
        (|raw| raw.agreement.records.label = Some("y".into()), "records.label"),
        (|raw| raw.agreement.records.categorical = Some(vec!["x".into()]), "records.categorical"),
        (|raw| raw.agreement.records.drop = Some(vec!["x".into()]), "records.drop"),
    ];
    for (change, key) in cases {
        let text = refused(folder.path(), change);
        assert_eq!(text, format!("{key}: has no meaning with a folder of images; remove it"));
    }
    // The format may be named, and another one is not that of a folder.
    loaded(folder.path(), |raw| raw.data.format = Some("image-folder".into()));
    let text = refused(folder.path(), |raw| raw.data.format = Some("csv".into()));
    assert!(text.contains("images: is a directory, not a file"), "{text}");
    let text = refused(folder.path(), |raw| raw.data.format = Some("images".into()));
    assert!(text.contains("must be one of libsvm, csv, ndjson, parquet, image-folder"), "{text}");
}

#[test]
fn a_folder_with_the_name_of_a_known_set_needs_a_separator() {
    let folder = tempfile::tempdir().unwrap();
    write_images(folder.path());
    fs::rename(folder.path().join("images"), folder.path().join("mushrooms")).unwrap();
    let text = refused(folder.path(), |raw| raw.data.source = Some("mushrooms".into()));
    assert!(text.contains("the data have 112 features"), "{text}");
    let found = loaded(folder.path(), |raw| raw.data.source = Some("./mushrooms".into()));
    let streams = stream::load(&found.checked, &found.folder, 1).unwrap();
    assert_eq!(streams.classes.unwrap(), ["left", "right"]);
}

#[test]
fn a_comparison_is_one_of_the_images_that_were_there() {
    let folder = tempfile::tempdir().unwrap();
    write_images(folder.path());
    let base = loaded(folder.path(), softmax);
    let out = folder.path().join("compare");
    drop(Store::open(&out, &base).unwrap());
    drop(Store::open(&out, &base).unwrap());
    fs::write(folder.path().join("images/left/0.png"), image(true, 1000)).unwrap();
    let other = Store::open(&out, &base);
    assert!(matches!(other, Err(ExperimentError::File(FileError::OtherRuns { .. }))));
}
