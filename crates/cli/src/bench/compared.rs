//! The pictures of experiments that compare strategies by curves: the figures of the axes, and the meaning of
//! colours and dashes. This module draws nothing.

use super::arguments::Bench;
use super::case::Limit;
use super::compared_findings::{dsm_finding, flows_finding, number_of, rails_finding};
use super::report::{Line, Report, Row};
use super::table::axis_time;
use canele_chart::{Axis, Chart, Curve, LIMIT, Legend, Points, Scale, label_of_size, ours, size};
use std::collections::BTreeMap;

/// The dashes of strategies in the order of the report, in which `fifo` is first and the one of interest second.
const BY_STRATEGY: [Option<(u32, u32)>; 4] = [Some((7, 5)), None, Some((14, 5)), Some((2, 4))];
pub(super) const WHOLE: &str = "whole";
pub(super) const SINGLE: &str = "single";

/// Returns the charts of an experiment, to draw side by side; none for any other benchmark.
pub fn charts(report: &Report) -> Vec<Chart> {
    match report.bench {
        Bench::Dsm => vec![dsm(report)],
        Bench::Flows => flows(report),
        Bench::Rails => vec![rails(report)],
        _ => Vec::new(),
    }
}

/// Makes the chart of time over the pages requested at once: colours for strategies, dashes for the whole.
fn dsm(report: &Report) -> Chart {
    let strategies = strategies(report);
    let sizes = distinct(report, |row| row.bytes);
    let mut curves = ComparedCurves::default();
    for line in &report.lines {
        let (Some(pages), Some(ns), Some(strategy)) =
            (line.row.packs, line.row.median_ns, &line.row.strategy)
        else {
            continue;
        };
        let operation = line.row.operation.clone().unwrap_or_default();
        let of = line.row.bytes.filter(|_| sizes.len() > 1).map(|bytes| format!(", {}", bytes_of(bytes)));
        let dashes = (operation == WHOLE).then_some((7, 5));
        let colour = place(&strategies, strategy);
        curves.add(
            format!("{operation}, {strategy}{}", of.unwrap_or_default()),
            colour,
            dashes,
            f64::from(pages),
            ns,
        );
    }
    let bytes = sizes.first().copied().filter(|_| sizes.len() == 1);
    Chart {
        caption: dsm_finding(report, bytes),
        x: Axis { what: "pages asked for at once", scale: Scale::Log(2.0), labels: 12, label: count },
        y: Axis { what: "time (median)", scale: Scale::Log(10.0), labels: 10, label: axis_time },
        curves: curves.0,
        legend: Legend::UpperLeft,
    }
}

/// Makes a chart for each size: time per pack over packs, colours for flows, dashes for strategies.
fn flows(report: &Report) -> Vec<Chart> {
    let (strategies, flows) = (strategies(report), distinct(report, |row| row.flows));
    let chart = |bytes: &usize| {
        let mut curves = ComparedCurves::default();
        for row in report.lines.iter().map(|line| &line.row).filter(|row| row.bytes == Some(*bytes)) {
            let (Some(of), Some(packs), Some(ns), Some(strategy)) =
                (row.flows, row.packs, row.median_ns, &row.strategy)
            else {
                continue;
            };
            let dashes = BY_STRATEGY[place(&strategies, strategy) % BY_STRATEGY.len()];
            curves.add(
                format!("{}, {strategy}", number_of(of, "flow")),
                place(&flows, &of),
                dashes,
                f64::from(packs),
                ns,
            );
        }
        Chart {
            caption: flows_finding(report, *bytes),
            x: Axis { what: "packs per message", scale: Scale::Log(2.0), labels: 10, label: count },
            y: Axis { what: "time per pack (median)", scale: Scale::Log(10.0), labels: 8, label: axis_time },
            curves: curves.0,
            legend: Legend::None,
        }
    };
    distinct(report, |row| row.bytes).iter().map(chart).collect()
}

