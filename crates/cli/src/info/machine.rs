//! What the machine offers: processors, memory, kernel, rails. Reads only; every figure may be missing.

use std::collections::BTreeSet;
use std::fs;

use canele_rail::tcp::interfaces::{choose, interfaces};
use canele_sys::{memory, topology::Topology, tunables::Tunables};

/// Prints the machine and the rails.
pub fn print() {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = field(&cpuinfo, "model name").unwrap_or("unknown model");
    match Topology::discover() {
        Ok(topology) => {
            let all = topology.processors();
            let nodes = all.iter().map(|processor| processor.node).collect::<BTreeSet<_>>().len();
            let (count, cores) = (all.len(), topology.cores());
            let some =
                |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
            let (cores, nodes) = (some(cores, "core"), some(nodes, "memory node"));
            println!("processors  {count} on {cores}, {nodes}: {model}");
        }
        Err(error) => println!("processors  unknown ({error}): {model}"),
    }
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = field(&meminfo, "MemTotal").and_then(|text| text.trim_end_matches(" kB").parse::<u64>().ok());
    println!("memory      {}, {} available", gib(total.unwrap_or(0) << 10), gib(memory::available()));
    let kernel = rustix::system::uname();
    println!(
        "kernel      {} {} on {}",
        kernel.sysname().to_string_lossy(),
        kernel.release().to_string_lossy(),
        kernel.machine().to_string_lossy()
    );
    println!("version     canele {}", env!("CARGO_PKG_VERSION"));
    println!("rails       shm   ranks of the same host, through shared memory");
    println!("            tcp   ranks of other hosts: {}", interfaces_in_words());
}

/// The interfaces that a job on several hosts would use here.
fn interfaces_in_words() -> String {
    let wanted = Tunables::from_env().map(|tunables| tunables.rails).unwrap_or_default();
    let names: Vec<&str> = wanted.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    let found = interfaces().map_err(|error| error.to_string());
    match found.and_then(|all| choose(&all, &names).map_err(|error| format!("CANELE_RAILS: {error}"))) {
        Ok(chosen) if chosen.is_empty() => "no interface is up".into(),
        Ok(chosen) => chosen.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        Err(error) => format!("none ({error})"),
    }
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
