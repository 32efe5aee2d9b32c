//! Serving RMA requests in the owner's memory: reads, writes, accesses to elements, locks, and the answers.

use canele_mem::buffer::{InBuffer, OutBuffer, RegionAddress};
use canele_sys::atomic::AtomicU64;
use canele_sys::ids::{Rank, Tag};

use super::access::carry_out;
use super::queue::{Begun, Data, Then};
use super::target::RmaMemory;
use super::work::{Began, Work};
use super::{
    ANSWER, ANSWERS, DATA, ElementAccess, ExposureKey, Form, LEAST_PIECE, MemoryAddress, MemoryKey, Refusal,
    RmaAnswer, RmaLockKind,
};
use crate::matching::Want;

impl<E: RmaMemory> Work<'_, E> {
    /// Writes data into memory, or begins to receive it there.
    pub(super) fn put(
        &mut self,
        from: Rank,
        place: MemoryAddress,
        len: u64,
        form: Form,
        sequence: u32,
        data: &[u8],
    ) -> (Data, Result<(), Refusal>) {
        let unwanted = if form == Form::Whole { Data::Here } else { Data::Unwanted(sequence) };
        if let Err(refusal) = self.check(place, len) {
            return (unwanted, Err(refusal));
        }
        let Some(mut room) = self.room(place, len as usize) else {
            return (unwanted, Err(Refusal::NoRegion));
        };
        if form == Form::Whole {
            room.copy_from_slice(0, data);
            self.proto.traffic.copies += 1;
            return (Data::Here, Ok(()));
        }
        let want = Want { source: Some(from), tag: Some(Tag(sequence)) };
        let request = self.proto.submit_recv(DATA, want, room);
        (Data::Receiving(request, place, len), Ok(()))
    }

    pub(super) fn room(&mut self, place: MemoryAddress, len: usize) -> Option<InBuffer> {
        match place.key {
            MemoryKey::Region(region) => {
                self.memory.room(RegionAddress { region, offset: place.offset }, len)
            }
            MemoryKey::Exposure(key) => {
                let (memory, at) = self.exposures.find(key, place.offset, len as u64).ok()?;
                memory.in_buffer(at, len)
            }
        }
    }

    pub(super) fn part(&mut self, place: MemoryAddress, len: usize) -> Option<OutBuffer> {
        match place.key {
            MemoryKey::Region(region) => {
                self.memory.part(RegionAddress { region, offset: place.offset }, len)
            }
            MemoryKey::Exposure(key) => {
                let (memory, at) = self.exposures.find(key, place.offset, len as u64).ok()?;
                memory.out_buffer(at, len)
            }
        }
    }

    /// Carries out an access to elements.
    pub(super) fn access(&mut self, from: Rank, access: ElementAccess, sequence: u32, data: &[u8]) -> Began {
        let key = access.place.key;
        let reads = access.action.reads();
        // The limit follows from the settings, which all ranks share, because an origin may not know its
        // links yet.
        let longest = self.proto.settings.eager_bytes.max(LEAST_PIECE);
        let layout_len = access.elements.map_or(0, |elements| usize::from(elements.layout_len));
        // An access longer than any piece comes from no honest rank.
        let fits = usize::try_from(access.len).is_ok_and(|len| len <= longest) && layout_len <= data.len();
        let mut answer = vec![0; if reads && fits { ANSWER + access.len as usize } else { 0 }];
        let proto = &*self.proto;
        let is_gone = |rank: Rank| (rank.0 as usize) < proto.ranks() && proto.gone(rank).is_some();
        let carried = match fits {
            true => carry_out(
                self.exposures,
                self.memory.operations(),
                (from, &is_gone),
                &access,
                data.split_at(layout_len),
                answer.get_mut(ANSWER..).unwrap_or_default(),
            ),
            false => Err(Refusal::Broken),
        };
        match carried {
            Ok(false) => return Began::Busy,
            Ok(true) if reads => {
                answer[..ANSWER].copy_from_slice(&RmaAnswer { result: Ok(access.len) }.to_bytes());
                self.pending.send(self.proto, self.memory.rails(), (from, ANSWERS, Tag(sequence)), &answer);
            }
            Err(refusal) if reads => {
                self.answer(from, sequence, RmaAnswer { result: Err((key, refusal)) });
            }
            result => {
                let begun =
                    Begun { data: Data::Here, key: Some(key), result: result.map(drop), then: Then::Silence };
                return Began::Queued(Box::new(begun));
            }
        }
        Began::Done
    }

    /// Asks for the lock of an exposure for a rank. Its later requests there are begun once it has the lock.
    pub(super) fn lock(&mut self, from: Rank, window: ExposureKey, kind: RmaLockKind) -> Result<(), Refusal> {
        let exposure = self.exposures.get_mut(window).ok_or(Refusal::NoRegion)?;
        if exposure.locks.ask(from, kind) { Ok(()) } else { Err(Refusal::Broken) }
    }

    /// Releases a lock for a rank; fails if the rank does not hold it.
    pub(super) fn unlock(&mut self, from: Rank, window: ExposureKey) -> Result<(), Refusal> {
        let exposure = self.exposures.get_mut(window).ok_or(Refusal::NoRegion)?;
        if exposure.locks.release(from) { Ok(()) } else { Err(Refusal::NotLocked) }
    }

    /// Answers with part of the memory.
    pub(super) fn get(&mut self, to: Rank, place: MemoryAddress, len: u64, form: Form, sequence: u32) {
        if let Err(refusal) = self.check(place, len) {
            return self.answer(to, sequence, RmaAnswer { result: Err((place.key, refusal)) });
        }
        let Some(part) = self.part(place, len as usize) else { return };
        let head = RmaAnswer { result: Ok(len) }.to_bytes();
        let way = (to, ANSWERS, Tag(sequence));
        if form == Form::Apart || len as usize > self.proto.settings.eager_bytes {
            self.pending.send(self.proto, self.memory.rails(), way, &head);
            return self.pending.send_region(self.proto, self.memory.rails(), way, part);
        }
        let mut bytes = vec![0; head.len() + len as usize];
        bytes[..head.len()].copy_from_slice(&head);
        part.copy_to_slice(0, &mut bytes[head.len()..]);
        self.proto.traffic.copies += 1;
        self.pending.send(self.proto, self.memory.rails(), way, &bytes);
    }

    pub(super) fn answer(&mut self, to: Rank, sequence: u32, answer: RmaAnswer) {
        self.pending.send(self.proto, self.memory.rails(), (to, ANSWERS, Tag(sequence)), &answer.to_bytes());
    }

    /// Returns the aligned word at a place of a region, or the refusal. Exposures have no such words.
    pub(super) fn word(&mut self, place: MemoryAddress) -> Result<&AtomicU64, (MemoryKey, Refusal)> {
        let MemoryKey::Region(region) = place.key else { return Err((place.key, Refusal::NoRegion)) };
        let refusal =
            self.memory.len_of(region).map_or(Refusal::NoRegion, |len| Refusal::Outside(len as u64));
        self.memory.word(RegionAddress { region, offset: place.offset }).ok_or((place.key, refusal))
    }

    /// Checks that a range exists.
    pub(super) fn check(&mut self, place: MemoryAddress, len: u64) -> Result<(), Refusal> {
        let region = match place.key {
            MemoryKey::Region(region) => self.memory.len_of(region).ok_or(Refusal::NoRegion)? as u64,
            MemoryKey::Exposure(key) => return self.exposures.find(key, place.offset, len).map(drop),
        };
        let inside = place.offset.checked_add(len).is_some_and(|end| end <= region);
        if inside { Ok(()) } else { Err(Refusal::Outside(region)) }
    }
}
