//! Remote memory access amid an attack: requests that the attacked rank serves to the bad one, and its calls
//! to that.
//!
//! Owns the mapping of bytes of an input to requests, answers and calls, and the checks afterwards.

use std::sync::Arc;

use canele_mem::buffer::{InBuffer, OutBuffer, Owned, RegionAddress};
use canele_mem::exposed::{Exposed, ExposedElements};
use canele_mem::layout::Layout;
use canele_proto::Proto;
use canele_proto::rma::{
    ANSWERS, Applied, DATA, ElementAccess, ElementAction, ElementsOrigin, EncodedElements, ExposureKey,
    MemoryAddress, MemoryKey, NewCall, PutReport, REQUESTS, RmaLockKind, RmaMemory, RmaOperations, RmaOrigin,
    RmaRequest, RmaTarget, Tell, WindowAction,
};
use canele_proto::slab::Key;
use canele_rail::Region;
use canele_sim::world::SimRail;
use canele_sys::atomic::Ordering::Relaxed;
use canele_sys::atomic::{AtomicU64, AtomicUsize};
use canele_sys::ids::{Rank, RegionId};

use super::attack::Bytes;

/// Bytes of an exposure, and of the region that is served.
const LEN: usize = 4096;
/// Memory of a call.
const MOST: usize = 9000;
/// The number of bits of a tag that hold the sequence number.
const SEQUENCE_BITS: u32 = 28;

/// A message of the bad rank: its flow, its tag and its bytes.
pub type Message = (u32, u32, Vec<u8>);

struct Call {
    key: Key,
    data: Owned<u8>,
    into: Owned<u8>,
}

/// The state of the attacked rank's remote memory access.
pub struct Rma {
    target: RmaTarget,
    origin: RmaOrigin,
    bytes: Bytewise,
    region: Arc<Region>,
    exposed: [Exposed; 2],
    keys: [ExposureKey; 2],
    calls: Vec<Call>,
}

/// Operations on bytes; one call in seven finds the elements busy.
#[derive(Default)]
struct Bytewise(AtomicUsize);

impl RmaOperations for Bytewise {
    fn accumulate(
        &self,
        _: &ElementsOrigin<'_>,
        (operation, _): (u16, u16),
        target: &ExposedElements<'_>,
        data: &[u8],
        old: Option<&mut [u8]>,
    ) -> Applied {
        if self.0.fetch_add(1, Relaxed) % 7 == 6 {
            return Applied::Busy;
        }
        if operation > 2 {
            return Applied::Refused;
        }
        let mut there = vec![0; target.len()];
        target.load(&mut there);
        if let Some(old) = old {
            old.copy_from_slice(&there);
        }
        there.iter_mut().zip(data).for_each(|(there, byte)| *there = there.wrapping_add(*byte));
        target.store(&there);
        Applied::Done
    }

    fn compare_and_swap(
        &self,
        origin: &ElementsOrigin<'_>,
        operation: (u16, u16),
        target: &ExposedElements<'_>,
        operands: [&[u8]; 2],
        old: &mut [u8],
    ) -> Applied {
        let applied = self.accumulate(origin, operation, target, &[], Some(&mut *old));
        if applied == Applied::Done && old == operands[0] {
            target.store(operands[1]);
        }
        applied
    }
}

/// Returns an encoded layout, or as many bytes that are none.
fn encoded_layout(shape: usize, wrong_len: usize) -> Vec<u8> {
    let block = Layout::block(shape % 24);
    let layout = block.repeated(1 + shape % 5, 16 - 8 * (shape as isize % 5)).unwrap_or(block);
    let mut encoded = Vec::new();
    layout.encode(64, &mut encoded);
    if shape < 160 { encoded } else { vec![shape as u8; wrong_len] }
}

struct Memory<'a> {
    rail: &'a mut SimRail,
    region: &'a Arc<Region>,
    bytes: &'a Bytewise,
}

impl RmaMemory for Memory<'_> {
    type Rails = SimRail;
    fn rails(&mut self) -> &mut SimRail {
        self.rail
    }
    fn len_of(&mut self, region: RegionId) -> Option<usize> {
        (region == self.region.id()).then(|| self.region.len())
    }
    fn room(&mut self, place: RegionAddress, len: usize) -> Option<InBuffer> {
        self.region.in_buffer(place.offset as usize, len)
    }
    fn part(&mut self, place: RegionAddress, len: usize) -> Option<OutBuffer> {
        self.region.out_buffer(place.offset as usize, len)
    }
    fn word(&mut self, place: RegionAddress) -> Option<&AtomicU64> {
        (place.region == self.region.id()).then(|| self.region.word(place.offset as usize)).flatten()
    }
    fn ask(&mut self, _: Rank, question: [u64; 3], _: &mut Vec<Tell>) -> u64 {
        question[0]
    }
    fn deposit(&mut self, _: Rank, _: [u64; 2], _: Option<Vec<u8>>) {}
    fn operations(&self) -> Option<&dyn RmaOperations> {
        Some(self.bytes)
    }
}

