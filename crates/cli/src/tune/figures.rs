//! Converts measured figures into a profile. A figure that was not measured keeps its built-in value, and is
//! named.

use canele_profile::{
    HostProfile, MachineIdentity, MeasuredProfile, NetworkProfile, PAIRS, ProcessorDistance, Profile,
    SingleCopyRates,
};

use super::plan::{MachineCost, MeasurementPlan, Nearness, PIECES};
use super::worker::LONG_BYTES;
use crate::bench::statistics::{median, spread};

/// Relative difference below which the rates of pieces are treated as equal. The smallest of these pieces is
/// taken, since it needs least memory.
const EQUALLY_FAST: f64 = 0.03;

/// The profile, and the rows of the table about its figures.
pub struct TunedProfile {
    pub profile: MeasuredProfile,
    pub rows: Vec<TunedRow>,
}

/// A figure of the profile.
#[derive(Debug, PartialEq)]
pub struct TunedRow {
    /// The key of the figure in the file.
    pub key: String,
    pub value: u32,
    pub unit: &'static str,
    /// The distance of the rounds' quartiles, relative to the median; none for a figure that was not
    /// measured.
    pub spread: Option<f64>,
    /// A further remark on it.
    pub remark: String,
}

impl TunedProfile {
    /// Makes a profile from the figures of a plan's measurements, in nanoseconds, one per round.
    pub fn new(machine: &MachineIdentity, plan: &MeasurementPlan, figures: &[Vec<f64>]) -> Self {
        let built_in = Profile::built_in_for(machine).host;
        let mut taken = TakenFigures { plan, figures, rows: Vec::new() };
        let host = taken.host(&built_in);
        let rows = taken.rows;
        let not_measured =
            rows.iter().filter(|row| row.spread.is_none()).map(|row| row.key.clone()).collect();
        let profile = Profile { host, networks: Vec::new() };
        Self { profile: MeasuredProfile::new(machine.clone(), profile, not_measured), rows }
    }

    /// Adds the networks between two hosts, each with the spreads of its three figures.
    pub fn add_networks(&mut self, networks: Vec<(NetworkProfile, [f64; 3])>) {
        for (network, spreads) in networks {
            let NetworkProfile { name, latency_ns, packet_ns, bytes_per_us } = &network;
            let values = [
                ("latency_ns", *latency_ns, "ns"),
                ("packet_ns", *packet_ns, "ns"),
                ("bytes_per_us", *bytes_per_us, RATE),
            ];
            for ((key, value, unit), spread) in values.into_iter().zip(spreads) {
                let key = format!("networks.{key}");
                self.rows.push(TunedRow { key, value, unit, spread: Some(spread), remark: name.clone() });
            }
            self.profile.networks.push(network);
        }
    }
}

const RATE: &str = "B/µs";
/// The reason for a missing figure that is measured everywhere.
const NOT_FINITE: &str = "the measurement gave no number";

/// A figure over all rounds.
#[derive(Clone, Copy)]
struct MeasuredFigure {
    median: f64,
    spread: f64,
    remark: &'static str,
}

impl MeasuredFigure {
    /// Returns the rate of a long message in bytes per microsecond, from its time in nanoseconds.
    fn into_rate(self) -> Self {
        Self { median: LONG_BYTES as f64 * 1000.0 / self.median, ..self }
    }
}

/// The collection of figures for the profile.
struct TakenFigures<'a> {
    plan: &'a MeasurementPlan,
    figures: &'a [Vec<f64>],
    rows: Vec<TunedRow>,
}

