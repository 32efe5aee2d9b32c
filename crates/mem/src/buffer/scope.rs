//! Lends borrowed memory for the duration of a call.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr::NonNull;

use super::{InBuffer, Lent, OutBuffer};

/// Lends borrowed memory; see [`scope`].
pub struct Scope<'scope, 'env: 'scope> {
    out: Cell<usize>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// Runs `f`, which may lend memory that outlives the scope, and checks at its end that all tokens came back.
///
/// Other code must not touch lent memory. So the process aborts if a token is out when `f` ends or panics: no
/// safe action is left.
pub fn scope<'env, R>(f: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R) -> R {
    struct AllBack<'a>(&'a Cell<usize>);
    impl Drop for AllBack<'_> {
        fn drop(&mut self) {
            if self.0.get() != 0 {
                let why = if std::thread::panicking() { "a panic left" } else { "an internal error ended" };
                eprintln!(
                    "canele: {why} a call whose memory a transfer under way still uses: the process aborts, because nothing \
                     may touch that memory before the transfer has ended"
                );
                std::process::abort();
            }
        }
    }
    let scope = Scope { out: Cell::new(0), scope: PhantomData, env: PhantomData };
    let _all_back = AllBack(&scope.out);
    f(&scope)
}

impl<'scope, 'env> Scope<'scope, 'env> {
    fn lender(&self) -> *const () {
        self.out.set(self.out.get() + 1);
        std::ptr::from_ref(self).cast()
    }

    /// Lends bytes to be sent.
    pub fn lend(&self, bytes: &'env [u8]) -> OutBuffer {
        OutBuffer(Lent::one(NonNull::from_ref(bytes).cast(), bytes.len(), self.lender()))
    }

    /// Lends a list of slices, sent as one message in that order.
    pub fn lend_list(&self, list: &[&'env [u8]]) -> OutBuffer {
        let parts = list.iter().map(|s| (NonNull::from_ref(*s).cast(), s.len()));
        OutBuffer(Lent::many(parts, self.lender()))
    }

    /// Lends memory to be filled.
    pub fn lend_mut(&self, bytes: &'env mut [u8]) -> InBuffer {
        let (start, len) = (NonNull::from_mut(bytes).cast(), bytes.len());
        InBuffer(Lent::one(start, len, self.lender()))
    }

    /// Lends a list of slices, filled by one message in that order.
    pub fn lend_list_mut(&self, list: Vec<&'env mut [u8]>) -> InBuffer {
        let parts = list.into_iter().map(|s| (NonNull::from_mut(s).cast(), s.len()));
        InBuffer(Lent::many(parts, self.lender()))
    }

    fn returned(&self, lent: Lent) {
        lent.assert_returned_to(std::ptr::from_ref(self).cast());
        self.out.set(self.out.get() - 1);
    }

    /// Takes a token back: the operation has ended.
    pub fn take_back(&self, buffer: OutBuffer) {
        self.returned(buffer.0);
    }

    /// Takes a token back: the operation has ended.
    pub fn take_back_mut(&self, buffer: InBuffer) {
        self.returned(buffer.0);
    }
}