/// Makes the chart of bytes per second over the size, with the sum of the rates of plain sockets on each rail
/// alone.
fn rails(report: &Report) -> Chart {
    let strategies = strategies(report);
    let mut curves = ComparedCurves::default();
    let sum = sums(report);
    let names = report.lines.first().and_then(|line| line.row.rails.clone()).unwrap_or_default();
    let rails = if names.is_empty() { "the rails".into() } else { names.join(" + ") };
    let sockets = format!("limit: plain sockets, the sum of {rails} alone");
    for (bytes, rate) in sum {
        curves.add(sockets.clone(), 0, Some((6, 4)), bytes as f64, rate);
    }
    curves.0.iter_mut().for_each(|curve| (curve.colour, curve.marked) = (LIMIT, false));
    for Line { row, .. } in &report.lines {
        let (Some(bytes), Some(rate), Some(strategy)) = (row.bytes, row.gbytes_per_s, &row.strategy) else {
            continue;
        };
        let colour = place(&strategies, strategy);
        let name = match row.operation.as_deref() {
            Some(SINGLE) => format!("one message at a time, {strategy}"),
            // A single point needs no line.
            _ => format!("mixed load, {strategy} (one point)"),
        };
        let colour = if name.starts_with("mixed") { colour + strategies.len() } else { colour };
        curves.add(name, colour, None, bytes as f64, 1e3 * rate);
    }
    Chart {
        caption: rails_finding(report),
        x: Axis { what: "message size (bytes)", scale: Scale::Log(2.0), labels: 16, label: label_of_size },
        y: Axis {
            what: "MB/s (median)",
            scale: Scale::Linear,
            labels: 10,
            label: |rate| format!("{rate:.0}"),
        },
        curves: curves.0,
        legend: Legend::UpperLeft,
    }
}

/// Returns the rate of all rails together in MB/s, for each size of single messages that was measured on each
/// rail alone.
pub(super) fn sums(report: &Report) -> BTreeMap<usize, f64> {
    let is_single = |bytes: usize| {
        report
            .lines
            .iter()
            .any(|line| line.row.bytes == Some(bytes) && line.row.operation.as_deref() == Some(SINGLE))
    };
    let mut sums = BTreeMap::new();
    for (limit, ns) in &report.limits {
        if let Limit::Rail(_, bytes) = limit
            && is_single(*bytes)
        {
            *sums.entry(*bytes).or_default() += 1e3 * *bytes as f64 / ns;
        }
    }
    sums
}

/// Curves in the order of their first points.
#[derive(Default)]
struct ComparedCurves(Vec<Curve>);

impl ComparedCurves {
    fn add(&mut self, name: String, colour: usize, dashes: Option<(u32, u32)>, x: f64, y: f64) {
        match self.0.iter_mut().find(|curve| curve.name == name) {
            Some(curve) => curve.points.push((x, y)),
            None => {
                let points: Points = vec![(x, y)];
                self.0.push(Curve { name, points, colour: ours(colour), dashes, marked: true });
            }
        }
    }
}

fn strategies(report: &Report) -> Vec<String> {
    distinct(report, |row| row.strategy.clone())
}

