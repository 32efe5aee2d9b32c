//! The report: papers.md and its pictures.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::experiments::Experiment;
use super::outcome::{AGREES_WITHIN, Claim, Ended, Outcome, Table, three};
use super::saved::Saved;
use super::svg;
use crate::PaperError;

const HEAD: &str = "# The papers' experiments, run again

Canelé unites five published systems. `canele paper` wrote this page. It runs each experiment of their papers with today's library on this machine,
and with its real protocols on a simulated network of the paper's time. *Calibrated* figures are given to the simulation; all others judge it.
Real figures are of the machine that ran the command: compare figures of one table only.
";

/// Writes the report and its pictures into the folder; returns the report's path.
///
/// # Errors
/// A file cannot be written.
pub fn write(folder: &Path, chosen: &[&Experiment], saved: &Saved) -> Result<PathBuf, PaperError> {
    let mut text = String::from(HEAD);
    if saved.is_quick() {
        text += "\nThis was a quick run: its times are rough.\n";
    }
    let mut system = "";
    for experiment in chosen {
        if system != experiment.system {
            system = experiment.system;
            write!(text, "\n## {system}\n")?;
        }
        write!(text, "\n### {}\n\n`canele paper --only {}`\n", experiment.title, experiment.name)?;
        match saved.get(experiment.name) {
            Some(Ended::Done(outcome)) => {
                text += &section(outcome);
                for figure in &outcome.figures {
                    let file = format!("papers-{}.svg", figure.name);
                    save(&folder.join(&file), &svg::draw(figure)?)?;
                    write!(text, "\n![{}]({file})\n", figure.caption)?;
                }
            }
            Some(Ended::LeftOut(why)) => write!(text, "\nLeft out: {why}.\n")?,
            Some(Ended::Failed(why)) => write!(text, "\n**Failed**: {why}\n")?,
            None => {}
        }
    }
    let path = folder.join("papers.md");
    save(&path, &text)?;
    Ok(path)
}

fn save(path: &Path, text: &str) -> Result<(), PaperError> {
    Ok(std::fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))?)
}

fn section(outcome: &Outcome) -> String {
    let mut text = String::new();
    for paragraph in &outcome.text {
        text += &format!("\n{paragraph}\n");
    }
    outcome.tables.iter().for_each(|one| text += &table(one));
    if !outcome.claims.is_empty() {
        text += &table(&claims(&outcome.claims));
    }
    if !outcome.checks.is_empty() {
        text.push('\n');
    }
    for check in &outcome.checks {
        let sign = if check.held { "holds" } else { "**does not hold**" };
        text += &format!("- {}: {sign}\n", check.what);
    }
    text
}

fn claims(claims: &[Claim]) -> Table {
    let mut table = Table::new(["", "published", "simulated", "deviation"]);
    for claim in claims {
        let deviation = claim.deviation();
        let verdict = match () {
            () if claim.calibrated => "calibrated".to_string(),
            () if deviation.abs() > AGREES_WITHIN => format!("**{deviation:+.0} %**"),
            () => format!("{deviation:+.0} %"),
        };
        let with_unit = |figure: f64| format!("{} {}", three(figure), claim.unit);
        table.row([claim.what.clone(), with_unit(claim.published), with_unit(claim.simulated), verdict]);
    }
    table
}

fn table(table: &Table) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rule: Vec<_> = table.head.iter().map(|_| "---".to_string()).collect();
    let rows: String = table.rows.iter().map(|row| line(row)).collect();
    format!("\n{}{}{rows}", line(&table.head), line(&rule))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_shows_tables_deviations_and_checks() {
        let mut outcome = Outcome::default();
        outcome.say("Words\n   of text.");
        let mut rows = Table::new(["size", "time"]);
        rows.row(["1", "2 µs"]);
        outcome.tables.push(rows);
        outcome.calibrate("latency", "µs", 4.0, 4.0);
        outcome.judge("rate", "MB/s", 100.0, 120.0);
        outcome.judge("other rate", "MB/s", 100.0, 90.04);
        outcome.check("no system call", false);
        assert_eq!(
            section(&outcome),
            [
                "\nWords of text.\n\n| size | time |\n| --- | --- |\n| 1 | 2 µs |\n",
                "\n|  | published | simulated | deviation |\n| --- | --- | --- | --- |\n",
                "| latency | 4.00 µs | 4.00 µs | calibrated |\n",
                "| rate | 100 MB/s | 120 MB/s | **+20 %** |\n",
                "| other rate | 100 MB/s | 90.0 MB/s | -10 % |\n",
                "\n- no system call: **does not hold**\n",
            ]
            .concat()
        );
    }
}
