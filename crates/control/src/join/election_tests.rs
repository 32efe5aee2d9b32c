//! Tests of ranks of a host that elect the one to listen, at once and amid names of another user.

use std::io::{BufRead, BufReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with, listen as start_listening};

use super::election::{bind_to, listen};
use super::local::{accept_from_this_user, ask, connect};
use super::messages::JoinRequest;
use super::names::{NonceOf, SocketName};
use super::search::{Attempt, Search, queue_for, try_connect};
use crate::draw_job_id;

const TAKES: &str = "CANELE_TEST_TAKES_NAME";
const KNOCKS_AT: &str = "CANELE_TEST_KNOCKS_AT_NAME";

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(120)
}

fn new_job() -> SocketName {
    SocketName::of_job(draw_job_id().unwrap())
}

/// Runs the stranger in the process that another test starts. It holds a name, listening or not, and decoys
/// of both kinds, until its input ends. It reports when a connection comes to the name, and at the end the
/// number of connections to the decoys.
#[test]
fn take_names() {
    let Ok(role) = std::env::var(TAKES) else { return };
    let words: Vec<_> = role.split(' ').collect();
    let (name, backlog, decoys) =
        (SocketName::exactly(words[0]), words[1].parse(), words[2].parse().unwrap());
    let first = bind_to(&name).unwrap().unwrap();
    if let Ok(backlog) = backlog {
        start_listening(&first, backlog).unwrap();
    }
    let mut listeners = Vec::new();
    for number in 0..decoys {
        for decoy in [name.draw_agent().unwrap(), name.draw_candidate(number % 2 == 0).unwrap()] {
            let listener = bind_to(&decoy).unwrap().unwrap();
            start_listening(&listener, 64).unwrap();
            listeners.push(listener);
        }
    }
    println!("\ntaken");
    if decoys > 0 {
        println!("\ndecoys {}", count_connections(first, &listeners));
    } else {
        let _ = std::io::stdin().read(&mut [0]);
    }
}

/// Runs the stranger that connects to the name of others all the time, until its input ends; reports the
/// number of connections.
#[test]
fn knock() {
    let Ok(name) = std::env::var(KNOCKS_AT) else { return };
    let name = SocketName::exactly(&name);
    let (input, mut count, mut said) = (std::io::stdin(), 0, false);
    let has_input = || {
        let mut polled = [PollFd::new(&input, PollFlags::IN)];
        poll(&mut polled, Some(&Timespec::default())).unwrap() > 0
    };
    while !has_input() {
        match try_connect(&name).unwrap() {
            Attempt::Absent => break,
            Attempt::Full if !said => {
                println!("\nfull");
                said = true;
            }
            Attempt::Full => thread::yield_now(),
            Attempt::Connected(_) => unreachable!("they are of two users"),
            // The connection is closed again, and keeps its place until the listener accepts it.
            Attempt::Foreign => count += 1,
        }
    }
    println!("\nknocked {count}");
}

fn count_connections(first: OwnedFd, decoys: &[OwnedFd]) -> usize {
    let (input, mut count) = (std::io::stdin(), 0);
    loop {
        let mut polled: Vec<_> = decoys.iter().map(|decoy| PollFd::new(decoy, PollFlags::IN)).collect();
        polled.push(PollFd::new(&first, PollFlags::IN));
        polled.push(PollFd::new(&input, PollFlags::IN));
        poll(&mut polled, None).unwrap();
        let ended = !polled.pop().unwrap().revents().is_empty();
        let accepted = |listener: &OwnedFd| accept_with(listener, SocketFlags::CLOEXEC).is_ok();
        while accepted(&first) {
            println!("\nlooked");
        }
        count += decoys.iter().map(|decoy| (0..).take_while(|_| accepted(decoy)).count()).sum::<usize>();
        if ended {
            return count;
        }
    }
}

/// A process of another user that has taken names.
struct Stranger {
    process: Child,
    says: BufReader<ChildStdout>,
}

