//! What configs and reports say of a method, and how its settings are read.

use super::{Bound, Gradients, Method, Perturbs};
use crate::agreement::{Faults, RawAgreement};

/// What a reader of a config or a report must know of a method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MethodDescription {
    /// Its name in configs and reports.
    pub name: &'static str,
    /// What it does, in a few words, for reports.
    pub summary: &'static str,
    /// What its releases perturb.
    pub perturbs: Perturbs,
    /// Which records its gradients are of, and where they are taken.
    pub gradients: Gradients,
    /// How the account bounds its sensitivity, where there is a choice.
    pub bound: Option<Bound>,
    /// A gradient is released once in this many rounds, if that is a setting of the method.
    pub interval: Option<u64>,
    /// The share of a learner's last step that is part of its next one, where that is a setting of the method.
    pub momentum: Option<f64>,
    /// Whether the paper's theorems speak of it: they are about Algorithm 1.
    pub theorems_apply: bool,
    /// Whether daemons can run it: it releases something, and uses releases that arrive late.
    pub runs_on_a_network: bool,
}

impl MethodDescription {
    /// A method to compare with: it perturbs parameters, has no setting that others know, the paper's theorems do not
    /// speak of it, and daemons do not run it.
    pub(super) const fn to_compare(
        name: &'static str,
        summary: &'static str,
        gradients: Gradients,
    ) -> MethodDescription {
        MethodDescription {
            name,
            summary,
            perturbs: Perturbs::Parameters,
            gradients,
            bound: None,
            interval: None,
            momentum: None,
            theorems_apply: false,
            runs_on_a_network: false,
        }
    }
}

/// A method as configs know it.
pub(super) struct Entry {
    /// Its word.
    pub(super) name: &'static str,
    /// The keys that it reads and most other methods do not.
    pub(super) keys: &'static [Key],
    /// Reads it with its settings.
    pub(super) read: fn(&RawAgreement, &mut Faults) -> Method,
}

/// A key of configs that has a meaning only with some methods.
pub(super) struct Key {
    /// As `section.key`.
    pub(super) path: &'static str,
    /// Whether a config has it.
    pub(super) is_set: fn(&RawAgreement) -> bool,
}

impl Entry {
    fn reads(&self, path: &str) -> bool {
        self.keys.iter().any(|key| key.path == path)
    }
}

/// The method that a config names, with its settings. Notes every key that only other methods read.
pub(super) fn read(entries: &[&Entry], raw: &RawAgreement, faults: &mut Faults) -> Method {
    let words: Vec<(&str, &Entry)> = entries.iter().map(|entry| (entry.name, *entry)).collect();
    let entry = faults.word("method", Some(raw.method.as_deref().unwrap_or("algorithm1")), &words);
    for key in entries.iter().flat_map(|other| other.keys) {
        if (key.is_set)(raw) && !entry.reads(key.path) {
            let readers = entries.iter().filter(|other| other.reads(key.path));
            let readers: Vec<String> =
                readers.map(|other| format!("method = \"{}\"", other.name)).collect();
            faults.unused(key.path, Some(&()), &readers.join(" or "));
        }
    }
    (entry.read)(raw, faults)
}

#[cfg(test)]
mod tests {
    use super::super::ENTRIES;
    use super::*;
    use crate::agreement::tests::good;

    /// A config with the keys of every method.
    fn with_all_keys() -> RawAgreement {
        let mut raw = good();
        for entry in ENTRIES {
            (entry.read)(&good(), &mut Faults::default()).write(&mut raw);
        }
        raw
    }

    #[test]
    fn every_method_refuses_the_keys_of_all_others_and_reads_its_own() {
        for entry in ENTRIES {
            let mut raw = with_all_keys();
            raw.method = Some(entry.name.into());
            let mut faults = Faults::default();
            assert_eq!(read(&ENTRIES, &raw, &mut faults).describe().name, entry.name);
            let mut refused: Vec<&str> = faults.0.iter().map(|fault| fault.path.as_str()).collect();
            let keys = ENTRIES.iter().flat_map(|other| other.keys).map(|key| key.path);
            let mut expected: Vec<&str> = keys.filter(|path| !entry.reads(path)).collect();
            refused.sort_unstable();
            expected.sort_unstable();
            assert_eq!(refused, expected, "{}", entry.name);
            for fault in &faults.0 {
                let owner = ENTRIES.iter().find(|other| other.reads(&fault.path)).unwrap();
                assert!(fault.needed.contains(&format!("\"{}\"", owner.name)), "{fault}");
            }
        }
        // The control: a config without such keys is refused none.
        let mut faults = Faults::default();
        read(&ENTRIES, &good(), &mut faults);
        assert!(faults.0.is_empty());
    }

    #[test]
    fn a_key_that_two_methods_read_is_refused_to_others_alone_and_names_both() {
        const SHARED: Key =
            Key { path: "schedule.interval", is_set: |raw| raw.schedule.interval.is_some() };
        const FIRST: Entry = Entry { name: "first", keys: &[SHARED], read: |_, _| Method::Local };
        const SECOND: Entry = Entry { name: "second", keys: &[SHARED], read: |_, _| Method::Local };
        const OTHER: Entry = Entry { name: "other", keys: &[], read: |_, _| Method::Local };
        let found = |name: &str| {
            let mut raw = with_all_keys();
            raw.method = Some(name.into());
            let mut faults = Faults::default();
            read(&[&FIRST, &SECOND, &OTHER], &raw, &mut faults);
            faults.remove_repeated();
            faults.to_string()
        };
        assert_eq!((found("first"), found("second")), (String::new(), String::new()));
        assert_eq!(
            found("other"),
            "schedule.interval: has a meaning only with method = \"first\" or method = \"second\"; remove it"
        );
    }

    #[test]
    fn methods_are_found_by_what_is_true_of_them() {
        assert_eq!(Method::names_where(|method| method.theorems_apply), ["algorithm1"]);
        let on_networks = Method::names_where(|method| method.runs_on_a_network);
        assert_eq!(on_networks, ["algorithm1", "shielded"]);
        assert_eq!(Method::names_where(|_| true), ENTRIES.map(|entry| entry.name));
    }

    #[test]
    fn what_a_method_writes_is_read_back() {
        for entry in ENTRIES {
            let mut raw = good();
            let method = (entry.read)(&with_all_keys(), &mut Faults::default());
            method.write(&mut raw);
            let mut faults = Faults::default();
            assert_eq!(read(&ENTRIES, &raw, &mut faults), method);
            assert!(faults.0.is_empty(), "{faults}");
            for key in entry.keys {
                assert!((key.is_set)(&raw), "{} is not written", key.path);
            }
        }
    }
}
