//! A whole run on one rank: read, distribute, sweep, collect, write, report.

use std::panic::resume_unwind;
use std::path::Path;
use std::thread::ScopedJoinHandle;
use std::time::Duration;

use canele::Job;
use canele_show::picture::check_writable;
use canele_show::{Picture, Progress, grouped, significant};

use crate::arguments::Arguments;
use crate::block::Block;
use crate::deal;
use crate::error::LaplaceError;
use crate::exchange::{Member, Ranks};
use crate::heat::heat_map;
use crate::layout::Layout;
use crate::plate::Plate;
use crate::report::Run;
use crate::solve::{Outcome, Stop, solve};
use crate::team::Team;

/// The plate for a run without one.
const SAMPLE: &[u8] = include_bytes!("../sample.png");

/// Runs the program on this rank. Rank 0 reads, writes and reports; the others only compute.
///
/// # Errors
/// Rank 0 reports its error; the others then get [`LaplaceError::GivenUp`].
pub fn run(arguments: &Arguments, job: &Job) -> Result<(), LaplaceError> {
    let ranks = Ranks::new(job, arguments.threads as usize);
    let Shared { whole, layout } = read_for_all(arguments, &ranks)?;
    let (whole, outcome, communication) = compute(arguments, whole, layout, &ranks)?;
    let (moved, communication) = ranks.sum_up(communication)?;
    let Some(plate) = &whole else { return Ok(()) };
    heat_map(plate).write(&arguments.output)?;
    let (ranks, threads) = (ranks.ranks(), ranks.threads());
    Run { plate, layout, ranks, threads, outcome, moved, communication }.report(arguments);
    Ok(())
}

/// The result of a thread: the whole plate (only member 0), and the result of the sweeps.
type Computed = (Option<Plate>, Outcome);

/// Lets each thread of this rank compute its block. Returns the whole plate (rank 0 only), the result of the
/// sweeps in thread 0, and the mean communication time of the threads.
fn compute(
    arguments: &Arguments,
    whole: Option<Plate>,
    layout: Layout,
    ranks: &Ranks<'_>,
) -> Result<(Option<Plate>, Outcome, Duration), LaplaceError> {
    let mut members = ranks.own_members().into_iter();
    let first = members.next().expect("a rank has at least one computing thread");
    let results: Vec<Result<Computed, LaplaceError>> = std::thread::scope(|scope| {
        let compute = |member| scope.spawn(move || compute_block(arguments, None, layout, member));
        let others: Vec<_> = members.map(compute).collect();
        // The first computing thread of a rank is its main thread.
        let own = compute_block(arguments, whole, layout, first);
        let join =
            |thread: ScopedJoinHandle<'_, _>| thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        std::iter::once(own).chain(others.into_iter().map(join)).collect()
    });
    // A thread that gave up because of another one has no error of its own.
    if results.iter().any(Result::is_err) {
        let mut errors: Vec<_> = results.into_iter().filter_map(Result::err).collect();
        let own_fault = errors.iter().position(|error| !matches!(error, LaplaceError::GivenUp)).unwrap_or(0);
        return Err(errors.swap_remove(own_fault));
    }
    let mut computed: Vec<Computed> = results.into_iter().filter_map(Result::ok).collect();
    let times: Duration = computed.iter().map(|(_, outcome)| outcome.communication).sum();
    let communication = times / ranks.threads() as u32;
    let (whole, outcome) = computed.swap_remove(0);
    Ok((whole, outcome, communication))
}

/// Computes the block of one member of the team.
fn compute_block(
    arguments: &Arguments,
    mut whole: Option<Plate>,
    layout: Layout,
    mut member: Member,
) -> Result<Computed, LaplaceError> {
    let part = deal::hand_out(whole.as_ref(), &layout, &mut member)?;
    let mut block = Block::new(&layout.extent(member.rank()), &part);
    let stop = arguments.stop();
    let outcome = {
        let mut view = View::new(member.rank() == 0 && !arguments.quiet, stop);
        solve(&mut block, &layout, &mut member, &stop, |sweeps, change| view.seen(sweeps, change))?
    };
    deal::collect(&block.temperatures(), whole.as_mut(), &layout, &mut member)?;
    Ok((whole, outcome))
}

/// The plate (rank 0 only) and its division (all ranks).
struct Shared {
    whole: Option<Plate>,
    layout: Layout,
}

fn read_for_all(arguments: &Arguments, ranks: &Ranks<'_>) -> Result<Shared, LaplaceError> {
    let read = (ranks.rank() == 0).then(|| read(arguments, ranks)).transpose();
    // A width of 0 tells the others that there is no plate.
    let mut sides = match &read {
        Ok(Some(plate)) => [plate.width as u64, plate.height as u64],
        _ => [0, 0],
    };
    ranks.broadcast(&mut sides)?;
    let whole = read?;
    let [width, height] = sides.map(|side| side as usize);
    if width == 0 {
        return Err(LaplaceError::GivenUp);
    }
    Ok(Shared { whole, layout: cut(width, height, ranks)? })
}

/// Returns the division of the plate into a block for each computing thread.
fn cut(width: usize, height: usize, ranks: &Ranks<'_>) -> Result<Layout, LaplaceError> {
    Layout::new(width, height, ranks.members()).map_err(|error| match (ranks.ranks(), ranks.threads()) {
        (_, 1) => error,
        (ranks, threads) => LaplaceError::MoreThreadsThanRows { ranks, threads, rows: height },
    })
}

/// Reads the plate and checks all conditions that can be checked before the work starts.
fn read(arguments: &Arguments, ranks: &Ranks<'_>) -> Result<Plate, LaplaceError> {
    let (picture, name) = match &arguments.plate {
        Some(file) => (Picture::read(file)?, file.display().to_string()),
        None => (Picture::decode(SAMPLE, "the sample plate")?, "the sample plate".to_string()),
    };
    let plate = Plate::from_picture(&picture);
    if plate.free_cells() == plate.fixed.len() {
        return Err(LaplaceError::NothingFixed { plate: name });
    }
    cut(plate.width, plate.height, ranks)?;
    if arguments.plate.as_deref().is_some_and(|file| same_file(file, &arguments.output)) {
        return Err(LaplaceError::WouldOverwritePlate { file: name });
    }
    check_writable(&arguments.output)?;
    Ok(plate)
}

fn same_file(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// The progress shown to the user.
struct View {
    progress: Progress,
    stop: Stop,
}

impl View {
    fn new(wanted: bool, stop: Stop) -> Self {
        Self { progress: Progress::new("laplace", wanted), stop }
    }

    fn seen(&mut self, sweeps: u64, change: f64) {
        if !self.progress.is_shown() {
            return;
        }
        // Heat spreads, so the change shrinks about in proportion to one over the number of sweeps.
        let by_change = self.stop.tolerance / change.max(self.stop.tolerance);
        let by_sweeps = sweeps as f64 / self.stop.max_sweeps as f64;
        let text = format!("sweep {}, largest change {} degrees", grouped(sweeps), significant(change));
        self.progress.at(by_change.max(by_sweeps), text);
    }
}