impl Rma {
    /// Makes a region and two exposures, one of which has its memory attached.
    pub fn new(rail: &mut SimRail, region: Arc<Region>) -> Self {
        let mut target = RmaTarget::default();
        let exposed = [Exposed::of(vec![0; LEN]), Exposed::of(vec![0; LEN])];
        let keys = [target.expose(rail, exposed[0].clone()), target.expose_dynamic()];
        target.attach(rail, keys[1], exposed[1].clone()).expect("it is dynamic");
        let (origin, bytes, calls) = (RmaOrigin::default(), Bytewise::default(), Vec::new());
        Self { target, origin, bytes, region, exposed, keys, calls }
    }

    /// Returns the exposure that has memory of its own.
    pub fn key(&self) -> ExposureKey {
        self.keys[0]
    }

    /// Advances target and origin.
    pub fn go_on(&mut self, proto: &mut Proto, rail: &mut SimRail) {
        self.target.serve(proto, &mut Memory { rail: &mut *rail, region: &self.region, bytes: &self.bytes });
        self.origin.go_on(proto, rail);
    }

    /// Returns a region or an exposure, or a key of neither.
    fn memory(&self, byte: usize, any: u64) -> MemoryKey {
        let wrong = |key: ExposureKey| ExposureKey(key.0.wrapping_add(1 << 32));
        match byte % 8 {
            0..3 => self.keys[0].into(),
            3 | 4 => self.keys[1].into(),
            5 => self.region.id().into(),
            6 => wrong(self.keys[byte / 8 % 2]).into(),
            _ => MemoryKey::from_word(any),
        }
    }

    fn place(&self, [region, offset]: [usize; 2], any: [u64; 2]) -> MemoryAddress {
        let key = self.memory(region, any[0]);
        let start = if key == self.keys[1].into() { self.exposed[1].address() as u64 } else { 0 };
        let offset = match offset {
            0..200 => start.wrapping_add(8 * (offset as u64 % 64)),
            200..230 => start.wrapping_add(LEN as u64 - 8 * (offset as u64 % 4)),
            _ => any[1],
        };
        MemoryAddress { key, offset }
    }

    /// Returns the exposure of a key, or one of this rank's if the key is of a region.
    fn window(&self, key: MemoryKey) -> ExposureKey {
        match key {
            MemoryKey::Exposure(key) => key,
            MemoryKey::Region(_) => self.keys[0],
        }
    }

    /// Makes a request with these fields.
    fn request(&self, kind: usize, fields: [usize; 6], any: [u64; 4]) -> RmaRequest {
        let [a, b, c, d, e, f] = fields;
        let place = self.place([a, b], [any[0], any[1]]);
        let len = match c {
            0..120 => c as u64,
            120..200 => [0, 8, 1024, 2000, 2048, LEN as u64, 8192, 1 << 20][c % 8],
            _ => any[2],
        };
        match kind % 16 {
            0 | 1 => RmaRequest::Put {
                place,
                len,
                report: if d % 2 == 0 { PutReport::Notice(any[3]) } else { PutReport::Answer },
            },
            2 => RmaRequest::Get { place, len },
            3 => RmaRequest::Add { place, n: any[3] },
            4 => RmaRequest::Swap { place, expected: any[2], new: any[3] },
            5 => RmaRequest::Put { place, len, report: PutReport::Flush },
            6 => RmaRequest::Fence,
            7 => RmaRequest::Flush { window: self.window(place.key) },
            8 => RmaRequest::Ask([any[0], any[1], any[2]]),
            9 => RmaRequest::Deposit { of: [any[0], any[1]], len },
            10 | 11 => {
                let kind = if d % 2 == 0 { RmaLockKind::Shared } else { RmaLockKind::Exclusive };
                let action = [WindowAction::Lock(kind), WindowAction::Unlock, WindowAction::Signal(e as u8)];
                RmaRequest::Window { window: self.window(place.key), action: action[e % 3] }
            }
            _ => {
                use ElementAction::{Accumulate, CompareAndSwap, Get, GetAccumulate, Put};
                let elements = (e % 2 == 0).then_some(EncodedElements {
                    layout_len: f as u16,
                    count: if d < 200 { d as u64 % 20 } else { any[0] },
                    skip: if f < 200 { f as u64 % 9 } else { any[3] },
                });
                let action = [Put, Get, Accumulate, GetAccumulate, CompareAndSwap][d % 5];
                let operation = (f as u16 % 4, e as u16);
                RmaRequest::Access(ElementAccess { action, place, operation, len, elements })
            }
        }
    }

    /// Reads the fields of a request.
    fn read(&self, input: &mut Bytes<'_>, word: &impl Fn(usize) -> u64) -> (RmaRequest, usize, usize) {
        let fields = [(); 6].map(|()| input.next().unwrap_or_default());
        let [kind, more, shape, a, b] = [(); 5].map(|()| input.next().unwrap_or_default());
        let any = [word(a), word(b), word(more), word(shape)];
        (self.request(kind, fields, any), more, shape)
    }

