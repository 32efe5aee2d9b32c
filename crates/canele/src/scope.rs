//! Non-blocking operations on borrowed buffers, which all end before their scope ends.

use std::cell::RefCell;

use canele_engine::{Buffer, Completion, Mode, Pending};
use canele_mem::buffer::{self, Owned};

use crate::flow::want;
use crate::operation;
use crate::{Error, Flow, Plain, Rank, Source, Status, Tag, TagMatch};

/// Starts non-blocking operations on memory that outlives the scope; made by [`Flow::scope`].
pub struct Scope<'scope, 'env: 'scope> {
    flow: Flow,
    lender: &'scope buffer::Scope<'scope, 'env>,
    started: RefCell<Vec<ScopedProgress>>,
}

enum ScopedProgress {
    UnderWay(Pending),
    /// A pending send of a copy.
    Copied(Pending, Owned<u8>),
    Ended(Result<Status, Error>),
    Taken,
}

impl From<operation::Progress> for ScopedProgress {
    fn from(progress: operation::Progress) -> Self {
        match progress {
            operation::Progress::UnderWay(pending) => Self::UnderWay(pending),
            operation::Progress::Ended(result) => Self::Ended(result),
            operation::Progress::Taken => Self::Taken,
        }
    }
}

/// An operation started in a scope.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scoped(usize);

impl Flow {
    /// Runs `f`, which may start operations on borrowed memory. All of them have ended when this returns.
    ///
    /// If `f` fails, receives without a message are withdrawn. If `f` panics while an operation is pending,
    /// the process aborts. Other ranks may still access the borrowed memory, and a panic must not wait for
    /// them.
    ///
    /// # Errors
    /// Returns the error of `f`, or else that of the first failed operation that was not waited for.
    pub fn scope<'env, R>(
        &self,
        f: impl for<'scope> FnOnce(&Scope<'scope, 'env>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        buffer::scope(|lender| {
            let scope = Scope { flow: self.clone(), lender, started: RefCell::new(Vec::new()) };
            let on_panic = AbortOnPanic(&scope);
            let result = f(&scope);
            std::mem::forget(on_panic);
            if result.is_err() {
                scope.withdraw();
            }
            let ended = scope.wait_all();
            result.and_then(|value| ended.map(|()| value))
        })
    }
}

/// Aborts the process if a panic leaves a scope with pending operations.
struct AbortOnPanic<'a, 'scope, 'env>(&'a Scope<'scope, 'env>);

