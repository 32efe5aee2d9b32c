//! The whole demonstration: it runs, collects the counters of the ranks, and prints a summary.

use std::time::{Duration, Instant};

use canele::{Job, Op, Rank};
use canele_show::{Moved, Progress, grouped, print_table, readable_bytes};

use crate::arguments::Demonstration;
use crate::error::DsmError;
use crate::program::transpose::{Checked, transpose};
use crate::space::AddressSpace;
use crate::traffic::Traffic;

/// Number of steps whose progress is shown.
const STEPS: u32 = 4;

/// The sums of the clients' counters.
struct Totals {
    traffic: Traffic,
    checked: Checked,
    moved: Moved,
}

/// Runs the demonstration on this rank; rank 0 reports.
pub fn run(options: &Demonstration, job: &Job) -> Result<(), DsmError> {
    let settings = options.settings();
    settings.check(job.size())?;
    let world = job.world();
    let space = AddressSpace::new(world.duplicate()?, settings)?;
    let is_first_client = job.rank().0 == space.clients().start;
    let start = Instant::now();
    let ended = {
        let mut progress = Progress::new("dsm", is_first_client && !options.quiet);
        space.run(|client| {
            let checked = transpose(client, options.pages, options.seed, |step, text| {
                progress.at(f64::from(step) / f64::from(STEPS), text);
            })?;
            Ok::<_, DsmError>((client.traffic(), checked))
        })?
    };
    let time = start.elapsed();
    let (traffic, checked) = ended.unwrap_or_default();
    let totals = add_up(job, traffic, checked)?;
    if job.rank() != Rank(0) {
        return Ok(());
    }
    if !options.quiet {
        report(options, &space, &totals, time);
    }
    let Checked { words, wrong } = totals.checked;
    if wrong == 0 { Ok(()) } else { Err(DsmError::Wrong { wrong, checked: words }) }
}

/// Returns the sums over all ranks; they are valid on rank 0 only.
fn add_up(job: &Job, traffic: Traffic, checked: Checked) -> Result<Totals, DsmError> {
    let moved = Moved::by(&job.endpoint().counters()?).numbers();
    let (mut traffic_sums, mut checked_sums, mut moved_sums) =
        ([0; Traffic::NUMBERS], [0; 2], [0; Moved::NUMBERS]);
    let world = job.world();
    world.reduce(Rank(0), &traffic.numbers(), &mut traffic_sums, Op::Sum)?;
    world.reduce(Rank(0), &[checked.words, checked.wrong], &mut checked_sums, Op::Sum)?;
    world.reduce(Rank(0), &moved, &mut moved_sums, Op::Sum)?;
    Ok(Totals {
        traffic: Traffic::from_numbers(traffic_sums),
        checked: Checked { words: checked_sums[0], wrong: checked_sums[1] },
        moved: Moved::from_numbers(moved_sums),
    })
}

fn report(options: &Demonstration, space: &AddressSpace, totals: &Totals, time: Duration) {
    let Totals { traffic, checked, moved } = totals;
    let settings = space.settings();
    let counted =
        |count: usize, what: &str| if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") };
    let fetched = traffic.read_faults + traffic.write_faults + traffic.prefetched;
    let verdict = match checked.wrong {
        0 => format!("{} words equal those of the serial reference", grouped(checked.words)),
        wrong => format!("{} of {} words are WRONG", grouped(wrong), grouped(checked.words)),
    };
    print_table(&[
        (
            "memory",
            format!(
                "{} pages of {} B: a matrix of {} x {}, its transpose, counts",
                grouped(settings.pages.into()),
                grouped(settings.page_bytes as u64),
                options.pages,
                settings.words()
            ),
        ),
        (
            "ranks",
            format!(
                "{}, {}",
                counted(settings.servers as usize, "page server"),
                counted(space.clients().len(), "client")
            ),
        ),
        (
            "requests",
            format!(
                "{}, of them {} to a server without the page",
                grouped(traffic.requests),
                grouped(traffic.not_found)
            ),
        ),
        (
            "faults",
            format!(
                "{} to read, {} to write; {} pages were prefetched",
                grouped(traffic.read_faults),
                grouped(traffic.write_faults),
                grouped(traffic.prefetched)
            ),
        ),
        (
            "pages moved",
            format!(
                "{} to clients, {} back home: {}",
                grouped(fetched),
                grouped(traffic.written_back),
                readable_bytes((fetched + traffic.written_back) * settings.page_bytes as u64)
            ),
        ),
        ("moved", moved.to_string()),
        ("time", format!("{:.3} s", time.as_secs_f64())),
        ("checked", verdict),
    ]);
}
