//! `undertone reproduce` as a person meets it.

use crate::Shell;
use std::fs;

#[test]
fn the_papers_table_is_beside_ours() {
    let shell = Shell::new();
    // A ridge this strong pulls every run close at once, so the table takes seconds.
    let call = ["reproduce", "table1", "--seeds", "2", "--ridge", "5", "--json", "--out", "t"];
    let (out, _) = shell.expect(0, &call);
    let value: serde_json::Value = serde_json::from_str(&out).unwrap();
    let rows = value["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 11);
    for row in rows {
        let number = |path: &str| row.pointer(path).and_then(serde_json::Value::as_f64).unwrap();
        assert!((number("/unit_formula") - number("/printed/budget")).abs() < 0.05);
        assert!(number("/certified/approximate") <= number("/certified/pure"));
        // The shape that the paper prints is no ε: what can be certified is hundreds of times more.
        assert!(number("/certified/pure") > 100.0 * number("/printed/budget"));
        assert!(number("/certified_for_ever/pure") >= number("/certified/pure"));
        assert!(number("/iterations/low") <= number("/iterations/high"));
    }
    let folder = shell.path().join("t");
    let page = fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("NOT PRIVATE") && !page.contains("http://"));
    assert_eq!(fs::read_to_string(folder.join("results.csv")).unwrap().lines().count(), 12);
}

#[test]
fn the_papers_figure_has_four_methods_and_two_ways_to_count() {
    let shell = Shell::new();
    let call = ["reproduce", "fig1", "--seeds", "2", "--rounds", "150", "--json", "--out", "f"];
    let (out, _) = shell.expect(0, &call);
    let value: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!((value["slope_of_theorem"].as_f64().unwrap() - 0.23).abs() < 1e-9);
    let curves = value["curves"].as_array().unwrap();
    let names: Vec<&str> = curves.iter().filter_map(|curve| curve["method"].as_str()).collect();
    assert_eq!(names, ["algorithm1", "dsgd", "dola", "pdop"]);
    for curve in curves {
        let last = curve["points"].as_array().unwrap().last().unwrap();
        let number = |path: &str| last.pointer(path).and_then(serde_json::Value::as_f64).unwrap();
        assert_eq!(last["round"], 149);
        assert!(number("/tracking_error/low") <= number("/tracking_error/high"));
        let (summed, event) = (number("/budget_summed"), number("/budget_event"));
        match curve["method"].as_str() {
            Some("algorithm1") => assert!((summed / event - 1.0).abs() < 1e-12),
            // A record that is used once pays once.
            Some("dola" | "pdop") => assert!(summed > 20.0 * event, "{summed} {event}"),
            _ => assert!(summed > 0.0),
        }
        if let Some(tuned) = curve["tuned"].as_object() {
            // Without bound is null.
            let share = |trial: &str, part: &str| tuned[trial][part].as_f64().unwrap_or(f64::MAX);
            assert!(share("trial", "left") < 0.5 && share("trial", "worst") <= 2.0, "{tuned:?}");
            let broken = share("at_double", "left") >= 0.5 || share("at_double", "worst") > 2.0;
            assert!(broken, "{tuned:?}");
        }
    }
    let page = fs::read_to_string(shell.path().join("f/report.html")).unwrap();
    assert!(page.contains("theorem’s slope") && page.contains("measured slope"));
}

#[test]
fn what_cannot_be_reproduced_gets_the_reason_and_code_2() {
    let shell = Shell::new();
    fs::write(shell.path().join("file"), "").unwrap();
    let cases: [(&[&str], &str); 5] = [
        (&["reproduce", "fig9"], "unrecognized subcommand"),
        (&["reproduce", "fig1", "--seeds", "0"], "invalid value"),
        (&["reproduce", "table1", "--ridge=-1"], "ridge"),
        (&["reproduce", "table1", "--search", "--ridge", "1"], "cannot be used with"),
        (
            &["reproduce", "table1", "--seeds", "1", "--ridge", "5", "--out", "file/t"],
            "cannot make the folder",
        ),
    ];
    for (arguments, part) in cases {
        let (_, err) = shell.expect(2, arguments);
        assert!(err.contains(part), "{arguments:?}: {err}");
    }
}
