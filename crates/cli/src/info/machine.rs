//! The machine's resources: processors, memory, kernel, rails, and running jobs. Reads only; every figure may
//! be missing.

use std::collections::BTreeSet;
use std::fs;

use canele_launch::JobReport;
use canele_rail::tcp::interfaces::{choose, interfaces, names_in};
use canele_sys::{memory, processor, topology::Topology, tunables::Tunables};
use serde::Serialize;

use crate::jobs;

/// The machine's resources; unknown figures are missing.
#[derive(Debug, Serialize)]
pub struct Machine {
    /// Version of this command.
    version: &'static str,
    /// The processor's name for itself.
    model: String,
    #[serde(flatten)]
    processors: Option<Processors>,
    memory_bytes: Option<u64>,
    available_bytes: u64,
    /// Name, release and processor type.
    kernel: String,
    /// Interfaces that a job on several hosts would use here.
    interfaces: Vec<String>,
    /// The reason why there is no such interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_interface: Option<String>,
    jobs: Vec<RunningJob>,
}

#[derive(Debug, Serialize)]
struct Processors {
    processors: usize,
    cores: usize,
    memory_nodes: usize,
}

/// A job of the user whose launcher runs here.
#[derive(Debug, Serialize)]
struct RunningJob {
    job: u32,
    command: String,
    ranks: u32,
    seconds: f64,
    #[serde(skip)]
    words: String,
}

impl Machine {
    /// Reads all figures.
    pub fn look() -> Self {
        let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let total =
            field(&meminfo, "MemTotal").and_then(|text| text.trim_end_matches(" kB").parse::<u64>().ok());
        let kernel = rustix::system::uname();
        let [name, release, machine] =
            [kernel.sysname(), kernel.release(), kernel.machine()].map(|text| text.to_string_lossy());
        let (interfaces, no_interface) = match interfaces_of_jobs() {
            Ok(chosen) => (chosen, None),
            Err(why) => (Vec::new(), Some(why)),
        };
        Machine {
            version: env!("CARGO_PKG_VERSION"),
            model: processor_model(),
            processors: Topology::discover().ok().map(|topology| Processors::of(&topology)),
            memory_bytes: total.map(|kib| kib << 10),
            available_bytes: memory::available(),
            kernel: format!("{name} {release} on {machine}"),
            interfaces,
            no_interface,
            jobs: jobs::running().iter().map(RunningJob::of).collect(),
        }
    }

    /// Returns one JSON object.
    pub fn json(&self) -> String {
        serde_json::to_string(self).expect("it has no unencodable part")
    }

    /// Returns the text for people.
    pub fn text(&self) -> String {
        let some = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        let processors = match &self.processors {
            Some(Processors { processors, cores, memory_nodes }) => {
                format!("{processors} on {}, {}", some(*cores, "core"), some(*memory_nodes, "memory node"))
            }
            None => "unknown".into(),
        };
        let memory = self.memory_bytes.map_or("unknown".into(), gib);
        let interfaces = match (&self.no_interface, &self.interfaces[..]) {
            (Some(why), _) => format!("none ({why})"),
            (None, []) => "no interface is up".into(),
            (None, chosen) => chosen.join(", "),
        };
        let mut lines = vec![
            format!("processors  {processors}: {}", self.model),
            format!("memory      {memory}, {} available", gib(self.available_bytes)),
            format!("kernel      {}", self.kernel),
            format!("version     canele {}", self.version),
            "rails       shm   ranks of the same host, through shared memory".into(),
            format!("            tcp   ranks of other hosts: {interfaces}"),
        ];
        let jobs = self.jobs.iter().map(|job| format!("{:<7} {}", job.job, job.words));
        let none = self.jobs.is_empty().then(|| "none of yours has its launcher here".to_owned());
        let names = std::iter::once("jobs").chain(std::iter::repeat(""));
        lines.extend(jobs.chain(none).zip(names).map(|(line, name)| format!("{name:<11} {line}")));
        lines.join("\n")
    }
}

/// Returns the processor's name for itself.
pub fn processor_model() -> String {
    processor::model().unwrap_or_else(|| "unknown model".into())
}

impl Processors {
    fn of(topology: &Topology) -> Self {
        let all = topology.processors();
        let nodes: BTreeSet<_> = all.iter().map(|processor| processor.node).collect();
        Processors { processors: all.len(), cores: topology.cores(), memory_nodes: nodes.len() }
    }
}

impl RunningJob {
    fn of(report: &JobReport) -> Self {
        let JobReport { job, command, size, seconds, .. } = report;
        let words = jobs::in_words(report);
        RunningJob { job: *job, command: command.clone(), ranks: *size, seconds: *seconds, words }
    }
}

/// Returns the interfaces that a job on several hosts would use here, or the reason why there is none.
fn interfaces_of_jobs() -> Result<Vec<String>, String> {
    let wanted = Tunables::from_env().map(|tunables| tunables.rails).unwrap_or_default();
    let all = interfaces().map_err(|error| error.to_string())?;
    let chosen = choose(&all, &names_in(&wanted)).map_err(|error| format!("CANELE_RAILS: {error}"))?;
    Ok(chosen.iter().map(ToString::to_string).collect())
}

fn gib(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim_start().strip_prefix(':')?.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_the_kernel_are_understood() {
        assert_eq!(field("a: x\nmodel name\t: Fast One\n", "model name"), Some("Fast One"));
        assert_eq!(field("MemTotal:   12 kB\n", "MemTotal"), Some("12 kB"));
    }
}
