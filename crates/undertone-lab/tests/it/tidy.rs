//! The repository keeps its own rules.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use undertone_lab::columns::{COLUMNS, Values, WARNING};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn source_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            source_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Whether a file under `src` holds nothing but tests.
fn is_test_file(path: &Path) -> bool {
    let in_tests = path.components().any(|part| part.as_os_str() == "tests");
    let name = path.file_stem().unwrap().to_string_lossy();
    in_tests || name == "tests" || name.ends_with("_tests")
}

const ALL_KINDS: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

/// The workspace crates that each crate depends on, from its manifest.
fn real_dependencies(kinds: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
    let mut crates = BTreeMap::new();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let manifest = fs::read_to_string(entry.unwrap().path().join("Cargo.toml")).unwrap();
        let table: toml::Table = manifest.parse().unwrap();
        let name = table["package"]["name"].as_str().unwrap().to_string();
        let mut ours = BTreeSet::new();
        collect_dependencies(&table, kinds, &mut ours);
        for platform in table.get("target").and_then(toml::Value::as_table).into_iter().flatten() {
            collect_dependencies(platform.1.as_table().unwrap(), kinds, &mut ours);
        }
        crates.insert(name, ours);
    }
    crates
}

fn collect_dependencies(table: &toml::Table, kinds: &[&str], ours: &mut BTreeSet<String>) {
    for kind in kinds {
        let Some(dependencies) = table.get(*kind).and_then(toml::Value::as_table) else { continue };
        ours.extend(dependencies.keys().filter(|key| key.starts_with("undertone")).cloned());
    }
}

/// What each crate may depend on. `node` and `lab` never see each other, so that the daemon cannot name the
/// seeded generator, and nobody depends on the command or on the Python layer.
const ALLOWED: [(&str, &[&str]); 10] = [
    ("undertone-simd", &[]),
    ("undertone-core", &["undertone-simd"]),
    ("undertone-models", &["undertone-core", "undertone-simd"]),
    ("undertone", &["undertone-core", "undertone-models"]),
    ("undertone-data", &["undertone", "undertone-core", "undertone-models"]),
    (
        "undertone-node",
        &["undertone", "undertone-core", "undertone-models", "undertone-simulation"],
    ),
    ("undertone-simulation", &["undertone", "undertone-models", "undertone-node"]),
    ("undertone-lab", &["undertone", "undertone-core", "undertone-models", "undertone-data"]),
    (
        "undertone-cli",
        &[
            "undertone",
            "undertone-core",
            "undertone-models",
            "undertone-data",
            "undertone-lab",
            "undertone-node",
        ],
    ),
    ("undertone-py", &["undertone", "undertone-core", "undertone-models", "undertone-lab"]),
];

#[test]
fn crates_depend_on_what_they_may_and_on_nothing_else() {
    let real = real_dependencies(&ALL_KINDS);
    assert_eq!(real.len(), ALLOWED.len(), "every crate has its entry");
    for (name, dependencies) in real {
        let allowed = ALLOWED.iter().find(|(crate_name, _)| *crate_name == name);
        let (_, allowed) = allowed.unwrap_or_else(|| panic!("{name} has no entry in ALLOWED"));
        for dependency in dependencies {
            assert!(allowed.contains(&dependency.as_str()), "{name} depends on {dependency}");
        }
    }
}

/// Its noise can be repeated, so that no program may be built from it.
#[test]
fn only_tests_depend_on_the_simulation() {
    let simulation = "undertone-simulation";
    for (name, dependencies) in real_dependencies(&["dependencies", "build-dependencies"]) {
        assert!(!dependencies.contains(simulation), "{name} is built from {simulation}");
    }
    // The control: it is found among the dependencies of tests.
    assert!(real_dependencies(&ALL_KINDS)["undertone-node"].contains(simulation));
}

