//! Runs the seeds of a campaign, two at a time, and stops at the first failure.

use std::ops::Range;
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use canele_sim::campaign::{FailedSeed, run};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use super::arguments::Campaign;
use crate::{print, say, wrong_usage};

/// Number of seeds that run at a time.
const THREADS: usize = 2;

/// Returns exit status 0 if every seed succeeds, 1 at the first failure.
pub fn main(asked: &Campaign) -> ExitCode {
    let setup = asked.setup();
    if setup.faults.deaths && setup.faults.packets {
        return wrong_usage(
            "--faults deaths,packets: ranks do not die where packets go wrong; ask for one of the two",
        );
    }
    // A program that panics has failed; the failure is reported once, below.
    std::panic::set_hook(Box::new(|_| {}));
    let style = ProgressStyle::with_template("[{bar:40}] {pos}/{len} seeds, {eta} left")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    let seeds = asked.seeds.clone();
    let bar = ProgressBar::new(seeds.end - seeds.start).with_style(style.progress_chars("=> "));
    let start = Instant::now();
    let failure = run_all(seeds.clone(), |seed| run(seed, &setup), &bar);
    drop(std::panic::take_hook());
    bar.finish_and_clear();
    let (count, seconds) = (seeds.end - seeds.start, start.elapsed().as_secs_f64());
    if asked.json {
        print(&json(asked, (count, seconds), failure.as_ref()));
    }
    match failure {
        None if asked.json => ExitCode::SUCCESS,
        None => {
            print(&format!("{count} seeds: everything arrived once, in order, and ended ({seconds:.1} s)"));
            ExitCode::SUCCESS
        }
        Some(failure) => {
            say(&failure.to_string());
            say(&format!("replay: {}", asked.replay(failure.seed)));
            ExitCode::FAILURE
        }
    }
}

/// Returns the result of a campaign with this number of seeds and seconds.
fn json(asked: &Campaign, (seeds, seconds): (u64, f64), failure: Option<&FailedSeed>) -> String {
    let failure = failure.map(|failure| {
        json!({ "seed": failure.seed, "what": failure.to_string(), "replay": asked.replay(failure.seed) })
    });
    json!({ "seeds": seeds, "seconds": seconds, "failure": failure }).to_string()
}

/// Returns the first failure: among the seeds that ran until one failed, the lowest.
fn run_all(
    seeds: Range<u64>,
    run: impl Fn(u64) -> Result<(), FailedSeed> + Sync,
    bar: &ProgressBar,
) -> Option<FailedSeed> {
    let left = Mutex::new(seeds);
    let mut failures: Vec<FailedSeed> = thread::scope(|scope| {
        let worker = || {
            while let Some(seed) = next(&left) {
                if let Err(failure) = run(seed) {
                    stop(&left);
                    return Some(failure);
                }
                bar.inc(1);
            }
            None
        };
        let workers: Vec<_> = (0..THREADS).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().filter_map(|worker| worker.join().ok().flatten()).collect()
    });
    failures.sort_by_key(|failure| failure.seed);
    failures.into_iter().next()
}

fn next(left: &Mutex<Range<u64>>) -> Option<u64> {
    left.lock().ok()?.next()
}

fn stop(left: &Mutex<Range<u64>>) {
    if let Ok(mut left) = left.lock() {
        left.start = left.end;
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use serde_json::Value;

    use super::*;

    fn failed(seed: u64) -> FailedSeed {
        FailedSeed { seed, what: "it hangs".into(), its_failure: String::new(), smallest: String::new() }
    }

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        asked: Campaign,
    }

    #[test]
    fn a_failure_is_told_as_json_with_the_command_that_runs_its_seed_again() {
        let line = ["campaign", "--seeds", "5..20", "--ranks", "3", "--faults", "losses"];
        let asked = Line::parse_from(line).asked;
        let told: Value = serde_json::from_str(&json(&asked, (15, 0.5), Some(&failed(13)))).unwrap();
        let replay = "canele sim campaign --seeds 13..14 --ranks 3 --faults losses";
        let failure = json!({ "seed": 13, "what": failed(13).to_string(), "replay": replay });
        assert_eq!(told, json!({ "seeds": 15, "seconds": 0.5, "failure": failure }));
        assert!(told["failure"]["what"].as_str().unwrap().starts_with("seed 13: it hangs"));
    }

    #[test]
    fn the_first_failure_ends_a_campaign() {
        let ran = Mutex::new(Vec::new());
        let fails = |seed| {
            ran.lock().unwrap().push(seed);
            if seed >= 13 { Err(failed(seed)) } else { Ok(()) }
        };
        let bar = ProgressBar::hidden();
        let failure = run_all(5..1_000_000, fails, &bar).expect("13 fails");
        assert_eq!((failure.seed, bar.position()), (13, 8));
        let mut ran = ran.into_inner().unwrap();
        ran.sort_unstable();
        assert!(ran == (5..14).collect::<Vec<_>>() || ran == (5..15).collect::<Vec<_>>(), "{ran:?}");
        assert!(run_all(0..13, |_| Ok(()), &bar).is_none());
    }
}
