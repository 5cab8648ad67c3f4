//! A learner that was moved into a file goes on from there, once.

use crate::own_loss::{Square, own_square};
use crate::{FixedEntropy, records};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use undertone::{
    BuildError, LearnerBuilder, LearnerFileError, OnlineError, OnlineLearner, SavedLearner,
};

fn builder() -> LearnerBuilder {
    let builder = LearnerBuilder::new(2, 4.0, 1e-6).label_bound(1.0);
    LearnerBuilder { batch: 4, window: 4, ..builder }
}

fn repeatable(builder: &LearnerBuilder) -> OnlineLearner<FixedEntropy> {
    builder.build_with(FixedEntropy).unwrap()
}

fn restored(builder: &LearnerBuilder, path: &Path) -> OnlineLearner<FixedEntropy> {
    let setup = Arc::new(builder.setup().unwrap());
    SavedLearner::claim(path).unwrap().restore(setup, FixedEntropy).unwrap()
}

fn learn_all(learner: &mut OnlineLearner<FixedEntropy>, records: &[([f64; 2], f64)]) {
    for (features, label) in records {
        learner.learn(features, *label).unwrap();
    }
}

/// The file that the learner is moved into, as bytes: all of its state.
fn bytes(learner: OnlineLearner<FixedEntropy>, path: &Path) -> Vec<u8> {
    learner.save(path).unwrap();
    fs::read(path).unwrap()
}

#[test]
fn a_learner_goes_on_from_its_file_bit_for_bit() {
    let (builder, all) = (builder(), records(150));
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut whole = repeatable(&builder);
    learn_all(&mut whole, &all);
    let whole = bytes(whole, &path("whole"));
    let moved = |first: usize, name: &str| {
        let mut learner = repeatable(&builder);
        learn_all(&mut learner, &all[..first]);
        learner.save(&path("moved")).unwrap();
        let mut learner = restored(&builder, &path("moved"));
        learn_all(&mut learner, &all[77..]);
        bytes(learner, &path(name))
    };
    assert_eq!(moved(77, "second"), whole);
    assert_ne!(moved(76, "third"), whole, "the control: one record less");
}

#[test]
fn a_learner_is_loaded_once() {
    let builder = builder();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("learner");
    let mut learner = builder.build().unwrap();
    learner.learn(&[0.1, 0.2], 0.3).unwrap();
    learner.save(&path).unwrap();
    let loaded = builder.load(&path).unwrap();
    assert_eq!(loaded.waiting(), 1);
    let again = builder.load(&path).unwrap_err();
    assert!(matches!(again, BuildError::File(LearnerFileError::Io { .. })), "{again}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left to load");
}

#[test]
fn a_refused_learner_stays_refused_when_it_is_loaded() {
    let builder = LearnerBuilder { rounds: Some(3), ..builder() };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("learner");
    let mut learner = repeatable(&builder);
    let refused = records(100).iter().find_map(|(x, y)| learner.learn(x, *y).err()).unwrap();
    assert!(matches!(refused, OnlineError::Budget(_)), "{refused}");
    let refusal = learner.refusal();
    learner.save(&path).unwrap();
    let mut again = restored(&builder, &path);
    assert_eq!(again.refusal(), refusal);
    assert!(matches!(again.learn(&[0.1, 0.2], 0.3), Err(OnlineError::Budget(_))));
}

#[test]
fn a_file_of_other_settings_is_refused_and_left_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("learner");
    builder().build().unwrap().save(&path).unwrap();
    for other in [
        LearnerBuilder { feature_norm: 2.0, ..builder() },
        LearnerBuilder { epsilon: 8.0, ..builder() },
        LearnerBuilder { radius: 19.0, ..builder() },
    ] {
        let refused = other.load(&path).unwrap_err();
        let expected = matches!(refused, BuildError::File(LearnerFileError::OtherNetwork { .. }));
        assert!(expected, "{refused}");
        assert!(path.exists());
    }
    builder().load(&path).unwrap();
}

#[test]
fn a_learner_that_cannot_be_saved_is_given_back() {
    let builder = builder();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("learner");
    fs::write(&path, b"something else").unwrap();
    let refused = repeatable(&builder).save(&path).unwrap_err();
    assert!(matches!(refused.error, LearnerFileError::Exists { .. }), "{refused}");
    let mut learner = refused.learner.unwrap();
    learn_all(&mut learner, &records(40));
    assert_eq!(fs::read(&path).unwrap(), b"something else");
}

/// What was computed before and after a failure has not the sensitivity that is charged: it is never released.
#[test]
fn a_learner_whose_loss_failed_cannot_be_saved() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("learner");
    let failing = own_square(1.0, None, None, Some(Square { fails_at: 0.3, ..Square::HONEST }));
    let mut learner = OnlineLearner::new(Arc::new(failing), FixedEntropy).unwrap();
    let failed = records(1000).iter().find_map(|(x, y)| learner.learn(x, *y).err()).unwrap();
    assert!(matches!(failed, OnlineError::Function(_)), "{failed}");
    let refused = learner.save(&path).unwrap_err();
    let expected = LearnerFileError::Learner(failed).to_string();
    assert_eq!(refused.to_string(), expected);
    assert!(!path.exists());
}