impl Drop for AbortOnPanic<'_, '_, '_> {
    fn drop(&mut self) {
        let is_lent = |progress: &&ScopedProgress| matches!(progress, ScopedProgress::UnderWay(pending) if !pending.is_free());
        let left = self.0.started.try_borrow().map_or(0, |started| started.iter().filter(is_lent).count());
        if left > 0 {
            eprintln!(
                "canele: {}: a panic left Flow::scope with operations under way: {left}. The library may still read or write the \
                 memory that they borrow, so the process aborts. Wait for the operations before anything that may panic, or \
                 return an error from the scope instead: then they are withdrawn or waited for.",
                self.0.flow.engine.rank()
            );
            std::process::abort();
        }
    }
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Returns the flow of the scope's operations.
    pub fn flow(&self) -> &Flow {
        &self.flow
    }

    /// Starts to send `items`.
    ///
    /// # Errors
    /// Fails if the rank does not exist or the job is over.
    pub fn isend<T: Plain>(&self, to: Rank, tag: Tag, items: &'env [T]) -> Result<Scoped, Error> {
        self.send(to, tag, Mode::Standard, bytemuck::cast_slice(items))
    }

    /// Starts a synchronous send of `items`, which ends once the receiver has begun to receive.
    ///
    /// # Errors
    /// Returns the errors of [`Scope::isend`].
    pub fn isend_sync<T: Plain>(&self, to: Rank, tag: Tag, items: &'env [T]) -> Result<Scoped, Error> {
        self.send(to, tag, Mode::Synchronous, bytemuck::cast_slice(items))
    }

    fn send(&self, to: Rank, tag: Tag, mode: Mode, bytes: &'env [u8]) -> Result<Scoped, Error> {
        match self.send_now(to, tag, mode, bytes)? {
            Some(started) => Ok(started),
            None => self.send_lent(to, tag, mode, self.lender.lend(bytes)),
        }
    }

    /// Starts a send that needs the caller's memory only during this call, if possible.
    fn send_now(&self, to: Rank, tag: Tag, mode: Mode, bytes: &[u8]) -> Result<Option<Scoped>, Error> {
        Ok(self.flow.isend_copied(to, tag, mode, bytes)?.map(|progress| self.keep(progress.into())))
    }

    /// Starts to send several slices as one message.
    ///
    /// # Errors
    /// Returns the errors of [`Scope::isend`].
    pub fn isend_list(&self, to: Rank, tag: Tag, list: &[&'env [u8]]) -> Result<Scoped, Error> {
        self.send_lent(to, tag, Mode::Standard, self.lender.lend_list(list))
    }

    fn send_lent(&self, to: Rank, tag: Tag, mode: Mode, buffer: buffer::OutBuffer) -> Result<Scoped, Error> {
        match self.flow.engine.isend(to, self.flow.id, tag, mode, buffer) {
            Ok(pending) => Ok(self.keep(ScopedProgress::UnderWay(pending))),
            Err(refused) => {
                let (error, buffer) = *refused;
                self.lender.take_back(buffer);
                Err(error)
            }
        }
    }

    /// Starts to receive into `items`.
    ///
    /// # Errors
    /// Fails if the rank does not exist or the job is over.
    pub fn irecv<T: Plain>(
        &self,
        from: impl Into<Source>,
        tag: impl Into<TagMatch>,
        items: &'env mut [T],
    ) -> Result<Scoped, Error> {
        self.recv_lent(from.into(), tag.into(), self.lender.lend_mut(bytemuck::cast_slice_mut(items)))
    }

    /// Starts to receive one message into several slices.
    ///
    /// # Errors
    /// Returns the errors of [`Scope::irecv`].
    pub fn irecv_list(
        &self,
        from: impl Into<Source>,
        tag: impl Into<TagMatch>,
        list: Vec<&'env mut [u8]>,
    ) -> Result<Scoped, Error> {
        self.recv_lent(from.into(), tag.into(), self.lender.lend_list_mut(list))
    }

    fn recv_lent(&self, from: Source, tag: TagMatch, buffer: buffer::InBuffer) -> Result<Scoped, Error> {
        match self.flow.engine.irecv(self.flow.id, want(from, tag), buffer) {
            Ok(pending) => Ok(self.keep(ScopedProgress::UnderWay(pending))),
            Err(refused) => {
                let (error, buffer) = *refused;
                self.lender.take_back_mut(buffer);
                Err(error)
            }
        }
    }

    /// Starts to send a copy of some bytes.
    pub(crate) fn send_copy(&self, to: Rank, tag: Tag, bytes: &[u8]) -> Result<Scoped, Error> {
        if let Some(started) = self.send_now(to, tag, Mode::Standard, bytes)? {
            return Ok(started);
        }
        let mut copy = Owned::new(bytes.to_vec());
        match self.flow.engine.isend(to, self.flow.id, tag, Mode::Standard, copy.lend_out()) {
            Ok(pending) => Ok(self.keep(ScopedProgress::Copied(pending, copy))),
            Err(refused) => {
                let (error, buffer) = *refused;
                copy.take_back_out(buffer);
                Err(error)
            }
        }
    }

    fn keep(&self, progress: ScopedProgress) -> Scoped {
        let mut started = self.started.borrow_mut();
        started.push(progress);
        Scoped(started.len() - 1)
    }

    /// Waits for one operation.
    ///
    /// # Errors
    /// Fails with the error of the operation.
    pub fn wait(&self, operation: Scoped) -> Result<Status, Error> {
        let progress = std::mem::replace(&mut self.started.borrow_mut()[operation.0], ScopedProgress::Taken);
        self.finish(progress)
    }

    fn finish(&self, progress: ScopedProgress) -> Result<Status, Error> {
        match progress {
            ScopedProgress::UnderWay(pending) => {
                let ended = self.flow.engine.wait(pending, None)?;
                self.take_back(ended)
            }
            ScopedProgress::Copied(pending, mut copy) => {
                let ended = self.flow.engine.wait(pending, None)?;
                if let Buffer::Out(buffer) = ended.buffer {
                    copy.take_back_out(buffer);
                }
                ended.result
            }
            ScopedProgress::Ended(result) => result,
            ScopedProgress::Taken => {
                Err(Error::Lengths { what: "waits for one operation", given: 2, needed: 1 })
            }
        }
    }

    /// Returns true if an operation has ended; otherwise makes progress.
    ///
    /// # Errors
    /// Fails in a forked child.
    pub fn test(&self, operation: Scoped) -> Result<bool, Error> {
        let pending = match self.started.borrow()[operation.0] {
            ScopedProgress::UnderWay(pending) => pending,
            // The library owns a copy, so the operation is complete for the caller.
            ScopedProgress::Copied(..) | ScopedProgress::Ended(_) | ScopedProgress::Taken => return Ok(true),
        };
        let Some(ended) = self.flow.engine.test(pending)? else { return Ok(false) };
        let result = self.take_back(ended);
        self.started.borrow_mut()[operation.0] = ScopedProgress::Ended(result);
        Ok(true)
    }

    fn take_back(&self, ended: Completion) -> Result<Status, Error> {
        match ended.buffer {
            Buffer::Out(buffer) => self.lender.take_back(buffer),
            Buffer::In(buffer) => self.lender.take_back_mut(buffer),
            Buffer::None => {}
        }
        ended.result
    }

    fn withdraw(&self) {
        for progress in self.started.borrow_mut().iter_mut() {
            match progress {
                ScopedProgress::UnderWay(pending) if pending.is_free() => *progress = ScopedProgress::Taken,
                // The scope then waits for an operation that cannot be withdrawn.
                ScopedProgress::UnderWay(pending) | ScopedProgress::Copied(pending, _) => {
                    let _ = self.flow.engine.cancel_here(*pending);
                }
                ScopedProgress::Ended(_) | ScopedProgress::Taken => {}
            }
        }
    }

    fn wait_all(&self) -> Result<(), Error> {
        let mut first = Ok(());
        let mut note = |result: Result<Status, Error>| {
            if let (Err(error), true) = (result, first.is_ok()) {
                first = Err(error);
            }
        };
        let mut started = self.started.take().into_iter();
        while let Some(progress) = started.next() {
            if !matches!(progress, ScopedProgress::Taken) {
                note(self.finish(progress));
            }
            // Later operations have often ended at the same time.
            self.flow.engine.completions(|completions| {
                while let Some(ScopedProgress::UnderWay(pending)) = started.as_slice().first()
                    && let Some(ended) = completions.take(*pending)
                {
                    started.next();
                    note(self.take_back(ended));
                }
            })?;
        }
        first
    }
}
