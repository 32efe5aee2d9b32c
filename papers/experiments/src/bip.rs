//! The experiments of BIP.

use canele_proto::choice::pipeline_bytes;
use canele_sim::script::ScriptCall;
use canele_sim::world::Model;

use super::lab::{Lab, Trouble};
use super::mpc::times;
use super::outcome::{Figure, Outcome, Plotted, Quantity, Table, three};
use super::simulated::{System, sizes};

const BIP: System = System::raw("myrinet-bip");
const MEGABYTE: usize = 1 << 20;

/// The paper's table: system, µs, MB/s, bytes at half the throughput.
const PUBLISHED: [(&str, f64, f64, u32); 11] = [
    ("BIP, Myrinet, Pentium Pro 200", 4.3, 126.0, 4096),
    ("ATM", 500.0, 10.0, 10_000),
    ("Paragon, NX", 29.0, 154.0, 7236),
    ("CM-5", 95.0, 9.0, 962),
    ("Meiko CS-2", 83.0, 43.0, 3559),
    ("SP-2, MPI", 35.0, 35.0, 3262),
    ("T3D, shmem", 3.0, 128.0, 363),
    ("T3D, MPI", 21.0, 100.0, 7000),
    ("Power Challenge, MPI", 47.0, 55.0, 5000),
    ("iPSC/860", 65.0, 3.0, 340),
    ("Paragon, MPI", 40.0, 70.0, 7000),
];

/// Measures latency, throughput and the size at half of it.
pub fn figures(lab: &Lab) -> Result<Outcome, Trouble> {
    let list = sizes(false).iter().skip(3).map(ToString::to_string).collect::<Vec<_>>().join(",");
    let places = [
        ("Canelé, shared memory", lab.bench(&format!("latency --bytes {list}"), &[])?),
        ("Canelé, TCP on the loopback network", lab.bench_over_tcp(&format!("latency --bytes {list}"))?),
    ];
    let mut table = Table::new(["", "latency", "throughput", "half of it at"]);
    let mut outcome = Outcome::default();
    for (name, benched) in &places {
        let points = times(benched);
        let most = points.iter().map(|(bytes, us)| bytes / us).fold(0.0, f64::max);
        let half = half_bytes(&points, most);
        let latency = points.first().map_or(f64::NAN, |(_, us)| *us);
        table.row([
            (*name).to_string(),
            format!("{} µs", three(latency)),
            format!("{} MB/s", three(most)),
            format!("{half:.0} B"),
        ]);
        outcome.check(
            format!("{name}: half the throughput lies between the smallest and the largest message"),
            half > 8.0,
        );
    }
    for (name, latency, throughput, half) in PUBLISHED {
        table.row([name.into(), format!("{latency} µs"), format!("{throughput} MB/s"), format!("{half} B")]);
    }
    outcome.say(
        "Half the round trip; the throughput is the highest of all sizes. Below, the table of the paper.",
    );
    outcome.tables.push(table);
    let (most, half) = (BIP.rate(8 * MEGABYTE)?, simulated_half()?);
    outcome.say(
        "The simulated network was given the bus's 132 MB/s, four stages, and two published figures: the smallest message and the size of half \
         the throughput.",
    );
    outcome.calibrate("smallest message", "µs", 4.3, BIP.one_way_us(0)?);
    outcome.calibrate("size of half the throughput", "B", 4096.0, half);
    outcome.judge("throughput, 8 MB", "MB/s", 126.0, most);
    Ok(outcome)
}

/// Returns the size at which a curve (bytes, µs) reaches half of `most` MB/s, by linear interpolation.
fn half_bytes(points: &[(f64, f64)], most: f64) -> f64 {
    let rate = |(bytes, us): (f64, f64)| bytes / us;
    let Some(at) = points.iter().position(|point| rate(*point) >= most / 2.0) else { return f64::NAN };
    let Some(before) = at.checked_sub(1).map(|before| points[before]) else { return points[at].0 };
    let (low, high) = (rate(before), rate(points[at]));
    before.0 + (points[at].0 - before.0) * (most / 2.0 - low) / (high - low)
}

/// Returns the size at half of BIP's throughput of 126 MB/s in the simulated network.
fn simulated_half() -> Result<f64, Trouble> {
    let points = (8..=16).map(|kilo| Ok((f64::from(kilo) * 512.0, BIP.one_way_us(kilo as usize * 512)?)));
    Ok(half_bytes(&points.collect::<Result<Vec<_>, Trouble>>()?, 126.0))
}

