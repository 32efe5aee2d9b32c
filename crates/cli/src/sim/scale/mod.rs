//! `canele sim scale`: the behaviour of protocols and collectives with many ranks.
//!
//! Owns the order of cases, their output, and the progress shown meanwhile. `crowd` drives the ranks, and
//! `case` collects the measurements.

mod case;
mod crowd;
mod data;
mod memory;
mod placing;
mod plot;
mod table;

use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressStyle};

use super::arguments::Scale;
use crate::{print, say};
use case::ScaleCase;

/// Returns exit status 0 if every rank of every case got correct data, 1 otherwise.
pub fn main(asked: &Scale) -> ExitCode {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} [{elapsed}] {msg}") {
        bar.set_style(style);
    }
    let mut rows = Vec::new();
    if !asked.json {
        bar.suspend(|| print(&table::head()));
    }
    for network in &asked.net {
        for ranks in &asked.ranks {
            for operation in &asked.operation {
                let case = ScaleCase {
                    network,
                    ranks: *ranks,
                    per_host: asked.per_host,
                    operation: *operation,
                    bytes: asked.bytes,
                    algorithm: asked.algorithm,
                };
                match case.run(&bar) {
                    Ok(row) => {
                        bar.suspend(|| print(&if asked.json { row.json() } else { table::line(&row) }));
                        rows.push(row);
                    }
                    Err(why) => {
                        bar.finish_and_clear();
                        say(&format!("{operation} of {ranks} ranks on {}: {why}", network.name));
                        return ExitCode::FAILURE;
                    }
                }
            }
        }
    }
    bar.finish_and_clear();
    match &asked.plot {
        None => ExitCode::SUCCESS,
        Some(path) => match plot::plot(&rows).and_then(|svg| Ok(std::fs::write(path, svg)?)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(why) => {
                say(&format!("no picture in {}: {why}", path.display()));
                ExitCode::FAILURE
            }
        },
    }
}
