//! What the machine offers: processors, memory, kernel, rails. Reads only; every figure may be missing.

use std::fs;

use rustix::thread::sched_getaffinity;

/// The processors this process may run on, distinct cores before the second threads of cores.
pub fn processors() -> Vec<u32> {
    let Ok(allowed) = sched_getaffinity(None) else { return vec![0] };
    let mut processors: Vec<(usize, u32)> = (0..rustix::thread::CpuSet::MAX_CPU)
        .filter(|&index| allowed.is_set(index))
        .map(|index| (place_in_core(index), index as u32))
        .collect();
    processors.sort_unstable();
    processors.into_iter().map(|(_, index)| index).collect()
}

/// 0 for the first hardware thread of a core, 1 for the second.
fn place_in_core(processor: usize) -> usize {
    let path = format!("/sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list");
    let list = fs::read_to_string(path).unwrap_or_default();
    expand(list.trim()).iter().position(|&sibling| sibling == processor).unwrap_or(0)
}

/// Expands a list of the kernel's, as `0-1,4`. Empty if it is none.
fn expand(list: &str) -> Vec<usize> {
    let mut all = Vec::new();
    for span in list.split(',') {
        let (first, last) = span.split_once('-').unwrap_or((span, span));
        if let (Ok(first), Ok(last)) = (first.parse::<usize>(), last.parse::<usize>()) {
            all.extend(first..=last.min(first + 4096));
        }
    }
    all
}

/// Prints the machine and the rails.
pub fn print() {
    let processors = processors();
    let cores = processors.iter().filter(|&&index| place_in_core(index as usize) == 0).count();
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = field(&cpuinfo, "model name").unwrap_or("unknown model");
    println!("processors  {} ({cores} cores), {model}", processors.len());
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let gib = |name| {
        let kib = field(&meminfo, name).and_then(|text| text.trim_end_matches(" kB").parse::<f64>().ok());
        kib.map_or("?".into(), |kib| format!("{:.1} GiB", kib / 1024.0 / 1024.0))
    };
    println!("memory      {}, {} available", gib("MemTotal"), gib("MemAvailable"));
    let kernel = rustix::system::uname();
    println!(
        "kernel      {} {} on {}",
        kernel.sysname().to_string_lossy(),
        kernel.release().to_string_lossy(),
        kernel.machine().to_string_lossy()
    );
    println!("version     canele {}", env!("CARGO_PKG_VERSION"));
    println!("rails       shm   ranks of the same host, through shared memory");
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim_start().strip_prefix(':')?.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_fields_of_the_kernel_are_understood() {
        assert_eq!(expand("0-2,5"), [0, 1, 2, 5]);
        assert_eq!(expand(""), [0; 0]);
        assert_eq!(field("a: x\nmodel name\t: Fast One\n", "model name"), Some("Fast One"));
        assert_eq!(field("MemTotal:   12 kB\n", "MemTotal"), Some("12 kB"));
    }

    #[test]
    fn this_process_runs_on_some_processor() {
        assert!(!processors().is_empty());
    }
}
