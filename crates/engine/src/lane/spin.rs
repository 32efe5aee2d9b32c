//! Spinning on the source of a message before a wait begins: the loop of all blocking calls but collectives,
//! which drive a schedule.
//!
//! Owns the number of looks of a call, and its actions between two looks. Never sleeps.

use std::time::Instant;

use canele_proto::Received;
use canele_rail::Rail;
use canele_sys::ids::Rank;
use canele_sys::relax;
use canele_sys::tunables::Wait;

use super::Lane;
use crate::core::Core;
use crate::engine::Locked;

/// The number of passes while a call looks, if every rank has a processor.
const PASSES: u32 = 32;
/// Looks between two passes.
pub(crate) const LOOKS_PER_PASS: u32 = 64;
/// The number of looks, from the start and from each pass, after which a rank asks whether a peer wants its
/// processor.
pub(crate) const LOOKS_BEFORE_ASKING: u32 = 32;

/// Looks with `probe` for a packet of `source`, or of any rank, and makes a pass now and then. The
/// caller has looked once. Returns another result than `Done` when it is time to wait otherwise.
#[inline(always)]
pub(crate) fn spin<T>(
    guard: &mut Locked<'_>,
    source: Option<Rank>,
    probe: impl FnMut(&mut Core) -> Received<T>,
) -> Received<T> {
    let is_traced = guard.begin_look(source);
    let seen = look_again(guard, source, probe);
    if is_traced {
        guard.end_wait();
    }
    seen
}

#[inline(always)]
fn look_again<T>(
    guard: &mut Locked<'_>,
    source: Option<Rank>,
    mut probe: impl FnMut(&mut Core) -> Received<T>,
) -> Received<T> {
    if guard.lane.wait_policy.is_oversubscribed() {
        return if source.is_some() { yield_briefly(guard, probe) } else { Received::Nothing };
    }
    if guard.lane.wait_policy.wait == Wait::Sleep {
        return Received::Nothing;
    }
    let (passes, looks) = guard.lane.looks(source);
    for _ in 0..passes {
        match spin_briefly(guard, source, looks, &mut probe) {
            Received::Nothing => {}
            seen => return seen,
        }
        guard.pass();
        if guard.contended() {
            return Received::Nothing;
        }
    }
    Received::Nothing
}

/// Looks as often as between two passes, without a pass.
#[inline(always)]
pub(crate) fn spin_once<T>(
    core: &mut Core,
    source: Option<Rank>,
    probe: impl FnMut(&mut Core) -> Received<T>,
) -> Received<T> {
    if core.lane.wait_policy.is_oversubscribed() || core.lane.wait_policy.wait == Wait::Sleep {
        return Received::Nothing;
    }
    spin_briefly(core, source, LOOKS_PER_PASS, probe)
}

#[inline(always)]
fn spin_briefly<T>(
    core: &mut Core,
    source: Option<Rank>,
    looks: u32,
    mut probe: impl FnMut(&mut Core) -> Received<T>,
) -> Received<T> {
    let ask = LOOKS_BEFORE_ASKING.min(looks);
    for n in 1..=looks {
        relax::between_looks();
        match probe(core) {
            Received::Nothing => {}
            seen => return seen,
        }
        if n == ask && core.lane.is_processor_wanted(source) {
            return Received::NotHere; // Only a wait gives the processor away.
        }
    }
    Received::Nothing
}

/// Looks between a few yields, if ranks share processors: most often the source only needs one to send the
/// message. Posting a receive and making passes takes three times as long. The loop holds the lock, so it
/// ends as soon as another thread wants the lock.
#[inline(never)]
fn yield_briefly<T>(guard: &mut Locked<'_>, mut probe: impl FnMut(&mut Core) -> Received<T>) -> Received<T> {
    let yields = guard.lane.wait_policy.yields_of_call();
    if yields == 0 {
        return Received::Nothing;
    }
    let mut before = Instant::now();
    for _ in 0..yields {
        if guard.contended() {
            break;
        }
        guard.lane.counts.count_yield();
        std::thread::yield_now();
        let after = Instant::now();
        let took = after.duration_since(before);
        guard.lane.counts.count_waited(took);
        let is_slow = guard.lane.wait_policy.learn_of_yield(took);
        before = after;
        match probe(guard) {
            Received::Nothing if is_slow => break,
            Received::Nothing => {}
            seen => return seen,
        }
    }
    Received::Nothing
}

impl Lane {
    /// Returns the number of passes of a call, and of looks before each. From any source all links share the
    /// looks: one at a socket is a system call, eight in memory cost less.
    #[inline]
    fn looks(&self, source: Option<Rank>) -> (u32, u32) {
        let shared = match source {
            None => self.rails.network_links().max(self.rails.incoming().len() / 8),
            Some(_) => 0,
        };
        (PASSES, LOOKS_PER_PASS.checked_div(shared as u32).unwrap_or(LOOKS_PER_PASS).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::two_on_one_host;

    #[test]
    fn looks_are_shared_by_all_links_only_when_the_source_is_unknown() {
        let [lane, _] = two_on_one_host();
        assert_eq!(lane.looks(Some(Rank(1))), (PASSES, LOOKS_PER_PASS));
        assert_eq!(lane.looks(None), (PASSES, LOOKS_PER_PASS), "one link in memory costs next to nothing");
    }
}