#[test]
fn the_dependency_table_of_the_architecture_is_true() {
    let text = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    for (name, dependencies) in real_dependencies(&ALL_KINDS) {
        let row = text
            .lines()
            .find(|line| line.starts_with(&format!("| `{name}` ")))
            .unwrap_or_else(|| panic!("docs/architecture.md has no row for {name}"));
        let documented = row.rsplit('|').nth(1).unwrap();
        for dependency in dependencies {
            assert!(
                documented.contains(&format!("`{dependency}`")),
                "{name} depends on {dependency}, which docs/architecture.md does not allow: {row}"
            );
        }
        let (_, allowed) = ALLOWED.iter().find(|(crate_name, _)| *crate_name == name).unwrap();
        for word in documented.split('`').filter(|word| word.starts_with("undertone")) {
            assert!(allowed.contains(&word), "docs/architecture.md allows {word}: {row}");
        }
    }
}

/// The command depends on node and laboratory, so its manifest cannot keep them apart. Its sources do: what runs a learner on
/// a network, or reads its store, names no part of the laboratory, except to replay an experiment's data.
#[test]
fn of_the_commands_for_learners_on_a_network_only_the_replay_names_the_laboratory() {
    let sources = root().join("crates/undertone-cli/src");
    let mut files: Vec<PathBuf> =
        ["agreement_source.rs", "node_source.rs", "commands/status.rs", "commands/export.rs"]
            .map(|name| sources.join(name))
            .into();
    source_files(&sources.join("commands/node"), &mut files);
    // `config_source` reads experiments.
    let words = ["undertone_lab", "config_source", "SeededEntropy", "RunEntropy"];
    let mut named = BTreeSet::new();
    for path in &files {
        let text = fs::read_to_string(path).unwrap();
        if words.iter().any(|word| text.contains(word)) {
            named.insert(path.strip_prefix(&sources).unwrap().display().to_string());
        }
    }
    // That the replay is found is the control.
    assert_eq!(named, BTreeSet::from(["commands/node/replay.rs".to_string()]), "{files:?}");
    let replay = fs::read_to_string(sources.join("commands/node/replay.rs")).unwrap();
    for word in ["Entropy", "undertone_node"] {
        assert!(!replay.contains(word), "a replay gives records, and needs no {word}");
    }
}

#[test]
fn the_core_does_no_input_or_output_and_has_no_clock_or_threads() {
    // Files that may use one of the words, and which.
    let exceptions = [
        // The neural engine divides a batch among threads; their number changes no bit of the result.
        ("undertone-models/src/neural/fast/threads.rs", "std::thread"),
        ("undertone/src/load.rs", "std::fs"),
        // A saved learner is loaded once, which only its file can guarantee.
        ("undertone/src/learner_file.rs", "std::fs"),
    ];
    let mut files = Vec::new();
    for name in ["undertone-simd", "undertone-core", "undertone-models", "undertone"] {
        source_files(&root().join("crates").join(name).join("src"), &mut files);
    }
    assert!(files.len() > 50, "the sources are found");
    for path in files.into_iter().filter(|path| !is_test_file(path)) {
        let text = fs::read_to_string(&path).unwrap();
        let code: Vec<&str> =
            text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        for word in ["std::fs", "std::net", "std::thread", "std::time", "std::process", "println!"]
        {
            let excepted =
                exceptions.iter().any(|&(end, what)| path.ends_with(end) && what == word);
            let found = code.iter().any(|line| line.contains(word));
            assert!(excepted || !found, "{} uses {word}", path.display());
        }
    }
}

