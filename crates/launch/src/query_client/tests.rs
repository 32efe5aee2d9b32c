//! Tests with strangers that listen under launchers' names, asked as root and as a user. A thread with
//! another user's number plays the stranger.

use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::thread::JoinHandle;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, accept, bind, connect, listen, socket_with};
use rustix::process::Uid;

use super::*;
use crate::query_name::QueryName;

const STRANGER: u32 = 65534;
const USER: u32 = 1000;
const HEADER: &str = r#"{"job":1,"version":"1","command":"x","size":SIZE,"seconds":1.0,"rails":[]}"#;

/// Returns a name of the process `pid`.
fn name(pid: u32) -> QueryName {
    let mut name = QueryName::draw().unwrap();
    name.pid = pid;
    name
}

/// Returns these names as a complete list.
fn all(names: &[QueryName]) -> QueryNames {
    QueryNames { all: names.to_vec(), is_cut: false }
}

fn listener(name: QueryName, backlog: i32) -> OwnedFd {
    let listener = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
    bind(&listener, &name.address().unwrap()).unwrap();
    listen(&listener, backlog).unwrap();
    listener
}

/// Starts a thread of the user `uid` that listens under this name. It handles each connection with `answer`
/// until that asks to end. None if this process may not become another user.
fn listen_as(
    uid: u32,
    name: QueryName,
    mut answer: impl FnMut(UnixStream) -> bool + Send + 'static,
) -> Option<JoinHandle<()>> {
    let (tell, told) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let uid = Uid::from_raw(uid);
        if rustix::thread::set_thread_res_uid(uid, uid, uid).is_err() {
            return eprintln!("skipped: needs root");
        }
        let listener = listener(name, 64);
        tell.send(()).unwrap();
        while answer(accept(&listener).unwrap().into()) {}
    });
    told.recv().ok().map(|()| thread)
}

/// Sends the report of a job without ranks.
fn report(mut to: UnixStream) -> bool {
    // A client that does not trust it has closed the connection.
    let _ = writeln!(to, "{}", HEADER.replace("SIZE", "0"));
    true
}

/// Makes a listener with a full queue.
fn full(name: QueryName) -> Vec<OwnedFd> {
    let mut sockets = vec![listener(name, 0)];
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    loop {
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap();
        match connect(&socket, &name.address().unwrap()) {
            Ok(()) => sockets.push(socket),
            Err(Errno::AGAIN) => return sockets,
            Err(error) => panic!("{error}"),
        }
    }
}

fn own() -> u32 {
    getuid().as_raw()
}

#[test]
fn full_queues_keep_no_launcher_from_being_found() {
    let full_names: Vec<QueryName> = (0..40).map(|_| name(7)).collect();
    let _sockets: Vec<_> = full_names.iter().map(|name| full(*name)).collect();
    let launcher = QueryName::draw().unwrap();
    listen_as(own(), launcher, report).expect("it stays the same user");
    let names = [&full_names[..], &[launcher]].concat();
    let found = reach(&names, own(), |_| true).unwrap();
    assert_eq!((found.reached.len(), found.full.len(), found.is_cut), (1, 40, false));
    let jobs = answers(found, own(), false);
    assert_eq!((jobs.reports.len(), jobs.errors.len()), (1, 0));
    assert!(matches!(find(7, &all(&names), own()), Err(QueryError::Full(7))));
}

#[test]
fn nothing_is_read_of_a_stranger() {
    let stranger = QueryName::draw().unwrap();
    let Some(_) = listen_as(STRANGER, stranger, report) else { return };
    match find(stranger.pid, &all(&[stranger]), USER) {
        Err(QueryError::Impostor { asked, found, user }) => {
            assert_eq!((asked, found, user), (stranger.pid, Some(stranger.pid), STRANGER));
        }
        other => panic!("{other:?}"),
    }
    let found = reach(&[stranger], USER, |_| true).unwrap();
    assert_eq!(found.reached.len(), 0);
    // Root asks only the process that is meant.
    let mut other = stranger;
    other.pid += 1;
    assert!(find(other.pid, &all(&[other]), 0).is_err());
}

