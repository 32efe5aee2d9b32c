//! Packets that leave from the user's memory. Bytes for a possible retransmission are copied after the system
//! call.

use std::ptr::NonNull;

use canele_mem::buffer::OutShare;
use rustix::io::Errno;

use super::Link;
use super::vectors::{self, Lent};
use crate::{Busy, Class, Header};

impl Link {
    /// Sends a packet that has only a bulk, from the caller's memory, as far as the socket takes it; then
    /// copies the bulk.
    pub fn post_bulk(&mut self, pass: u32, header: Header, bulk: &[u8]) -> Result<(), Busy> {
        self.commit_before_copy(pass, header, bulk.len())?;
        let stretches = [(NonNull::from(bulk).cast(), bulk.len())];
        // SAFETY: the borrow of `bulk` keeps it readable.
        let sent = unsafe { self.send_with(&stretches) };
        self.outgoing.bulk_mut().write(0, bulk);
        self.handle_sent(sent);
        Ok(())
    }

    /// Sends a packet from lent memory, which is held until the whole packet has left.
    pub fn post_share(
        &mut self,
        pass: u32,
        header: Header,
        bulk: impl FnOnce() -> OutShare,
        len: usize,
    ) -> Result<(), Busy> {
        self.commit_before_copy(pass, header, len)?;
        let share = bulk();
        // SAFETY: the share lives, and so its memory is readable.
        let sent = unsafe { self.send_with(share.stretches()) };
        share.copy_to(self.outgoing.bulk_mut());
        self.handle_sent(sent);
        self.outgoing.hold_until_left(share);
        Ok(())
    }

    fn commit_before_copy(&mut self, pass: u32, header: Header, bulk: usize) -> Result<(), Busy> {
        self.admit(pass)?;
        self.outgoing.claim(bulk, Class::Message)?;
        assert_eq!(header.inline_len, 0, "nothing but a bulk");
        self.outgoing.commit(header, self.incoming.tell());
        self.busy_in = Some(pass);
        Ok(())
    }

    /// Sends the head of the newest packet with its bulk in these stretches.
    ///
    /// # Safety
    /// The stretches are mapped and readable.
    unsafe fn send_with(&mut self, stretches: &[(NonNull<u8>, usize)]) -> Result<usize, Errno> {
        self.calls += 1;
        let (head, lent) = (self.outgoing.before_bulk(), Lent { stretches, skip: 0 });
        // SAFETY: as the caller says.
        unsafe { vectors::send(&self.socket.descriptor, head, lent) }
    }

    /// Evaluates the result of a send; sends the rest if the socket takes more.
    fn handle_sent(&mut self, sent: Result<usize, Errno>) {
        match sent {
            Ok(bytes) => {
                self.note_sent(bytes);
                self.write();
            }
            Err(error) => self.handle_write_error(error),
        }
    }

    pub(super) fn note_sent(&mut self, bytes: usize) {
        self.moved = true;
        self.sent += bytes as u64;
        self.outgoing.handle_sent(bytes);
    }
}
