//! The result is equal to the last bit on any number of ranks, and to that of the plainest serial program.
//! Ranks are threads here; their edges go through the same packing.

use canele_laplace::block::Block;
use canele_laplace::deal;
use canele_laplace::error::LaplaceError;
use canele_laplace::layout::Layout;
use canele_laplace::local::Channels;
use canele_laplace::plate::Plate;
use canele_laplace::solve::{Stop, solve};
use canele_laplace::team::{Edge, Team};

/// A rank that is a thread; messages are vectors in channels.
struct Thread {
    rank: usize,
    size: usize,
    channels: Channels,
}

fn threads(size: usize) -> Vec<Thread> {
    let thread = |(rank, channels)| Thread { rank, size, channels };
    Channels::between(size).into_iter().enumerate().map(thread).collect()
}

impl Team for Thread {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn send(&mut self, to: usize, values: &[f64]) -> Result<(), LaplaceError> {
        self.channels.send(to, values.to_vec())
    }

    fn receive(&mut self, from: usize, values: &mut [f64]) -> Result<(), LaplaceError> {
        // Panics if the lengths differ: a rank must never send more or less than the other one expects.
        values.copy_from_slice(&self.channels.receive(from)?);
        Ok(())
    }

    fn swap(&mut self, edges: &mut [Edge]) -> Result<(), LaplaceError> {
        for edge in edges.iter() {
            self.send(edge.peer, &edge.outgoing)?;
        }
        edges.iter_mut().try_for_each(|edge| self.receive(edge.peer, &mut edge.incoming))
    }

    fn maximum(&mut self, value: f64) -> Result<f64, LaplaceError> {
        (0..self.size).try_for_each(|to| self.channels.send(to, vec![value]))?;
        (0..self.size).try_fold(0.0, |largest: f64, from| Ok(largest.max(self.channels.receive(from)?[0])))
    }
}

/// Sweeps, last change and bits of all temperatures.
type Solution = (u64, u64, Vec<u64>);

fn bits(sweeps: u64, change: f64, plate: &Plate) -> Solution {
    (sweeps, change.to_bits(), plate.temperatures.iter().map(|value| value.to_bits()).collect())
}

/// Computes the solution by the definition: one array, one loop, no optimisation.
fn plainly(plate: &Plate, stop: &Stop) -> Solution {
    let mut plate = plate.clone();
    let (width, height) = (plate.width as isize, plate.height as isize);
    for sweep in 1.. {
        let mut largest: f64 = 0.0;
        for colour in 0..2 {
            for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
                let cell = (y * width + x) as usize;
                if (x + y) % 2 != colour || plate.fixed[cell] {
                    continue;
                }
                let at = |y: isize, x: isize| {
                    let inside = (0..height).contains(&y) && (0..width).contains(&x);
                    if inside { plate.temperatures[(y * width + x) as usize] } else { 0.0 }
                };
                let mean = 0.25 * ((at(y - 1, x) + at(y + 1, x)) + (at(y, x - 1) + at(y, x + 1)));
                largest = largest.max((mean - plate.temperatures[cell]).abs());
                plate.temperatures[cell] = mean;
            }
        }
        let looks = sweep % stop.check_every == 0 || sweep == stop.max_sweeps;
        if looks && (largest < stop.tolerance || sweep == stop.max_sweeps) {
            return bits(sweep, largest, &plate);
        }
    }
    unreachable!()
}

/// Runs one rank; rank 0 returns the solution.
fn rank_main<T: Team>(plate: &Plate, stop: &Stop, mut team: T) -> Option<Solution> {
    let layout = Layout::new(plate.width, plate.height, team.size()).unwrap();
    let mut whole = (team.rank() == 0).then(|| plate.clone());
    let part = deal::hand_out(whole.as_ref(), &layout, &mut team).unwrap();
    let mut block = Block::new(&layout.extent(team.rank()), &part);
    let outcome = solve(&mut block, &layout, &mut team, stop, |_, _| ()).unwrap();
    deal::collect(&block.temperatures(), whole.as_mut(), &layout, &mut team).unwrap();
    whole.map(|whole| bits(outcome.sweeps, outcome.change, &whole))
}

