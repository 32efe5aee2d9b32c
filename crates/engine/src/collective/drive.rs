//! A blocking collective: drives a run to its end and waits where the run cannot go on.

use canele_sys::relax;

use super::memory::{Memory, User};
use super::run::{Run, Stop};
use super::team::Watch;
use super::transfers::Transfers;
use crate::Error;
use crate::core::Core;
use crate::engine::{Engine, Inside};
use crate::patience::Next;

/// Looks for missing messages between two passes over everything.
const LOOKS_PER_PASS: u32 = 64;
/// The same where ranks share processors and give theirs away between two looks.
const YIELDS_PER_PASS: u32 = 8;

/// What a call came to, still inside.
pub(super) type Came<'a, T = ()> = (Inside<'a>, Result<T, Error>);

impl Engine {
    /// Until the run is done or fails.
    #[inline(always)]
    pub(super) fn drive<'a, U: User>(
        &'a self,
        mut core: Inside<'a>,
        run: &mut Run<'_>,
        memory: &mut Memory<'_, U>,
        watch: &mut Watch,
    ) -> Came<'a> {
        let mut patience = core.habits.patience();
        let looks = if core.habits.crowded { YIELDS_PER_PASS } else { LOOKS_PER_PASS };
        let mut idle = 0;
        loop {
            let inner = &mut *core;
            let stop = match run.advance(&mut inner.proto, &mut inner.rails, memory) {
                Ok(stop) => stop,
                Err(error) => return (core, Err(error)),
            };
            let mut long = stop == Stop::Long;
            match stop {
                Stop::Done => return (core, Ok(())),
                Stop::Missing { moved: true } => patience.renew(),
                Stop::Missing { moved: false } => {
                    idle += 1;
                    let next = patience.next();
                    match next {
                        Next::Yield => core = self.give_way(core, &mut patience),
                        Next::Look => relax::between_looks(),
                        Next::Sleep => {}
                    }
                    long = next == Next::Sleep;
                }
                Stop::Behind => idle = looks,
                Stop::Long => {}
            }
            if idle >= looks {
                idle = 0;
                core.pass();
                if let Err(error) = core.check_alive(watch) {
                    return (core, Err(error));
                }
                if core.contended() {
                    core = core.pause().expect("a thread of this process has been inside before");
                }
                long |= run.waits_for_gone(&core.proto);
            }
            if long {
                let result;
                (core, result) = self.finish_transfers(core, run, memory, watch);
                if result.is_err() {
                    return (core, result);
                }
                run.all_transferred();
                patience.renew();
            }
        }
    }

    /// Does all transfers that are left of the round, with the user's memory lent to the protocols.
    #[cold]
    #[inline(never)]
    fn finish_transfers<'a, U: User>(
        &'a self,
        mut core: Inside<'a>,
        run: &Run<'_>,
        memory: &mut Memory<'_, U>,
        watch: &mut Watch,
    ) -> Came<'a> {
        self.rouse(&core);
        let (sends, receives) = run.left();
        memory.lending(sends, &receives, |out, into, back| {
            let mut transfers = Transfers::default();
            let inner = &mut *core;
            let on = (&mut inner.proto, &mut inner.rails);
            transfers.submit(run, on, (sends, &receives), (out, into));
            let mut is_over = false;
            let ended = |core: &mut Core| {
                if !is_over && let Err(error) = core.check_alive(watch) {
                    is_over = true;
                    transfers.abandon(&mut core.proto, error);
                }
                transfers.take(&mut core.proto, back).then_some(())
            };
            match self.wait_for(core, None, ended) {
                Ok((core, ())) => (core, transfers.result()),
                Err(_) => unreachable!("a wait without a deadline ends with its requests"),
            }
        })
    }
}
