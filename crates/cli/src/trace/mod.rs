//! `canele trace FILE`: sums up a trace of `canele run --trace` in numbers and as a picture.
//!
//! Owns the command.
//!
//! ```text
//!   read ──▶ recorded ──▶ summary ──▶ table (text), svg (picture), page (for a browser)
//!               │            ▲
//!               ╰─▶ timeline, waits ──▶ causes ──▶ findings (sentences)
//! ```

mod causes;
mod findings;
mod page;
mod read;
mod recorded;
mod summary;
mod svg;
mod table;
mod timeline;
mod waits;

use std::path::PathBuf;
use std::process::ExitCode;

use crate::{print, say};
use recorded::Trace;
use summary::Summary;

/// Arguments of `canele trace`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct TraceArguments {
    /// Trace that `canele run --trace FILE` has written
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    file: PathBuf,
    /// Draw the timeline and the bytes that each rank sends to each other into this file
    #[arg(long, value_name = "FILE.svg", value_hint = clap::ValueHint::FilePath)]
    svg: Option<PathBuf>,
    /// Write the timeline, the causes and all tables as one page for a browser into this file
    #[arg(long, value_name = "FILE.html", value_hint = clap::ValueHint::FilePath)]
    html: Option<PathBuf>,
    /// Print the summary as one JSON object
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "Examples:
  canele run -n 4 --trace run.json ./solver    record
  canele trace run.json                        causes of waits, imbalance, time in each call, sizes, bytes between ranks
  canele trace run.json --html run.html        a page for a browser, with a timeline to zoom into
  canele trace run.json --svg run.svg          the timeline as a picture
Perfetto (ui.perfetto.dev) opens the same file: calls, waits and collectives of each rank, and an arrow for each message.";

/// Prints the summary of a trace, and draws its pictures if requested.
pub fn main(arguments: &TraceArguments) -> ExitCode {
    let name = arguments.file.display();
    let trace = match read::read(&arguments.file) {
        Ok(trace) => trace,
        Err(text) => {
            say(&format!("{name}: {text}"));
            return ExitCode::FAILURE;
        }
    };
    let summary = Summary::of(&trace);
    match arguments.json {
        true => print(&serde_json::to_string(&summary).expect("it has no unencodable part")),
        false => print(&table::text(&summary)),
    }
    let written =
        write_page(arguments, &trace, &summary).and_then(|()| write_picture(arguments, &trace, &summary));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            say(&text);
            ExitCode::FAILURE
        }
    }
}

fn write_page(arguments: &TraceArguments, trace: &Trace, summary: &Summary) -> Result<(), String> {
    let Some(path) = &arguments.html else { return Ok(()) };
    std::fs::write(path, page::page(trace, summary))
        .map_err(|error| format!("cannot write the page {}: {error}", path.display()))
}

fn write_picture(arguments: &TraceArguments, trace: &Trace, summary: &Summary) -> Result<(), String> {
    let Some(path) = &arguments.svg else { return Ok(()) };
    let drawn = svg::draw(trace, summary).and_then(|svg| Ok(std::fs::write(path, svg)?));
    drawn.map_err(|error| format!("cannot write the picture {}: {error}", path.display()))
}
