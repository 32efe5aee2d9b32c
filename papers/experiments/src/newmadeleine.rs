//! The experiments of NewMadeleine.

use canele_sim::script::ScriptCall;
use canele_sim::world::Model;
use canele_sys::ids::Rank;
use serde_json::Value;

use super::lab::BenchRow;
use super::lab::{Benched, Lab, Trouble};
use super::outcome::{Figure, Outcome, Plotted, Quantity, Table, three};
use super::simulated::System;

/// Strategies: one message per packet, and several per packet.
const PLAIN: &str = "fifo";
const OPTIMISED: &str = "aggregate";

/// Measures the cost of the optimisation for a single message.
pub fn overhead(lab: &Lab) -> Result<Outcome, Trouble> {
    let words = "flows --flows 1 --packs 1 --bytes 8";
    let places = [
        ("shared memory", lab.bench(words, &[])?),
        ("TCP on the loopback network", lab.bench_over_tcp(words)?),
    ];
    let mut table = Table::new(["network", "one message a packet", "optimised", "overhead"]);
    let mut outcome = Outcome::default();
    for (name, benched) in &places {
        let [plain, optimised] =
            [PLAIN, OPTIMISED].map(|strategy| find(benched, strategy, |_| true).unwrap_or(f64::NAN));
        let cells = [plain, optimised, optimised - plain].map(|us| format!("{} µs", three(us)));
        table.row(std::iter::once((*name).to_string()).chain(cells));
        outcome.check(format!("{name}: both strategies were measured"), plain > 0.0 && optimised > 0.0);
    }
    outcome.say("The paper: less than 2 µs on a ping-pong of one message.");
    outcome.tables.push(table);
    Ok(outcome)
}

/// Returns the microseconds of a row of this strategy.
fn find(benched: &Benched, strategy: &str, is_meant: impl Fn(&BenchRow) -> bool) -> Option<f64> {
    let is_row = |row: &&BenchRow| row.strategy.as_deref() == Some(strategy) && is_meant(row);
    Some(benched.rows.iter().find(is_row)?.median_ns? / 1e3)
}

/// The two phases of page requests: their names, and their keys in the program's output.
const PHASES: [(&str, &str, &str); 2] = [
    ("requests + rendezvous", "requests_rendezvous_us", "ratio_requests_rendezvous"),
    ("whole", "whole_us", "ratio_whole"),
];

/// Measures requests for pages, all outstanding at once.
pub fn dsm(lab: &Lab) -> Result<Outcome, Trouble> {
    let (pages, rounds) = (lab.pick("1,3,16", "1,2,3,4,8,16,32,64"), lab.pick("3", "11"));
    let measured = lab.example_over_tcp("dsm", &["requests", "--pages", pages, "--rounds", rounds])?;
    let rows = measured["rows"].as_array().map_or(&[][..], Vec::as_slice);
    let of = |row: &Value, key: &str| row[key].as_f64().unwrap_or(f64::NAN);
    let mut table = Table::new(["pages", "phase", "one message a packet", "optimised", "ratio"]);
    let mut curves: Vec<Plotted> = Vec::new();
    for (phase, time, ratio) in PHASES {
        let with = |strategy: &'static str| rows.iter().filter(move |row| row["strategy"] == strategy);
        for strategy in [PLAIN, OPTIMISED] {
            let points = with(strategy).map(|row| (of(row, "pages"), of(row, time)));
            curves.push(Plotted::new(format!("{phase}, {strategy}"), points));
        }
        for (plain, optimised) in with(PLAIN).zip(with(OPTIMISED)) {
            let times = [plain, optimised].map(|row| format!("{} µs", three(of(row, time))));
            let first = [of(plain, "pages").to_string(), phase.to_string()];
            table.row(first.into_iter().chain(times).chain([format!("{:.2}", of(optimised, ratio))]));
        }
    }
    table.row(["3, MX/Myrinet (published)", "requests + rendezvous", "88 µs", "61 µs", "0.69"]);
    let mut outcome = Outcome::default();
    outcome.say(
        "Pages of 65 KB of distributed shared memory (`papers/dsm`), over TCP on the loopback network: the time until all requests and \
         announcements are exchanged, and the whole. The ratio is the median over the rounds, in each of which the strategies take turns. The \
         published time is too short to hold the pages' data.",
    );
    let numbers = pages.split(',').count();
    let is_whole = curves.iter().all(|curve| curve.points.len() == numbers);
    outcome.check("every number of pages was measured with both strategies", is_whole);
    outcome.tables.push(table);
    outcome.figures.push(Figure {
        name: "newmadeleine-dsm".into(),
        caption: "Requests for pages of 65 KB over TCP".into(),
        x: Quantity::Pages,
        y: Quantity::Microseconds,
        curves,
    });
    Ok(outcome)
}

