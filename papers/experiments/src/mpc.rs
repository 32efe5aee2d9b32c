//! The experiments of MPC.

use serde_json::Value;

use super::lab::{Benched, Lab, Trouble};
use super::outcome::{Figure, Outcome, Plotted, Quantity, Table, three};
use super::simulated::{PAGE, System, sizes};

/// Bytes of MPC's remote write for which its latency is published.
const WRITE: usize = 4;
const MEGABYTE: usize = 1 << 20;

/// The raw remote write.
const PUT: System = System::raw("hsl");
/// MPI-MPC 1: the send takes 7 µs and 4 µs, of which 1.9 are the network's; the receive takes the rest of 26
/// µs.
pub const MPI_MPC_1: System = System { piece_bytes: PAGE, ..PUT }.with(9_100, 12_900);
/// MPI over a remote write without system calls: MPI's own 7 µs at each end.
const MPI_ON_USER_LEVEL_PUT: System = System { piece_bytes: PAGE, ..PUT }.with(7_000, 7_000);
/// MPI-MPC 2: the remainder of 15 µs, equal at both ends.
pub const MPI_MPC_2: System = System { piece_bytes: PAGE, ..PUT }.with(5_500, 5_500);

/// Measures the steps of one message.
pub fn steps(lab: &Lab) -> Result<Outcome, Trouble> {
    let messages = lab.pick("2000", "20000");
    let native = lab.own_ranks(&["--bind", "core", "--wait", "poll"], &["steps", messages])?;
    let program = lab.compile("steps", include_str!("steps.c"))?;
    let mpi: Value =
        serde_json::from_str(&lab.job(2, &["--bind", "core", "--wait", "poll"], &program, &[messages])?)?;
    let line_ns = lab.bench("latency --bytes 8", &[])?.limits["line_ns"].as_f64().unwrap_or(0.0);
    let of = |figures: &Value, name: &str| figures[name].as_f64().unwrap_or(0.0);
    let clock = of(&native, "clock");
    let interval = |figures: &Value, name: &str| (of(figures, name) - clock).max(0.0);
    let (send, receive) = (interval(&native, "send"), interval(&native, "receive"));
    let way = interval(&mpi, "way");
    let steps = [
        ("MPI send", 7.0, (interval(&mpi, "send") - send).max(0.0)),
        ("PUT send; the library's send", 4.0, send),
        ("hardware; a cache line", 3.0, line_ns.min(way)),
        ("polling loop", 3.0, (way - line_ns).max(0.0)),
        ("PUT receive; the library's receive", 2.0, receive),
        ("MPI receive", 7.0, (interval(&mpi, "receive") - receive).max(0.0)),
    ];
    let mut table = Table::new(["step", "MPI-MPC 1", "today"]);
    for (name, published, ns) in steps {
        table.row([name.to_string(), format!("{published} µs"), format!("{ns:.0} ns")]);
    }
    let sum: f64 = steps.iter().map(|(.., ns)| ns).sum();
    table.row(["sum", "26 µs", &format!("{sum:.0} ns")]);
    let mut outcome = Outcome::default();
    outcome.say(&format!(
        "Medians of time stamps on the clock that both processes share ({clock:.0} ns for reading it taken off), 8 bytes, ranks that \
         poll with a probe and then receive: a blocking receive has no step between those. One poll takes {:.0} ns.",
        of(&native, "poll")
    ));
    outcome.tables.push(table);
    let is_measured = |figures: &Value| {
        ["send", "way", "receive"].iter().all(|name| figures[*name].as_f64().is_some_and(f64::is_normal))
    };
    outcome.check("every step was measured", is_measured(&native) && is_measured(&mpi) && line_ns > 0.0);
    Ok(outcome)
}

