//! Many seeds; a failing one is told with the command that replays it, and with the smallest program found that fails.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use canele_sys::buffer::scope;

use crate::memory::{UNTOUCHED, pieces_mut};
use crate::model::content;
use crate::play::{Borrowed, Play, check_bytes, number};
use crate::program::{Action, Memory, Program};

/// Smaller programs tried after a failure.
const ATTEMPTS: usize = 400;

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is a number: {text}")))
}

/// Runs the seed that was asked for, or `count` of them.
pub fn check(test: &str, deadly: bool, count: u64) {
    let seeds = match from_environment("PROTO_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..from_environment("PROTO_SEEDS").unwrap_or(count),
    };
    for seed in seeds {
        let program = Program::new(seed, deadly);
        let Err(error) = attempt(&program) else { continue };
        let (smallest, its_error) = shrink(program, error.clone());
        panic!(
            "seed {seed}: {error}\nreplay: PROTO_SEED={seed} cargo test -p canele-proto --test world {test}\n\
             smallest program found: {its_error}\n{}",
            listing(&smallest)
        );
    }
}

fn listing(program: &Program) -> String {
    let Program { settings, model, death, .. } = program;
    let mut text = format!("{settings:?}\n{model:?}\ndeath: {death:?}\n");
    for (rank, actions) in program.actions.iter().enumerate() {
        for action in actions {
            text += &format!("rank {rank}: {action:?}\n");
        }
    }
    text
}

fn shrink(mut program: Program, mut error: String) -> (Program, String) {
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
fn attempt(program: &Program) -> Result<(), String> {
    let (report, answer) = channel();
    let program = program.clone();
    thread::spawn(move || run(&program, &report));
    answer.recv().unwrap_or_else(|_| Err("the run ended without a word".into()))
}

type OutLists = BTreeMap<usize, Vec<u8>>;
type InLists = BTreeMap<usize, (Vec<u8>, usize)>;

/// The memory of the lists of a program: sends and receives by number, with the number of pieces.
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
                // The buffers of a run that failed are still lent, and a scope does not end while they are: neither
                // does this thread.
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

fn text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    format!("panic: {}", text.unwrap_or("without a text"))
}
