//! The sends and receives of a program, posted.

use super::*;

impl Play<'_, '_, '_> {
    pub(super) fn send(&mut self, number: Message, letter: Letter, memory: Memory, short: bool) -> Checked {
        let (from, to, flow, tag, mode, len) =
            (letter.from, letter.to, letter.flow, letter.tag, letter.mode, letter.len);
        self.letters.insert(number, letter);
        let bytes = content(number, len);
        if from != to {
            self.flying.entry((from, to, flow)).or_default().push_back(number);
        } else {
            let envelope = Envelope { message: number, source: from, tag };
            if let Some(receive) = self.flows[from.0 as usize].of(flow).arrive(envelope) {
                self.give(receive, number);
            }
        }
        let (proto, rail) = self.net.both(from);
        if short && mode != Mode::Synchronous {
            let envelope = canele_proto::Envelope { to, flow, tag, mode, coalesce: true };
            let sent = match number % 2 {
                0 => {
                    let fill = |slot: canele_mem::window::Window<'_>| slot.write(0, &bytes);
                    proto.post(rail, envelope, Filled { len, fill })
                }
                _ => proto.post(rail, envelope, &bytes[..]),
            };
            match sent {
                Sent::Done => return Ok(()),
                Sent::Posted(send) => {
                    self.coalesced[from.0 as usize].push((number, send));
                    return Ok(());
                }
                Sent::Busy => {}
            }
        }
        let (home, buffer) = match memory {
            Memory::Plain => Home::owned_out(bytes),
            Memory::List(n) => (Home::List, self.scope.lend_list(&pieces(self.borrowed.out[&number], n))),
            Memory::Region => {
                let at = self.stretch(from, len);
                Home::region_out(&self.net.regions[from.0 as usize], at, &bytes)
            }
        };
        let (proto, rail) = self.net.both(from);
        let id = proto.submit_send(
            rail,
            canele_proto::Envelope { mode, ..canele_proto::Envelope::new(to, flow, tag) },
            buffer,
        );
        let pending = Pending { id, what: PlayOperation::Send(number), home, cancelled: false };
        self.pending[from.0 as usize].push(pending);
        Ok(())
    }

    fn stretch(&mut self, rank: Rank, len: usize) -> usize {
        let used = &mut self.region_used[rank.0 as usize];
        *used += stretch(len);
        *used - stretch(len)
    }

    fn room(
        &mut self,
        number: usize,
        rank: Rank,
        room: usize,
        memory: Memory,
    ) -> (Home, canele_mem::buffer::InBuffer) {
        match memory {
            Memory::Plain => Home::owned_in(room),
            Memory::List(_) => {
                let list = self.borrowed.into.remove(&number).expect("a list of this number");
                (Home::List, self.scope.lend_list_mut(list))
            }
            Memory::Region => {
                let at = self.stretch(rank, room);
                Home::region_in(&self.net.regions[rank.0 as usize], at, room)
            }
        }
    }

    pub(super) fn receive(
        &mut self,
        number: usize,
        posted_receive: PostedReceive,
        want: Want,
        memory: Memory,
        short: bool,
    ) -> Checked {
        if short && self.receive_short(&posted_receive, want)? {
            return Ok(());
        }
        let (at, flow) = (posted_receive.at, posted_receive.flow);
        let rank = at.0 as usize;
        let (home, buffer) = self.room(number, at, posted_receive.room, memory);
        self.posted_receives.insert(number, posted_receive);
        if let Some(envelope) = self.flows[rank].of(flow).take(want) {
            self.give(number, envelope.message);
        } else if self.told.contains(&at)
            && (want.source == self.dead
                || want.source.is_none() && self.concerns(flow) && self.told_flows.insert((at, flow)))
        {
            self.posted_receives.get_mut(&number).expect("just made").fails = true;
        } else {
            self.flows[rank].of(flow).post(number, want);
        }
        let id = self.net.protos[rank].submit_recv(flow, want, buffer);
        self.pending[rank].push(Pending { id, what: PlayOperation::Receive(number), home, cancelled: false });
        Ok(())
    }

    /// Tries the short path of a blocking receive; returns true if it got its message.
    fn receive_short(&mut self, posted_receive: &PostedReceive, want: Want) -> Checked<bool> {
        let (proto, rail) = self.net.both(posted_receive.at);
        if !proto.is_quiet(posted_receive.flow) {
            return Ok(false);
        }
        let mut bytes = vec![UNTOUCHED; posted_receive.room];
        let Received::Done(status) = proto.try_recv(rail, posted_receive.flow, want, bytes.as_mut_slice())
        else {
            return Ok(false);
        };
        let (from, header) = rail.arrivals.pop_front().ok_or("a short receive took no packet")?;
        let envelope = self.arrived(posted_receive.at.0 as usize, from, header)?;
        let letter = self.letters.get_mut(&envelope.message).expect("a message that was sent");
        letter.matched = true;
        let (source, tag) = (want.source.unwrap_or(from), want.tag.unwrap_or(Tag(header.tag)));
        let expected = Status { source, tag, bytes: letter.len };
        same("a short receive", (from, header.tag, status), (source, tag.0, expected))?;
        check_bytes("a short receive", Some((envelope.message, status.bytes)), &bytes)?;
        Ok(true)
    }

    pub(super) fn receive_matched(
        &mut self,
        number: usize,
        rank: usize,
        matched: Matched,
        message: Message,
        room: usize,
        memory: Memory,
    ) {
        let at = Rank(rank as u32);
        let flow = self.letters[&message].flow;
        self.posted_receives.insert(number, PostedReceive { at, flow, room, got: None, fails: false });
        self.give(number, message);
        let (home, buffer) = self.room(number, at, room, memory);
        let id = self.net.protos[rank].submit_recv_matched(matched, buffer);
        self.pending[rank].push(Pending { id, what: PlayOperation::Receive(number), home, cancelled: false });
    }
}
