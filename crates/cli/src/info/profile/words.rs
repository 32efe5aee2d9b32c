//! The text of a profile for people.

use canele_chart::size;
use canele_profile::{HostProfile, LoadedProfile, MeasuredProfile, NetworkProfile, PAIRS, ProfileSource};

use crate::bench::time;

/// Returns the text.
pub fn text(loaded: &LoadedProfile) -> String {
    let mut lines = vec![format!("profile      {}", loaded.source)];
    if matches!(loaded.source, ProfileSource::BuiltIn | ProfileSource::BuiltInByLine(_)) {
        let whose = match loaded.profile.host == HostProfile::SHARED_CACHES {
            true => "that share their caches",
            false => "with caches of their own",
        };
        lines.push(format!("             for processors {whose}; `canele tune` measures this machine"));
    }
    if let Some(measured) = &loaded.measured {
        lines.extend(of_machine(measured));
    }
    lines.extend(loaded.differences().iter().map(|difference| format!("WARNING      {difference}")));
    if !loaded.differences().is_empty() {
        lines.push("             choices may be slow: measure again with `canele tune`".into());
    }
    lines.extend(of_host(&loaded.profile.host));
    lines.extend(loaded.profile.networks.iter().map(of_network));
    lines.join("\n")
}

fn of_machine(measured: &MeasuredProfile) -> Vec<String> {
    let machine = &measured.machine;
    let mut lines = vec![
        format!(
            "machine      {}, {} processors, Linux {}",
            machine.model, machine.processors, machine.kernel
        ),
        format!("caches       {}", machine.cache_words()),
    ];
    if !measured.not_measured.is_empty() {
        lines.push(format!("built in     {}", measured.not_measured.join(", ")));
    }
    lines
}

fn of_host(host: &HostProfile) -> Vec<String> {
    let HostProfile { line_ns, copy, ring, single_copy, wakeup_ns, system_call_ns } = host;
    let ns = |ns: u32| time(f64::from(ns));
    let mut lines = vec![
        format!(
            "cache line   {} same core, {} shared L2, {} shared L3, {} between sockets",
            ns(line_ns.same_core),
            ns(line_ns.shared_l2),
            ns(line_ns.shared_l3),
            ns(line_ns.socket)
        ),
        format!("copy         {} near, {} far", rate(copy.near), rate(copy.far)),
        format!(
            "ring         {} near in pieces of {}B, {} far in pieces of {}B",
            rate(ring.near),
            size(ring.near_piece as usize),
            rate(ring.far),
            size(ring.far_piece as usize)
        ),
    ];
    match single_copy {
        None => lines.push("single copy  the kernel refuses it".into()),
        Some(single) => {
            let row = |name: &str, rates: &[u32]| {
                let cells: Vec<String> =
                    rates.iter().map(|rate| format!("{:>6.1}", f64::from(*rate) / 1000.0)).collect();
                format!("  {name:<10} {}", cells.join(" "))
            };
            let pairs: Vec<String> = PAIRS.iter().map(|pairs| format!("{pairs:>6}")).collect();
            lines.push(format!(
                "single copy  {} a call; GB/s of each pair, with so many pairs at once:",
                ns(single.call_ns)
            ));
            lines.push(format!("  {:<10} {}", "pairs", pairs.join(" ")));
            lines.extend([row("one end", &single.one_end), row("both ends", &single.both_ends)]);
        }
    }
    lines.push(format!("wake-up      {}", ns(*wakeup_ns)));
    lines.push(format!("system call  {}", ns(*system_call_ns)));
    lines
}

fn of_network(network: &NetworkProfile) -> String {
    let NetworkProfile { name, latency_ns, packet_ns, bytes_per_us } = network;
    let [latency, packet] = [latency_ns, packet_ns].map(|ns| time(f64::from(*ns)));
    format!("network      {name}: {latency} latency, {packet} a packet, {}", rate(*bytes_per_us))
}

/// Returns a rate in bytes per microsecond, in words.
fn rate(bytes_per_us: u32) -> String {
    format!("{:.1} GB/s", f64::from(bytes_per_us) / 1000.0)
}

#[cfg(test)]
mod tests {
    use canele_profile::{MachineIdentity, Profile};

    use super::*;

    #[test]
    fn a_profile_of_another_machine_is_shown_with_a_warning() {
        let machine =
            MachineIdentity { model: "X".into(), processors: 16, kernel: "6.1".into(), caches: Vec::new() };
        let network =
            NetworkProfile { name: "eth0".into(), latency_ns: 4600, packet_ns: 540, bytes_per_us: 4500 };
        let host = HostProfile { single_copy: None, ..HostProfile::OWN_CACHES };
        let profile = Profile { host, networks: vec![network] };
        let measured =
            MeasuredProfile::new(machine.clone(), profile.clone(), vec!["host.line_ns.socket".into()]);
        let source = ProfileSource::Found("/p.toml".into());
        let mut loaded = LoadedProfile { source, measured: Some(measured), profile, here: machine };
        let shown = text(&loaded);
        for part in [
            "profile      /p.toml",
            "X, 16 processors, Linux 6.1",
            "built in     host.line_ns.socket",
            "the kernel refuses it",
            "eth0: 4.60 µs latency",
        ] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        assert!(!shown.contains("WARNING"), "{shown}");
        loaded.here.processors = 2;
        let shown = text(&loaded);
        assert!(shown.contains("WARNING      processors: measured on 16, this machine has 2"), "{shown}");
        assert!(shown.contains("measure again with `canele tune`"), "{shown}");
    }

    #[test]
    fn a_built_in_profile_says_for_which_machines_it_is() {
        let here =
            MachineIdentity { model: "X".into(), processors: 2, kernel: "6.1".into(), caches: Vec::new() };
        let profile = Profile::built_in_for(&here);
        let loaded = LoadedProfile { source: ProfileSource::BuiltIn, measured: None, profile, here };
        let shown = text(&loaded);
        let first =
            "profile      built in\n             for processors that share their caches; `canele tune`";
        assert!(shown.starts_with(first), "{shown}");
        assert!(shown.contains("both ends    31.0   16.0"), "{shown}");
    }
}