impl TakenFigures<'_> {
    fn host(&mut self, built_in: &HostProfile) -> HostProfile {
        let mut host = *built_in;
        let line = &mut host.line_ns;
        for (distance, name, value) in [
            (ProcessorDistance::SameCore, "same_core", &mut line.same_core),
            (ProcessorDistance::SharedL2, "shared_l2", &mut line.shared_l2),
            (ProcessorDistance::SharedL3, "shared_l3", &mut line.shared_l3),
            (ProcessorDistance::Socket, "socket", &mut line.socket),
        ] {
            let of = self.nanoseconds(MachineCost::Line(distance));
            let why_not = "no two of these processors are so far apart";
            self.take(&format!("host.line_ns.{name}"), (value, "ns"), of, why_not);
        }
        for (nearness, value) in [(Nearness::Near, &mut host.copy.near), (Nearness::Far, &mut host.copy.far)]
        {
            let of = self.nearest(nearness, MachineCost::Copy).map(MeasuredFigure::into_rate);
            self.take(&format!("host.copy.{nearness}"), (value, RATE), of, NOT_FINITE);
        }
        let ring = &mut host.ring;
        self.ring(Nearness::Near, &mut ring.near, &mut ring.near_piece);
        self.ring(Nearness::Far, &mut ring.far, &mut ring.far_piece);
        host.single_copy = self.single_copy(built_in);
        let wake_up = self.nanoseconds(MachineCost::WakeUp);
        self.take("host.wakeup_ns", (&mut host.wakeup_ns, "ns"), wake_up, "the worker did not sleep");
        let system_call = self.nanoseconds(MachineCost::SystemCall);
        self.take("host.system_call_ns", (&mut host.system_call_ns, "ns"), system_call, NOT_FINITE);
        host
    }

    /// Takes a measured figure into the profile, and stores its spread, or `why_not`.
    fn take(
        &mut self,
        key: &str,
        (value, unit): (&mut u32, &'static str),
        measured: Option<MeasuredFigure>,
        why_not: &str,
    ) {
        let (spread, remark) = match measured {
            Some(MeasuredFigure { median, spread, remark }) => {
                *value = whole(median);
                (Some(spread), remark.to_owned())
            }
            None => (None, format!("built in: {why_not}")),
        };
        self.rows.push(TunedRow { key: key.into(), value: *value, unit, spread, remark });
    }

    /// Returns a measurement in nanoseconds; none if it was not made.
    fn nanoseconds(&self, cost: MachineCost) -> Option<MeasuredFigure> {
        let place = self.plan.measurements.iter().position(|measurement| measurement.what == cost)?;
        let figures = self.figures.get(place)?.iter().copied();
        let figures: Vec<f64> = figures.filter(|figure| figure.is_finite()).collect();
        (!figures.is_empty()).then(|| MeasuredFigure {
            median: median(&figures),
            spread: spread(&figures),
            remark: "",
        })
    }

    /// Returns a figure for this nearness, or that of the only pair of processors.
    fn nearest(&self, nearness: Nearness, cost: impl Fn(Nearness) -> MachineCost) -> Option<MeasuredFigure> {
        self.nanoseconds(cost(nearness)).or_else(|| {
            let near = self.nanoseconds(cost(Nearness::Near))?;
            Some(MeasuredFigure { remark: "as near: all processors are equally far", ..near })
        })
    }

    /// Takes the best piece of a ring, and the rate with it.
    fn ring(&mut self, nearness: Nearness, value: &mut u32, best_piece: &mut u32) {
        let rate = |piece: u32| {
            let of = self.nearest(nearness, |nearness| MachineCost::Ring(nearness, piece))?;
            Some((piece, of.into_rate()))
        };
        let rates: Vec<(u32, MeasuredFigure)> = PIECES.into_iter().filter_map(rate).collect();
        let most = rates.iter().map(|(_, rate)| rate.median).fold(0.0, f64::max);
        let best = rates.into_iter().find(|(_, rate)| rate.median >= most * (1.0 - EQUALLY_FAST));
        self.take(&format!("host.ring.{nearness}"), (value, RATE), best.map(|(_, rate)| rate), NOT_FINITE);
        let piece = best.map(|(piece, rate)| MeasuredFigure { median: f64::from(piece), ..rate });
        self.take(&format!("host.ring.{nearness}_piece"), (best_piece, "B"), piece, NOT_FINITE);
    }

    /// Returns the costs of single copies by the kernel; none if the kernel refuses them.
    fn single_copy(&mut self, built_in: &HostProfile) -> Option<SingleCopyRates> {
        let call = self.nanoseconds(MachineCost::SingleCall)?;
        let mut single = built_in.single_copy.or(HostProfile::OWN_CACHES.single_copy)?;
        self.take("host.single_copy.call_ns", (&mut single.call_ns, "ns"), Some(call), NOT_FINITE);
        self.single_copy_rates("one_end", false, &mut single.one_end);
        self.single_copy_rates("both_ends", true, &mut single.both_ends);
        Some(single)
    }

    /// Replaces the built-in `rates` by those measured, for as many pairs as there are processors. For more
    /// pairs the last one is scaled like the built-in ones.
    fn single_copy_rates(&mut self, name: &str, both_ends: bool, rates: &mut [u32; PAIRS.len()]) {
        let built_in = *rates;
        let mut last = None;
        for (place, pairs) in PAIRS.into_iter().enumerate() {
            let of =
                self.nanoseconds(MachineCost::SingleCopy { pairs, both_ends }).map(MeasuredFigure::into_rate);
            if let Some(of) = of {
                last = Some((place, of.median));
            }
            let mut why_not = "too few processors".to_owned();
            if let (None, Some((measured, rate))) = (of, last) {
                rates[place] = whole(rate * f64::from(built_in[place]) / f64::from(built_in[measured]));
                why_not = format!("scaled to {}: too few processors", in_words(PAIRS[measured]));
            }
            let key = format!("host.single_copy.{name}[{}]", in_words(pairs));
            self.take(&key, (&mut rates[place], RATE), of, &why_not);
        }
    }
}

fn in_words(pairs: u32) -> String {
    if pairs == 1 { "1 pair".into() } else { format!("{pairs} pairs") }
}

/// Returns a figure of a profile, which is never 0.
fn whole(figure: f64) -> u32 {
    figure.round().max(1.0) as u32
}

#[cfg(test)]
mod tests {
    use super::super::plan::tests::processors;
    use super::*;