impl Stranger {
    /// Starts a stranger that has taken `name` and some decoys; `None` where this process may not start one
    /// of another user.
    fn take(name: &SocketName, backlog: &str, decoys: usize) -> Option<Stranger> {
        let mut stranger = Self::start("take_names", TAKES, &format!("{} {backlog} {decoys}", name.text()))?;
        stranger.wait_for("taken");
        Some(stranger)
    }

    fn start(role: &str, variable: &str, value: &str) -> Option<Stranger> {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: only root can be another user");
            return None;
        }
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &format!("join::election_tests::{role}"), "--nocapture"])
            .env(variable, value)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .uid(65534)
            .spawn()
            .unwrap();
        let says = BufReader::new(process.stdout.take().unwrap());
        Some(Stranger { process, says })
    }

    /// Returns the rest of the next line that begins with this word.
    fn wait_for(&mut self, word: &str) -> String {
        loop {
            let mut line = String::new();
            assert!(self.says.read_line(&mut line).unwrap() > 0, "it says {word}");
            if let Some(rest) = line.strip_prefix(word) {
                return rest.trim().to_owned();
            }
        }
    }

    /// Returns the number that the stranger reports after this word at its end.
    fn end(mut self, word: &str) -> usize {
        drop(self.process.stdin.take());
        self.wait_for(word).parse().unwrap()
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Lets many ranks try to listen at once: exactly one does, and the others reach it.
fn race(job: &SocketName) {
    const RANKS: usize = 24;
    let ranks: Vec<_> = (0..RANKS)
        .map(|_| {
            let job = job.clone();
            thread::spawn(move || {
                let listener = listen(&job, soon()).unwrap();
                (listener.is_none().then(|| connect(&job, soon()).unwrap()), listener)
            })
        })
        .collect();
    let ranks: Vec<_> = ranks.into_iter().map(|rank| rank.join().unwrap()).collect();
    let leaders: Vec<_> = ranks.iter().filter_map(|(_, listener)| listener.as_ref()).collect();
    assert_eq!(leaders.len(), 1);
    for (socket, _) in &ranks {
        if let Some(socket) = socket {
            ask(socket, &JoinRequest::Join { version: 1, rank: 2, ranks: 3 }, &[]).unwrap();
        }
    }
    let mut heard = 0;
    while let Ok((agent, _)) = accept_from_this_user(leaders[0]) {
        heard += usize::from(agent.try_receive::<JoinRequest>().is_ok_and(|request| request.is_some()));
    }
    assert_eq!(heard, RANKS - 1, "all others have connected with the one that leads");
    assert!(job.with_nonces(NonceOf::Candidate).is_empty(), "no candidate is left");
}

#[test]
fn of_many_ranks_that_race_for_a_free_name_one_leads() {
    for _ in 0..4 {
        race(&new_job());
    }
}

#[test]
fn of_many_ranks_that_race_for_a_name_at_which_no_process_answers_one_leads() {
    for _ in 0..4 {
        let job = new_job();
        let _silent = bind_to(&job).unwrap().unwrap();
        race(&job);
    }
}

#[test]
fn of_many_ranks_that_race_for_a_name_of_another_user_one_leads() {
    for backlog in ["4096", "0"] {
        let job = new_job();
        let Some(_stranger) = Stranger::take(&job, backlog, 0) else { return };
        race(&job);
    }
}

#[test]
fn each_name_of_a_flood_of_another_user_costs_a_rank_one_connection() {
    const DECOYS: usize = 200;
    const LOOKS: usize = 10;
    let job = new_job();
    let Some(mut stranger) = Stranger::take(&job, "4096", DECOYS) else { return };
    let waiting = thread::spawn({
        let job = job.clone();
        move || connect(&job, soon()).map(drop)
    });
    for _ in 0..LOOKS {
        stranger.wait_for("looked");
    }
    let _listener = listen(&job, soon()).unwrap().expect("no decoy is believed");
    waiting.join().unwrap().unwrap();
    let connected = stranger.end("decoys");
    // The waiting rank looks for agents alone, the listening one for candidates, too.
    assert!((1..=3 * DECOYS).contains(&connected), "{connected} connections");
}

#[test]
fn a_flood_of_connections_of_another_user_does_not_keep_a_rank_out() {
    const QUEUE: i32 = 64;
    let job = new_job();
    let listener = bind_to(&job).unwrap().unwrap();
    start_listening(&listener, QUEUE).unwrap();
    let Some(mut stranger) = Stranger::start("knock", KNOCKS_AT, job.text()) else { return };
    stranger.wait_for("full");
    let rank = thread::spawn(move || connect(&job, soon()).map(drop));
    while accept_from_this_user(&listener).is_err() {
        let _ = poll(&mut [PollFd::new(&listener, PollFlags::IN)], None);
    }
    rank.join().unwrap().unwrap();
    let knocked = stranger.end("knocked");
    assert!(knocked < 10_000 * QUEUE as usize, "{knocked} connections came first");
}

#[test]
fn a_name_that_another_user_has_taken_keeps_no_rank_from_the_agent() {
    for backlog in ["8", "0", "never"] {
        let job = new_job();
        let Some(_stranger) = Stranger::take(&job, backlog, 0) else { return };
        // These connections fill its queue.
        let _full: Vec<_> = (0..2).map(|_| try_connect(&job).map(drop)).collect();
        let listener = listen(&job, soon()).unwrap().expect("one with a nonce");
        assert!(listen(&job, soon()).unwrap().is_none(), "it is found");
        let socket = connect(&job, soon()).unwrap();
        ask(&socket, &JoinRequest::Join { version: 1, rank: 2, ranks: 3 }, &[]).unwrap();
        // The look at the name came first, and was closed.
        let mut heard = None;
        while heard.is_none() {
            let (agent, _) = accept_from_this_user(&listener).unwrap();
            heard = agent.try_receive::<JoinRequest>().ok().flatten();
        }
    }
}

#[test]
fn names_at_which_no_process_listens_are_no_candidates() {
    let job = new_job();
    let silent = bind_to(&job.draw_candidate(false).unwrap()).unwrap().unwrap();
    assert!(job.with_nonces(NonceOf::Candidate).is_empty());
    start_listening(&silent, 1).unwrap();
    assert_eq!(job.with_nonces(NonceOf::Candidate).len(), 1);
}

#[test]
fn decoys_of_another_user_are_passed_over() {
    let job = new_job();
    let Some(_stranger) = Stranger::take(&job, "8", 1) else { return };
    let known = || [NonceOf::Agent, NonceOf::Candidate].map(|of| job.with_nonces(of).len());
    assert_eq!(known(), [1, 1]);
    let _listener = listen(&job, soon()).unwrap().expect("the decoys are not believed");
    assert_eq!(known(), [2, 1]);
    assert!(connect(&job, Instant::now()).is_ok());
}

#[test]
fn a_candidate_whose_places_are_full_counts_for_a_while_and_then_no_more() {
    let job = new_job();
    let [own, full] = [false, true].map(|first| job.draw_candidate(first).unwrap());
    let listener = bind_to(&full).unwrap().unwrap();
    start_listening(&listener, 0).unwrap();
    let _first = try_connect(&full).map(drop);
    let mut search = Search::default();
    let looks = (0..1000).take_while(|_| !search.find_candidates(&job, &own).unwrap().is_empty()).count();
    assert!((1..1000).contains(&looks), "{looks}");
}

#[test]
fn connections_that_wait_are_worked_off_in_portions() {
    let job = new_job();
    let listener = listen(&job, soon()).unwrap().unwrap();
    let sockets: Vec<_> = (0..3).map(|_| connect(&job, Instant::now()).unwrap()).collect();
    for _ in &sockets {
        accept_from_this_user(&listener).unwrap();
    }
    assert_eq!(accept_from_this_user(&listener).unwrap_err(), Errno::AGAIN);
    let queued = queue_for(&job, Duration::from_secs(60));
    assert!(matches!(queued, Ok(Attempt::Connected(_))));
}
