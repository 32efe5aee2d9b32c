//! Notices: identifiers that puts show their targets, taken by a thread or passed to a handler.

use std::ops::Range;
use std::time::Instant;

use canele_proto::{Notice, Proto, Received};
use canele_rail::FastPath;

use crate::core::Core;
use crate::engine::{Engine, Locked};
use crate::lane::Lane;
use crate::lane::awaited::Awaited;
use crate::lane::spin::spin;
use crate::{Error, Failure};

/// The handlers of notices, each for a range of identifiers.
#[derive(Default)]
pub(crate) struct NoticeHandlers(Vec<NoticeHandler>);

struct NoticeHandler {
    ids: Range<u64>,
    call: Box<dyn FnMut(Notice) + Send>,
}

impl NoticeHandlers {
    /// Passes the notices that have come to their handlers.
    #[inline(always)]
    pub fn call_handlers(&mut self, proto: &mut Proto) {
        if !self.0.is_empty() {
            self.give_notices(proto);
        }
    }

    fn give_notices(&mut self, proto: &mut Proto) {
        proto.retain_notices(|notice| !self.call(notice));
    }

    /// Calls the handler of a notice; returns false if there is none.
    fn call(&mut self, notice: Notice) -> bool {
        let handler = self.0.iter_mut().find(|handler| handler.ids.contains(&notice.id));
        handler.map(|handler| (handler.call)(notice)).is_some()
    }
}

impl Engine {
    /// Returns the next notice, if one has come; makes progress once if not.
    ///
    /// # Errors
    /// The job is over.
    pub fn try_notice(&self) -> Result<Option<Notice>, Error> {
        let mut core = self.lock_to_submit()?;
        if let Some(notice) = core.take_notice() {
            return Ok(Some(notice));
        }
        let (mut core, _) = self.poll_once(core);
        Ok(core.take_notice())
    }

    /// Waits for the next notice.
    ///
    /// # Errors
    /// The deadline passed; there is no notice, and no rank or thread is left that could put data; the job is
    /// over.
    pub fn wait_notice(&self, deadline: Option<Instant>) -> Result<Notice, Error> {
        let mut core = self.lock_to_submit()?;
        if let Some(notice) = look_for_notice(&mut core) {
            return Ok(notice);
        }
        let take = |core: &mut Core| match core.take_notice() {
            Some(notice) => Some(Ok(notice)),
            None => core.lane.proto.why_closed().map(|why| Err(why.into())),
        };
        if deadline.is_none() {
            let (_core, notice) = self.wait_for_any_sender(core, Awaited::Other("a notice", None), take);
            return notice.unwrap_or_else(|| Err(Failure::NoSenderLeft.into()));
        }
        let (_core, notice) = self.wait_before(core, deadline, Awaited::Other("a notice", None), take);
        notice.unwrap_or_else(|| Err(Error::Deadline("a notice".to_owned())))
    }

    /// Sets `call` for every notice whose identifier lies in `ids`. Any call that makes progress calls it; it
    /// must not call the library. Polling no longer returns such notices.
    ///
    /// # Errors
    /// The job is over.
    pub fn on_notice(&self, ids: Range<u64>, call: Box<dyn FnMut(Notice) + Send>) -> Result<(), Error> {
        self.lock_to_submit()?.rma.notices.0.push(NoticeHandler { ids, call });
        Ok(())
    }
}

/// Looks a while for notices on the links, before a wait begins.
fn look_for_notice(guard: &mut Locked<'_>) -> Option<Notice> {
    if !guard.rma.notices.0.is_empty() {
        return None;
    }
    match spin(guard, None, |core| core.lane.try_notice()) {
        Received::Done(notice) => {
            guard.trace_notice(&notice);
            Some(notice)
        }
        _ => None,
    }
}

impl Core {
    /// Takes a notice for the program, if one has come.
    fn take_notice(&mut self) -> Option<Notice> {
        let notice = self.lane.proto.take_notice();
        notice.iter().for_each(|notice| self.trace_notice(notice));
        notice
    }
}

impl Lane {
    /// Takes a notice, if one has come.
    fn try_notice(&mut self) -> Received<Notice> {
        if let Some(notice) = self.proto.take_notice() {
            return Received::Done(notice);
        }
        self.rails.find_ready();
        for at in 0..self.rails.ready().len() {
            let Some(link) = self.rails.ready().get(at).copied() else { break };
            match self.proto.try_notice(&mut self.rails, link) {
                Received::Nothing => {}
                Received::NotHere => {
                    self.proto.receive_from(&mut self.rails, link);
                }
                done => return done,
            }
        }
        Received::Nothing
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use canele_sys::ids::Rank;

    use super::*;

    #[test]
    fn a_notice_goes_to_the_handler_of_its_range() {
        let (sender, seen) = channel();
        let mut handlers = NoticeHandlers::default();
        for (name, ids) in [("low", 0..10), ("high", 10..20)] {
            let sender = sender.clone();
            let call = Box::new(move |notice: Notice| sender.send((name, notice.id)).expect("it is heard"));
            handlers.0.push(NoticeHandler { ids, call });
        }
        let taken = [9, 10, 20].map(|id| handlers.call(Notice { from: Rank(1), id }));
        assert_eq!(taken, [true, true, false]);
        assert_eq!(seen.try_iter().collect::<Vec<_>>(), [("low", 9), ("high", 10)]);
    }
}
