//! The hosts of the members.

use std::collections::HashMap;

/// The host of each member; equal on all members. Hosts count in the order of their first members.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hosts {
    /// The members of each host, ascending.
    members: Vec<Vec<usize>>,
    /// The host of each member, and its place there.
    places: Vec<(usize, usize)>,
}

impl Hosts {
    /// Makes the hosts from the number of each member's host, in the order of members. Returns `None` unless
    /// there are several hosts and one of them has several members: otherwise there is one level only.
    pub fn new(numbers: impl IntoIterator<Item = u32>) -> Option<Self> {
        let (mut found, mut hosts) = (HashMap::new(), Self { members: Vec::new(), places: Vec::new() });
        for (member, number) in numbers.into_iter().enumerate() {
            let next = hosts.members.len();
            let host = *found.entry(number).or_insert(next);
            if host == next {
                hosts.members.push(Vec::new());
            }
            hosts.places.push((host, hosts.members[host].len()));
            hosts.members[host].push(member);
        }
        let has_levels = hosts.members.len() > 1 && hosts.members.len() < hosts.places.len();
        has_levels.then_some(hosts)
    }

    /// Returns the number of hosts.
    pub fn count(&self) -> usize {
        self.members.len()
    }

    /// Returns the members of a host, ascending.
    pub fn members(&self, host: usize) -> &[usize] {
        &self.members[host]
    }

    /// Returns the host of a member, and its place there.
    pub fn place(&self, member: usize) -> (usize, usize) {
        self.places[member]
    }

    /// Returns true if the members of each host follow each other, so that a reduction host by host keeps its
    /// order.
    pub fn are_in_blocks(&self) -> bool {
        self.places.is_sorted()
    }

    /// Returns the number of members of each host, if all have as many.
    pub fn each(&self) -> Option<usize> {
        let first = self.members[0].len();
        self.members.iter().all(|members| members.len() == first).then_some(first)
    }

    /// Returns all members, host by host.
    pub fn order(&self) -> impl Iterator<Item = usize> {
        self.members.iter().flatten().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::Hosts;

    #[test]
    fn one_level_has_no_hosts() {
        for numbers in [&[][..], &[7], &[7, 7, 7], &[1, 2, 3]] {
            assert_eq!(Hosts::new(numbers.iter().copied()), None);
        }
    }

    #[test]
    fn hosts_count_in_the_order_of_their_first_members() {
        let hosts = Hosts::new([5, 2, 5, 5]).expect("two levels");
        assert_eq!((hosts.count(), hosts.members(0), hosts.members(1)), (2, &[0, 2, 3][..], &[1][..]));
        assert_eq!((hosts.place(2), hosts.place(1)), ((0, 1), (1, 0)));
        assert!(!hosts.are_in_blocks() && hosts.each().is_none());
        assert_eq!(hosts.order().collect::<Vec<_>>(), [0, 2, 3, 1]);
        let even = Hosts::new([5, 5, 2, 2]).expect("two levels");
        assert!(even.are_in_blocks() && even.each() == Some(2));
    }
}