    /// Makes a message of the bad rank about remote memory: a right request, one with other data than
    /// announced, words, data, or an answer.
    pub fn message(&self, input: &mut Bytes<'_>, word: impl Fn(usize) -> u64) -> Message {
        let [flow, sequence, wild] = [(); 3].map(|()| input.next().unwrap_or_default());
        let flow = [REQUESTS, REQUESTS, REQUESTS, REQUESTS, DATA, ANSWERS][flow % 6];
        let sequence = if sequence < 250 { sequence as u32 % 12 } else { (1 << SEQUENCE_BITS) - 1 };
        let (mut rma_request, more, shape) = self.read(input, &word);
        let mut layout = Vec::new();
        if let RmaRequest::Access(ElementAccess { elements: Some(elements), .. }) = &mut rma_request {
            layout = encoded_layout(shape, usize::from(elements.layout_len));
            elements.layout_len = layout.len() as u16;
        }
        let form = rma_request.form(2048);
        let (head, len) = rma_request.head(form);
        let mut bytes = head[..len].to_vec();
        if flow != REQUESTS || wild % 4 == 0 {
            let words = (0..shape % 7).map(|at| word((more + 31 * at) % 256).to_le_bytes());
            bytes = words.collect::<Vec<_>>().concat();
        }
        bytes.extend(layout);
        let data = match rma_request {
            RmaRequest::Put { len, .. } if more < 128 => len.min(1900),
            RmaRequest::Access(access) if more < 128 && access.action != ElementAction::Get => access
                .len
                .saturating_mul(1 + u64::from(access.action == ElementAction::CompareAndSwap))
                .min(1900),
            _ => [0, 0, 8, 24, 100, 700, 1900][more % 7],
        };
        bytes.extend((0..data).map(|byte| byte as u8 ^ more as u8));
        bytes.truncate(2048);
        let tag = if flow == REQUESTS { rma_request.tag(form, sequence).0 } else { sequence };
        let tag = if wild >= 240 { word(wild) as u32 } else { tag };
        (flow.0, tag, bytes)
    }

    /// Makes a call of the attacked rank to the bad one, as if that owned memory like its own.
    pub fn ask(
        &mut self,
        input: &mut Bytes<'_>,
        word: impl Fn(usize) -> u64,
        (proto, rail): (&mut Proto, &mut SimRail),
        owner: Rank,
    ) {
        let (rma_request, _, shape) = self.read(input, &word);
        let most = |len: u64| len.min(MOST as u64);
        let (rma_request, sends, reads) = match rma_request {
            // The attacked rank has no call for these, but the length of the answer follows its memory.
            RmaRequest::Deposit { .. } | RmaRequest::Window { .. } => (RmaRequest::Fence, 0, 0),
            RmaRequest::Put { place, len, report } => {
                let len = most(len);
                (RmaRequest::Put { place, len, report }, len, 0)
            }
            RmaRequest::Get { place, len } => {
                let len = most(len);
                (RmaRequest::Get { place, len }, 0, len)
            }
            RmaRequest::Access(access) => {
                let swaps = access.action == ElementAction::CompareAndSwap;
                let len = if swaps { access.len.min(16) } else { most(access.len) };
                let access = ElementAccess { len, elements: None, ..access };
                let sends = match access.action {
                    ElementAction::Get => 0,
                    ElementAction::CompareAndSwap => 2 * len,
                    _ => len,
                };
                (RmaRequest::Access(access), sends, if access.action.reads() { len } else { 0 })
            }
            other => (other, 0, 0),
        };
        let mut data = Owned::new(vec![shape as u8; sends as usize]);
        let mut into = Owned::new(vec![0; reads as usize]);
        let call = NewCall {
            data: (sends > 0).then(|| data.lend_out()),
            into: (reads > 0).then(|| into.lend_in()),
            ..NewCall::new(owner, rma_request)
        };
        let key = self.origin.submit(proto, rail, call);
        self.calls.push(Call { key, data, into });
    }

    /// Checks after the end of the bad rank: nothing of it is under way, and every call has given its memory
    /// back.
    pub fn everything_ends(&mut self) {
        for Call { key, mut data, mut into } in std::mem::take(&mut self.calls) {
            let outcome = self.origin.take(key).expect("a call of a rank that is gone has ended");
            outcome.data.into_iter().for_each(|token| data.take_back_out(token));
            outcome.into.into_iter().for_each(|token| into.take_back_in(token));
            assert!(data.bytes().windows(2).all(|two| two[0] == two[1]), "memory that is sent is only read");
        }
        assert_eq!((self.target.under_way(), self.origin.under_way()), (0, 0));
        assert!(self.exposed.iter().all(|memory| !memory.is_lent()), "no buffer of exposed memory is left");
    }

    /// Returns the first bytes of the exposure that has memory of its own.
    pub fn first_bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        assert!(self.exposed[0].load(0, &mut bytes));
        bytes
    }
}
