//! The measurements and their processors. The plan depends on the topology only, and is made before anything
//! is started.

use std::fmt;

use canele_profile::{PAIRS, ProcessorDistance};
use canele_sys::topology::Processor;
use serde::{Deserialize, Serialize};

/// The pieces of a ring to measure, in bytes.
pub const PIECES: [u32; 5] = [4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10];

/// The caches that two processors share, as far as they affect copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Nearness {
    /// The processors share a cache that holds messages.
    Near,
    /// Each processor has its own cache.
    Far,
}

impl fmt::Display for Nearness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Near => "near",
            Self::Far => "far",
        })
    }
}

/// One figure to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MachineCost {
    Line(ProcessorDistance),
    Copy(Nearness),
    Ring(Nearness, u32),
    SingleCall,
    SingleCopy { pairs: u32, both_ends: bool },
    WakeUp,
    SystemCall,
}

/// A figure, and the processor on which worker 1 measures it. Worker 0 stays on the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measurement {
    pub what: MachineCost,
    pub partner: u32,
}

/// The whole plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasurementPlan {
    /// The processor of each worker.
    pub processors: Vec<u32>,
    /// The measurements in the order of each round.
    pub measurements: Vec<Measurement>,
    pub rounds: u32,
    /// Repetitions of the shortest loop, as a multiple of the fewest.
    pub effort: u32,
}

impl MeasurementPlan {
    /// Makes the plan for at least two processors, in the order in which ranks are spread over them.
    pub fn new(processors: &[Processor], is_quick: bool) -> Self {
        let first = &processors[0];
        let partner_at = |distance: ProcessorDistance| {
            processors[1..]
                .iter()
                .find(|other| ProcessorDistance::between(first, other) == distance)
                .map(|other| other.id)
        };
        let there: Vec<(ProcessorDistance, u32)> = ProcessorDistance::ALL
            .into_iter()
            .filter_map(|distance| Some((distance, partner_at(distance)?)))
            .collect();
        let near = there
            .iter()
            .find(|(distance, _)| *distance == ProcessorDistance::SharedL2)
            .unwrap_or(&there[0])
            .1;
        let far = there
            .iter()
            .find(|(distance, _)| *distance >= ProcessorDistance::SharedL3)
            .unwrap_or(&there[0])
            .1;
        let of = |what, partner| Measurement { what, partner };
        let mut all: Vec<Measurement> =
            there.iter().map(|(distance, partner)| of(MachineCost::Line(*distance), *partner)).collect();
        for (nearness, partner) in [(Nearness::Near, near), (Nearness::Far, far)] {
            // One pair of processors gives both figures.
            if nearness == Nearness::Far && far == near {
                break;
            }
            all.push(of(MachineCost::Copy(nearness), partner));
            all.extend(PIECES.map(|piece| of(MachineCost::Ring(nearness, piece), partner)));
        }
        let most_pairs = processors.len() as u32 / 2;
        let second = processors[1].id;
        all.push(of(MachineCost::SingleCall, second));
        for pairs in PAIRS.into_iter().filter(|pairs| *pairs <= most_pairs) {
            all.extend(
                [false, true].map(|both_ends| of(MachineCost::SingleCopy { pairs, both_ends }, second)),
            );
        }
        all.extend([of(MachineCost::WakeUp, far), of(MachineCost::SystemCall, second)]);
        let workers = 2 * PAIRS.into_iter().rfind(|pairs| *pairs <= most_pairs).unwrap_or(1);
        Self {
            processors: processors.iter().take(workers as usize).map(|processor| processor.id).collect(),
            measurements: all,
            rounds: if is_quick { 5 } else { 21 },
            effort: if is_quick { 2 } else { 16 },
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Makes cores of two threads, of which `second` share a second-level cache and `third` a third-level
    /// one.
    pub fn processors(cores: u32, (second, third): (u32, u32)) -> Vec<Processor> {
        let processor = |id: u32| {
            let core = id % cores;
            let (second_cache, third_cache) = (core / second * second, core / third * third);
            Processor { id, core, package: third_cache, node: 0, second_cache, third_cache }
        };
        (0..2 * cores).map(processor).collect()
    }

    fn has(plan: &MeasurementPlan, what: MachineCost) -> bool {
        partner(plan, what).is_some()
    }

    fn partner(plan: &MeasurementPlan, what: MachineCost) -> Option<u32> {
        plan.measurements
            .iter()
            .find(|measurement| measurement.what == what)
            .map(|measurement| measurement.partner)
    }

    #[test]
    fn each_distance_that_there_is_is_measured() {
        let plan = MeasurementPlan::new(&processors(8, (2, 4)), false);
        let line = |distance| partner(&plan, MachineCost::Line(distance));
        assert_eq!(line(ProcessorDistance::SameCore), Some(8));
        assert_eq!(line(ProcessorDistance::SharedL2), Some(1));
        assert_eq!(line(ProcessorDistance::SharedL3), Some(2));
        assert_eq!(line(ProcessorDistance::Socket), Some(4));
        assert_eq!(partner(&plan, MachineCost::Copy(Nearness::Near)), Some(1));
        assert_eq!(partner(&plan, MachineCost::Ring(Nearness::Far, 32 << 10)), Some(2));
        assert_eq!(plan.processors.len(), 16);
        assert!(has(&plan, MachineCost::SingleCopy { pairs: 8, both_ends: true }));
        assert!(
            !has(&plan, MachineCost::SingleCopy { pairs: 16, both_ends: true }),
            "more pairs than processors"
        );
    }

    #[test]
    fn two_processors_have_one_distance() {
        let plan = MeasurementPlan::new(&processors(1, (1, 1)), true);
        assert_eq!(plan.processors, [0, 1]);
        assert!(
            has(&plan, MachineCost::Line(ProcessorDistance::SameCore))
                && !has(&plan, MachineCost::Line(ProcessorDistance::SharedL3))
        );
        assert!(
            has(&plan, MachineCost::Copy(Nearness::Near)) && !has(&plan, MachineCost::Copy(Nearness::Far))
        );
        assert!(has(&plan, MachineCost::SingleCopy { pairs: 1, both_ends: false }));
        assert!(!has(&plan, MachineCost::SingleCopy { pairs: 2, both_ends: false }));
    }

    #[test]
    fn a_round_measures_each_figure_once() {
        let plan = MeasurementPlan::new(&processors(64, (1, 8)), false);
        for (place, measurement) in plan.measurements.iter().enumerate() {
            assert!(
                plan.measurements[..place].iter().all(|other| other.what != measurement.what),
                "{measurement:?}"
            );
        }
        assert_eq!(plan.processors.len(), 32);
    }
}
