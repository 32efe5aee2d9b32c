//! Persistent messages (MPI 5.0, §3.9): the arguments of a message that is sent or received repeatedly.

use std::sync::Arc;

use canele_engine::{Buffer, Mode};
use canele_mem::buffer::ReusableMemory;

use super::{From, Target};
use crate::Result;
use crate::comm::Comm;
use crate::data::{Elements, ElementsMut};
use crate::datatype::Datatype;
use crate::request::{Again, Request};
use crate::status::Status;

/// The source of a persistent send's data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Handing {
    /// The program's memory, in this mode.
    Lent(Mode),
    /// A copy in the attached buffer.
    Buffered,
}

struct Send {
    comm: Arc<Comm>,
    to: Option<Target>,
    handing: Handing,
    elements: Elements,
}

struct Receive {
    comm: Arc<Comm>,
    from: Option<From>,
    memory: ReusableMemory,
    count: usize,
    of: Arc<Datatype>,
}

impl Comm {
    /// Makes a persistent send request; to `MPI_PROC_NULL` if `to` is none.
    pub fn send_init(self: &Arc<Self>, to: Option<Target>, handing: Handing, elements: Elements) -> Request {
        let send = Send { comm: self.clone(), to, handing, elements };
        Request::persistent(Some(self.clone()), Box::new(send))
    }

    /// Makes a persistent receive request; from `MPI_PROC_NULL` if `from` is none.
    pub fn recv_init(self: &Arc<Self>, from: Option<From>, elements: ElementsMut) -> Request {
        let ElementsMut { raw, count, of } = elements;
        let receive = Receive { comm: self.clone(), from, memory: ReusableMemory::new(raw), count, of };
        Request::persistent(Some(self.clone()), Box::new(receive))
    }
}

impl Again for Send {
    fn start(&mut self) -> Result<Request> {
        let left = || Request::left(self.comm.clone());
        let Some(to) = self.to else { return Ok(left()) };
        self.comm.check_revoked()?;
        match self.handing {
            Handing::Lent(mode) => {
                let pending = self.comm.start_send(to, mode, self.elements.data())?;
                Ok(pending.map_or_else(left, |pending| self.comm.sending(pending)))
            }
            Handing::Buffered => {
                self.comm.bsend(to, self.elements.data())?;
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
        let Some(from) = self.from else {
            return Ok(Request::ended_with(Some(self.comm.clone()), Ok(Status::NO_PROCESS)));
        };
        self.comm.check_revoked()?;
        self.of.total_bytes(self.count)?;
        let buffer = self.comm.allocated().lend_again(&mut self.memory, self.count, &self.of);
        let (lane, flow) = self.comm.flow_for(from);
        match lane.irecv(flow, from.want(), buffer) {
            Ok(pending) => Ok(self.comm.receiving(pending)),
            Err(refused) => {
                let (error, buffer) = *refused;
                self.memory.take_back_mut(buffer);
                Err(error.into())
            }
        }
    }

    fn take_back(&mut self, buffer: Buffer) {
        if let Buffer::In(buffer) = buffer {
            self.memory.take_back_mut(buffer);
        }
    }

    fn name(&self) -> &'static str {
        "receive"
    }
}
