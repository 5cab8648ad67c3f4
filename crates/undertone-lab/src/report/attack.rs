//! The page of an attack: originals next to their reconstructions.

use super::number::{count, escape, number, percent};
use super::picture::picture;
use super::{banner, head};
use crate::attack::invert::Labels;
use crate::attack::{Attack, Victim, multiple_in_words};
use std::fmt::Write as _;

/// The most victims whose pictures are shown.
const VICTIMS_SHOWN: usize = 10;

/// Writes an attack as one HTML page without external resources.
#[must_use]
pub fn attack_page(attack: &Attack) -> String {
    let name = escape(&attack.name);
    let kind = match attack.settings.labels {
        Labels::Dlg => "DLG",
        Labels::Idlg => "iDLG",
    };
    let lead = format!(
        "The attacker sees every release{} and nothing else. Two consecutive releases of a learner and what its \
        neighbours sent give its gradient of round {}, except for the noise; {kind} then searches for the {} with \
        this gradient, by L-BFGS with exact second derivatives (at most {} steps from each of {} starts).",
        if attack.settings.knows_start { ", knows the public start" } else { "" },
        attack.settings.round,
        if attack.records == 1 { "record".into() } else { format!("{} records", attack.records) },
        count(attack.settings.effort.iterations),
        count(attack.settings.effort.starts),
    );
    let warning = banner(
        "stop",
        "NOT PRIVATE",
        "<p>This page shows records of the learners. Show it only to people who may see the data.</p>",
    );
    format!(
        "{head}<body>\n<main>\n<header>\n<p class=\"kicker\">Undertone attack</p>\n<h1>{name}: {kind}</h1>\n\
         <p class=\"lead\">{lead}</p>\n{warning}</header>\n<section>\n<h2>Results</h2>\n{table}{note}</section>\n\
         <section>\n<h2>Pictures</h2>\n{pictures}</section>\n</main>\n</body>\n</html>\n",
        head = head(&format!("NOT PRIVATE – {name} – Undertone attack")),
        table = table(attack),
        note = note(attack),
        pictures = pictures(attack),
    )
}

fn note(attack: &Attack) -> String {
    let random = attack.error_of_random.map_or(String::new(), |error| {
        format!(" A uniformly random guess has error {}.", number(error))
    });
    format!(
        "<p class=\"note\">Error: mean squared difference of a value, over all records of all {} victims. Without \
        noise: the attacker sees the victim’s values before noise is added. The mismatch of the gradient, the only \
        thing by which an attacker can judge a result, is in results.json.{random} An attack that fails proves nothing: \
        a better one may exist. Only a certificate is a proof.</p>\n",
        count(attack.victims.len() as u64)
    )
}

fn table(attack: &Attack) -> String {
    let mut rows = String::new();
    for line in &attack.lines {
        let _ = writeln!(
            rows,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            multiple_in_words(line.multiple),
            number(line.error),
            number(line.error_min),
            number(line.error_max),
            percent(line.labels_found)
        );
    }
    format!(
        "<div class=\"scroll\"><table><thead><tr><th>noise</th><th>error, mean</th><th>smallest</th><th>largest</th>\
         <th>labels found</th></tr></thead><tbody>\n{rows}</tbody></table></div>\n"
    )
}

fn pictures(attack: &Attack) -> String {
    let mut header = String::from("<th>seed</th><th>learner</th><th>original</th>");
    for &times in &attack.settings.multiples {
        let label = if times > 0.0 { format!("noise ×{times}") } else { "without noise".into() };
        let _ = write!(header, "<th>{label}</th>");
    }
    let rows: String =
        attack.victims.iter().take(VICTIMS_SHOWN).map(|victim| rows(attack, victim)).collect();
    if rows.is_empty() {
        return "<p class=\"nothing\">The records of this experiment are not images.</p>\n".into();
    }
    format!(
        "<div class=\"scroll\"><table class=\"records\"><thead><tr>{header}</tr></thead><tbody>\n{rows}</tbody>\
         </table></div>\n"
    )
}

/// One row for each record of a victim.
fn rows(attack: &Attack, victim: &Victim) -> String {
    let mut rows = String::new();
    for (index, original) in victim.originals.iter().enumerate() {
        let Some(shown) = picture(attack.shape, original, attack.black, "original") else {
            return rows;
        };
        let _ = write!(
            rows,
            "<tr><td>{}</td><td>{}</td><td>{shown}</td>",
            victim.seed,
            victim.learner + 1
        );
        for attempt in &victim.attempts {
            let found = attempt.found.get(index);
            let shown = found
                .and_then(|found| picture(attack.shape, found, attack.black, "reconstruction"));
            let _ = write!(rows, "<td>{}</td>", shown.unwrap_or_default());
        }
        rows.push_str("</tr>\n");
    }
    rows
}
