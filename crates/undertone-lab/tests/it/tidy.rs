//! The repository keeps its own rules.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

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

/// The workspace crates that each crate depends on, from its manifest.
fn real_dependencies() -> BTreeMap<String, Vec<String>> {
    let mut crates = BTreeMap::new();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let manifest = fs::read_to_string(entry.unwrap().path().join("Cargo.toml")).unwrap();
        let table: toml::Table = manifest.parse().unwrap();
        let name = table["package"]["name"].as_str().unwrap().to_string();
        let dependencies = table["dependencies"].as_table().unwrap();
        let ours =
            dependencies.keys().filter(|key| key.starts_with("undertone")).cloned().collect();
        crates.insert(name, ours);
    }
    crates
}

#[test]
fn the_dependency_table_of_the_architecture_is_true() {
    let text = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    for (name, dependencies) in real_dependencies() {
        let row = text
            .lines()
            .find(|line| line.starts_with(&format!("| `{name}` ")))
            .unwrap_or_else(|| panic!("docs/architecture.md has no row for {name}"));
        let allowed = row.rsplit('|').nth(1).unwrap();
        for dependency in dependencies {
            assert!(
                allowed.contains(&format!("`{dependency}`")),
                "{name} depends on {dependency}, which docs/architecture.md does not allow: {row}"
            );
        }
    }
}

#[test]
fn the_core_does_no_input_or_output_and_has_no_clock_or_threads() {
    let mut files = Vec::new();
    for name in ["undertone", "undertone-models"] {
        source_files(&root().join("crates").join(name).join("src"), &mut files);
    }
    for path in files {
        if path.components().any(|part| part.as_os_str() == "tests") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        // The network engine shares out a batch; how many threads do it changes no bit of the result.
        let shares_out = path.ends_with("network/fast/threads.rs");
        for word in ["std::fs", "std::net", "std::thread", "std::time", "std::process", "println!"]
        {
            if shares_out && word == "std::thread" {
                continue;
            }
            assert!(!text.contains(word), "{} uses {word}", path.display());
        }
    }
}

#[test]
fn no_file_is_too_long_and_none_is_unfinished() {
    let mut files = Vec::new();
    source_files(&root().join("crates"), &mut files);
    assert!(files.len() > 50, "the sources are found");
    // Put together here, so that this file does not find itself.
    let marks = [["FIX", "ME"].concat(), ["todo", "!("].concat(), ["unimplemented", "!("].concat()];
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.lines().count() <= 1000, "{} is too long", path.display());
        for mark in &marks {
            assert!(!text.contains(mark), "{} contains {mark}", path.display());
        }
    }
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
        for (place, _) in text.match_indices("paper map, row") {
            let numbers = text[place..].split([')', '\n']).next().unwrap_or_default().to_string();
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
        ("core/", "crates/undertone/src/"),
        ("models/", "crates/undertone-models/src/"),
        ("lab/", "crates/undertone-lab/src/"),
    ];
    for word in map.split('`').filter(|word| word.ends_with(".rs")) {
        for (short, long) in folders {
            if let Some(rest) = word.strip_prefix(short) {
                let path = root().join(long).join(rest);
                assert!(path.exists(), "docs/paper-map.md names {word}, which does not exist");
                checked += 1;
            }
        }
    }
    assert!(checked > 10, "the paper map names files");
}
