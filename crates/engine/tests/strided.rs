//! Messages whose bytes lie in strides, of all sizes and on all routes: to oneself, through shared memory,
//! through sockets.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use canele_engine::{Buffer, Completion, Engine, FlowId, Mode, Rank, Tag, Want};
use canele_mem::buffer::{InBuffer, OutBuffer, RawMut, ReusableMemory};
use canele_mem::layout::Layout;
use canele_sys::tunables::Tunables;

const FLOW: FlowId = FlowId(0);
/// Numbers of packed bytes, for all protocols.
const SIZES: [usize; 5] = [24, 960, 9600, 96_000, 9_600_000];

/// Returns layouts of so many bytes: short blocks, records, blocks long enough for a driver, one stretch.
fn layouts(bytes: usize) -> Vec<Layout> {
    let block = |len: usize, stride: isize| Layout::block(len).repeated(bytes / len, stride).unwrap();
    let record = Layout::sequence([Layout::block(4), Layout::block(8).shifted(8).unwrap()]).unwrap();
    let mut all =
        vec![block(8, 24), block(12, -20), record.repeated(bytes / 12, 16).unwrap(), Layout::block(bytes)];
    if bytes.is_multiple_of(9600) {
        all.push(block(9600, 10_000));
    }
    if bytes.is_multiple_of(19_200) {
        all.push(block(19_200, 20_000));
    }
    all
}

/// Returns the memory of one element, and the offset of the place 0.
fn memory(layout: &Layout) -> RawMut {
    let span = layout.span(1);
    let (before, behind) = (span.start.min(0).unsigned_abs(), span.end.max(0).unsigned_abs());
    RawMut::of(vec![0; before + behind].leak(), before)
}

fn deadline() -> Option<Instant> {
    Some(Instant::now() + Duration::from_secs(60))
}

fn message(bytes: usize, seed: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i * 31 + i / 253 + seed) as u8).collect()
}

/// Returns the message in a layout.
fn filled(layout: &Arc<Layout>, seed: usize) -> OutBuffer {
    let mut raw = memory(layout);
    layout.unpack(&mut raw, 1, 0, &message(layout.size(), seed));
    layout.lend(raw.into_raw(), 1)
}

fn emptied(layout: &Arc<Layout>) -> (ReusableMemory, InBuffer) {
    let mut memory = ReusableMemory::new(memory(layout));
    let buffer = memory.lend_mut(layout, 1);
    (memory, buffer)
}

/// Returns the length and the two layouts of each message of the exchange.
fn pairs() -> impl Iterator<Item = (usize, Arc<Layout>, Arc<Layout>)> {
    let all = SIZES.iter().flat_map(|bytes| {
        let kinds = layouts(*bytes).len();
        (0..kinds)
            .map(move |i| (layouts(*bytes).swap_remove(i), layouts(*bytes).swap_remove((i + 2) % kinds)))
    });
    all.enumerate().map(|(n, (from, to))| (n, Arc::new(from), Arc::new(to)))
}

fn receive(at: &Engine, from: u32) {
    for (n, _, layout) in pairs() {
        let (memory, buffer) = emptied(&layout);
        let want = Want { source: Some(Rank(from)), tag: Some(Tag(n as u32)) };
        let pending = at.irecv(FLOW, want, buffer).unwrap_or_else(|refused| panic!("{}", refused.0));
        let ended = at.wait(pending, deadline()).unwrap();
        check(memory, ended, &layout, n);
    }
}

fn check(mut memory: ReusableMemory, ended: Completion, layout: &Layout, n: usize) {
    ended.result.unwrap();
    let Buffer::In(buffer) = ended.buffer else { panic!("a receive gives its buffer back") };
    memory.take_back_mut(buffer);
    let mut packed = vec![0; layout.size()];
    layout.pack(memory.raw(), 1, 0, &mut packed);
    assert!(packed == message(layout.size(), n), "message {n} of {} bytes", layout.size());
}

#[test]
fn messages_arrive_however_they_lie() {
    exchange(&Tunables::default());
}

#[test]
fn messages_that_are_copied_once_arrive_however_they_lie() {
    for single_copy in ["always", "both"] {
        exchange(&Tunables { single_copy, ..Tunables::default() });
    }
}

/// Sends all messages to a rank of each kind.
fn exchange(tunables: &Tunables) {
    let mut engines = canele_testing::start_on_hosts(&[2, 1], tunables).unwrap().into_iter();
    let me = engines.next().unwrap();
    let others: Vec<_> = engines
        .map(|engine| {
            thread::spawn(move || {
                receive(&engine, 0);
                engine.finish().unwrap();
            })
        })
        .collect();
    for (n, from, to) in pairs() {
        let send = |rank: u32| {
            let buffer = filled(&from, n);
            let pending = me.isend(Rank(rank), FLOW, Tag(n as u32), Mode::Standard, buffer);
            pending.unwrap_or_else(|refused| panic!("{}", refused.0))
        };
        let (near, far, own) = (send(1), send(2), send(0));
        let (memory, buffer) = emptied(&to);
        let want = Want { source: Some(Rank(0)), tag: Some(Tag(n as u32)) };
        let mine = me.irecv(FLOW, want, buffer).unwrap_or_else(|refused| panic!("{}", refused.0));
        for pending in [near, far, own] {
            me.wait(pending, deadline()).unwrap().result.unwrap();
        }
        check(memory, me.wait(mine, deadline()).unwrap(), &to, n);
    }
    me.finish().unwrap();
    others.into_iter().for_each(|other| other.join().unwrap());
}
