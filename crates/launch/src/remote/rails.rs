//! The choice of the hosts' interfaces that are rails. Agents report their interfaces, and the launcher
//! numbers them so that a rail has the same number on every host.

use canele_rail::tcp::interfaces::{Interface, choose, names_in, number};

/// A host's part of a rail: the interface and its ports; both empty if it has no part in the rail.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostRail {
    /// The interface's name on the host.
    pub interface: String,
    /// The ports that the host's ranks open, as the driver writes them.
    pub ports: Vec<String>,
}

/// Returns each host's part of each rail. If there are `more` hosts, which are not known yet, all interfaces
/// of the only known host are rails. If `names` gives interfaces, separated by commas, these are the rails,
/// in that order on all hosts. Otherwise the interfaces on one network form one rail.
///
/// # Errors
/// Fails with the number of a host that lacks an interface of a name, and the reason.
pub fn agree(
    hosts: &[Vec<Interface>],
    names: &str,
    more: bool,
) -> Result<Vec<Vec<HostRail>>, (usize, String)> {
    let names = names_in(names);
    let chosen = hosts
        .iter()
        .enumerate()
        .map(|(host, found)| choose(found, &names).map_err(|error| (host, format!("CANELE_RAILS: {error}"))));
    let chosen = chosen.collect::<Result<Vec<_>, _>>()?;
    let numbers = if names.is_empty() && !(more && hosts.len() == 1) {
        number(&chosen)
    } else {
        chosen.iter().map(|here| (0..here.len() as u8).map(Some).collect()).collect()
    };
    Ok(chosen.iter().zip(&numbers).map(|(interfaces, numbers)| in_order(interfaces, numbers)).collect())
}

/// Returns a later host's part of each rail on which the other hosts have agreed. It is the interface on the
/// same network or, if interfaces were named, the one with the name.
///
/// # Errors
/// Fails with the reason if the host lacks a named interface.
pub fn join(
    hosts: &[(Vec<Interface>, Vec<HostRail>)],
    found: &[Interface],
    names: &str,
) -> Result<Vec<HostRail>, String> {
    let names = names_in(names);
    let chosen = choose(found, &names).map_err(|error| format!("CANELE_RAILS: {error}"))?;
    let rails = hosts.iter().map(|(_, parts)| parts.len()).max().unwrap_or(0);
    if !names.is_empty() {
        return Ok(in_order(&chosen, &(0..chosen.len() as u8).map(Some).collect::<Vec<_>>()));
    }
    let is_on = |rail: usize, one: &&Interface| {
        hosts.iter().any(|(interfaces, parts)| {
            let other = parts.get(rail).and_then(|part| {
                interfaces.iter().find(|interface| !part.ports.is_empty() && interface.name == part.interface)
            });
            other.is_some_and(|other| {
                other.nets.iter().any(|net| one.nets.iter().any(|own| own.trunc() == net.trunc()))
            })
        })
    };
    let part = |rail: usize| {
        let one = chosen.iter().find(|one| is_on(rail, one));
        one.map_or_else(HostRail::default, |one| HostRail { interface: one.name.clone(), ports: one.ports() })
    };
    Ok((0..rails).map(part).collect())
}

/// Orders the interfaces by number.
fn in_order(interfaces: &[Interface], numbers: &[Option<u8>]) -> Vec<HostRail> {
    let rails = numbers.iter().flatten().max().map_or(0, |most| usize::from(*most) + 1);
    let mut parts = vec![HostRail::default(); rails];
    for (interface, number) in interfaces.iter().zip(numbers) {
        if let Some(number) = number {
            parts[usize::from(*number)] =
                HostRail { interface: interface.name.clone(), ports: interface.ports() };
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(interfaces: &[(&str, &str)]) -> Vec<Interface> {
        let nets = |address: &str| vec![format!("{address}/24").parse().unwrap()];
        let interface =
            |(name, address): &(&str, &str)| Interface { name: name.to_string(), nets: nets(address) };
        interfaces.iter().map(interface).collect()
    }

    fn addresses(rails: &[Vec<HostRail>]) -> Vec<Vec<String>> {
        let rail = |part: &HostRail| part.ports.first().cloned().unwrap_or_default();
        rails.iter().map(|host| host.iter().map(rail).collect()).collect()
    }

    #[test]
    fn rails_are_networks_whatever_else_a_host_has() {
        let hosts = [
            host(&[("br", "172.17.0.1"), ("fast", "10.2.0.1"), ("slow", "10.1.0.1")]),
            host(&[("eth0", "10.1.0.2"), ("eth1", "10.2.0.2")]),
        ];
        let rails = agree(&hosts, "", false).unwrap();
        assert_eq!(addresses(&rails), [["10.1.0.1", "10.2.0.1"], ["10.1.0.2", "10.2.0.2"]]);
        assert_eq!([&rails[0][1], &rails[1][1]].map(|part| part.interface.as_str()), ["fast", "eth1"]);
    }

    #[test]
    fn one_machine_under_two_names_reaches_itself() {
        let here = host(&[("eth0", "10.1.0.1"), ("br", "172.17.0.1")]);
        let rails = agree(&[here.clone(), here], "", false).unwrap();
        assert_eq!(addresses(&rails), [["10.1.0.1"], ["10.1.0.1"]]);
    }

    #[test]
    fn names_say_which_and_in_which_order() {
        let hosts = [("a", "10.1.0.1"), ("b", "10.2.0.1"), ("c", "10.3.0.1")];
        let hosts = [host(&hosts), host(&[("a", "10.1.0.2"), ("b", "10.2.0.2")])];
        let rails = agree(&hosts, "b, a", false).unwrap();
        assert_eq!(addresses(&rails), [["10.2.0.1", "10.1.0.1"], ["10.2.0.2", "10.1.0.2"]]);
        let (host, text) = agree(&hosts, "c", false).unwrap_err();
        assert!(host == 1 && text.contains('c') && text.contains("10.2.0.2"), "{text}");
    }

    #[test]
    fn a_host_that_comes_later_has_the_rails_whose_networks_it_is_on() {
        let first = host(&[("br", "172.17.0.1"), ("fast", "10.2.0.1"), ("slow", "10.1.0.1")]);
        let parts = agree(std::slice::from_ref(&first), "", true).unwrap().remove(0);
        assert_eq!(
            parts.iter().map(|part| part.interface.as_str()).collect::<Vec<_>>(),
            ["br", "fast", "slow"]
        );
        let later = host(&[("eth0", "10.1.0.2"), ("eth1", "10.2.0.2"), ("eth2", "10.9.0.2")]);
        let joined = join(&[(first, parts)], &later, "").unwrap();
        assert_eq!(addresses(&[joined]), [["", "10.2.0.2", "10.1.0.2"]]);
        assert_eq!(join(&[], &later, "eth1,eth0").unwrap()[0].interface, "eth1");
        assert!(join(&[], &later, "ib0").unwrap_err().contains("ib0"));
    }
}
