//! A whole run as one rank sees it: read, hand out, sweep, collect, write, report.

use std::path::Path;
use std::time::Duration;

use canele_show::picture::check_writable;
use canele_show::{Moved, Picture, Progress, grouped, percent, print_table, significant};

use crate::arguments::Arguments;
use crate::block::Block;
use crate::deal;
use crate::error::LaplaceError;
use crate::heat::heat_map;
use crate::layout::Layout;
use crate::plate::Plate;
use crate::solve::{Outcome, Stop, solve};
use crate::team::Team;

/// The plate that is taken when none is given.
const SAMPLE: &[u8] = include_bytes!("../sample.png");

/// Runs the program on this rank. Rank 0 reads, writes and reports; the others only compute.
///
/// # Errors
/// Rank 0 says what is wrong; the others then get [`LaplaceError::GivenUp`].
pub fn run<T: Team>(arguments: &Arguments, team: &mut T) -> Result<(), LaplaceError> {
    let mut plate = read_for_all(arguments, team)?;
    let layout = plate.layout;
    let part = deal::hand_out(plate.whole.as_ref(), &layout, team)?;
    let mut block = Block::new(&layout.extent(team.rank()), &part);
    let stop = arguments.stop();
    let outcome = {
        let mut view = View::new(team.rank() == 0 && !arguments.quiet, stop);
        solve(&mut block, &layout, team, &stop, |sweeps, change| view.seen(sweeps, change))?
    };
    deal::collect(&block.temperatures(), plate.whole.as_mut(), &layout, team)?;
    let (moved, communication) = team.tally(outcome.communication)?;
    let Some(whole) = plate.whole else { return Ok(()) };
    heat_map(&whole).write(&arguments.output)?;
    if !arguments.quiet {
        report(arguments, &whole, &layout, &outcome, &moved, communication);
    }
    Ok(())
}

/// The plate (rank 0 only) and how it is cut (known to all).
struct Shared {
    whole: Option<Plate>,
    layout: Layout,
}

fn read_for_all<T: Team>(arguments: &Arguments, team: &mut T) -> Result<Shared, LaplaceError> {
    let read = (team.rank() == 0).then(|| read(arguments, team.size())).transpose();
    // A width of 0 tells the others that there is no plate.
    let mut sides = match &read {
        Ok(Some(plate)) => [plate.width as u64, plate.height as u64],
        _ => [0, 0],
    };
    team.broadcast(&mut sides)?;
    let whole = read?;
    let [width, height] = sides.map(|side| side as usize);
    if width == 0 {
        return Err(LaplaceError::GivenUp);
    }
    Ok(Shared { whole, layout: Layout::new(width, height, team.size())? })
}

/// Reads the plate and checks everything that can be checked before the work starts.
fn read(arguments: &Arguments, ranks: usize) -> Result<Plate, LaplaceError> {
    let (picture, name) = match &arguments.plate {
        Some(file) => (Picture::read(file)?, file.display().to_string()),
        None => (Picture::decode(SAMPLE, "the sample plate")?, "the sample plate".to_string()),
    };
    let plate = Plate::from_picture(&picture);
    if plate.free_cells() == plate.fixed.len() {
        return Err(LaplaceError::NothingFixed { plate: name });
    }
    Layout::new(plate.width, plate.height, ranks)?;
    if arguments.plate.as_deref().is_some_and(|file| same_file(file, &arguments.output)) {
        return Err(LaplaceError::WouldOverwritePlate { file: name });
    }
    check_writable(&arguments.output)?;
    Ok(plate)
}

fn same_file(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// Progress as the user sees it.
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
        // Heat spreads: the change shrinks about as one over the number of sweeps.
        let by_change = self.stop.tolerance / change.max(self.stop.tolerance);
        let by_sweeps = sweeps as f64 / self.stop.max_sweeps as f64;
        let text = format!("sweep {}, largest change {} degrees", grouped(sweeps), significant(change));
        self.progress.at(by_change.max(by_sweeps), text);
    }
}

fn report(
    arguments: &Arguments,
    plate: &Plate,
    layout: &Layout,
    outcome: &Outcome,
    moved: &Moved,
    communication: Duration,
) {
    let free = plate.free_cells() as u64;
    let seconds = outcome.time.as_secs_f64().max(f64::MIN_POSITIVE);
    let updates = free as f64 * outcome.sweeps as f64 / seconds / 1e6;
    let reached = outcome.change < arguments.tolerance;
    let verdict = if reached { "below" } else { "NOT below" };
    print_table(&[
        (
            "plate",
            format!(
                "{} x {} pixels, {} of them free, cut into {} x {} blocks",
                plate.width,
                plate.height,
                grouped(free),
                layout.across,
                layout.down
            ),
        ),
        (
            "sweeps",
            format!(
                "{}; the last changed no pixel by more than {} degrees, {verdict} {}",
                grouped(outcome.sweeps),
                significant(outcome.change),
                arguments.tolerance
            ),
        ),
        ("time", format!("{seconds:.3} s, {updates:.0} million updates/s")),
        (
            "communication",
            format!("{} of the time, waiting for other ranks included", percent(communication, outcome.time)),
        ),
        ("moved", moved.to_string()),
        ("heat map", arguments.output.display().to_string()),
    ]);
}