#[test]
fn a_flood_for_root_ends_at_a_fixed_bound() {
    let stranger = QueryName::draw().unwrap();
    let (tell, told) = mpsc::channel();
    let flood = move |mut to: UnixStream| {
        let _ = writeln!(to, "{}", HEADER.replace("SIZE", "4000"));
        let doing = "y".repeat(15_000);
        let ranks = (0..4000).map(|rank| {
            format!(
                "{{\"rank\":{rank},\"host\":\"h\",\"pid\":7,\"state\":\"running\",\"doing\":\"{doing}\",\"current\":true,\"counters\":{{}}}}\n"
            )
        });
        let sent = ranks.take_while(|rank| to.write_all(rank.as_bytes()).is_ok()).map(|rank| rank.len());
        tell.send(sent.sum::<usize>()).unwrap();
        true
    };
    let Some(_) = listen_as(STRANGER, stranger, flood) else { return };
    let launcher = find(stranger.pid, &all(&[stranger]), 0).unwrap();
    let (_, result) = converse(vec![launcher], 0).pop().unwrap();
    match result {
        Err(QueryError::TooLong { job, user, limit }) => {
            assert_eq!((job, user, limit), (stranger.pid, STRANGER, 16));
        }
        other => panic!("{other:?}"),
    }
    // Bytes that the socket held when it was closed count, too.
    assert!(told.recv().unwrap() < 24 << 20);
}

#[test]
fn a_stranger_that_drips_holds_up_no_query_for_long() {
    let stranger = QueryName::draw().unwrap();
    let drip = |mut to: UnixStream| {
        while to.write_all(b" ").is_ok() {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        true
    };
    let Some(_) = listen_as(STRANGER, stranger, drip) else { return };
    let launcher = QueryName::draw().unwrap();
    listen_as(0, launcher, report).unwrap();
    let found = reach(&[stranger, launcher], 0, |_| true).unwrap();
    let mut answered = converse(found.reached, 0);
    answered.sort_by_key(|(with, _)| with.peer.uid);
    let [(_, launcher), (_, stranger)] = &answered[..] else { panic!("{answered:?}") };
    assert!(launcher.is_ok(), "{launcher:?}");
    assert!(matches!(stranger, Err(QueryError::Late(_))), "{stranger:?}");
}

#[test]
fn one_user_takes_not_all_the_room_of_root() {
    let strangers: Vec<QueryName> = (0..40).map(|_| QueryName::draw().unwrap()).collect();
    for name in &strangers {
        if listen_as(STRANGER, *name, report).is_none() {
            return;
        }
    }
    let launcher = QueryName::draw().unwrap();
    listen_as(0, launcher, report).unwrap();
    let found = reach(&[&strangers[..], &[launcher]].concat(), 0, |_| true).unwrap();
    let of_root = found.reached.iter().filter(|reached| reached.peer.uid == 0).count();
    assert_eq!((found.reached.len(), of_root, found.is_cut), (33, 1, true));
}

#[test]
fn launchers_of_containers_are_told_from_each_other() {
    // No process has this number here.
    let pid = 0x7fff_fff0;
    let (one, other) = (name(pid), name(pid));
    listen_as(own(), one, report).unwrap();
    let found = find(pid, &all(&[one]), own()).unwrap();
    assert_eq!(found.peer.pid, Some(std::process::id()));
    let (_, answer) = converse(vec![found], own()).pop().unwrap();
    assert_eq!(answer.unwrap().job, std::process::id(), "the number by which it can be asked here");
    listen_as(own(), other, report).unwrap();
    match find(pid, &all(&[one, other]), own()) {
        Err(error @ QueryError::Ambiguous { count: 2, .. }) => {
            let own = std::process::id();
            assert!(error.to_string().contains(&format!("by their numbers here: {own}, {own}")), "{error}");
        }
        other => panic!("{other:?}"),
    }
    // Each is found by its number here, not by the one in its name.
    assert!(find(std::process::id(), &all(&[one]), own()).is_ok());
}

#[test]
fn who_asks_hears_that_not_all_were_looked_at_unless_the_process_itself_was_found() {
    let own_name = QueryName::draw().unwrap();
    listen_as(own(), own_name, report).unwrap();
    let cut = |names: &[QueryName]| QueryNames { is_cut: true, ..all(names) };
    assert!(find(own_name.pid, &cut(&[own_name]), own()).is_ok());
    // No process has this number here.
    let pid = 0x7fff_fff1;
    let contained = name(pid);
    listen_as(own(), contained, report).unwrap();
    assert!(find(pid, &all(&[contained]), own()).is_ok());
    for names in [&[contained][..], &[own_name], &[]] {
        let found = find(pid, &cut(names), own());
        assert!(matches!(found, Err(QueryError::NotAllAsked(of)) if of == pid), "{found:?}");
    }
}