/// All files of the repository that end like this, without those that builds leave behind.
fn repository_files(endings: &[&str]) -> Vec<PathBuf> {
    fn collect(folder: &Path, endings: &[&str], found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            if entry.file_type().unwrap().is_dir() {
                if name != "target" && name != "__pycache__" && !name.starts_with('.') {
                    collect(&path, endings, found);
                }
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    collect(&root(), endings, &mut found);
    found
}

/// Whether a file has more than 500 lines and does not say why.
fn is_too_long(text: &str) -> bool {
    let is_comment = |line: &str| ["//", "#", "<!--"].iter().any(|sign| line.starts_with(sign));
    let says_why = |line: &str| is_comment(line) && line.contains("tidy: long because ");
    text.lines().count() > 500 && !text.lines().any(says_why)
}

#[test]
fn no_file_is_too_long_and_none_is_unfinished() {
    let files = repository_files(&[".rs", ".py"]);
    for known in [
        "crates/undertone-lab/tests/it/tidy.rs",
        "crates/undertone-py/python/undertone/__init__.py",
        "bench-compare/ours/src/main.rs",
        "bench-compare/compare.py",
    ] {
        assert!(files.contains(&root().join(known)), "{known} is found");
    }
    // Put together here, so that this file does not find itself.
    let marks = [["FIX", "ME"].concat(), ["todo", "!("].concat(), ["unimplemented", "!("].concat()];
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        assert!(!is_too_long(&text), "{} has more than 500 lines", path.display());
        for mark in &marks {
            assert!(!text.contains(mark), "{} contains {mark}", path.display());
        }
    }
}

/// The control: what the test above looks for.
#[test]
fn a_file_that_is_too_long_without_a_reason_is_found() {
    let lines = |count: usize| "line\n".repeat(count);
    assert!(!is_too_long(&lines(500)));
    assert!(is_too_long(&lines(501)));
    for comment in
        ["// tidy: long because x", "# tidy: long because x", "<!-- tidy: long because x -->"]
    {
        assert!(!is_too_long(&format!("{comment}\n{}", lines(501))), "{comment}");
    }
    assert!(is_too_long(&format!("let x = \"tidy: long because x\"\n{}", lines(501))));
}

#[test]
fn every_row_of_the_paper_map_that_code_cites_exists() {
    let map = fs::read_to_string(root().join("docs/paper-map.md")).unwrap();
    let rows: Vec<u32> = map
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(' ').next()?.parse().ok())
        .collect();
    let mut files = Vec::new();
    source_files(&root().join("crates"), &mut files);
    let mut cited = 0;
    for path in files {
        let text = fs::read_to_string(&path).unwrap().to_lowercase();
        for (index, _) in text.match_indices("paper map, row") {
            let numbers = text[index..].split([')', '\n']).next().unwrap_or_default().to_string();
            for number in
                numbers.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok())
            {
                assert!(
                    rows.contains(&number),
                    "{}: row {number} is not in the paper map",
                    path.display()
                );
                cited += 1;
            }
        }
    }
    assert!(cited > 3, "citations are found");
}

#[test]
fn documented_files_exist() {
    let map = fs::read_to_string(root().join("docs/paper-map.md")).unwrap();
    let mut checked = 0;
    let folders = [
        ("core/", "crates/undertone-core/src/"),
        ("models/", "crates/undertone-models/src/"),
        ("facade/", "crates/undertone/src/"),
        ("lab/", "crates/undertone-lab/src/"),
        ("node/", "crates/undertone-node/src/"),
    ];
    for word in map.split('`').filter(|word| word.ends_with(".rs")) {
        let found =
            folders.iter().find_map(|(short, long)| Some((long, word.strip_prefix(short)?)));
        let (folder, rest) =
            found.unwrap_or_else(|| panic!("docs/paper-map.md names {word}, of no known crate"));
        let path = root().join(folder).join(rest);
        assert!(path.exists(), "docs/paper-map.md names {word}, which does not exist");
        checked += 1;
    }
    assert!(checked > 10, "the paper map names files");
}

#[test]
fn every_column_of_a_run_is_documented() {
    let text = fs::read_to_string(root().join("docs/config.md")).unwrap();
    for column in COLUMNS {
        let heading = match column.values {
            Values::Count(_) | Values::Number(_) => format!("`{}`", column.name),
            Values::PerLearner(_) => format!("`{}_0`", column.name),
        };
        let documented = text.lines().any(|line| line.starts_with('|') && line.contains(&heading));
        assert!(documented, "docs/config.md does not describe the column {heading}");
    }
    assert!(text.contains(&format!("`{WARNING}`")));
}

