//! Checking what a budget is about: a record, or a person.

use super::{Faults, RawAgreement, RecordForm};
use crate::method::{Method, Perturbs};
use crate::privacy::Unit;
use crate::{Loss, MemoryKind, ModelSpec};

/// The most records of one person.
const RECORDS_MAX: u64 = 1_000_000;

#[derive(Clone, Copy, PartialEq)]
enum Word {
    Record,
    Person,
}

/// What `[privacy]` and `records.person` say of the unit.
pub(super) fn unit(
    raw: &RawAgreement,
    method: Method,
    form: &RecordForm,
    faults: &mut Faults,
) -> Unit {
    let privacy = &raw.privacy;
    let words = [("record", Word::Record), ("person", Word::Person)];
    let word = privacy.unit.as_deref().unwrap_or("record");
    if faults.word("privacy.unit", Some(word), &words) == Word::Record {
        let only = "privacy.unit = \"person\"";
        faults.unused("records.person", raw.records.person.as_ref(), only);
        faults.unused("privacy.records_per_person", privacy.records_per_person.as_ref(), only);
        faults.unused("privacy.persons_per_round", privacy.persons_per_round.as_ref(), only);
        faults.unused("privacy.persons_warmup", privacy.persons_warmup.as_ref(), only);
        return Unit::Record;
    }
    let groups = method.describe().perturbs == Perturbs::Gradient;
    match (privacy.records_per_person, groups && privacy.persons_per_round.is_some()) {
        (None, true) => grouped(raw, form, faults),
        (Some(records), false) => {
            let only = "method = \"shielded\" and without privacy.records_per_person";
            faults.unused("privacy.persons_per_round", privacy.persons_per_round.as_ref(), only);
            faults.unused("privacy.persons_warmup", privacy.persons_warmup.as_ref(), only);
            if !(1..=RECORDS_MAX).contains(&records) {
                let needed = format!("must be 1 to {RECORDS_MAX}");
                faults.push("privacy.records_per_person", records, needed);
            }
            Unit::LimitedPerson { records: records.clamp(1, RECORDS_MAX) }
        }
        (Some(records), true) => {
            let needed =
                "give either records_per_person, or persons_per_round to cut gradients by person";
            faults.push("privacy.records_per_person", records, needed);
            Unit::LimitedPerson { records: 1 }
        }
        (None, false) => {
            let needed = "how many records of one person are ever used";
            if groups {
                let or = "or give privacy.persons_per_round, how many new persons a round brings by plan";
                faults.missing("privacy.records_per_person", format!("{needed}; {or}"));
            } else {
                let or = "only method = \"shielded\" can use any number";
                faults.missing("privacy.records_per_person", format!("{needed}; {or}"));
            }
            Unit::LimitedPerson { records: 1 }
        }
    }
}

/// The persons that are planned for. A new person comes with a record.
fn grouped(raw: &RawAgreement, form: &RecordForm, faults: &mut Faults) -> Unit {
    let per_round = raw.privacy.persons_per_round.unwrap_or(0);
    let warmup = raw.privacy.persons_warmup.unwrap_or(0);
    for (path, persons, records, name) in [
        ("privacy.persons_per_round", per_round, form.batch, "records.batch"),
        ("privacy.persons_warmup", warmup, form.warmup, "records.warmup"),
    ] {
        if persons > records {
            let needed = format!("must be at most {name} = {records}: a new person has a record");
            faults.push(path, persons, needed);
        }
    }
    if per_round == 0 && warmup == 0 {
        let needed = "must be at least 1 where no new persons are planned for later rounds";
        faults.push("privacy.persons_warmup", warmup, needed);
    }
    Unit::GroupedPerson { warmup: warmup.min(form.warmup), per_round: per_round.min(form.batch) }
}

