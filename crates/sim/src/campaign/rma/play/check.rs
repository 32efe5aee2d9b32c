//! The end of a run: nothing is under way, and the memory is as the reference has it.

use canele_proto::Holding;

use super::{CheckedAccesses, MOST_STEPS, RmaPlay};
use crate::campaign::rma::reference::{Done, FETCHED, LOCKED, ORDERED, REPLACED, SUMS, area_at, check_sum};

impl RmaPlay<'_> {
    /// Runs until nothing happens any more; then checks that every access has ended and the memory is right.
    pub(super) fn check_the_end(&mut self) -> CheckedAccesses {
        for n in 0.. {
            let mut any = self.net.open_links(true);
            for rank in self.living() {
                any |= self.pass(rank)?;
            }
            if !any && self.net.advance().is_none() {
                break;
            }
            if n > MOST_STEPS {
                return Err("it never comes to rest".into());
            }
        }
        for rank in self.living() {
            let party = &self.parties[rank];
            let open: Vec<_> = party.runs.iter().map(|run| (run.to, run.rma_request)).collect();
            let under_way = (party.target.under_way(), party.origin.under_way());
            if !open.is_empty() || under_way != (0, 0) || !party.target.exposures.is_unlocked() {
                return Err(format!("rank {rank} has {under_way:?} under way, waits for {open:?}"));
            }
            let holding = self.net.protos[rank].holding();
            if holding != Holding::default() {
                return Err(format!("rank {rank} holds {holding:?}"));
            }
            self.check_memory(rank).map_err(|what| format!("memory of rank {rank}: {what}"))?;
        }
        Ok(())
    }

    fn check_memory(&self, owner: usize) -> CheckedAccesses {
        let ranks = self.ranks();
        let mut bytes = vec![0; area_at(ranks, ranks)];
        self.memory[owner].load(0, &mut bytes);
        let word = |at: usize| bytes[8 * at..8 * at + 8].try_into().map_or(0, u64::from_le_bytes);
        let of_all =
            |what: &dyn Fn(&Done) -> u64| (0..ranks).map(|origin| what(&self.done[origin][owner])).sum();
        let of_living =
            |what: &dyn Fn(&Done) -> u64| self.living().map(|origin| what(&self.done[origin][owner])).sum();
        for origin in 0..ranks {
            let area = &bytes[area_at(ranks, origin)..area_at(ranks, origin + 1)];
            let own =
                self.done[origin][owner].check_own(word(ORDERED + origin), area, Some(origin) == self.dead);
            own.map_err(|what| format!("of rank {origin}, {what}"))?;
        }
        for at in 0..SUMS {
            let sum = |done: &Done| done.sums[at];
            check_sum("a sum", word(ORDERED + ranks + at), of_living(&sum), of_all(&sum))?;
        }
        let fetches = word(FETCHED);
        check_sum("words fetched", fetches, of_living(&|done| done.fetches), of_all(&|done| done.fetches))?;
        let mut fetched: Vec<u64> =
            (0..ranks).flat_map(|origin| self.done[origin][owner].fetched.clone()).collect();
        fetched.sort_unstable();
        fetched.dedup();
        let all: u64 = of_all(&|done| done.fetched.len() as u64);
        if fetched.len() as u64 != all || fetched.last().is_some_and(|last| *last >= fetches) {
            return Err(format!("{all} values fetched are {fetched:?}"));
        }
        let most = if self.dead.is_some() { u64::MAX } else { of_all(&|done| done.replaced) };
        check_sum("words replaced", word(REPLACED), of_living(&|done| done.replaced), most)?;
        let begun = of_all(&|done| done.sections_begun);
        check_sum("times locked", word(LOCKED), of_living(&|done| done.sections), begun)
    }
}
