//! Ranks of a job amid connections of strangers, which send nothing or half a message and come again when
//! they are dropped.

mod support;

use std::collections::VecDeque;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::path::Path;
use std::sync::Arc;

use canele_sys::atomic::{AtomicBool, AtomicU64, Ordering};
use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use support::hosts::{start_on, wait_on_host};
use support::ranks::{program, setting};
use support::wait_until;

/// The bytes that a stranger sends: none, the beginning of a hello, or a whole hello made without the key.
const WORDS: [&[u8]; 3] = [b"", b"CANELE\x04\x00half", &wrong_hello()];

const fn wrong_hello() -> [u8; 88] {
    let mut bytes = [0; 88];
    let prefix = *b"CANELE\x04\x00";
    let mut at = 0;
    while at < prefix.len() {
        bytes[at] = prefix[at];
        at += 1;
    }
    bytes
}

/// Returns the addresses of this machine that a process listens on.
fn listeners(pid: u32) -> Vec<SocketAddr> {
    let sockets: Vec<_> = std::fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| std::fs::read_link(entry.path()).ok()?.to_str().map(str::to_owned))
        .collect();
    let table = std::fs::read_to_string(format!("/proc/{pid}/net/tcp")).unwrap_or_default();
    let listener = |line: &str| {
        let columns: Vec<_> = line.split_whitespace().collect();
        let (local, state, inode) = (columns.get(1)?, columns.get(3)?, columns.get(9)?);
        let (address, port) = local.split_once(':')?;
        let address = Ipv4Addr::from_bits(u32::from_be(u32::from_str_radix(address, 16).ok()?));
        let port = u16::from_str_radix(port, 16).ok()?;
        let ours = *state == "0A" && sockets.contains(&format!("socket:[{inode}]"));
        ours.then_some(SocketAddr::V4(SocketAddrV4::new(address, port)))
    };
    table.lines().filter_map(listener).collect()
}

/// Connections of strangers to one rank.
struct Strangers {
    to: Vec<SocketAddr>,
    held: VecDeque<TcpStream>,
    made: u64,
}

impl Strangers {
    /// Connects once to each address, from one of several addresses of this machine.
    fn knock(&mut self, words: &[u8]) {
        for to in &self.to {
            let from = Ipv4Addr::new(127, 0, 0, 2 + (self.made % 50) as u8);
            let Ok(socket) = socket(AddressFamily::INET, SocketType::STREAM, None) else { return };
            if bind(&socket, &SocketAddrV4::new(from, 0)).is_err() || connect(&socket, to).is_err() {
                continue;
            }
            let mut stream = TcpStream::from(socket);
            // The rank may have dropped the connection already.
            let _ = stream.write_all(words);
            self.held.push_back(stream);
            self.made += 1;
        }
    }
}

/// Returns the processor time of a process in µs.
fn processor_time(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/schedstat")).unwrap_or_default();
    text.split_whitespace().next().map_or(0, |ns| ns.parse::<u64>().unwrap_or(0) / 1000)
}

/// Holds `STRANGERS` connections and makes new ones all the time, while rank 1 sends its first message to
/// rank 0.
fn reaches(wait: &str, words: &'static [u8], sign: &Path) {
    let count = setting("STRANGERS", 900) as usize;
    let options = ["--wait", wait, "--env", "CANELE_RAILS=lo"];
    let command = [&program(), "approached", sign.to_str().unwrap()];
    let run = start_on("plain", "h0:1,h1:1", &options, &command);
    let pid = wait_on_host(&run, "h0", 1, "fault")[0];
    let mut to = Vec::new();
    wait_until("the listeners of rank 0", || {
        to = listeners(pid);
        !to.is_empty()
    });
    let mut strangers = Strangers { to, held: VecDeque::new(), made: 0 };
    let (over, made) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let before = processor_time(pid);
    while strangers.made < count as u64 {
        strangers.knock(words);
    }
    let attack = std::thread::spawn({
        let (over, made) = (over.clone(), made.clone());
        move || {
            while !over.load(Ordering::Acquire) {
                strangers.knock(words);
                while strangers.held.len() > count {
                    strangers.held.pop_front();
                }
                made.store(strangers.made, Ordering::Release);
            }
            strangers
        }
    });
    wait_until("more strangers", || made.load(Ordering::Acquire) > count as u64 + 10);
    let used = processor_time(pid) - before;
    let cost = used as f64 / made.load(Ordering::Acquire) as f64;
    std::fs::write(sign, "").unwrap();
    let ended = run.end_within(std::time::Duration::from_secs(300));
    over.store(true, Ordering::Release);
    let strangers = attack.join().unwrap();
    std::fs::remove_file(sign).unwrap();
    println!(
        "{wait}, {} bytes: {} strangers, {cost:.1} us of processor time for each, {}",
        words.len(),
        strangers.made,
        ended.out.replace('\n', ", ")
    );
    assert_eq!((ended.code(), ended.error.as_str()), (Some(0), ""), "{wait}, {} bytes", words.len());
}

#[test]
fn a_rank_is_reached_amid_strangers_however_it_waits() {
    let folder = std::env::temp_dir();
    for wait in ["sleep", "adaptive", "poll"] {
        for words in WORDS {
            let name = format!("canele-sign-{}-{wait}-{}", std::process::id(), words.len());
            reaches(wait, words, &folder.join(name));
        }
    }
}
