//! The extension module `canele._native`: jobs, messages, collectives, regions, channels and mailboxes for Python.
//!
//! Owns the conversion between Python's objects and the crate `canele`: buffers lent by the buffer protocol
//! (`buffer`), objects pickled into one message (`object`), requests (`request`) and waiting without the
//! interpreter's lock (`wait`). Never copies a buffer that the engine can read or write where it lies, and
//! never calls Python from within the engine.
//!
//! ```text
//!   Python ── pymethods ── buffer, object ──▶ engine: at once, with the interpreter's lock
//!                                        └──▶ a request, waited for in portions without the lock;
//!                                             signals are checked between portions
//! ```

mod bell;
mod buffer;
mod channel;
mod collective;
mod context;
mod errors;
mod exchange;
mod flow;
mod groups;
mod items;
mod job;
mod mailbox;
mod members;
mod object;
mod object_collectives;
mod op;
mod package;
mod persistent;
mod reducing;
mod region;
mod remote_region;
mod request;
mod sending;
mod several;
mod status;
mod uneven;
mod wait;

use pyo3::prelude::*;

/// The native part of the package `canele`, whose documentation describes it.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::bell::Bell;
    #[pymodule_export]
    use super::channel::Channel;
    #[pymodule_export]
    use super::flow::Flow;
    #[pymodule_export]
    use super::job::Job;
    #[pymodule_export]
    use super::mailbox::{Mailbox, MailboxSender, Message};
    #[pymodule_export]
    use super::op::Op;
    #[pymodule_export]
    use super::region::Region;
    #[pymodule_export]
    use super::remote_region::RemoteRegion;
    #[pymodule_export]
    use super::request::Request;
    #[pymodule_export]
    use super::several::{start_all, test_all, test_any, wait_all, wait_any, wait_some};
    #[pymodule_export]
    use super::status::{Matched, Notice, Status};

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("ANY_SOURCE", status::ANY)?;
        module.add("ANY_TAG", status::ANY)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
