//! The places of ranks and routers, and the path from one to the other.
//!
//! Routers stand in a grid. A packet first goes along its row, then along its column, so packets cannot wait
//! for each other in a circle. Each router looks the path up in a table of its own.

use std::cmp::Ordering;

use super::super::model::Wormhole;

/// A port of a router: to a rank at it, or to a neighbour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Port {
    Host(u8),
    West,
    East,
    North,
    South,
}

/// Returns the first port of the path from one router to another: it begins along the row.
fn step(columns: usize, at: usize, to: usize) -> Port {
    let ((column, row), (to_column, to_row)) = ((at % columns, at / columns), (to % columns, to / columns));
    match column.cmp(&to_column) {
        Ordering::Less => Port::East,
        Ordering::Greater => Port::West,
        Ordering::Equal if row > to_row => Port::North,
        Ordering::Equal => Port::South,
    }
}

/// The routers and their tables.
pub struct Grid {
    hosts: usize,
    columns: usize,
    routers: usize,
    /// The ports of each router to each other router. Its own entry is not used.
    tables: Vec<Box<[Port]>>,
}

impl Grid {
    pub fn new(wormhole: Wormhole, ranks: usize) -> Self {
        let hosts = if ranks <= wormhole.ports { wormhole.ports } else { wormhole.hosts };
        let needed = ranks.div_ceil(hosts).max(1);
        let columns = needed.isqrt();
        // Every row is whole; the last routers may be without ranks.
        let routers = needed.next_multiple_of(columns);
        let tables = (0..routers).map(|at| (0..routers).map(|to| step(columns, at, to)).collect()).collect();
        Self { hosts, columns, routers, tables }
    }

    pub fn routers(&self) -> usize {
        self.routers
    }

    /// Returns the router of a rank, and its port there.
    pub fn place(&self, rank: usize) -> (usize, Port) {
        (rank / self.hosts, Port::Host((rank % self.hosts) as u8))
    }

    /// Returns the port of a router that leads to a rank.
    pub fn route(&self, at: usize, rank: usize) -> Port {
        let (to, port) = self.place(rank);
        if at == to { port } else { self.tables[at][to] }
    }

    /// Returns the router behind a port to a neighbour.
    pub fn neighbour(&self, at: usize, port: Port) -> Option<usize> {
        let (column, row) = (at % self.columns, at / self.columns);
        let there = match port {
            Port::Host(_) => None,
            Port::West => (column > 0).then(|| at - 1),
            Port::East => (column + 1 < self.columns).then_some(at + 1),
            Port::North => (row > 0).then(|| at - self.columns),
            Port::South => Some(at + self.columns),
        };
        there.filter(|router| *router < self.routers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(hosts: usize, ranks: usize) -> Grid {
        let shape = Wormhole {
            ports: 8,
            hosts,
            flit_bytes: 32,
            buffer_flits: 8,
            router_ns: 150,
            credit_ns: 0,
            bytes_per_ms: 1,
        };
        Grid::new(shape, ranks)
    }

    /// Returns the ports that a packet takes, with their routers.
    fn way(grid: &Grid, from: usize, to: usize) -> Vec<(usize, Port)> {
        let (mut at, mut way) = (grid.place(from).0, vec![]);
        loop {
            let port = grid.route(at, to);
            way.push((at, port));
            match grid.neighbour(at, port) {
                Some(next) => at = next,
                None => return way,
            }
            assert!(way.len() <= 2 * grid.routers(), "a packet runs in circles");
        }
    }

    #[test]
    fn every_way_ends_at_its_rank_by_the_shortest_path() {
        for (hosts, ranks) in [(4, 8), (4, 9), (4, 41), (1, 50), (3, 100)] {
            let grid = grid(hosts, ranks);
            for (from, to) in (0..ranks).flat_map(|a| (0..ranks).map(move |b| (a, b))) {
                let way = way(&grid, from, to);
                assert_eq!(*way.last().unwrap(), grid.place(to));
                let place = |rank| (grid.place(rank).0 % grid.columns, grid.place(rank).0 / grid.columns);
                let ((x, y), (to_x, to_y)) = (place(from), place(to));
                assert_eq!(way.len(), x.abs_diff(to_x) + y.abs_diff(to_y) + 1);
            }
        }
    }

    #[test]
    fn no_circle_of_packets_can_wait_for_each_other() {
        use std::collections::{BTreeMap, BTreeSet};
        for (hosts, ranks) in [(4, 41), (1, 30), (2, 70)] {
            let grid = grid(hosts, ranks);
            let key = |(router, port): (usize, Port)| (router, format!("{port:?}"));
            // The channels that a packet may hold, each with those that it waits for meanwhile.
            let mut waits: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
            for (from, to) in (0..ranks).flat_map(|a| (0..ranks).map(move |b| (a, b))) {
                for pair in way(&grid, from, to).windows(2) {
                    waits.entry(key(pair[0])).or_default().insert(key(pair[1]));
                    waits.entry(key(pair[1])).or_default();
                }
            }
            // Channels that wait for none are taken away, until none is left.
            while !waits.is_empty() {
                let before = waits.len();
                let free: BTreeSet<_> = waits
                    .iter()
                    .filter(|(_, on)| on.is_empty())
                    .map(|(channel, _)| channel.clone())
                    .collect();
                waits.retain(|channel, _| !free.contains(channel));
                waits.values_mut().for_each(|on| on.retain(|channel| !free.contains(channel)));
                assert!(waits.len() < before, "{} channels wait for each other", waits.len());
            }
        }
    }
}
