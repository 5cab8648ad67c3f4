//! The dashboards of a running network of five, in a real browser.
//!
//! `UNDERTONE_BROWSER` names a Chromium; without it there is nothing to test with, and CI sets it.

use crate::Shell;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A network that runs until it is dropped.
struct Network(Child);

impl Drop for Network {
    fn drop(&mut self) {
        #[cfg(unix)]
        {
            use rustix::process::{Pid, Signal, kill_process};
            let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
        }
        #[cfg(not(unix))]
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The page as it is after some seconds, as text.
fn page(browser: &str, folder: &Path, url: &str, size: &str) -> String {
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
        .args(["--virtual-time-budget=8000", &format!("--window-size={size}"), url])
        .arg(format!("--user-data-dir={}", folder.join("browser").display()))
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What is between the tags of the element with an id.
fn text_of<'a>(page: &'a str, id: &str) -> &'a str {
    let start = page.find(&format!("id=\"{id}\"")).map_or("", |place| &page[place..]);
    let inner = start.split_once('>').map_or("", |(_, inner)| inner);
    inner.split('<').next().unwrap_or("").trim()
}

#[test]
fn five_dashboards_show_their_learners() {
    let Ok(browser) = std::env::var("UNDERTONE_BROWSER") else {
        return;
    };
    let shell = Shell::new();
    let mut network = Command::new(env!("CARGO_BIN_EXE_undertone"))
        .args(["up", "--learners", "5", "--rounds", "200", "--stay", "--folder", "net"])
        .current_dir(shell.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(network.stdout.take().unwrap()).lines();
    let _network = Network(network);
    let urls: Vec<String> = lines
        .map_while(Result::ok)
        .filter_map(|line| line.split_once("dashboard at ").map(|(_, url)| url.to_string()))
        .take(5)
        .collect();
    assert_eq!(urls.len(), 5);
    for (place, url) in urls.iter().enumerate() {
        let size = if place % 2 == 0 { "1280,900" } else { "360,800" };
        // On a busy machine learners may not have found each other yet when the first page is opened.
        let has_begun = |shown: &String| text_of(shown, "round") != "0";
        let shown = (0..20)
            .map(|_| page(&browser, shell.path(), url, size))
            .find(has_begun)
            .unwrap_or_else(|| panic!("{url}: no round has ended"));
        assert!(shown.contains("data-ready=\"yes\""), "{url}: {shown}");
        let state = text_of(&shown, "state");
        assert!(["gathering", "waiting", "finished"].contains(&state), "{state}");
        let number = |id: &str| -> f64 {
            let text = text_of(&shown, id).replace([',', '%'], "");
            text.parse().unwrap_or_else(|_| panic!("{id}: {text:?}"))
        };
        assert!(number("round") >= 1.0 && number("round") <= 200.0);
        assert!(number("epsilon") > 0.0 && number("epsilon") < number("limit"));
        assert!(number("loss") > 0.0 && number("accuracy") > 40.0 && number("distance") > 0.0);
        for table in ["neighbours", "ledger"] {
            let rows = shown.split_once(&format!("id=\"{table}\"")).unwrap().1;
            let rows = rows.split("</tbody>").next().unwrap().matches("<tr").count();
            assert!(rows >= 2, "{table}: {rows} rows");
        }
    }
}

/// Reads back what the page's own functions write, for values of every size and those next to short numbers.
const CHECK: &str = r#"
const power = (text) => [...text].map((sign) => "-0123456789"["⁻⁰¹²³⁴⁵⁶⁷⁸⁹".indexOf(sign)]).join("");
function read(text) {
  if (text === "no bound") return Infinity;
  const parts = text.replace(/,/g, "").match(/^(?:([\d.]+)×)?10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)$/);
  return parts ? Number(`${parts[1] ?? 1}e${power(parts[2])}`) : Number(text.replace(/,/g, ""));
}
let state = 1, below = 0, nearest = 0, turn = 0;
const dice = () => (state = (state * 48271) % 2147483647) / 2147483647;
for (; turn < 60000; turn++) {
  const short = Math.floor(dice() * 1e7) / 10 ** Math.floor(dice() * 9);
  const value = turn % 2 ? 10 ** (dice() * 24 - 12) : short * (1 + 2 ** -52);
  if (!(read(roundedUp(value)) >= value)) below++;
  if (!(read(number(value)) >= value)) nearest++;
}
const found = document.createElement("p");
found.id = "found";
found.textContent = `${turn} ${below} ${nearest} ${roundedUp(null)} ${roundedUp(undefined)}`;
document.body.append(found);
"#;

#[test]
fn the_dashboard_never_shows_less_than_was_spent() {
    let Ok(browser) = std::env::var("UNDERTONE_BROWSER") else {
        return;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../undertone-node/src/http/dashboard/script.js");
    let text = std::fs::read_to_string(script).unwrap();
    let (_, rest) = text.split_once("// ---- Numbers").unwrap();
    let (functions, _) = rest.split_once("// ---- Helpers").unwrap();
    let shell = Shell::new();
    let file = shell.path().join("check.html");
    let html = format!("<meta charset=\"utf-8\"><body><script>{functions}{CHECK}</script>");
    std::fs::write(&file, html).unwrap();
    let shown = page(&browser, shell.path(), &format!("file://{}", file.display()), "800,600");
    let found: Vec<&str> = text_of(&shown, "found").split(' ').collect();
    let [turns, below, nearest, no, bound, missing] = found[..] else { panic!("{shown}") };
    assert_eq!((turns, below), ("60000", "0"), "rounded up");
    // The control: rounded to nearest, about half of the values are shown too small.
    assert!(nearest.parse::<u32>().unwrap() > 15_000, "{nearest}");
    assert_eq!((no, bound, missing), ("no", "bound", "–"));
}
