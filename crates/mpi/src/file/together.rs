//! Collective accesses. They are independent accesses where that is as fast. Otherwise they take two phases,
//! through windows of the file (`windows`).
//!
//! Members exchange summaries of their extents, so all decide alike. If the ranges of different hosts do not
//! interleave, each host has windows of its own.

use super::File;
use super::access::Access;
use super::exchange::FileExchange;
use super::hints::{Hints, Use};
use super::windows::{Scope, Windows};
use crate::Result;

/// Extents of at least this mean length are written by each member itself.
const LONG_WRITES: usize = 128 << 10;
/// Extents of at least this mean length are read by each member itself, in a file of one host. Reads do not
/// exclude each other.
const LONG_READS: usize = 4 << 10;

/// The summary that a member sends before a collective access.
struct MemberAccess {
    rank: usize,
    first: u64,
    end: u64,
    mean_len: i64,
    alone: bool,
    has_memory: bool,
}

impl MemberAccess {
    const NUMBERS: usize = 5;

    fn read((rank, numbers): (usize, &[i64])) -> Self {
        let [first, end] = [numbers[0], numbers[1]].map(i64::cast_unsigned);
        let [alone, has_memory] = [numbers[3], numbers[4]].map(|flag| flag != 0);
        Self { rank, first, end, mean_len: numbers[2], alone, has_memory }
    }
}

impl File {
    /// Reads or writes together with all members; returns the number of bytes. A member whose access is an
    /// error takes part without data.
    pub(super) fn access_together(&self, access: &mut Result<Access>, writes: bool) -> Result<usize> {
        let hints = self.state().hints.clone();
        let way = self.choose_scope(access, writes, &hints)?;
        let exchange = match way {
            Some((scope, all_have_memory)) => {
                self.exchange_of(scope, hints.cb_buffer_size, all_have_memory)?.map(|made| (scope, made))
            }
            None => None,
        };
        let Some((scope, exchange)) = exchange else {
            return match access {
                Ok(access) => self.access_alone(access),
                // The error is reported after all members have finished.
                Err(_) => Ok(0),
            };
        };
        let own = access.as_mut().ok().filter(|access| access.len > 0);
        let (aggregators, sieves) = (self.aggregators(scope, &hints), self.sieves_writes(&hints));
        let windows = Windows { file: self, exchange: &exchange, aggregators, scope, sieves };
        if writes { windows.write(own) } else { windows.read(own) }
    }

    /// Chooses the members that exchange data through windows, if that saves time. The flag is true if all
    /// members have memory for it. All members choose alike.
    fn choose_scope(
        &self,
        access: &Result<Access>,
        writes: bool,
        hints: &Hints,
    ) -> Result<Option<(Scope, bool)>> {
        let way = if writes { hints.cb_write } else { hints.cb_read };
        if self.comm.size() == 1 || way == Use::Disable {
            return Ok(None);
        }
        let has_memory = i64::from(self.has_exchange(hints.cb_buffer_size));
        let said: [i64; MemberAccess::NUMBERS] = match access {
            Ok(access) if access.len > 0 => {
                let (first, end) = access.range();
                let mean = access.view.tiles.mean_len().min(access.len);
                let alone = access.atomic || !access.is_ordered();
                [first.cast_signed(), end.cast_signed(), mean as i64, i64::from(alone), has_memory]
            }
            _ => [0, 0, i64::MAX, 0, has_memory],
        };
        let all = self.comm.numbers_of_all(&said)?;
        let all: Vec<MemberAccess> =
            all.chunks_exact(MemberAccess::NUMBERS).enumerate().map(MemberAccess::read).collect();
        let all_have_memory = all.iter().all(|of| of.has_memory);
        let mut some: Vec<&MemberAccess> = all.iter().filter(|of| of.end > of.first).collect();
        if some.iter().any(|of| of.alone) || some.is_empty() {
            return Ok(None);
        }
        let long = if writes || self.hosts.count() > 1 { LONG_WRITES } else { LONG_READS };
        let pays = some.iter().any(|of| of.mean_len < long as i64);
        some.sort_by_key(|of| of.first);
        let interleaved = some.windows(2).any(|pair| pair[0].end > pair[1].first);
        if way != Use::Enable && !(interleaved && pays) {
            return Ok(None);
        }
        let scope = if self.are_hosts_interleaved(&some) { Scope::All } else { Scope::Host };
        Ok((scope == Scope::All || self.host.size() > 1).then_some((scope, all_have_memory)))
    }

    /// Returns true if the ranges of different hosts interleave.
    fn are_hosts_interleaved(&self, all: &[&MemberAccess]) -> bool {
        let mut ranges = vec![(u64::MAX, 0); self.hosts.count()];
        for of in all {
            let (first, end) = &mut ranges[self.hosts.host_of(of.rank)];
            (*first, *end) = (of.first.min(*first), of.end.max(*end));
        }
        ranges.retain(|(first, end)| first < end);
        ranges.sort_unstable();
        ranges.windows(2).any(|pair| pair[0].1 > pair[1].0)
    }

    /// Returns the members that access the file: those of this host, or of all hosts.
    fn aggregators(&self, scope: Scope, hints: &Hints) -> Vec<usize> {
        let mut chosen = match scope {
            Scope::All => self.hosts.aggregators(hints.cb_nodes),
            Scope::Host => {
                let here = self.hosts.members(self.hosts.host_of(self.comm.rank()));
                let count = hints.cb_nodes.div_ceil(self.hosts.count()).clamp(1, here.len());
                here[..count].to_vec()
            }
        };
        chosen.truncate(FileExchange::most_readers());
        chosen
    }
}
