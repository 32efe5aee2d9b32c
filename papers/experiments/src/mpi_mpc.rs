//! The experiments of MPI-MPC 1 against 2, and of CESTAC.

use std::path::Path;

use serde_json::Value;

use super::lab::{Lab, Trouble};
use super::mpc::{MPI_MPC_1, MPI_MPC_2, times};
use super::outcome::{Figure, Outcome, Plotted, Quantity, Table, three};
use super::simulated::sizes;

/// The wait policies: MPI-MPC 1 sleeps until an interrupt, MPI-MPC 2 polls.
const WAYS: [(&str, &str); 2] = [("sleep", "MPI-MPC 1"), ("poll", "MPI-MPC 2")];
/// Lengths of a short and a long message, in bytes.
const LENGTHS: [(&str, usize); 2] = [("short", 8), ("long", 1 << 20)];

/// Published counts per message for MPI-MPC 1 and 2: system calls, interrupts, copies; of short and of long
/// messages.
const COUNTS: [[[u32; 3]; 2]; 2] = [[[1, 2, 2], [0, 0, 2]], [[7, 6, 0], [4, 0, 0]]];

/// Measures system calls, interrupts and copies.
pub fn counts(lab: &Lab) -> Result<Outcome, Trouble> {
    let program = lab.compile("ping_pong", include_str!("ping_pong.c"))?;
    let mut table = Table::new(["message", "waiting as", "", "published", "counters", "traced"]);
    let mut outcome = Outcome::default();
    for ((length, bytes), published) in LENGTHS.iter().zip(COUNTS) {
        for ((wait, system), [calls, interrupts, copies]) in WAYS.iter().zip(published) {
            let counted = Counted::of(lab, &program, wait, *bytes)?;
            let of = |name: &str| counted.counters[name].as_f64().unwrap_or(f64::NAN);
            let mut row = |what: &str, published: u32, counter: f64, traced: Option<f64>| {
                let traced = traced.map_or_else(String::new, three);
                table.row([
                    (*length).into(),
                    (*system).into(),
                    what.into(),
                    published.to_string(),
                    three(counter),
                    traced,
                ]);
            };
            row("system calls", calls, of("system_calls"), counted.traced);
            row("interrupts: the processor given away", interrupts, of("sleeps"), Some(counted.switches));
            row("copies", copies, of("copies"), None);
            if *wait == "poll" {
                // The kernel may copy a long message from its sender's memory, which takes at least one call.
                let most = if *length == "short" { 0.1 } else { f64::from(calls) };
                let traced = counted.traced.is_none_or(|traced| traced < most);
                outcome.check(
                    format!("{length} messages that are polled for take fewer than {most} system calls, counted and traced"),
                    of("system_calls") < most && traced,
                );
            } else {
                // A rank may sleep again between the pieces of a long message.
                outcome.check(
                    format!("ranks that sleep for {length} messages do so at most {interrupts} times for one, the paper's interrupts"),
                    of("sleeps") <= f64::from(interrupts),
                );
            }
        }
    }
    outcome.say(
        "For each message of a ping-pong, both ranks together. *Counters* are the library's own. *Traced* are those of `strace -f -c` on \
         both ranks of an MPI program, the difference of two runs of unequal length, and for interrupts the voluntary context switches that the \
         kernel counts. A short message is written into the cache line that carries it and read out of it, which counts as no copy here; a long one \
         goes in pieces, each of which is copied in and out. MPI-MPC's network writes long messages into the receiver's memory.",
    );
    outcome.tables.push(table);
    Ok(outcome)
}

/// The costs of a message.
struct Counted {
    counters: Value,
    /// Voluntary context switches that the kernel counts.
    switches: f64,
    /// System calls counted by strace; none without strace.
    traced: Option<f64>,
}

impl Counted {
    fn of(lab: &Lab, program: &Path, wait: &str, bytes: usize) -> Result<Self, Trouble> {
        let options = ["--bind", "core", "--wait", wait];
        let messages = lab.pick(1000, 3000);
        let [few, many] = [messages, 3 * messages].map(|messages: usize| messages.to_string());
        let bytes = bytes.to_string();
        let counters = lab.own_ranks(&options, &["counts", &many, &bytes])?;
        let switches: Value = serde_json::from_str(&lab.job(2, &options, program, &[&many, &bytes])?)?;
        let calls = |messages: &str| {
            let calls = lab.system_calls(&options, program, &[messages, &bytes])?;
            Ok(calls.iter().map(|(_, count)| *count as f64).sum::<f64>())
        };
        let traced = match (calls(&few), calls(&many)) {
            (Ok(few), Ok(many)) => Some((many - few) / (4 * messages) as f64),
            (Err(Trouble::Missing(_)), _) => None,
            (Err(trouble), _) | (_, Err(trouble)) => return Err(trouble),
        };
        Ok(Self { counters, switches: switches["switches"].as_f64().unwrap_or(f64::NAN), traced })
    }
}

