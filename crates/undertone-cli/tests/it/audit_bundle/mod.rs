//! Audit bundles: made of runs and stores, checked by `undertone verify` and by `scripts/verify_bundle.py`, which was
//! written without the code of the first. Both must find whatever is changed.

mod changes;
mod commands;
mod controls;
mod networks;

use networks::{Case, EXHAUSTED, cases};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use undertone::audit_bundle::verify_bundle;

/// What a verifier says of a bundle: its exit code, and what it prints.
#[derive(Debug)]
struct Verdict {
    code: i64,
    text: String,
}

/// The program that is a second verifier.
fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/verify_bundle.py")
}

/// Runs Python on files, which are its arguments after the path of the second verifier, and gives the lines it prints.
fn drive_python(driver: &str, files: &[Vec<u8>]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..files.len()).map(|place| format!("{place}.json")).collect();
    for (name, file) in names.iter().zip(files) {
        fs::write(folder.path().join(name), file).unwrap();
    }
    let mut python = Command::new("python3");
    python.args(["-B", "-X", "utf8", "-c", driver]).arg(script()).args(&names);
    let output = python.current_dir(folder.path()).output().expect("the tests need python3");
    let (out, error) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{error}");
    out.lines().map(String::from).collect()
}

/// What the Python program says of each bundle. One process checks them all, as `main` would one after the other.
fn by_python(bundles: &[Vec<u8>]) -> Vec<Verdict> {
    const DRIVER: &str = "
import contextlib, io, json, runpy, sys
program = runpy.run_path(sys.argv[1])
for path in sys.argv[2:]:
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        code = program['main']([path])
    print(json.dumps([code, text.getvalue()]))
";
    let verdicts: Vec<Verdict> = drive_python(DRIVER, bundles)
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .map(|(code, text): (i64, String)| Verdict { code, text })
        .collect();
    assert_eq!(verdicts.len(), bundles.len());
    verdicts
}

/// What `undertone verify` says of a bundle.
fn by_rust(bundle: &[u8]) -> Verdict {
    match verify_bundle(bundle) {
        Ok(found) => Verdict { code: i64::from(!found.agrees), text: format!("{found:?}") },
        Err(error) => Verdict { code: 2, text: error.to_string() },
    }
}

#[test]
fn both_programs_agree_with_every_method_loss_memory_graph_noise_and_cap() {
    let cases = cases();
    let bundles: Vec<Vec<u8>> = cases.iter().map(Case::bundle).collect();
    let exhausted =
        |bundle: &Vec<u8>| String::from_utf8_lossy(bundle).contains("\"exhausted\":true");
    assert_eq!(bundles.iter().filter(|bundle| exhausted(bundle)).count(), 2);
    for ((case, bundle), python) in cases.iter().zip(&bundles).zip(by_python(&bundles)) {
        let rust = by_rust(bundle);
        assert_eq!(rust.code, 0, "{}: {}", case.name, rust.text);
        assert_eq!(python.code, 0, "{}: {}", case.name, python.text);
    }
}

#[test]
fn the_second_verifier_is_one_short_file_that_needs_nothing_else() {
    let text = fs::read_to_string(script()).unwrap();
    assert!(text.lines().count() <= 500, "{}", text.lines().count());
    let imports =
        text.lines().filter(|line| line.starts_with("import ") || line.starts_with("from "));
    let modules = imports.map(|line| line.split_whitespace().nth(1).unwrap());
    let standard = [
        "collections",
        "copy",
        "decimal",
        "functools",
        "hashlib",
        "itertools",
        "json",
        "math",
        "struct",
        "sys",
        "types",
    ];
    modules.for_each(|module| assert!(standard.contains(&module), "{module}"));
}

#[test]
fn a_run_that_a_cap_ended_may_lack_one_receipt_and_no_more() {
    let bundle = EXHAUSTED.bundle();
    let text = String::from_utf8(bundle.clone()).unwrap();
    assert!(text.contains("\"simulation\":{\"exhausted\":true}"), "{}", &text[..400]);
    let not_exhausted = changes::sealed(text.replace("\"exhausted\":true", "\"exhausted\":false"));
    let verdicts = by_python(&[bundle.clone(), not_exhausted.clone()]);
    assert_eq!((by_rust(&bundle).code, verdicts[0].code), (0, 0), "{verdicts:?}");
    for verdict in [by_rust(&not_exhausted), by_python(&[not_exhausted]).remove(0)] {
        assert!(verdict.code == 1 && verdict.text.contains("other learners have"), "{verdict:?}");
    }
}
