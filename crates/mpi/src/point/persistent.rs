//! Persistent messages (MPI 5.0, §3.9): the arguments of a message, to be sent or received again and again.

use std::sync::Arc;

use canele_engine::Mode;
use canele_sys::buffer::Raw;

use super::{From, Target};
use crate::Result;
use crate::comm::Comm;
use crate::data::Data;
use crate::datatype::Datatype;
use crate::request::{Again, Request};
use crate::status::Status;

/// Elements in the program's memory, with their type kept.
#[derive(Clone)]
pub struct Kept {
    /// As in [`Data`].
    pub raw: Raw,
    /// How many.
    pub count: usize,
    /// Of which type.
    pub of: Arc<Datatype>,
}

impl Kept {
    /// The elements.
    pub fn data(&self) -> Data<'_> {
        Data { raw: self.raw, count: self.count, of: &self.of }
    }
}

/// How a persistent send hands its message over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Handing {
    /// From the program's memory.
    Lent(Mode),
    /// By a copy in the attached buffer.
    Buffered,
}

struct Send {
    comm: Arc<Comm>,
    to: Option<Target>,
    handing: Handing,
    kept: Kept,
}

struct Receive {
    comm: Arc<Comm>,
    from: Option<From>,
    kept: Kept,
}

impl Comm {
    /// A send that can be started; to nobody if `to` is none.
    pub fn send_init(self: &Arc<Self>, to: Option<Target>, handing: Handing, kept: Kept) -> Request {
        let send = Send { comm: self.clone(), to, handing, kept };
        Request::persistent(Some(self.clone()), Box::new(send))
    }

    /// A receive that can be started; from nobody if `from` is none.
    pub fn recv_init(self: &Arc<Self>, from: Option<From>, kept: Kept) -> Request {
        let receive = Receive { comm: self.clone(), from, kept };
        Request::persistent(Some(self.clone()), Box::new(receive))
    }
}

impl Again for Send {
    fn start(&mut self) -> Result<Request> {
        let left = || Request::ended_with(Some(self.comm.clone()), Ok(Status::EMPTY));
        let Some(to) = self.to else { return Ok(left()) };
        match self.handing {
            Handing::Lent(mode) => Ok(self.comm.isend(to, mode, self.kept.data())?.unwrap_or_else(left)),
            Handing::Buffered => {
                self.comm.bsend(to, self.kept.data())?;
                Ok(left())
            }
        }
    }

    fn name(&self) -> &'static str {
        "send"
    }
}

impl Again for Receive {
    fn start(&mut self) -> Result<Request> {
        match self.from {
            Some(from) => self.comm.irecv(from, self.kept.data()),
            None => Ok(Request::ended_with(Some(self.comm.clone()), Ok(Status::NO_PROCESS))),
        }
    }

    fn name(&self) -> &'static str {
        "receive"
    }
}