/// Returns the distinct values of a field in the order of their first rows.
fn distinct<T: PartialEq>(report: &Report, field: impl Fn(&Row) -> Option<T>) -> Vec<T> {
    let mut found = Vec::new();
    for value in report.lines.iter().filter_map(|line| field(&line.row)) {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

fn place<T: PartialEq>(all: &[T], one: &T) -> usize {
    all.iter().position(|other| other == one).unwrap_or(0)
}

pub(super) fn bytes_of(bytes: usize) -> String {
    let text = size(bytes);
    match text.strip_suffix(['K', 'M']) {
        Some(number) => format!("{number} {}B", &text[number.len()..]),
        None => format!("{text} B"),
    }
}

fn count(figure: f64) -> String {
    if figure < 1.0 { String::new() } else { format!("{figure:.0}") }
}

#[cfg(test)]
mod tests {
    use super::super::case::{Case, Figure, Task};
    use super::super::report::tests::task;
    use super::super::sample::{Measured, Sample};
    use super::*;

    fn report(task: &Task, cases: Vec<Case>, limits: &[(Limit, f64)]) -> Report {
        let measured = |case: &Case| {
            let faster = if case.strategy.as_deref() == Some("fifo") { 1.0 } else { 2.0 };
            let ns = 1e6 / f64::from(case.packs.unwrap_or(1)) / faster;
            Measured { rounds: vec![ns], batches: vec![ns], ..Measured::default() }
        };
        let cases = cases.into_iter().map(|case| (case.clone(), measured(&case))).collect();
        let limits = limits.iter().map(|(limit, ns)| (*limit, vec![*ns])).collect();
        Report::new(task, &Sample { cases, limits }, |_| None)
    }

    fn cases(
        task: &Task,
        sizes: &[usize],
        packs: &[u32],
        operation: Option<&str>,
        flows: Option<u32>,
    ) -> Vec<Case> {
        let case = |(bytes, packs): (usize, u32)| Case {
            operation: operation.map(str::to_owned),
            buffers: Some(super::super::case::Buffers::Private),
            flows,
            packs: Some(packs),
            ..Case::of_bytes(bytes, Figure::Time, 1, vec![])
        };
        let all = sizes.iter().flat_map(|bytes| packs.iter().map(|packs| (*bytes, *packs)));
        all.flat_map(|of| case(of).under_each(task)).collect()
    }

    fn experiment(bench: Bench) -> Task {
        Task { strategies: vec!["fifo".into(), "aggregate".into()], ..task(bench, 2) }
    }

    fn names(chart: &Chart) -> Vec<&str> {
        chart.curves.iter().map(|curve| curve.name.as_str()).collect()
    }

    #[test]
    fn pages_are_curves_of_both_times_and_all_strategies() {
        let task = experiment(Bench::Dsm);
        let mut all = cases(&task, &[66_560], &[1, 4], Some("request + rendezvous"), None);
        all.extend(cases(&task, &[66_560], &[1, 4], Some(WHOLE), None));
        let charts = charts(&report(&task, all, &[]));
        assert_eq!(charts.len(), 1);
        let expected = [
            "request + rendezvous, fifo",
            "request + rendezvous, aggregate",
            "whole, fifo",
            "whole, aggregate",
        ];
        assert_eq!(names(&charts[0]), expected);
        assert_eq!(charts[0].curves[3].points, [(1.0, 5e5), (4.0, 1.25e5)]);
        assert_eq!(charts[0].caption, "4 pages of 65 KB: aggregate 2.0 × as fast as fifo");
        assert!(charts[0].curves[3].dashes.is_some());
    }

    #[test]
    fn flows_have_a_chart_for_each_size_with_a_curve_for_each_number_and_strategy() {
        let task = experiment(Bench::Flows);
        let of = |flows| cases(&task, &[8, 1024], &[1, 16], None, Some(flows));
        let charts = charts(&report(&task, [of(1), of(4)].concat(), &[]));
        assert_eq!(
            charts.iter().map(|chart| chart.caption.as_str()).collect::<Vec<_>>(),
            [
                "4 flows, packs of 8 B: aggregate 2.0 × as fast as fifo",
                "4 flows, packs of 1 KB: aggregate 2.0 × as fast as fifo",
            ]
        );
        assert_eq!(
            names(&charts[1]),
            ["1 flow, fifo", "1 flow, aggregate", "4 flows, fifo", "4 flows, aggregate"]
        );
        assert_eq!(charts[0].curves[0].colour, charts[0].curves[1].colour);
        assert!(charts[0].curves[0].dashes.is_some() && charts[0].curves[1].dashes.is_none());
    }

    #[test]
    fn rails_stand_beside_the_sum_of_their_sockets() {
        let task = experiment(Bench::Rails);
        let mut all = cases(&task, &[1 << 20, 4 << 20], &[1], Some(SINGLE), None);
        all.extend(cases(&task, &[9 << 20], &[1], Some("mixed"), None));
        // The rates are one byte, and half a byte, per nanosecond.
        let limits = [1 << 20, 4 << 20].map(|bytes| {
            [(Limit::Rail(0, bytes), bytes as f64), (Limit::Rail(1, bytes), 2.0 * bytes as f64)]
        });
        let limits = [limits.concat(), vec![(Limit::Rail(0, 9 << 20), 1.0)]].concat();
        let charts = charts(&report(&task, all, &limits));
        let curves = &charts[0].curves;
        assert!(curves[0].name.contains("sum of the rails") && !curves[0].marked);
        assert_eq!(curves[0].points, [((1 << 20) as f64, 1500.0), ((4 << 20) as f64, 1500.0)]);
        assert_eq!(curves.len(), 5);
        assert_eq!(curves[1].points[1], ((4 << 20) as f64, 4194.3), "MB/s");
        assert_eq!(curves[4].points.len(), 1);
        let finding =
            "1 MB: aggregate 2097 MB/s, 140 % of all rails; 4 MB: aggregate 8389 MB/s, 559 % of all rails";
        assert_eq!(charts[0].caption, finding);
    }
}
