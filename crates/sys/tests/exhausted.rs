//! Tests a listener in a process without free descriptors. It has a process of its own, since all its threads
//! share the limit.

use canele_sys::exhausted::{is_exhausted, pause_if_exhausted};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, accept, bind, connect, listen, socket};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

#[test]
fn a_connection_waits_for_a_descriptor() {
    let of_unix = || socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
    let (listener, client) = (of_unix(), of_unix());
    let name = format!("canele-exhausted-{}", std::process::id());
    let address = SocketAddrUnix::new_abstract_name(name.as_bytes()).unwrap();
    bind(&listener, &address).unwrap();
    listen(&listener, 1).unwrap();
    connect(&client, &address).unwrap();
    let before = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(0), ..before }).unwrap();
    let refused = accept(&listener).map(drop);
    setrlimit(Resource::Nofile, before).unwrap();
    assert!(is_exhausted(pause_if_exhausted(refused.unwrap_err())));
    assert!(!is_exhausted(Errno::AGAIN) && accept(&listener).is_ok());
}