/// Measures latency and throughput with both wait policies.
pub fn waiting(lab: &Lab) -> Result<Outcome, Trouble> {
    let sizes = sizes(lab.quick);
    let list = sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let mut curves = Vec::new();
    for (wait, _) in WAYS {
        let benched = lab.bench(&format!("latency --bytes {list} --wait {wait}"), &[])?;
        curves.push(Plotted::new(format!("today, {wait}"), times(&benched)));
    }
    let at = |curve: &Plotted, last: bool| {
        let point = if last { curve.points.last() } else { curve.points.first() };
        point.copied().unwrap_or((f64::NAN, f64::NAN))
    };
    let mut table = Table::new(["", "latency", "published", "throughput of 1 MB", "published"]);
    for ((wait, system), (curve, [us, megabits])) in
        WAYS.iter().zip(curves.iter().zip([[26, 419], [15, 421]]))
    {
        let (bytes, long_us) = at(curve, true);
        table.row([
            format!("{wait} ({system})"),
            format!("{} µs", three(at(curve, false).1)),
            format!("{us} µs"),
            format!("{} Mbit/s", three(bytes * 8.0 / long_us)),
            format!("{megabits} Mbit/s"),
        ]);
    }
    let mut outcome = Outcome::default();
    outcome.say("Half the round trip, 1 B to 1 MB. MPI-MPC 1 sleeps until an interrupt, MPI-MPC 2 polls.");
    outcome.tables.push(table);
    outcome.check(
        "all sizes were measured in both ways",
        curves.iter().all(|curve| curve.points.len() == sizes.len()),
    );
    outcome.figures.push(Figure {
        name: "mpi-mpc-waiting".into(),
        caption: "One-way time, ranks that sleep and ranks that poll".into(),
        x: Quantity::Bytes,
        y: Quantity::Microseconds,
        curves,
    });
    Ok(outcome)
}

/// Measures the speed-up of two programs over the number of ranks.
pub fn speedup(lab: &Lab) -> Result<Outcome, Trouble> {
    let processors = canele_sys::topology::usable();
    let ranks: Vec<u32> =
        (0..).map(|power| 1 << power).take_while(|ranks| *ranks <= processors.clamp(2, 64)).collect();
    let picture = lab.temporary("speedup.png");
    let sizes = lab.pick("--size 160x120", "--size 1600x1200");
    let sweeps = lab.pick("--max-sweeps 50", "--max-sweeps 2000");
    let programs = [("mandelbrot", sizes), ("laplace", sweeps)];
    let (mut table, mut curves) = (Table::new(["program", "ranks", "time", "speed-up"]), Vec::new());
    for (name, words) in programs {
        let words = format!("{words} --output {}", picture.display());
        let mut points = Vec::new();
        let mut alone = f64::NAN;
        for count in &ranks {
            let seconds = lab.example(*count, &[], name, &words)?["seconds"].as_f64().unwrap_or(f64::NAN);
            alone = if *count == 1 { seconds } else { alone };
            points.push((f64::from(*count), alone / seconds));
            table.row([
                name.into(),
                count.to_string(),
                format!("{} s", three(seconds)),
                three(alone / seconds),
            ]);
        }
        curves.push(Plotted::new(name, points));
    }
    let mut outcome = Outcome::default();
    outcome.say(&format!(
        "This machine has {processors} processors. Rank 0 of mandelbrot hands out the work and computes nothing, so two ranks are as \
         fast as one."
    ));
    outcome.check(
        "every program ran on every number of ranks",
        curves.iter().flat_map(|curve| &curve.points).all(|(_, speedup)| *speedup > 0.0),
    );
    outcome.tables.push(table);
    outcome.figures.push(Figure {
        name: "mpi-mpc-speedup".into(),
        caption: "Speed-up over the number of ranks".into(),
        x: Quantity::Ranks,
        y: Quantity::Speedup,
        curves,
    });
    Ok(outcome)
}

/// Published values: size, seconds without pivoting and with it on MPI-MPC 1 and 2, exchanges, microseconds
/// of an exchange on 1 and 2.
const GAUSS: [(u64, [u32; 3], u64, [f64; 2]); 4] = [
    (800, [100, 151, 131], 646_682, [79.0, 48.0]),
    (1200, [348, 449, 414], 1_450_450, [70.0, 46.0]),
    (1600, [786, 977, 914], 2_574_140, [74.0, 50.0]),
    (2000, [1580, 1868, 1757], 4_018_285, [72.0, 44.0]),
];

