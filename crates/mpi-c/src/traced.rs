//! Calls of the program, recorded for a trace.
//!
//! A traced process defers no receive and takes no short path. A check that every call makes anyway leads to
//! the recording, so tracing costs little when it is off.

use std::sync::{Arc, OnceLock};

use canele_engine::Engine;
use canele_engine::trace::{Event, EventKind, Span, Tracer};
use canele_sys::atomic::{AtomicU32, Ordering::Relaxed};

use crate::cache;

static TRACER: OnceLock<Arc<Tracer>> = OnceLock::new();

/// Records the calls of this process from now on, if its engine is traced; returns true if it is.
pub fn attach(engine: &Engine) -> bool {
    if let Some(tracer) = engine.tracer() {
        TRACER.get_or_init(|| tracer.clone());
    }
    TRACER.get().is_some()
}

/// The name of a function.
pub struct CallName {
    text: &'static str,
    /// The number of the name in the trace; 0 before the first call of the function.
    number: AtomicU32,
}

impl CallName {
    /// Makes the name of a function.
    pub const fn new(text: &'static str) -> Self {
        Self { text, number: AtomicU32::new(0) }
    }

    /// Records a call like [`Self::record`], unless the process promised that one thread at a time calls the
    /// library. Such a process is not traced.
    #[inline(always)]
    pub fn record_if_traced(&self) -> Option<Span> {
        if cache::is_shared() { self.record() } else { None }
    }

    /// Records the beginning of a call, if this process is traced.
    #[cold]
    pub fn record(&self) -> Option<Span> {
        let tracer = TRACER.get()?;
        let mut number = self.number.load(Relaxed);
        if number == 0 {
            number = tracer.name(self.text).into();
            self.number.store(number, Relaxed);
        }
        Some(
            tracer
                .span(Event { name: number as u16, ..Event::new(EventKind::CallBegin) }, EventKind::CallEnd),
        )
    }
}
