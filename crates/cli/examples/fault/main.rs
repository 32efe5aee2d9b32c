//! One rank of the jobs that the fault tests start: `fault WHAT ARGUMENTS…`.
//!
//! Each module is one kind of traffic that checks all received data; the test controls the fate of the ranks.
//! A rank that finds an error prints it and exits with 1.
#![forbid(unsafe_code)]

mod bad_calls;
mod counted;
mod cut_off;
mod exchange;
mod flood;
mod forked;
mod hanging;
mod last_one;
mod lone;
mod pattern;
mod survivors;
mod threads;
mod together;
mod traced;

use std::process::ExitCode;

/// The result of a rank.
type Outcome = Result<(), Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fault {}: {error}", words.join(" "));
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[String]) -> Outcome {
    let number = |at: usize| -> Result<u64, String> {
        let word = words.get(at).ok_or(format!("argument {at} is missing"))?;
        word.parse().map_err(|error| format!("{word}: {error}"))
    };
    match words.first().map(String::as_str) {
        Some("exchange") => exchange::run(number(1)? as f64, true),
        // Launchers of other systems wait for processes that a rank leaves behind.
        Some("exchange-alone") => exchange::run(number(1)? as f64, false),
        Some("together") => together::run(),
        Some("survivors") => survivors::run(number(1)?),
        Some("flood") => flood::one_way(number(1)?),
        Some("flood-both") => flood::both_ways(number(1)?),
        Some("forked") => forked::run(number(1)?),
        Some("threads") => threads::run(number(1)?),
        Some("all-to-all") => exchange::all_to_all(number(1)?),
        Some("counted") => counted::run(),
        Some("bad-calls") => bad_calls::run(),
        Some("cut-off") => cut_off::goes_on(number(1)?),
        Some("cut-off-stop") => cut_off::waits(),
        Some("last-one") => last_one::run(number(1)?, words.get(2).is_some()),
        Some("unfinished") => lone::unfinished(number(1)?),
        Some("absent") => lone::absent(number(1)?),
        Some("lost") => lone::lost(number(1)?),
        Some("severed") => match words {
            [_, _, what, signs] => lone::severed(number(1)?, what, signs),
            _ => Err("a rank, what fails and a folder are missing".into()),
        },
        Some("region") => lone::region(number(1)?),
        Some("late-put") => lone::late_put(),
        Some("blocked") => lone::blocked(number(1)?),
        Some("approached") => lone::approached(words.get(1).ok_or("no sign is named")?),
        Some("hanging") => hanging::run(words.get(1).map_or("", String::as_str)),
        Some("traced") => traced::run(words.get(1).map_or("", String::as_str)),
        Some("idle") => lone::idle(),
        other => Err(format!("what is {other:?}?").into()),
    }
}