/// Measures latency and throughput over the size.
pub fn curve(lab: &Lab) -> Result<Outcome, Trouble> {
    let sizes = sizes(lab.quick);
    let list: Vec<_> = sizes.iter().map(ToString::to_string).collect();
    let today = lab.bench(&format!("latency --bytes {}", list.join(",")), &[])?;
    let systems = [("PUT", PUT), ("MPI-MPC 1", MPI_MPC_1), ("MPI-MPC 2", MPI_MPC_2)];
    let mut outcome = Outcome::default();
    let mut curves = vec![Plotted::new("today, shared memory", times(&today))];
    for (name, system) in systems {
        curves.push(Plotted::new(format!("{name}, simulated"), system.curve(&sizes)?));
    }
    outcome.tables.push(table(&sizes, &curves));
    outcome.figures.push(Figure {
        name: "mpc-curve".into(),
        caption: "One-way time over the message size".into(),
        x: Quantity::Bytes,
        y: Quantity::Microseconds,
        curves,
    });
    claims(&mut outcome)?;
    outcome.check(
        "a message of 4 bytes takes one packet on the simulated network",
        PUT.one_way_us(WRITE)? < 4.1,
    );
    Ok(outcome)
}

fn claims(outcome: &mut Outcome) -> Result<(), Trouble> {
    let megabits = |system: System| Ok::<_, Trouble>(system.rate(MEGABYTE)? * 8.0);
    outcome.say(
        "The network `hsl` was given the remote write's 4 µs and 494 Mbit/s. MPI-MPC 1 was given its published steps. MPI on a \
         remote write without system calls is predicted from these: MPI's own 7 µs at each end and the 4 µs. For the rest MPI-MPC 2 is given \
         its 15 µs. Data goes in pages, each of which the processor describes to the network by its physical address.",
    );
    outcome.calibrate("PUT, 4 B", "µs", 4.0, PUT.one_way_us(WRITE)?);
    outcome.calibrate(
        "PUT, 1 MB",
        "Mbit/s",
        494.0,
        System { piece_bytes: 64 << 10, ..PUT }.rate(MEGABYTE)? * 8.0,
    );
    outcome.judge(
        "SLR, 1 MB (PUT in pages)",
        "Mbit/s",
        490.0,
        megabits(System { piece_bytes: PAGE, ..PUT })?,
    );
    outcome.calibrate("MPI-MPC 1, 4 B", "µs", 26.0, MPI_MPC_1.one_way_us(WRITE)?);
    outcome.judge("MPI-MPC 1, 1 MB (2001)", "Mbit/s", 450.0, megabits(MPI_MPC_1)?);
    outcome.judge("MPI-MPC 1, 1 MB (2002)", "Mbit/s", 419.0, megabits(MPI_MPC_1)?);
    outcome.judge("MPI-MPC 2, 4 B, predicted", "µs", 15.0, MPI_ON_USER_LEVEL_PUT.one_way_us(WRITE)?);
    outcome.calibrate("MPI-MPC 2, 4 B, given", "µs", 15.0, MPI_MPC_2.one_way_us(WRITE)?);
    outcome.judge("MPI-MPC 2, 1 MB", "Mbit/s", 421.0, megabits(MPI_MPC_2)?);
    Ok(())
}

/// Returns the points (bytes, µs) of a benchmark with one row for each size.
pub fn times(benched: &Benched) -> Vec<(f64, f64)> {
    let point = |row: &super::lab::BenchRow| Some((row.bytes? as f64, row.median_ns? / 1e3));
    benched.rows.iter().filter_map(point).collect()
}

/// Returns curves as a table of microseconds.
pub fn table(sizes: &[usize], curves: &[Plotted]) -> Table {
    let mut table = Table::new(std::iter::once("bytes").chain(curves.iter().map(|curve| &*curve.name)));
    for bytes in sizes {
        let time = |curve: &Plotted| {
            let point = curve.points.iter().find(|(x, _)| *x == *bytes as f64);
            point.map_or_else(String::new, |(_, us)| format!("{} µs", three(*us)))
        };
        table.row(std::iter::once(bytes.to_string()).chain(curves.iter().map(time)));
    }
    table
}
