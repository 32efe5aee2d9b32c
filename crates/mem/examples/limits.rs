//! Prints this machine's limits, as lines "name bytes value unit": medians of interleaved rounds.
//! Starts itself again as the other processes, which inherit the memory they share.

use canele_mem::limits::{MachineLimits, MeasuredSizes};
use canele_sys::segment::Segment;
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::process::{Child, Command};
use std::{env, io};

const ROUNDS: usize = 9;
const LARGEST_BYTES: usize = 4 << 20;
const PAIR: MeasuredSizes = MeasuredSizes { ranks: 2, largest_bytes: LARGEST_BYTES };
const EIGHT: MeasuredSizes = MeasuredSizes { ranks: 8, largest_bytes: 0 };

fn main() -> io::Result<()> {
    if let Some(rank) = env::args().nth(2) {
        let shape = if env::args().nth(1).as_deref() == Some("pair") { PAIR } else { EIGHT };
        let rank = rank.parse().map_err(io::Error::other)?;
        let fd = env::args().nth(3).unwrap_or_default();
        let file = OpenOptions::new().read(true).write(true).open(format!("/proc/self/fd/{fd}"))?;
        return measure(shape, rank, &Segment::map(file.into()).map_err(io::Error::other)?);
    }
    for (name, shape) in [("pair", PAIR), ("eight", EIGHT)] {
        let segment = Segment::create("limits", shape.block_bytes()).map_err(io::Error::other)?;
        segment.reserve(0, segment.len()).map_err(io::Error::other)?;
        // The other processes inherit the descriptor.
        fcntl_setfd(segment.fd(), FdFlags::empty())?;
        let fd = segment.fd().as_raw_fd().to_string();
        let start =
            |rank: u32| Command::new(env::current_exe()?).args([name, &rank.to_string(), &fd]).spawn();
        let others: Vec<Child> = (1..shape.ranks).map(start).collect::<io::Result<_>>()?;
        measure(shape, 0, &segment)?;
        for mut child in others {
            child.wait()?;
        }
    }
    Ok(())
}

fn measure(shape: MeasuredSizes, rank: u32, segment: &Segment) -> io::Result<()> {
    let mut processors = CpuSet::new();
    processors.set(rank as usize % 2);
    sched_setaffinity(None, &processors)?;
    let mut limits = MachineLimits::on(segment, rank, shape).map_err(io::Error::other)?;
    let lines = if shape == PAIR { pair(&mut limits) } else { flags(&mut limits) };
    if rank == 0 {
        lines.iter().for_each(|line| println!("{line}"));
    }
    Ok(())
}

fn pair(limits: &mut MachineLimits) -> Vec<String> {
    limits.line_ns(5_000_000);
    let sizes: Vec<usize> = (3..12).map(|power| 1 << (2 * power)).collect();
    let mut figures = vec![Vec::new(); 2 + 3 * sizes.len()];
    for _ in 0..ROUNDS {
        figures[0].push(limits.line_ns(100_000));
        figures[1].push(limits.cells_per_s(1 << 21) / 1e6);
        for (bytes, out) in sizes.iter().zip(figures[2..].chunks_mut(3)) {
            let rounds = ((1 << 27) / bytes).min(20_000) as u32;
            out[0].push(*bytes as f64 / limits.copy1_ns(*bytes, rounds));
            out[1].push(*bytes as f64 / limits.copy2_ns(*bytes, rounds));
            out[2].push(*bytes as f64 / limits.stream_ns(*bytes, rounds));
        }
    }
    let medians: Vec<f64> = figures.into_iter().map(median).collect();
    let mut lines = vec![format!("line 64 {:.1} ns", medians[0]), format!("cells 8 {:.1} M/s", medians[1])];
    for (which, name) in ["copy1", "copy2", "stream"].iter().enumerate() {
        let of = |(index, bytes)| format!("{name} {bytes} {:.2} GB/s", medians[2 + 3 * index + which]);
        lines.extend(sizes.iter().enumerate().map(of));
    }
    lines
}

fn flags(limits: &mut MachineLimits) -> Vec<String> {
    limits.agree(0);
    let figures = (0..ROUNDS).map(|_| limits.flags_ns(2000) / 1e3).collect();
    vec![format!("flags 8 {:.2} us", median(figures))]
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
