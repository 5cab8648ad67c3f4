//! Bundles that were changed: at random anywhere, and on purpose with the last hash made again.

use super::networks::{BASE, Case, Random};
use super::{Verdict, by_python, by_rust};

/// The bundle with the hash of its contents, whatever the hash was before.
pub(super) fn sealed(text: String) -> Vec<u8> {
    let (body, _) = text.rsplit_once("\n\"sha256\":\"").unwrap();
    let body = format!("{body}\n\"sha256\":\"");
    let hash = sha256(body.as_bytes());
    format!("{body}{hash}\"}}\n").into_bytes()
}

/// SHA-256 by the system's Python: none of ours.
fn sha256(bytes: &[u8]) -> String {
    use std::io::Write as _;
    use std::process::{Command, Stdio};
    let code =
        "import hashlib, sys; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest(), end='')";
    let mut python = Command::new("python3")
        .args(["-c", code])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the tests need python3");
    python.stdin.take().unwrap().write_all(bytes).unwrap();
    String::from_utf8(python.wait_with_output().unwrap().stdout).unwrap()
}

fn both(bundles: &[Vec<u8>]) -> Vec<[Verdict; 2]> {
    let rust = bundles.iter().map(|bundle| by_rust(bundle));
    rust.zip(by_python(bundles)).map(|(rust, python)| [rust, python]).collect()
}

fn small() -> Vec<u8> {
    Case { rounds: 6, ..BASE }.bundle()
}

#[test]
fn a_flipped_bit_anywhere_is_found_by_both_programs() {
    let bundle = small();
    let mut random = Random(1);
    let mut changed = vec![bundle.clone()];
    for _ in 0..300 {
        let mut copy = bundle.clone();
        copy[random.below(bundle.len())] ^= 1 << random.below(8);
        changed.push(copy);
    }
    for (place, verdicts) in both(&changed).into_iter().enumerate() {
        let found = verdicts.each_ref().map(|verdict| verdict.code != 0);
        assert_eq!(found, [place > 0; 2], "{place}: {verdicts:?}");
    }
}

#[test]
fn a_changed_digit_space_or_order_of_keys_is_found_by_both_programs() {
    let bundle = String::from_utf8(small()).unwrap();
    let mut random = Random(2);
    let digits: Vec<usize> = bundle
        .char_indices()
        .filter(|(_, letter)| letter.is_ascii_digit())
        .map(|(at, _)| at)
        .collect();
    let mut changed: Vec<String> = Vec::new();
    for _ in 0..100 {
        let at = digits[random.below(digits.len())];
        let digit =
            (bundle.as_bytes()[at] - b'0' + 1 + u8::try_from(random.below(9)).unwrap()) % 10;
        changed.push(format!("{}{digit}{}", &bundle[..at], &bundle[at + 1..]));
    }
    changed.push(bundle.replacen(",\n", ",\n ", 1));
    changed.push(bundle.replacen(",\n", ", \n", 1));
    changed.push(format!("{bundle}\n"));
    changed.push(format!(" {bundle}"));
    changed.push(bundle.trim_end().into());
    let swapped = bundle.replacen("{\"learner\":0,\"uses\":1", "{\"uses\":1,\"learner\":0", 1);
    assert_ne!(swapped, bundle);
    changed.push(swapped);
    let changed: Vec<Vec<u8>> = changed.into_iter().map(String::into_bytes).collect();
    for (place, verdicts) in both(&changed).into_iter().enumerate() {
        assert!(verdicts.iter().all(|verdict| verdict.code != 0), "{place}: {verdicts:?}");
    }
}

/// Replaces the n-th occurrence of a text.
fn replaced(text: &str, from: &str, to: &str, occurrence: usize) -> String {
    let (at, _) = text.match_indices(from).nth(occurrence).unwrap();
    format!("{}{to}{}", &text[..at], &text[at + from.len()..])
}

