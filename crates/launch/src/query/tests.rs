//! Tests of more askers than a launcher has places for.

use std::io::Read;
use std::os::unix::net::UnixStream;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{connect, getsockname};

use super::*;

fn ask(queries: &Queries) -> UnixStream {
    let to = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
    connect(&to, &getsockname(&queries.listener).unwrap()).unwrap();
    to.into()
}

#[test]
fn questions_for_which_no_place_is_free_are_told_so_and_wake_the_launcher_once() {
    let mut queries = Queries::listen(&Events::new().unwrap()).unwrap();
    let taken: Vec<_> = (0..ANSWERS).map(|_| ask(&queries)).collect();
    for _ in &taken {
        assert!(queries.accept(1, 1).is_some());
    }
    let refused: Vec<_> = (0..ANSWERS).map(|_| ask(&queries)).collect();
    assert!(queries.accept(1, 1).is_none());
    let mut polled = [PollFd::new(&queries.listener, PollFlags::IN)];
    assert_eq!(poll(&mut polled, Some(&Timespec::default())), Ok(0), "the listener is not readable");
    for mut asker in refused {
        let mut said = Vec::new();
        asker.read_to_end(&mut said).unwrap();
        assert_eq!(serde_json::from_slice::<Busy>(&said).unwrap(), Busy { busy: ANSWERS });
    }
    queries.answers[3] = None;
    let _asker = ask(&queries);
    assert!(queries.accept(1, 1).is_some(), "a place is free again");
}
