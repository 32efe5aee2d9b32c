//! Measures sweeps over square plates with one heated border, as `bench/programs/laplace.c` does over MPI.
//!
//! Run: `canele run -n 2 target/release/examples/sweep [BLOCK_MS QUICK]`. "sweep" is the time of a sweep over
//! a plate of so many bytes, "compute" the time without communication. First, each rank compares its block
//! with its own serial result.

#[path = "../../../bench/programs/measure.rs"]
mod measure;

use std::process::ExitCode;

use canele::Job;
use canele_laplace::LaplaceError;
use canele_laplace::block::{Block, Colour};
use canele_laplace::exchange::{Member, Ranks};
use canele_laplace::layout::{Layout, Side};
use canele_laplace::plate::{HOTTEST, Plate};
use canele_laplace::solve::{Borders, Stop, sweep};
use canele_laplace::team::Team;
use measure::Measure;

/// Sweeps that are compared before the measurement.
const CHECKED: u64 = 25;
/// The stop condition of the MPI program.
const STOP: Stop = Stop { tolerance: 0.0, max_sweeps: u64::MAX, check_every: 10 };

/// Makes the block of a rank in a plate whose upper border is hot; the other borders are held at 0 degrees.
fn heated_block(layout: &Layout, rank: usize) -> Block {
    let extent = layout.extent(rank);
    let (width, height) = (extent.width(), extent.height());
    let (temperatures, fixed) = (vec![0.0; width * height], vec![false; width * height]);
    let mut block = Block::new(&extent, &Plate { width, height, temperatures, fixed });
    if layout.neighbour(rank, Side::Top).is_none() {
        for colour in [Colour::Red, Colour::Black] {
            let heat = vec![HOTTEST; block.border_cells(Side::Top, colour)];
            block.unpack(Side::Top, colour, &heat);
        }
    }
    block
}

/// Computes both half sweeps, without neighbours.
fn compute(block: &mut Block, number: u64) {
    for colour in [Colour::Red, Colour::Black] {
        if number.is_multiple_of(STOP.check_every) {
            std::hint::black_box(block.half_sweep_measured(colour));
        } else {
            block.half_sweep(colour);
        }
    }
}

/// Compares the block of this rank with the same part of a plate that it computes alone.
fn check(
    side: usize,
    layout: &Layout,
    block: &mut Block,
    borders: &mut Borders,
    member: &mut Member,
) -> Result<(), String> {
    let alone = Layout::new(side, side, 1).map_err(text)?;
    let mut whole = heated_block(&alone, 0);
    for number in 1..=CHECKED {
        compute(&mut whole, number);
        sweep(block, borders, member, &STOP, number).map_err(text)?;
    }
    let plate = Plate {
        width: side,
        height: side,
        temperatures: whole.temperatures(),
        fixed: vec![false; side * side],
    };
    let is_right = plate.part(&layout.extent(member.rank())).temperatures == block.temperatures();
    if is_right { Ok(()) } else { Err(format!("rank {}: the plate of {side} is wrong", member.rank())) }
}

fn measure_plate(side: usize, measure: &Measure, ranks: &Ranks<'_>) -> Result<(), String> {
    let mut member = ranks.own_members().remove(0);
    let layout = Layout::new(side, side, ranks.ranks()).map_err(text)?;
    let mut block = heated_block(&layout, ranks.rank());
    let mut borders = Borders::new(&layout, ranks.rank());
    check(side, &layout, &mut block, &mut borders, &mut member)?;
    let together = measure.operation(|count| {
        for number in 1..=count {
            match sweep(&mut block, &mut borders, &mut member, &STOP, number) {
                Err(LaplaceError::Communication(error)) => return Err(error),
                // Only another thread could give up, and there is none.
                result => drop(result.expect("a rank of one thread fails by communication only")),
            }
        }
        Ok(())
    });
    let alone = measure.operation(|count| {
        (1..=count).for_each(|number| compute(&mut block, number));
        Ok(())
    });
    let bytes = side * side * size_of::<f64>();
    measure.tell("sweep", bytes, together.map_err(text)?, "ns");
    measure.tell("compute", bytes, alone.map_err(text)?, "ns");
    Ok(())
}

fn text(error: impl ToString) -> String {
    error.to_string()
}

fn run(job: &Job) -> Result<(), String> {
    let (measure, ranks) = (Measure::new(job), Ranks::new(job, 1));
    let sides: &[usize] = if measure.is_quick { &[64, 256, 1024] } else { &[64, 128, 256, 512, 1024] };
    sides.iter().try_for_each(|side| measure_plate(*side, &measure, &ranks))
}

fn main() -> ExitCode {
    let job = match Job::start() {
        Ok(job) => job,
        Err(error) => {
            eprintln!("sweep: {error}");
            return ExitCode::FAILURE;
        }
    };
    if let Err(error) = run(&job).and_then(|()| job.finish().map_err(text)) {
        eprintln!("sweep: {error}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