/// Privacy loss for people is written by `privacy::format_epsilon` and its kin alone, which round up.
#[test]
fn no_privacy_loss_is_rounded_to_nearest() {
    let mut files = Vec::new();
    for folder in fs::read_dir(root().join("crates")).unwrap() {
        for part in ["src", "examples"] {
            let folder = folder.as_ref().unwrap().path().join(part);
            if folder.exists() {
                source_files(&folder, &mut files);
            }
        }
    }
    files.retain(|path| {
        !is_test_file(path) && !path.ends_with("undertone-core/src/privacy/format.rs")
    });
    let python =
        ["crates/undertone-py/python/undertone", "examples/python", "bench-compare", "scripts"];
    for folder in python {
        let python = fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
        files.extend(python.filter(|path| path.extension().is_some_and(|end| end == "py")));
    }
    files.push(root().join("crates/undertone-node/src/http/dashboard.html"));
    assert!(files.len() > 150, "the sources are found");
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let shown = text.split("#[cfg(test)]").next().unwrap();
        let found: Vec<&str> = shown.split(';').filter(|part| rounds_a_loss(part)).collect();
        assert!(found.is_empty(), "{}: use format_epsilon: {found:?}", path.display());
    }
}

/// Whether a statement puts a privacy loss into text with a fixed number of digits, or rounds one.
fn rounds_a_loss(statement: &str) -> bool {
    let code: String = statement
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| [line, "\n"])
        .collect();
    // Inline: {epsilon:.3}, {max(row['epsilon']):.3f}, "{one['epsilon']:.4g}".
    let inline = code.split('{').skip(1).any(|part| {
        let inside = part.split('}').next().unwrap_or_default();
        // Not the fields of a struct.
        let is_format = |how: &str| how.contains('.') && !how.contains([' ', '(']);
        let digits = inside.rsplit_once(':').is_some_and(|(_, how)| is_format(how));
        digits && is_loss(inside)
    });
    // By place: "ε = {:.4}"; what goes there may have any name.
    let by_place = code.match_indices("{:").any(|(start, _)| {
        let how = code[start + 2..].split('}').next().unwrap_or_default();
        let before: String = code[..start].chars().rev().take(12).collect();
        how.contains('.') && before.contains('ε')
    });
    let methods = [".toFixed(", ".toPrecision(", ".round()", ".ceil()", ".floor()"];
    let by_method = methods.iter().any(|method| {
        code.match_indices(method).any(|(end, _)| {
            let start = code[..end].rfind(['\n', ',', '=']).map_or(0, |at| at + 1);
            is_loss(&code[start..end])
        })
    });
    inline || by_place || by_method
}

fn is_loss(text: &str) -> bool {
    let words = ["epsilon", "zcdp", "budget_summed", "budget_event"];
    // The share of a limit that is spent is a percentage, and rounded up.
    words.iter().any(|word| text.contains(word)) && !text.contains("Math.ceil")
}

/// The control: what the test above looks for.
#[test]
fn a_loss_that_is_rounded_to_nearest_is_found() {
    for statement in [
        r#"println!("ε spent {epsilon:.3}")"#,
        r#"format!("ε = {:.4} at δ = {delta:e}", worst)"#,
        r#"format!("{:.1}, {zcdp_total:>12.4e}", loss)"#,
        "let shown = (epsilon * 1e4).round() / 1e4",
        "  return f\"spent {max(self.epsilon):.4f}\"",
        "put(element, budget.epsilon.toFixed(2))",
        "print(f\"in pure ε: {account.get_pure_epsilon():.1f}\")",
    ] {
        assert!(rounds_a_loss(statement), "{statement}");
    }
    for statement in [
        r#"format!("ε spent {} at δ = {delta:e}, loss {loss:.3}", format_epsilon(epsilon))"#,
        r#"format!("epsilon {epsilon} at {:e}", learner.delta)"#,
        "// prints {epsilon:.3}",
        "assert!(2.0 * f64::EPSILON < 1.0)",
    ] {
        assert!(!rounds_a_loss(statement), "{statement}");
    }
}