/// Measures several flows that ping-pong at once, each with several packs per message.
pub fn flows(lab: &Lab) -> Result<Outcome, Trouble> {
    let words = lab.pick(
        "flows --bytes 8 --flows 1,4 --packs 1,16",
        "flows --bytes 8 --flows 1,2,4,16 --packs 1,2,4,8,16,32",
    );
    let benched = lab.bench_over_tcp(words)?;
    let mut table = Table::new(["flows", "packs", "one message a packet", "optimised", "ratio"]);
    let mut curves: Vec<Plotted> = Vec::new();
    for row in benched.rows.iter().filter(|row| row.strategy.as_deref() == Some(OPTIMISED)) {
        let (Some(flows), Some(packs), Some(ns)) = (row.flows, row.packs, row.median_ns) else { continue };
        let plain = find(&benched, PLAIN, |other| other.flows == row.flows && other.packs == row.packs)
            .unwrap_or(f64::NAN);
        for (strategy, us) in [(PLAIN, plain), (OPTIMISED, ns / 1e3)] {
            let name = format!("flows: {flows}, {strategy}");
            match curves.iter_mut().find(|curve| curve.name == name) {
                Some(curve) => curve.points.push((f64::from(packs), us)),
                None => curves.push(Plotted::new(name, [(f64::from(packs), us)])),
            }
        }
        let ratio = format!("{:.2}", row.ratio_to_fifo.unwrap_or(f64::NAN));
        let cells = [plain, ns / 1e3].map(|us| format!("{} µs", three(us)));
        table.row([flows.to_string(), packs.to_string()].into_iter().chain(cells).chain([ratio]));
    }
    let mut outcome = Outcome::default();
    outcome.say("The time for each pack of 8 B over TCP on the loopback network. The gain grows with what is outstanding at once, as in the paper.");
    let cases = benched.rows.iter().filter(|row| row.strategy.as_deref() == Some(PLAIN)).count();
    let is_measured = curves.iter().flat_map(|curve| &curve.points).all(|(_, us)| *us > 0.0);
    outcome.check(
        "every case was measured with both strategies",
        cases > 0 && table.rows.len() == cases && is_measured,
    );
    outcome.tables.push(table);
    outcome.figures.push(Figure {
        name: "newmadeleine-flows".into(),
        caption: "Time for each pack of 8 B over TCP".into(),
        x: Quantity::Packs,
        y: Quantity::Microseconds,
        curves,
    });
    Ok(outcome)
}

/// Bytes of the messages over several networks.
const RAIL_BYTES: [usize; 4] = [4 << 10, 64 << 10, 1 << 20, 8 << 20];

/// Simulates large messages over unequal networks at once.
pub fn rails(_: &Lab) -> Result<Outcome, Trouble> {
    let names = ["myrinet-bip", "sci-deck", "hsl"];
    let mut models = Vec::new();
    for name in names {
        // Packets of one message arrive over different networks, so they carry numbers.
        models.push(Model { recoverable: true, ..System::raw(name).model()? });
    }
    let sum: f64 = models.iter().map(|model| model.bytes_per_ms as f64 / 1e3).sum();
    let mut table = Table::new([
        "bytes",
        names[0],
        names[1],
        names[2],
        "all three, fifo",
        "aggregate",
        "split",
        "of the sum",
    ]);
    let mut best = 0.0;
    for bytes in RAIL_BYTES {
        let mut rates = Vec::new();
        for model in &models {
            rates.push(rate(&[*model], OPTIMISED, bytes)?);
        }
        for strategy in [PLAIN, OPTIMISED, "split"] {
            rates.push(rate(&models, strategy, bytes)?);
        }
        best = rates.last().copied().unwrap_or(0.0) / sum;
        let cells = rates.iter().map(|rate| format!("{} MB/s", three(*rate)));
        table.row(std::iter::once(bytes.to_string()).chain(cells).chain([format!("{best:.2}")]));
    }
    let mut outcome = Outcome::default();
    outcome.say(
        "The paper plans to balance load over several networks, also of different kinds. Simulated: streams of 16 messages between two ranks that \
         Myrinet, SCI and HSL join, alone and all three at once.",
    );
    outcome.tables.push(table);
    outcome.check(
        "split over three unequal networks, messages of 8 MB get at least 0.9 of the sum of their rates",
        best >= 0.9,
    );
    Ok(outcome)
}

/// Returns the megabytes per second of a stream of messages.
fn rate(networks: &[Model], strategy: &str, bytes: usize) -> Result<f64, Trouble> {
    const MESSAGES: usize = 16;
    let programs = [
        vec![ScriptCall::Send(Rank(1), bytes); MESSAGES],
        vec![ScriptCall::Receive(Rank(0), bytes); MESSAGES],
    ];
    let ns = System::raw("hsl").end_over_ns(networks, strategy, &programs)?;
    Ok((MESSAGES * bytes) as f64 * 1e3 / ns as f64)
}
