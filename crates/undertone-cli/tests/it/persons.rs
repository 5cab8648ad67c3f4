//! Persons as the unit of privacy, from the command.

use crate::Shell;
use std::fs;

/// A word that is in every key.
const SECRET: &str = "XYZZY";

fn patients(shell: &Shell) {
    let mut text = String::from("a,patient,b,label\n");
    for k in 0..600_u32 {
        let (x, y) = (f64::from(k % 17) / 17.0 - 0.5, f64::from(k % 29) / 29.0 - 0.5);
        let label = if x + y > 0.0 { "yes" } else { "no" };
        text.push_str(&format!("{x},{SECRET}-{},{y},{label}\n", k % 200));
    }
    fs::write(shell.path().join("patients.csv"), text).unwrap();
}

fn config(shell: &Shell, name: &str, privacy: &str) -> String {
    let unit = format!("delta = 1e-6\nunit = \"person\"\n{privacy}");
    shell.config(
        name,
        &[
            ("rounds = 800", "rounds = 20"),
            ("source = \"mushrooms\"", "source = \"patients.csv\""),
            ("partition = \"by-class\"", "partition = \"iid\""),
            ("centre = true", "person = \"patient\""),
            ("warmup = 300", "warmup = 40"),
            ("features = 112", "features = 2"),
            ("delta = 1e-6", &unit),
        ],
    )
}

#[test]
fn every_command_names_the_person_as_the_unit_and_no_output_or_file_shows_a_key() {
    let shell = Shell::new();
    patients(&shell);
    let config = config(&shell, "clinic", "records_per_person = 2");
    let mut said = String::new();
    for (code, arguments) in [
        (0, vec!["budget", &config]),
        (0, vec!["budget", &config, "--json"]),
        (1, vec!["doctor", &config]),
        (1, vec!["doctor", &config, "--json"]),
        (0, vec!["simulate", &config, "--seed", "1", "--out", "run"]),
        (0, vec!["verify", "run"]),
        (0, vec!["verify", "run", "--json"]),
    ] {
        let (out, err) = shell.expect(code, &arguments);
        if arguments[0] != "simulate" {
            assert!(
                out.contains("all records of one person at one learner"),
                "{arguments:?}\n{out}"
            );
        }
        said = said + &out + &err;
    }
    assert!(said.contains("What a person of learner 0 pays"), "{said}");
    for entry in fs::read_dir(shell.path().join("run")).unwrap() {
        said += &String::from_utf8_lossy(&fs::read(entry.unwrap().path()).unwrap());
    }
    assert!(!said.contains(SECRET));
    assert!(said.contains("records_left_out"));
}

#[test]
fn a_person_is_not_the_unit_without_a_bound_on_what_one_contributes() {
    let shell = Shell::new();
    patients(&shell);
    let (_, err) = shell.expect(2, &["budget", &config(&shell, "open", "")]);
    assert!(err.contains("privacy.records_per_person: missing"), "{err}");
    let unkeyed = config(&shell, "unkeyed", "records_per_person = 2");
    let path = shell.path().join(&unkeyed);
    let text =
        fs::read_to_string(&path).unwrap().replace("person = \"patient\"", "drop = [\"patient\"]");
    fs::write(&path, text).unwrap();
    let (_, err) = shell.expect(2, &["simulate", &unkeyed, "--out", "none"]);
    assert!(err.contains("no person key") && !err.contains(SECRET), "{err}");
    let returning = config(&shell, "returning", "persons_per_round = 0\npersons_warmup = 20");
    let path = shell.path().join(&returning);
    let text = fs::read_to_string(&path)
        .unwrap()
        .replace("rounds = 20", "rounds = 20\nmethod = \"shielded\"\nunproven = true");
    fs::write(&path, text).unwrap();
    let (_, err) = shell.expect(2, &["budget", &returning]);
    assert!(err.contains("no new persons arrive by plan"), "{err}");
    let (_, err) = shell.expect(2, &["plan", &returning, "--tune", "--finite"]);
    assert!(err.contains("privacy.persons_per_round"), "{err}");
}