    fn machine() -> MachineIdentity {
        MachineIdentity { model: "X".into(), processors: 16, kernel: "6".into(), caches: Vec::new() }
    }

    /// Makes three rounds of each measurement with the figures of `of`.
    fn tuned(plan: &MeasurementPlan, of: impl Fn(MachineCost) -> Vec<f64>) -> TunedProfile {
        let figures: Vec<Vec<f64>> =
            plan.measurements.iter().map(|measurement| of(measurement.what)).collect();
        TunedProfile::new(&machine(), plan, &figures)
    }

    /// Returns the time in which a long message has this rate.
    fn at(bytes_per_us: f64) -> f64 {
        LONG_BYTES as f64 * 1000.0 / bytes_per_us
    }

    fn row<'a>(tuned: &'a TunedProfile, key: &str) -> &'a TunedRow {
        tuned.rows.iter().find(|row| row.key == key).unwrap_or_else(|| panic!("no {key}: {:?}", tuned.rows))
    }

    #[test]
    fn medians_become_figures_and_spreads_are_kept() {
        let plan = MeasurementPlan::new(&processors(8, (2, 4)), false);
        let tuned = tuned(&plan, |cost| match cost {
            MachineCost::Line(ProcessorDistance::SharedL3) => vec![90.0, 100.0, 300.0],
            MachineCost::Copy(Nearness::Near) => vec![at(30_000.0); 3],
            MachineCost::Copy(Nearness::Far) => vec![at(15_000.0); 3],
            // Pieces of 16 KB are best, those of 8 KB hardly slower.
            MachineCost::Ring(_, piece) => vec![
                at(match piece {
                    8192 => 9900.0,
                    16384 => 10_000.0,
                    _ => 8000.0,
                });
                3
            ],
            MachineCost::SingleCall => vec![700.0; 3],
            MachineCost::SingleCopy { pairs, both_ends } => {
                vec![at(if both_ends { 30_000.0 } else { 15_000.0 } / f64::from(pairs)); 3]
            }
            _ => vec![5.0; 3],
        });
        let host = tuned.profile.host;
        assert_eq!(host.line_ns.shared_l3, 100);
        assert_eq!(row(&tuned, "host.line_ns.shared_l3").spread, Some(2.1));
        assert_eq!((host.copy.near, host.copy.far), (30_000, 15_000));
        assert_eq!((host.ring.near, host.ring.near_piece), (9900, 8192));
        let single = host.single_copy.unwrap();
        assert_eq!((single.call_ns, single.one_end[..4].to_vec()), (700, vec![15_000, 7500, 3750, 1875]));
        assert_eq!((host.wakeup_ns, host.system_call_ns), (5, 5));
        // Beyond the processors the rate falls like the built-in one: 10,000 to 6000.
        assert_eq!(single.one_end[4], 1875 * 6 / 10);
        assert_eq!(
            tuned.profile.not_measured,
            ["host.single_copy.one_end[16 pairs]", "host.single_copy.both_ends[16 pairs]"]
        );
        assert!(row(&tuned, "host.single_copy.one_end[16 pairs]").remark.contains("scaled to 8 pairs"));
        assert_eq!(tuned.profile.profile().check(), Ok(()));
    }

    #[test]
    fn what_cannot_be_measured_keeps_the_built_in_figure_and_says_so() {
        let plan = MeasurementPlan::new(&processors(1, (1, 1)), true);
        let tuned = tuned(&plan, |cost| match cost {
            MachineCost::SingleCall | MachineCost::SingleCopy { .. } => Vec::new(),
            MachineCost::WakeUp => vec![f64::NAN; 3],
            _ => vec![1000.0; 3],
        });
        let host = tuned.profile.host;
        assert_eq!(host.single_copy, None, "the kernel refuses it");
        assert_eq!((host.wakeup_ns, host.line_ns.socket), (5000, HostProfile::OWN_CACHES.line_ns.socket));
        assert!(tuned.profile.not_measured.iter().any(|key| key == "host.wakeup_ns"));
        assert!(row(&tuned, "host.line_ns.socket").remark.starts_with("built in: no two"));
        // One pair of processors gives both figures.
        assert_eq!(host.copy.far, host.copy.near);
        assert!(row(&tuned, "host.copy.far").remark.starts_with("as near"));
    }

    #[test]
    fn networks_are_added() {
        let plan = MeasurementPlan::new(&processors(1, (1, 1)), true);
        let mut tuned = tuned(&plan, |_| vec![1000.0; 3]);
        let network =
            NetworkProfile { name: "eth0".into(), latency_ns: 4000, packet_ns: 500, bytes_per_us: 4500 };
        tuned.add_networks(vec![(network.clone(), [0.1, 0.2, 0.3])]);
        assert_eq!(tuned.profile.networks, [network]);
        let row = row(&tuned, "networks.packet_ns");
        assert_eq!((row.value, row.spread, &*row.remark), (500, Some(0.2), "eth0"));
    }
}