/// Returns the wait policies of three ranks. Two ranks on one processor cannot both poll: each would wait for
/// the other's time slice.
fn ways() -> [&'static str; 2] {
    let polling = if canele_sys::topology::usable() < 3 { "adaptive" } else { "poll" };
    ["sleep", polling]
}

/// Measures Gauss elimination with one sample of stochastic arithmetic on each of three ranks.
pub fn gauss(lab: &Lab) -> Result<Outcome, Trouble> {
    let mut outcome = Outcome::default();
    let head = [
        "n",
        "waiting",
        "no pivoting",
        "pivoting",
        "exchanges",
        "one exchange",
        "published: times",
        "exchanges",
        "one exchange",
    ];
    let mut table = Table::new(head);
    let cases: Vec<_> = if lab.quick { vec![(40, GAUSS[0])] } else { GAUSS.map(|one| (one.0, one)).into() };
    for (size, published) in cases {
        for (way, wait) in ways().into_iter().enumerate() {
            let [without, with] = ["none", "partial"].map(|pivoting| {
                lab.example(
                    3,
                    &["--wait", wait],
                    "gauss",
                    &format!("--size {size} --pivoting {pivoting} --seed 1"),
                )
            });
            let (without, with) = (without?, with?);
            let of = |run: &Value, name: &str| run[name].as_f64().unwrap_or(f64::NAN);
            let (count, searched) = (of(&with, "exchanges"), of(&with, "seconds") - of(&without, "seconds"));
            let (_, [none, first, second], exchanges, each) = published;
            let paper = [
                format!("{none} s, {} s", [first, second][way]),
                exchanges.to_string(),
                format!("{} µs", each[way]),
            ];
            let ours = [
                size.to_string(),
                wait.to_string(),
                format!("{} s", three(of(&without, "seconds"))),
                format!("{} s", three(of(&with, "seconds"))),
                count.to_string(),
                format!(
                    "{} µs, of it communication {} µs",
                    three(searched / count * 1e6),
                    three(of(&with, "exchange_us"))
                ),
            ];
            let published = if lab.quick { [const { String::new() }; 3] } else { paper };
            table.row(ours.into_iter().chain(published));
            let expected = size * (size + 1);
            let near = (count - expected as f64).abs() <= 0.02 * expected as f64;
            outcome.check(format!("{size} equations, {wait}: n(n + 1) = {expected} exchanges, to 2 %"), near);
            outcome.check(
                format!("{size} equations, {wait}: the solution has significant digits"),
                of(&with, "fewest_digits") >= 1.0,
            );
        }
    }
    outcome.say(
        "Three ranks hold a sample each; only the search of the pivot communicates. It is a search in the column, \
         whose n(n + 1) exchanges are those that the paper counts. As there, *one exchange* is what pivoting adds to the \
         time, divided by the exchanges: the search's arithmetic and the ranks' waiting for each other are in it. With fewer than three \
         processors ranks do not poll but wait adaptively: they give their processor away between looks.",
    );
    outcome.tables.push(table);
    match lab.compare("cestac,gauss", &[]) {
        Ok(compared) => {
            outcome.check("the exchange was measured beside those over MPI", compared.is_whole());
            outcome.tables.push(compared.table());
        }
        Err(Trouble::Missing(what)) => {
            outcome.say(&format!("The same over MPI is left out here. It needs {what}."))
        }
        Err(trouble) => return Err(trouble),
    }
    exchanges(&mut outcome)?;
    Ok(outcome)
}

/// Simulates the exchanges. The time of the search is one published figure minus its messages.
fn exchanges(outcome: &mut Outcome) -> Result<(), Trouble> {
    let (_, _, _, [_, given]) = GAUSS[0];
    let searched = given - MPI_MPC_2.exchange_us(0.0)?;
    outcome.say(&format!(
        "Simulated, MPI-MPC 2 as it is calibrated above: the messages of an exchange take {} µs. What the figure of n = 800 has beside \
         them, {} µs, is the search, in all other figures the same: those of MPI-MPC 2 at other sizes only show how constant the paper's are.",
        three(given - searched),
        three(searched)
    ));
    for (size, _, _, published) in GAUSS {
        for ((system, name), published) in
            [(MPI_MPC_1, "MPI-MPC 1"), (MPI_MPC_2, "MPI-MPC 2")].iter().zip(published)
        {
            let (what, simulated) =
                (format!("one exchange, n = {size}, {name}"), system.exchange_us(searched)?);
            if size == GAUSS[0].0 && *name == "MPI-MPC 2" {
                outcome.calibrate(what, "µs", published, simulated);
            } else {
                outcome.judge(what, "µs", published, simulated);
            }
        }
    }
    Ok(())
}