/// The value of the n-th occurrence of a key.
fn value<'a>(text: &'a str, key: &str, occurrence: usize) -> &'a str {
    let (at, _) = text.match_indices(key).nth(occurrence).unwrap();
    let rest = &text[at + key.len()..];
    &rest[..rest.find([',', '}', '\n']).unwrap()]
}

#[test]
fn what_was_changed_and_sealed_again_is_found_where_it_is_by_both_programs() {
    let text = String::from_utf8(small()).unwrap();
    let mut changed = Vec::new();
    let mut expected = Vec::new();
    let mut add = |bundle: String, part: &'static str| {
        assert_ne!(bundle, text, "{part}");
        changed.push(sealed(bundle));
        expected.push(part);
    };
    // One receipt of learner 1 (each learner has six at most), and one fact.
    let keys = [
        ("\"sensitivity\":", "sensitivity is"),
        ("\"noise_scale\":", "noise_scale is"),
        ("\"pure_cost\":", "pure_cost is"),
        ("\"zcdp_cost\":", "zcdp_cost is"),
        ("\"pure_total\":", "pure_total is"),
        ("\"zcdp_total\":", "zcdp_total is"),
        ("\"gradient_spread\":", "mechanism.constants.gradient_spread is"),
        ("\"weight_min\":", "mechanism.weight_min is"),
        ("\"epsilon\":", "spent.epsilon is"),
    ];
    for (key, part) in keys {
        // The last of its kind: the last receipt, whose hash no other carries.
        let last = text.matches(key).count() - 1;
        let number: f64 = value(&text, key, last).parse().unwrap();
        let from = format!("{key}{}", value(&text, key, last));
        let to = format!("{key}{}", number * (1.0 + 1e-8));
        let place = text[..text.rfind(&from).unwrap()].matches(&from).count();
        add(replaced(&text, &from, &to, place), part);
    }
    let weight = value(&text, "\"weight_heard\":", 2);
    let other = format!("\"weight_heard\":{}", if weight == "0.3" { "0.0" } else { "0.3" });
    add(replaced(&text, &format!("\"weight_heard\":{weight}"), &other, 0), "");
    add(text.replacen("\"radius\":3.0", "\"radius\":3.0000000000000004", 2), "chain is broken");
    add(
        text.replacen("radius\":3.0,\"constants", "radius\":2.0,\"constants", 1),
        "mechanism.radius is",
    );
    add(text.replacen("\"delta\":1e-6", "\"delta\":1e-7", 1), "spent.");
    add(text.replacen("\"uses\":1", "\"uses\":0", 1), "uses is 0");
    add(text.replacen("\"uses\":1", "\"uses\":2", 1), "spent.");
    add(text.replacen("\"warning\":null", "\"warning\":null,\"warning\":null", 1), "");
    add(
        text.replacen("one record of one learner", "one byte of one learner", 1),
        "unit of privacy",
    );
    for (part, verdicts) in expected.into_iter().zip(both(&changed)) {
        for verdict in verdicts {
            assert!(verdict.code != 0 && verdict.text.contains(part), "{part}: {verdict:?}");
        }
    }
}

#[test]
fn a_receipt_that_was_left_out_moved_or_repeated_is_found_by_both_programs() {
    let text = String::from_utf8(small()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let receipts: Vec<usize> = (0..lines.len())
        .filter(|&place| lines[place].starts_with("{\"learner\":1,\"round\""))
        .collect();
    let mut changed = Vec::new();
    for (first, second) in receipts.iter().zip(&receipts[1..receipts.len() - 1]) {
        let mut without = lines.clone();
        without.remove(*first);
        let mut moved = lines.clone();
        moved.swap(*first, *second);
        let mut repeated = lines.clone();
        repeated.insert(*first, lines[*first]);
        changed.extend([without, moved, repeated].map(|lines| sealed(lines.join("\n") + "\n")));
    }
    for verdicts in both(&changed) {
        for verdict in verdicts {
            assert!(verdict.code == 1 && verdict.text.contains("round"), "{verdict:?}");
        }
    }
}
