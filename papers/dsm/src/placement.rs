//! The placement of pages on servers.

/// The distribution of pages over the servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Placement {
    /// Page n on server n modulo servers
    #[default]
    RoundRobin,
    /// The first pages on server 0, and so on, in equal blocks
    Blocks,
}

impl Placement {
    /// Returns the home of `page` among `servers` servers, for a space of `pages` pages.
    pub fn home(self, page: u32, pages: u32, servers: u32) -> u32 {
        match self {
            Self::RoundRobin => page % servers,
            Self::Blocks => page / pages.div_ceil(servers).max(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Placement::{Blocks, RoundRobin};

    #[test]
    fn every_page_has_a_home() {
        let homes = |placement: super::Placement, pages, servers| {
            (0..pages).map(|page| placement.home(page, pages, servers)).collect::<Vec<_>>()
        };
        assert_eq!(homes(RoundRobin, 5, 2), [0, 1, 0, 1, 0]);
        assert_eq!(homes(Blocks, 5, 2), [0, 0, 0, 1, 1]);
        assert_eq!(homes(Blocks, 3, 7), [0, 1, 2]);
        assert!((1..9).all(|servers| homes(Blocks, 20, servers).iter().all(|home| *home < servers)));
    }
}
