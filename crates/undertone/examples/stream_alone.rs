//! A private learner on a stream, without a network: records go in, and a model that may be
//! published comes out.
//!
//! `cargo run -p undertone --example stream_alone`

#![expect(clippy::print_stdout, reason = "an example")]

use undertone::LearnerBuilder;
use undertone::models::Prediction;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Two features, two classes, ε = 2 at δ = 10⁻⁶ for ever, however many records arrive.
    let mut learner = LearnerBuilder::new(2, 2.0, 1e-6).classes(2).build()?;
    for k in 0..20_000u32 {
        let (age, hours) = (f64::from(k % 101) / 101.0, f64::from(k % 37) / 37.0);
        let label = f64::from(u8::from(age + 0.5 * hours > 0.7));
        learner.learn(&[age, hours], label)?;
    }
    for features in [[0.1, 0.1], [0.9, 0.9]] {
        if let Prediction::Class { class, .. } = learner.predict(&features)? {
            println!("{features:?}: class {class}");
        }
    }
    println!("public model: {} parameters", learner.public_model().values().len());
    println!("{}", learner.statement().join("\n"));
    Ok(())
}