/// Gradients can be cut by person only where every record is kept, and the gradient of each is of its own.
pub(super) fn check_grouping(
    unit: Unit,
    memory: MemoryKind,
    model: &ModelSpec,
    faults: &mut Faults,
) {
    if !unit.is_grouped() {
        return;
    }
    let instead = "or limit the records of a person with privacy.records_per_person instead of persons_per_round";
    let kind = match memory {
        MemoryKind::Exact | MemoryKind::Window { .. } => None,
        MemoryKind::Moments => Some("moments"),
        MemoryKind::Recursive => Some("recursive"),
        MemoryKind::Polynomial { .. } => Some("polynomial"),
        MemoryKind::Arrival => Some("arrival"),
        MemoryKind::Anchored { .. } => Some("anchored"),
        MemoryKind::Decaying { .. } => Some("decaying"),
    };
    if let Some(kind) = kind {
        let needed = format!("cannot cut gradients by person; use exact or window, {instead}");
        faults.push("memory.kind", format!("\"{kind}\""), needed);
    }
    if let Loss::Neural { .. } = model.loss {
        let needed = format!(
            "gradients of neural networks are cut by record, not by person; use another loss, {instead}"
        );
        faults.push("model.loss", "", needed);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{checked, good};
    use super::super::{Agreement, RawAgreement};
    use super::*;

    fn person(change: impl FnOnce(&mut RawAgreement)) -> RawAgreement {
        let mut raw = good();
        raw.privacy.unit = Some("person".into());
        change(&mut raw);
        raw
    }

    fn grouped(change: impl FnOnce(&mut RawAgreement)) -> RawAgreement {
        person(|raw| {
            raw.method = Some("shielded".into());
            raw.unproven = Some(true);
            (raw.records.batch, raw.records.warmup) = (Some(20), Some(500));
            raw.privacy.persons_per_round = Some(3);
            raw.privacy.persons_warmup = Some(100);
            change(raw);
        })
    }

    fn faults(raw: &RawAgreement) -> Vec<(String, String)> {
        let found = Agreement::unchecked_by_theorems(raw).err().unwrap_or_default();
        found.0.into_iter().map(|fault| (fault.path.clone(), fault.to_string())).collect()
    }

    #[test]
    fn a_record_is_the_unit_unless_a_person_is_asked_for() {
        assert_eq!(checked(&good()).unwrap().unit, Unit::Record);
        let mut raw = good();
        raw.privacy.unit = Some("record".into());
        assert_eq!(checked(&raw).unwrap().unit, Unit::Record);
        let raw = person(|raw| raw.privacy.records_per_person = Some(3));
        let limited = checked(&raw).unwrap();
        assert_eq!(limited.unit, Unit::LimitedPerson { records: 3 });
        let single = checked(&good()).unwrap().constants();
        assert!((limited.constants().gradient_spread / single.gradient_spread - 3.0).abs() < 1e-12);
        let agreement = checked(&grouped(|_| ())).unwrap();
        assert_eq!(agreement.unit, Unit::GroupedPerson { warmup: 100, per_round: 3 });
        let spread = agreement.constants().gradient_spread;
        assert!((spread - 2.0 * single.gradient_norm).abs() < 1e-12);
        let mechanism = agreement.mechanisms(crate::PowerLaw::ZERO, &[1.0; 5])[0];
        assert_eq!((mechanism.warmup, mechanism.batch), (100, 3), "persons, not records");
    }

    #[test]
    fn every_setting_that_makes_no_sense_is_refused_with_what_to_use_instead() {
        type Case = (RawAgreement, &'static str, &'static str);
        let mut of_records = good();
        of_records.records.person = Some("id".into());
        let mut limit_of_records = good();
        limit_of_records.privacy.records_per_person = Some(3);
        let cases: Vec<Case> = vec![
            (of_records, "records.person", "privacy.unit = \"person\""),
            (limit_of_records, "privacy.records_per_person", "privacy.unit = \"person\""),
            (person(|_| ()), "privacy.records_per_person", "only method = \"shielded\""),
            (
                person(|raw| raw.method = Some("shielded".into())),
                "privacy.records_per_person",
                "or give privacy.persons_per_round",
            ),
            (
                person(|raw| {
                    raw.privacy.records_per_person = Some(2);
                    raw.privacy.persons_per_round = Some(1);
                }),
                "privacy.persons_per_round",
                "method = \"shielded\"",
            ),
            (
                person(|raw| raw.privacy.records_per_person = Some(0)),
                "privacy.records_per_person",
                "1 to 1000000",
            ),
            (
                grouped(|raw| raw.privacy.records_per_person = Some(2)),
                "privacy.records_per_person",
                "either",
            ),
            (
                grouped(|raw| raw.privacy.persons_per_round = Some(21)),
                "privacy.persons_per_round",
                "at most records.batch = 20",
            ),
            (
                grouped(|raw| {
                    raw.privacy.persons_per_round = Some(0);
                    raw.privacy.persons_warmup = None;
                }),
                "privacy.persons_warmup",
                "at least 1",
            ),
            (
                grouped(|raw| raw.memory.kind = Some("moments".into())),
                "memory.kind",
                "use exact or window",
            ),
            (
                grouped(|raw| {
                    raw.model.loss = Some("mlp".into());
                    raw.model.features = None;
                    raw.model.classes = Some(2);
                    raw.model.clip = Some(1.0);
                    raw.model.ridge = None;
                    raw.model.hidden = Some(vec![3]);
                    raw.model.input = Some(crate::neural::Shape::vector(4));
                }),
                "model.loss",
                "privacy.records_per_person",
            ),
            (
                person(|raw| raw.privacy.unit = Some("patient".into())),
                "privacy.unit",
                "record, person",
            ),
        ];
        for (raw, path, words) in cases {
            let found = faults(&raw);
            let named = found.iter().any(|(at, text)| at == path && text.contains(words));
            assert!(named, "{path}, {words}: {found:?}");
        }
        assert!(faults(&grouped(|_| ())).is_empty(), "the control");
        let window = grouped(|raw| {
            raw.memory.kind = Some("window".into());
            raw.memory.window = Some(5);
        });
        assert!(faults(&window).is_empty());
    }
}