fn on_ranks(plate: &Plate, stop: &Stop, ranks: usize) -> Solution {
    std::thread::scope(|scope| {
        let spawn = |team| scope.spawn(move || rank_main(plate, stop, team));
        let running: Vec<_> = threads(ranks).into_iter().map(spawn).collect();
        running.into_iter().filter_map(|thread| thread.join().unwrap()).next().unwrap()
    })
}

/// Returns a plate with scattered fixed cells; a seed always gives one plate.
fn random_plate(width: usize, height: usize, seed: u64) -> Plate {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let temperatures = (0..width * height).map(|_| (next() % 1001) as f64 / 10.0).collect();
    // From nearly all free to nearly all fixed cells, also with long runs of both.
    let share = seed % 11;
    let fixed = (0..width * height).map(|cell| (next() ^ (cell as u64 / 8)) % 11 < share).collect();
    Plate { width, height, temperatures, fixed }
}

const SIZES: [(usize, usize); 12] = [
    (1, 1),
    (1, 9),
    (2, 2),
    (3, 3),
    (4, 5),
    (7, 6),
    (16, 16),
    (31, 17),
    (5, 40),
    (40, 13),
    (33, 34),
    (64, 24),
];

#[test]
fn one_rank_equals_the_plain_program() {
    for (seed, (width, height)) in SIZES.into_iter().enumerate() {
        let plate = random_plate(width, height, seed as u64);
        let stop = Stop { tolerance: 0.05, max_sweeps: 60, check_every: 3 };
        assert_eq!(on_ranks(&plate, &stop, 1), plainly(&plate, &stop), "{width} x {height}");
    }
}

#[test]
fn any_number_of_ranks_equals_the_plain_program() {
    for (seed, (width, height)) in SIZES.into_iter().enumerate() {
        let plate = random_plate(width, height, 7 * seed as u64 + 1);
        let stop = Stop { tolerance: 0.05, max_sweeps: 25, check_every: 4 };
        let expected = plainly(&plate, &stop);
        for ranks in (1..=height.min(17)).chain([19, 23, 24, 31].into_iter().filter(|ranks| *ranks <= height))
        {
            let found = on_ranks(&plate, &stop, ranks);
            assert_eq!(found, expected, "{width} x {height} on {ranks} ranks");
        }
    }
}

#[test]
fn all_ranks_stop_at_the_first_look_below_the_tolerance() {
    let plate = random_plate(40, 30, 1);
    for check_every in [1, 7, 10] {
        let stop = Stop { tolerance: 0.01, max_sweeps: 10_000, check_every };
        let expected = plainly(&plate, &stop);
        assert!(expected.0 < stop.max_sweeps && expected.0.is_multiple_of(check_every));
        for ranks in [1, 4, 6, 11] {
            assert_eq!(on_ranks(&plate, &stop, ranks), expected, "{ranks} ranks, look every {check_every}");
        }
    }
}

#[test]
fn the_middle_of_a_strip_is_the_mean_of_its_ends() {
    // Between a hot and a cold wall without loss the temperature falls evenly. The top and bottom rows have
    // the exact solution, so all rows are equal.
    let (width, height) = (21, 9);
    let exact = |x: usize| 100.0 - 5.0 * x as f64;
    let border = |x: usize, y: usize| x == 0 || y == 0 || x == width - 1 || y == height - 1;
    let cells: Vec<_> = (0..height).flat_map(|y| (0..width).map(move |x| (x, y))).collect();
    let plate = Plate {
        width,
        height,
        temperatures: cells.iter().map(|(x, y)| if border(*x, *y) { exact(*x) } else { 0.0 }).collect(),
        fixed: cells.iter().map(|(x, y)| border(*x, *y)).collect(),
    };
    let stop = Stop { tolerance: 1e-10, max_sweeps: 100_000, check_every: 10 };
    let (_, _, solution) = on_ranks(&plate, &stop, 6);
    for ((x, y), value) in cells.iter().zip(solution) {
        assert!((f64::from_bits(value) - exact(*x)).abs() < 1e-7, "({x}, {y})");
    }
}
