use std::net::Ipv4Addr;

use super::*;

fn interface(name: &str, nets: &[&str]) -> Interface {
    Interface { name: name.into(), nets: nets.iter().map(|net| net.parse().unwrap()).collect() }
}

fn machine() -> Vec<Interface> {
    vec![
        interface("eth0", &["10.77.1.1/24", "fd77:1::1/64"]),
        interface("lo", &["127.0.0.1/8", "::1/128"]),
        interface("docker0", &["172.17.0.1/16"]),
    ]
}

fn names(chosen: &[Interface]) -> Vec<&str> {
    chosen.iter().map(|interface| &*interface.name).collect()
}

#[test]
fn this_machine_has_loopback_and_nothing_of_one_link() {
    let found = interfaces().unwrap();
    let all: Vec<_> = found.iter().flat_map(Interface::addresses).collect();
    assert!(all.contains(&Ipv4Addr::LOCALHOST.into()), "{all:?}");
    let is_of_one_link = |address: &IpAddr| match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    assert!(!all.iter().any(is_of_one_link), "{all:?}");
    let chosen = choose(&found, &[]).unwrap();
    assert!(!chosen.is_empty() && (found.len() == 1 || !chosen.iter().any(Interface::is_loopback)));
}

#[test]
fn without_names_loopback_is_the_last_resort() {
    assert_eq!(names(&choose(&machine(), &[]).unwrap()), ["eth0", "docker0"]);
    assert_eq!(names(&choose(&machine()[1..2], &[]).unwrap()), ["lo"]);
}

#[test]
fn names_and_addresses_choose_and_give_the_order() {
    let chosen = choose(&machine(), &["lo", "fd77:1::1"]).unwrap();
    assert_eq!(names(&chosen), ["lo", "eth0"]);
    assert_eq!(chosen[1].nets, interface("", &["fd77:1::1/64"]).nets);
    let chosen = choose(&machine(), &["10.77.1.1", "docker0", "eth0"]).unwrap();
    assert_eq!(names(&chosen), ["eth0", "docker0"]);
    assert_eq!(chosen[0].nets.len(), 2, "each address once");
}

#[test]
fn what_there_is_stands_beside_what_there_is_not() {
    let error = choose(&machine(), &["eth0", "eth7"]).unwrap_err().to_string();
    let expected = "no interface that is up has the name or address eth7; there are: eth0 (10.77.1.1, fd77:1::1), \
                    lo (127.0.0.1, ::1), docker0 (172.17.0.1)";
    assert_eq!(error, expected);
    let none = choose(&[], &["eth7"]).unwrap_err().to_string();
    assert!(none.ends_with("there are: none"), "{none}");
}

#[test]
fn interfaces_on_one_network_are_one_rail_whatever_else_a_host_has() {
    let hosts = [
        vec![
            interface("docker0", &["172.17.0.1/16"]),
            interface("ra", &["10.77.1.1/24", "fd77:1::1/64"]),
            interface("rb", &["10.77.2.1/24"]),
        ],
        vec![interface("x", &["10.77.2.2/24"]), interface("y", &["10.77.1.2/24", "fd77:1::2/64"])],
        vec![interface("docker0", &["172.17.0.1/16"]), interface("z", &["10.77.2.3/24"])],
    ];
    let numbers = [vec![None, Some(1), Some(0)], vec![Some(0), Some(1)], vec![None, Some(0)]];
    assert_eq!(number(&hosts), numbers);
}

#[test]
fn who_shares_no_network_is_reached_by_routes() {
    let hosts = [
        vec![interface("a", &["10.1.0.5/24"]), interface("b", &["10.9.0.5/24"])],
        vec![interface("a", &["10.2.0.5/24"])],
        vec![interface("docker0", &["172.17.0.1/16"])],
    ];
    assert_eq!(number(&hosts), [vec![Some(0), None], vec![Some(0)], vec![Some(0)]]);
    assert_eq!(number(&[vec![]]), [vec![]]);
}

#[test]
fn two_interfaces_of_a_host_on_one_network_are_not_one_rail() {
    let hosts = [
        vec![interface("a", &["10.1.0.5/24"]), interface("b", &["10.1.0.6/24"])],
        vec![interface("a", &["10.1.0.7/24"])],
    ];
    assert_eq!(number(&hosts), [vec![Some(0), None], vec![Some(0)]]);
}
