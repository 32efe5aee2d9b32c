//! Waiting for whatever any rank may send, which ends, too, when nobody is left who could send anything.
//!
//! Owns that judgement. A message can come from another rank that has not finished (what the others sent has been
//! received before they count as gone, invariant I26), or from another thread of this process. With neither, whoever waits
//! without a deadline would wait for ever. An operation that is only tested, or has a deadline, is left alone: its thread
//! may still send the message itself.

use std::time::{Duration, Instant};

use canele_proto::Proto;

use crate::core::Core;
use crate::engine::{Engine, Inside};
use crate::wait::Unmet;
use crate::{Error, Failure};

/// How often the threads are counted again while only they could send something.
const AGAIN: Duration = Duration::from_millis(100);

/// How such a wait ended.
type Waited<'a, T> = Result<(Inside<'a>, Option<T>), (Inside<'a>, Unmet)>;

impl Engine {
    /// As `wait_for` without a deadline; gives nothing when nobody is left.
    pub(crate) fn wait_for_anybody<'a, T>(
        &'a self,
        core: Inside<'a>,
        mut ready: impl FnMut(&mut Core) -> Option<T>,
    ) -> Waited<'a, T> {
        let others = |core: &mut Core| match ready(core) {
            None => core.proto.is_alone().then_some(None),
            some => Some(some),
        };
        let (mut core, found) = self.wait_for(core, None, others)?;
        if found.is_some() {
            return Ok((core, found));
        }
        // From `ready` to the count no other thread can come in.
        while !self.is_only_thread() {
            match self.wait_for(core, Some(Instant::now() + AGAIN), &mut ready) {
                Ok((core, value)) => return Ok((core, Some(value))),
                Err((inside, Unmet::Deadline)) => core = inside,
                Err(error) => return Err(error),
            }
        }
        Ok((core, None))
    }

    /// As [`Engine::wait_until`]. Without a deadline it fails when nobody is left who could send anything.
    ///
    /// # Errors
    /// As [`Engine::wait_until`], and [`Failure::NobodyLeft`].
    pub fn wait_until_anybody<T>(
        &self,
        deadline: Option<Instant>,
        what: impl FnOnce() -> String,
        mut ready: impl FnMut(&mut Proto) -> Option<Result<T, Error>>,
    ) -> Result<T, Error> {
        if deadline.is_some() {
            return self.wait_until(deadline, what, ready);
        }
        let core = self.enter_to_submit()?;
        let ready = |core: &mut Core| match core.check() {
            Ok(()) => ready(&mut core.proto),
            Err(error) => Some(Err(error)),
        };
        or_nobody(self.wait_for_anybody(core, ready))
    }

    /// Whether no other thread of the program lives. Those of the library submit nothing.
    fn is_only_thread(&self) -> bool {
        let threads = std::fs::read_dir("/proc/self/task").map(Iterator::count);
        threads.is_ok_and(|threads| threads == 1 + self.own_threads())
    }
}

/// The end of such a wait, as its caller sees it.
pub(crate) fn or_nobody<T>(ended: Waited<'_, Result<T, Error>>) -> Result<T, Error> {
    match ended {
        Ok((_core, Some(result))) => result,
        Ok((_core, None)) => Err(Failure::NobodyLeft.into()),
        Err((_core, Unmet::Error(error))) => Err(error),
        Err((_core, Unmet::Deadline)) => unreachable!("there is no deadline"),
    }
}
