//! One run of a program, and the search for a smaller one that fails too.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use canele_mem::buffer::scope;

use super::memory::{UNTOUCHED, pieces_mut};
use super::play::{Borrowed, Play, check_bytes, number};
use super::program::{Action, Memory, Program};
use super::reference::content;

/// The number of smaller programs tried after a failure.
const ATTEMPTS: usize = 400;

/// Returns a program in words.
pub fn listing(program: &Program) -> String {
    let Program { settings, networks, strategy, packets, death, cuts, observed, .. } = program;
    let mut text = format!("{settings:?}\nstrategy: {strategy}\npackets: {packets:?}\ndeath: {death:?}\n");
    text += &format!("observed: {observed}\n");
    networks.iter().for_each(|model| text += &format!("{model:?}\n"));
    cuts.iter().for_each(|cut| text += &format!("{cut:?}\n"));
    for (rank, actions) in program.actions.iter().enumerate() {
        for action in actions {
            text += &format!("rank {rank}: {action:?}\n");
        }
    }
    text
}

/// Returns the smallest program found that fails as well, with its error.
pub fn shrink(mut program: Program, mut error: String) -> (Program, String) {
    let mut attempts = 0;
    'smaller: loop {
        for less in program.smaller() {
            attempts += 1;
            if attempts > ATTEMPTS {
                return (program, error);
            }
            if let Err(its_error) = attempt(&less) {
                (program, error) = (less, its_error);
                continue 'smaller;
            }
        }
        return (program, error);
    }
}

/// Runs a program in a thread of its own.
pub fn attempt(program: &Program) -> Result<(), String> {
    let (report, answer) = channel();
    let program = program.clone();
    thread::spawn(move || run(&program, &report));
    answer.recv().unwrap_or_else(|_| Err("the run ended without a word".into()))
}

type OutLists = BTreeMap<usize, Vec<u8>>;
type InLists = BTreeMap<usize, (Vec<u8>, usize)>;

/// Returns the memory of the lists of a program: sends and receives by number, receives with their pieces.
fn lists(program: &Program) -> (OutLists, InLists) {
    let (mut out, mut into) = (OutLists::new(), InLists::new());
    for (rank, actions) in program.actions.iter().enumerate() {
        for (n, action) in actions.iter().enumerate() {
            let number = number(rank, n);
            match *action {
                Action::Send { len, memory: Memory::List(_), .. } => {
                    out.insert(number, content(number, len));
                }
                Action::Receive { room, memory: Memory::List(n), .. }
                | Action::ReceiveMatched { room, memory: Memory::List(n) } => {
                    into.insert(number, (vec![UNTOUCHED; room], n));
                }
                _ => {}
            }
        }
    }
    (out, into)
}

fn run(program: &Program, report: &Sender<Result<(), String>>) {
    let (out, mut into) = lists(program);
    let expected = scope(|scope| {
        let borrowed = Borrowed {
            out: out.iter().map(|(number, bytes)| (*number, &bytes[..])).collect(),
            into: into.iter_mut().map(|(number, (bytes, n))| (*number, pieces_mut(bytes, *n))).collect(),
        };
        let played = catch_unwind(AssertUnwindSafe(|| Play::new(program, scope, borrowed).run()));
        match played.unwrap_or_else(|panic| Err(text(&*panic))) {
            Ok(lists) => lists,
            Err(error) => {
                // After a failure, the buffers of the run are still lent. The scope cannot end before they
                // are returned, so this thread stays parked.
                let _ = report.send(Err(error));
                loop {
                    thread::park();
                }
            }
        }
    });
    let good = expected.iter().try_for_each(|(number, expected)| {
        check_bytes(&format!("receive {number}, a list"), *expected, &into[number].0)
    });
    let _ = report.send(good);
}

pub fn text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    format!("panic: {}", text.unwrap_or("without a text"))
}
