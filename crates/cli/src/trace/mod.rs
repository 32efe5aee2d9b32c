//! `canele trace FILE`: what a trace of `canele run --trace` says, in numbers and as a picture.
//!
//! Owns the command; reading is done in `read`, counting in `summary`, printing in `table`, drawing in `svg`.

mod read;
mod summary;
mod svg;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use crate::{print, say};
use summary::Summary;

/// Arguments of `canele trace`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct TraceArguments {
    /// A trace that `canele run --trace FILE` has written
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    file: PathBuf,
    /// Draw the timeline and who sends how much to whom into this file
    #[arg(long, value_name = "FILE.svg", value_hint = clap::ValueHint::FilePath)]
    svg: Option<PathBuf>,
    /// Print the summary as one JSON object
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "Examples:
  canele run -n 4 --trace run.json ./solver    record
  canele trace run.json                        who was late, imbalance, time in each call, sizes, who sends to whom
  canele trace run.json --svg run.svg          the timeline as a picture
Perfetto (ui.perfetto.dev) opens the same file: calls, waits and collectives of each rank, and an arrow for each message.";

/// Prints, and draws, what a trace says.
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
    let Some(path) = &arguments.svg else { return ExitCode::SUCCESS };
    let drawn = svg::draw(&trace, &summary).and_then(|svg| Ok(std::fs::write(path, svg)?));
    match drawn {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("cannot write the picture {}: {error}", path.display()));
            ExitCode::FAILURE
        }
    }
}
