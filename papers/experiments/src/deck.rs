//! The experiments of DECK-SCI.

use std::process::Command;
use std::time::{Duration, Instant};

use super::lab::{Lab, Trouble, quiet};
use super::outcome::{Outcome, Table, three};
use super::simulated::System;

const MEGABYTE: usize = 1 << 20;

/// The raw network: DECK's first protocol is one write of it.
const SCI: System = System::raw("sci-deck");
/// Copy rate of the second protocol, in bytes per ms. It copies out of a ring that the network writes into.
/// 190 MB/s is the rate of a Pentium III 500 with memory of 100 MHz, about 0.7 of 267 MB/s. Three transfers
/// for each byte leave that of 800.
const COPIED_PER_MS: u64 = 190_000;

/// Measures three protocols.
pub fn protocols(lab: &Lab) -> Result<Outcome, Trouble> {
    let mailbox = lab.bench("mailbox", &[])?;
    let private = lab.bench("bandwidth --bytes 1M --buffers private", &[])?;
    let region = lab.bench("bandwidth --bytes 1M --buffers region", &[])?;
    let first_us = mailbox.rows.first().and_then(|row| row.median_ns).unwrap_or(f64::NAN) / 1e3;
    let line_us = mailbox.limits["line_ns"].as_f64().unwrap_or(f64::NAN) / 1e3;
    let rate = |benched: &super::lab::Benched| {
        let row = benched.rows.iter().find(|row| row.operation.as_deref() == Some("ping-pong"));
        row.and_then(|row| row.gbytes_per_s).unwrap_or(0.0) * 1e3
    };
    let raw = region.limits["copy1"][0]["gbytes_per_s"].as_f64().unwrap_or(f64::NAN) * 1e3;
    let mut table = Table::new(["", "DECK-SCI", "of the raw transport", "today", "of the raw transport"]);
    table.row([
        "1: one message in one write".into(),
        "4.66 µs".into(),
        "1.0".into(),
        format!("{} ns", three(first_us * 1e3)),
        format!("{} cache lines", three(first_us / line_us)),
    ]);
    for (name, published, benched) in
        [("2: through a ring", 62.81, &private), ("3: into the receiver's memory", 84.12, &region)]
    {
        let ours = rate(benched);
        table.row([
            name.into(),
            format!("{published} MB/s"),
            format!("{:.3}", published / 87.72),
            format!("{} MB/s", three(ours)),
            format!("{:.3}", ours / raw),
        ]);
    }
    let mut outcome = Outcome::default();
    outcome.say(
        "Messages posted to a mailbox; 1 MB between private memory, which is copied twice, and between shared regions, which is copied once. \
         The raw transport is a cache line that another processor has written, and one copy between two processes.",
    );
    outcome.tables.push(table);
    outcome.check("both transfers were measured", rate(&private) > 0.0 && rate(&region) > 0.0);
    let mut ring = SCI;
    ring.software.copied_per_ms = COPIED_PER_MS;
    outcome.say(
        "The simulated network was given a message of one write and the raw rate. Protocol 2 copies what arrived, at 190 MB/s: 0.7 of what memory \
         of 100 MHz leaves a copy (an assumption). Protocol 3 asks for the destination first.",
    );
    outcome.calibrate("raw rate", "MB/s", 87.72, 64_000.0 / (SCI.one_way_us(64_000)? - SCI.one_way_us(0)?));
    outcome.calibrate("protocol 1, 40 B", "µs", 4.66, SCI.one_way_us(40)?);
    outcome.judge("protocol 2, copy rate assumed", "MB/s", 62.81, ring.rate(MEGABYTE)?);
    outcome.judge("protocol 3", "MB/s", 84.12, SCI.rate(MEGABYTE)?);
    Ok(outcome)
}

/// Published seconds on 8 processors: program, DECK, MPI.
const APPLICATIONS: [(&str, f64, f64); 3] =
    [("Mandelbrot", 8.9, 8.67), ("Laplace", 145.0, 198.0), ("POV-Ray", 31.22, 32.13)];

/// Measures the applications.
pub fn applications(lab: &Lab) -> Result<Outcome, Trouble> {
    let mut outcome = Outcome::default();
    let mut published = Table::new(["8 processors of 4 nodes", "DECK", "MPI (ScaMPI)", "ratio"]);
    for (name, deck, mpi) in APPLICATIONS {
        published.row([
            name.to_string(),
            format!("{deck} s"),
            format!("{mpi} s"),
            format!("{:.2}", deck / mpi),
        ]);
    }
    outcome.tables.push(published);
    outcome.tables.push(examples(lab)?);
    match lab.compare("laplace,mandelbrot", &[]) {
        Ok(compared) => {
            outcome.check("both programs were measured beside those over MPI", compared.is_whole());
            outcome.tables.push(compared.table());
        }
        Err(Trouble::Missing(what)) => {
            outcome.say(&format!("The programs over MPI are left out here. They need {what}."))
        }
        Err(trouble) => return Err(trouble),
    }
    Ok(outcome)
}

/// Measures the example programs, on ranks of one thread and of two.
fn examples(lab: &Lab) -> Result<Table, Trouble> {
    let picture = lab.temporary("picture.png").display().to_string();
    let programs = [
        ("mandelbrot", lab.pick("--size 160x120", "--size 1600x1200")),
        ("laplace", lab.pick("--max-sweeps 50", "--max-sweeps 2000")),
    ];
    let mut table = Table::new(["program", "ranks", "threads of a rank", "time", "communication"]);
    for (name, words) in programs {
        for (ranks, threads) in [(2, 1), (2, 2)] {
            let words = format!("{words} --threads {threads} --output {picture}");
            let run = lab.example(ranks, &[], name, &words)?;
            let of = |key: &str| run[key].as_f64().unwrap_or(f64::NAN);
            let time = format!("{} s", three(of("seconds")));
            let share = format!("{:.0} %", of("communication") * 100.0);
            table.row([name.to_string(), ranks.to_string(), threads.to_string(), time, share]);
        }
    }
    for ranks in [2, 3] {
        let time = match rendered(lab, ranks, &picture) {
            Ok(time) => format!("{} s, start and end included", three(time.as_secs_f64())),
            Err(Trouble::Missing(what)) => format!("left out, it needs {what}"),
            Err(trouble) => return Err(trouble),
        };
        table.row(["povray".to_string(), ranks.to_string(), "1".into(), time, String::new()]);
    }
    Ok(table)
}

/// Returns the time in which a master and its workers render the farm's own scene.
fn rendered(lab: &Lab, ranks: u32, picture: &str) -> Result<Duration, Trouble> {
    let farm = lab.beside("povray-farm")?;
    if quiet(Command::new("povray").arg("--version")).is_err() {
        return Err(Trouble::Missing("POV-Ray: install the package povray".into()));
    }
    let (width, height) = lab.pick(("80", "60"), ("800", "600"));
    let start = Instant::now();
    lab.job(ranks, &[], &farm, &["--width", width, "--height", height, "--output", picture, "--quiet"])?;
    Ok(start.elapsed())
}