/// Measures packets of a size chosen for each message, and of fixed sizes.
pub fn packets(lab: &Lab) -> Result<Outcome, Trouble> {
    let mut outcome = Outcome::default();
    simulated_packets(&mut outcome, lab.quick)?;
    let list = lab.pick("64K,1M", "32K,64K,256K,1M,4M");
    let mut curves = Vec::new();
    for piece in lab.pick(&[8192, 65_536][..], &[4096, 8192, 16_384, 32_768, 65_536]) {
        let setting = [
            ("CANELE_PIECE_BYTES", &*piece.to_string()),
            ("CANELE_EAGER_BYTES", "4096"),
            ("CANELE_SINGLE_COPY", "never"),
        ];
        curves.push(Plotted::new(
            format!("at most {piece}"),
            times(&lab.bench(&format!("latency --bytes {list}"), &setting)?),
        ));
    }
    let kept: Vec<usize> = curves[0].points.iter().map(|(bytes, _)| *bytes as usize).collect();
    outcome.tables.push(super::mpc::table(&kept, &curves));
    outcome.say(
        "Last, today's shared memory, where the same model chooses from 8 KB on; a message is copied in and out, and the two copies are \
         the pipeline: one-way times with pieces of at most so many bytes; the default is 65536.",
    );
    Ok(outcome)
}

/// Simulates only the pipeline: four stages, each of which takes a packet whole.
fn simulated_packets(outcome: &mut Outcome, quick: bool) -> Result<(), Trouble> {
    let model = Model { stage_bytes: u64::MAX, ..BIP.model()? };
    let fixed = [1024, 4096, 16_384, 65_536];
    let lengths: Vec<usize> = (13..=if quick { 17 } else { 20 }).map(|power| 1 << power).collect();
    let mut table = Table::new([
        "bytes",
        "packets of 1024",
        "4096",
        "16384",
        "65536",
        "chosen",
        "best possible",
        "cost model says",
    ]);
    let mut curves: Vec<Plotted> =
        fixed.iter().map(|size| Plotted::new(format!("packets of {size}"), [])).collect();
    curves.push(Plotted::new("chosen", []));
    let mut worst: f64 = 1.0;
    for length in lengths {
        let (overhead_ns, bytes_per_us) = (model.overhead_ns as f64, model.bytes_per_ms as f64 / 1e3);
        let chosen = pipeline_bytes(length, overhead_ns, bytes_per_us, model.stages);
        let times = fixed.iter().chain([&chosen]).map(|size| pipeline_us(&model, length, *size));
        let times = times.collect::<Result<Vec<_>, Trouble>>()?;
        let best = (0..=10)
            .map(|power| pipeline_us(&model, length, length >> power))
            .collect::<Result<Vec<_>, _>>()?;
        let best = best.into_iter().fold(f64::INFINITY, f64::min);
        curves
            .iter_mut()
            .zip(&times)
            .for_each(|(curve, us)| curve.points.push((length as f64, length as f64 / us)));
        let [.., ours] = times[..] else { continue };
        worst = worst.max(ours / best);
        let model_us = cost_us(&model, length, chosen);
        let cells = times.iter().chain([&best, &model_us]).map(|us| format!("{} µs", three(*us)));
        table.row(std::iter::once(length.to_string()).chain(cells));
    }
    outcome.say(&format!(
        "On the simulated Myrinet with stages that take a packet whole, the packet size decides: large packets fill the pipeline late, small ones \
         cost their overhead. Canelé's cost model (`choice::pipeline_bytes`) chooses √(length × overhead × bandwidth ÷ (stages − 1)); at \
         worst its choice takes {worst:.2} × the time of the best size that was tried."
    ));
    outcome.tables.push(table);
    outcome.check("the chosen size is within 15 % of the best at every length", worst <= 1.15);
    outcome.figures.push(Figure {
        name: "bip-packets".into(),
        caption: "Throughput with packets of fixed sizes, and of the chosen one".into(),
        x: Quantity::Bytes,
        y: Quantity::MegabytesPerSecond,
        curves,
    });
    Ok(())
}

/// Returns the simulated time of packets of one size through the network.
fn pipeline_us(model: &Model, length: usize, packet: usize) -> Result<f64, Trouble> {
    let system = System { eager_bytes: packet.min(model.payload / 4), ..BIP };
    let packet = packet.clamp(1, model.payload / 4);
    let count = length.div_ceil(packet);
    let (to, from) = (canele_sys::ids::Rank(1), canele_sys::ids::Rank(0));
    let programs =
        [vec![ScriptCall::Send(to, packet); count], vec![ScriptCall::Receive(from, packet); count]];
    Ok(system.end_over_ns(&[*model], "fifo", &programs)? as f64 / 1e3)
}

/// Returns the estimate of the cost model: for each packet a step of overhead and bytes, for each further
/// stage a packet's bytes, and the latency.
fn cost_us(model: &Model, length: usize, packet: usize) -> f64 {
    let packets = length.div_ceil(packet) as f64;
    let carried = packet as f64 * 1e3 / model.bytes_per_ms as f64;
    let overhead = model.overhead_ns as f64 / 1e3;
    packets * (carried + overhead) + (model.stages - 1) as f64 * carried + model.latency_ns as f64 / 1e3
}
