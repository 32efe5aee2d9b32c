//! Combined send and receive (MPI 5.0, §3.10).

use std::sync::Arc;

use canele_engine::{Buffer, Completion, Mode, Pending};
use canele_mem::buffer::Owned;

use super::{From, Target};
use crate::Result;
use crate::awaited::finish;
use crate::comm::Comm;
use crate::data::{Data, DataMut};
use crate::request::{Request, Step, Steps};
use crate::status::Status;

impl Comm {
    /// Sends and receives; each may have a rank of its own, or none.
    ///
    /// # Errors
    /// Fails like a send or a receive.
    pub fn exchange(
        &self,
        to: Option<Target>,
        out: Data<'_>,
        from: Option<From>,
        into: DataMut<'_>,
    ) -> Result<Status> {
        let send = to.map(|to| self.start_send(to, Mode::Standard, out)).transpose()?.flatten();
        let received = from.map(|from| self.recv(from, into));
        // The memory is lent until the send has completed, whatever the result of the receive.
        let sent = send.map(|send| self.engine.wait(send, None)).transpose()?;
        let received = received.transpose()?;
        sent.map(|sent| sent.result).transpose()?;
        Ok(received.map_or(Status::NO_PROCESS, |status| self.status(status)))
    }

    /// Sends and receives in the same memory: the received message replaces the sent one.
    ///
    /// # Errors
    /// Fails like a send or a receive.
    pub fn exchange_in_place(
        self: &Arc<Self>,
        to: Option<Target>,
        from: Option<From>,
        data: DataMut<'_>,
    ) -> Result<Status> {
        finish(self.engine(), self.iexchange_in_place(to, from, data)?)
    }

    /// Starts a send and a receive.
    ///
    /// # Errors
    /// Fails if the job is over.
    pub fn iexchange(
        self: &Arc<Self>,
        to: Option<Target>,
        out: Data<'_>,
        from: Option<From>,
        into: DataMut<'_>,
    ) -> Result<Request> {
        let receive = self.receive_from(from, into)?;
        let send = to.map(|to| self.start_send(to, Mode::Standard, out)).transpose()?.flatten();
        Ok(self.both(receive, send, None))
    }

    /// Starts a send and a receive in the same memory.
    ///
    /// # Errors
    /// Fails if the job is over.
    pub fn iexchange_in_place(
        self: &Arc<Self>,
        to: Option<Target>,
        from: Option<From>,
        data: DataMut<'_>,
    ) -> Result<Request> {
        let mut copy = vec![0; data.bytes()?];
        data.of.pack(&data.raw, data.count, 0, &mut copy);
        let mut copy = Owned::new(copy);
        let send = match to {
            Some(to) => {
                let (lane, flow) = self.flow_of(to.tag);
                let started = lane.isend(to.rank, flow, to.tag, Mode::Standard, copy.lend_out());
                Some(started.map_err(|refused| {
                    copy.take_back_out(refused.1);
                    refused.0
                })?)
            }
            None => None,
        };
        let receive = self.receive_from(from, data)?;
        Ok(self.both(receive, send, Some(copy)))
    }

    fn receive_from(self: &Arc<Self>, from: Option<From>, into: DataMut<'_>) -> Result<Option<Pending>> {
        from.map(|from| Ok(self.irecv(from, into)?.pending())).transpose().map(Option::flatten)
    }

    fn both(
        self: &Arc<Self>,
        receive: Option<Pending>,
        send: Option<Pending>,
        copy: Option<Owned<u8>>,
    ) -> Request {
        let nothing = Ok(Status::NO_PROCESS);
        match (receive, send) {
            (Some(receive), send) => {
                let part = ExchangeStage::Receive { send };
                let both = Both { comm: self.clone(), part, result: nothing, copy };
                Request::steps(self.clone(), receive, Box::new(both))
            }
            (None, Some(send)) => {
                let both = Both { comm: self.clone(), part: ExchangeStage::Send, result: nothing, copy };
                Request::steps(self.clone(), send, Box::new(both))
            }
            (None, None) => Request::ended_with(Some(self.clone()), nothing),
        }
    }
}

/// A receive, then a send, completed by one request.
struct Both {
    comm: Arc<Comm>,
    part: ExchangeStage,
    result: Result<Status>,
    /// A copy of the sent data, if its memory is received into.
    copy: Option<Owned<u8>>,
}

/// The transfer that the engine completes next.
enum ExchangeStage {
    Receive { send: Option<Pending> },
    Send,
}

impl Steps for Both {
    fn step(&mut self, ended: Completion) -> Step {
        if let (Buffer::Out(buffer), Some(copy)) = (ended.buffer, &mut self.copy) {
            copy.take_back_out(buffer);
        }
        match std::mem::replace(&mut self.part, ExchangeStage::Send) {
            ExchangeStage::Receive { send } => {
                self.result = ended.result.map(|status| self.comm.status(status)).map_err(Into::into);
                if let Some(send) = send {
                    return Step::Next(send);
                }
            }
            // The first error is reported.
            ExchangeStage::Send => {
                if let (Err(error), true) = (ended.result, self.result.is_ok()) {
                    self.result = Err(error.into());
                }
            }
        }
        Step::Done(std::mem::replace(&mut self.result, Ok(Status::EMPTY)))
    }
}
