//! PMI-1, the protocol of lines of text that Hydra's proxies and Slurm's plugin `pmi2` speak with the
//! processes that they have started.
//!
//! Owns the connection and the parsing of the launcher's answers, which may be any text. Waits for the
//! answers.
//!
//! ```text
//!   cmd=init pmi_version=1 pmi_subversion=1  ─▶   ◀─ cmd=response_to_init rc=0 …
//!   cmd=get_my_kvsname                       ─▶   ◀─ cmd=my_kvsname kvsname=…
//!   cmd=put kvsname=… key=… value=…          ─▶   ◀─ cmd=put_result rc=0 …
//!   cmd=barrier_in                           ─▶   ◀─ cmd=barrier_out         once all processes have sent it
//!   cmd=get kvsname=… key=…                  ─▶   ◀─ cmd=get_result rc=0 value=…
//!   cmd=finalize                             ─▶   ◀─ cmd=finalize_ack
//!   cmd=abort exitcode=1                     ─▶   no answer: the launcher kills all processes
//! ```
//! The connection is the inherited descriptor PMI_FD, or one to PMI_PORT, over which the launcher first sends
//! the process its rank.

use std::net::TcpStream;
use std::os::fd::OwnedFd;

use canele_sys::spawn::adopt_stream;
use rustix::io::Errno;
use rustix::net::SendFlags;

use super::JoinError;

pub(super) const PROTOCOL: &str = "PMI";

/// The longest line in bytes, far above what launchers allow.
const MAX_LINE: usize = 16 * 1024;
/// The number of bytes of a line that are shown.
const SHOWN: usize = 120;

/// A process as a client of its launcher.
#[derive(Debug)]
pub struct Pmi {
    connection: OwnedFd,
    /// Bytes that were read beyond the last line.
    read: Vec<u8>,
    rank: u32,
    ranks: u32,
    /// The name of the space in which values are put.
    space: String,
}

fn wrong(what: String) -> JoinError {
    JoinError::Exchange { protocol: PROTOCOL, what }
}

/// Returns the number in a variable, if it is set.
fn number(get: &impl Fn(&str) -> Option<String>, name: &str) -> Result<Option<u32>, JoinError> {
    let Some(value) = get(name) else { return Ok(None) };
    value.trim().parse().map(Some).map_err(|_| wrong(format!("{name}={value:?} is no number")))
}

impl Pmi {
    /// Opens the connection to the launcher that the environment names, if it speaks PMI.
    pub fn open(get: &impl Fn(&str) -> Option<String>) -> Result<Option<Pmi>, JoinError> {
        let place = (number(get, "PMI_RANK")?, number(get, "PMI_SIZE")?);
        if let Some(fd) = number(get, "PMI_FD")? {
            let (Some(rank), Some(ranks)) = place else {
                return Err(wrong("PMI_FD is set without PMI_RANK and PMI_SIZE".into()));
            };
            let connection = adopt_stream(i32::try_from(fd).unwrap_or(-1)).map_err(|error| {
                wrong(format!(
                    "descriptor {fd} (PMI_FD) is not the connection to the launcher ({error}); let no wrapper close inherited descriptors, \
                     and unset PMI_FD, PMI_RANK and PMI_SIZE for a program that is to run alone"
                ))
            })?;
            return Pmi::begin(connection, Some((rank, ranks))).map(Some);
        }
        let (Some(port), Some(id)) = (get("PMI_PORT"), get("PMI_ID")) else { return Ok(None) };
        let connection =
            TcpStream::connect(&port).map_err(|error| wrong(format!("PMI_PORT={port}: {error}")))?;
        // Requests are short and each waits for its answer.
        let _ = connection.set_nodelay(true);
        let mut pmi = Pmi::new(connection.into());
        pmi.ask(&format!("cmd=initack pmiid={id}"), "initack")?;
        let size = pmi.expect("set")?.number("size")?;
        let rank = pmi.expect("set")?.number("rank")?;
        pmi.expect("set")?;
        pmi.introduce((rank, size)).map(|()| Some(pmi))
    }

    fn new(connection: OwnedFd) -> Pmi {
        Pmi { connection, read: Vec::new(), rank: 0, ranks: 1, space: String::new() }
    }

    fn begin(connection: OwnedFd, place: Option<(u32, u32)>) -> Result<Pmi, JoinError> {
        let mut pmi = Pmi::new(connection);
        pmi.introduce(place.unwrap_or((0, 1)))?;
        Ok(pmi)
    }

    fn introduce(&mut self, (rank, ranks): (u32, u32)) -> Result<(), JoinError> {
        if rank >= ranks {
            return Err(wrong(format!("it says that this is rank {rank} of {ranks}")));
        }
        (self.rank, self.ranks) = (rank, ranks);
        self.ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init")?;
        self.space = self.ask("cmd=get_my_kvsname", "my_kvsname")?.word("kvsname")?.to_owned();
        Ok(())
    }

    pub fn rank(&self) -> u32 {
        self.rank
    }

    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    pub fn put(&mut self, key: &str, value: &str) -> Result<(), JoinError> {
        let request = format!("cmd=put kvsname={} key={key} value={value}", self.space);
        self.ask(&request, "put_result").map(drop)
    }

    pub fn fence(&mut self) -> Result<(), JoinError> {
        self.ask("cmd=barrier_in", "barrier_out").map(drop)
    }

    pub fn get(&mut self, key: &str) -> Result<String, JoinError> {
        let request = format!("cmd=get kvsname={} key={key}", self.space);
        Ok(self.ask(&request, "get_result")?.word("value")?.to_owned())
    }

    pub fn finish(mut self) -> Result<(), JoinError> {
        self.ask("cmd=finalize", "finalize_ack").map(drop)
    }

    /// Asks the launcher to end all processes.
    pub fn abort(&self) -> Result<(), JoinError> {
        self.say("cmd=abort exitcode=1")
    }

    fn ask(&mut self, request: &str, answer: &str) -> Result<Line, JoinError> {
        self.say(request)?;
        self.expect(answer)
    }

    fn say(&self, request: &str) -> Result<(), JoinError> {
        let mut rest = format!("{request}\n").into_bytes();
        while !rest.is_empty() {
            match rustix::net::send(&self.connection, &rest, SendFlags::NOSIGNAL) {
                Ok(count) => drop(rest.drain(..count)),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(wrong(format!("the launcher hears nothing any more ({errno})"))),
            }
        }
        Ok(())
    }

    /// Reads the next line, which must be this answer and no refusal.
    fn expect(&mut self, command: &str) -> Result<Line, JoinError> {
        let line = self.read_line()?;
        if line.get("cmd") != Some(command) {
            return Err(wrong(format!("it answers {line} where {command} should come")));
        }
        match line.get("rc") {
            None | Some("0") => Ok(line),
            Some(_) => Err(wrong(format!("it refuses: {line}"))),
        }
    }

    fn read_line(&mut self) -> Result<Line, JoinError> {
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=end).collect();
                return Ok(Line(String::from_utf8_lossy(&line[..end]).into_owned()));
            }
            if self.read.len() > MAX_LINE {
                return Err(wrong(format!("it sends more than {MAX_LINE} bytes without the end of a line")));
            }
            let mut more = [0; 4096];
            match rustix::io::read(&self.connection, &mut more) {
                // The connection is reset if the launcher has not read all requests.
                Ok(0) | Err(Errno::CONNRESET) => return Err(wrong("the launcher has ended".into())),
                Ok(count) => self.read.extend_from_slice(&more[..count]),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(wrong(format!("nothing can be read from it ({errno})"))),
            }
        }
    }
}

/// A line of the launcher: words of the form `name=value`.
struct Line(String);

impl Line {
    fn get(&self, name: &str) -> Option<&str> {
        self.0.split_ascii_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    }

    fn word(&self, name: &str) -> Result<&str, JoinError> {
        let missing = || wrong(format!("it says {self}, without {name}"));
        self.get(name).filter(|value| !value.is_empty()).ok_or_else(missing)
    }

    fn number(&self, name: &str) -> Result<u32, JoinError> {
        self.word(name)?.parse().map_err(|_| wrong(format!("it says {self}, where {name} is no number")))
    }
}

impl std::fmt::Display for Line {
    /// Formats the line so that a terminal can show it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown: String = self.0.chars().take(SHOWN).collect();
        write!(f, "{shown:?}")
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;
    use std::thread::JoinHandle;

    use super::*;

    /// Starts a launcher that gives these answers one after the other, and then ends. Its thread returns the
    /// requests.
    fn launcher(answers: &'static [&'static str]) -> (OwnedFd, JoinHandle<Vec<String>>) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (ours.into(), std::thread::spawn(move || serve(theirs, answers)))
    }

    fn serve(stream: UnixStream, answers: &[&str]) -> Vec<String> {
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        let mut asked = Vec::new();
        for answer in answers {
            asked.extend(lines.next().map(Result::unwrap));
            (&stream).write_all(answer.as_bytes()).unwrap();
        }
        asked
    }

    const HELLO: &str = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n";
    const SPACE: &str = "cmd=my_kvsname kvsname=kvs_7_0\n";

    #[test]
    fn a_value_goes_through_a_launcher() {
        let (connection, served) = launcher(&[
            HELLO,
            SPACE,
            "cmd=put_result rc=0 msg=success\n",
            "cmd=barrier_out\n",
            "cmd=get_result rc=0 msg=success value=a=b/c\n",
            "cmd=finalize_ack\n",
        ]);
        let mut pmi = Pmi::begin(connection, Some((2, 3))).unwrap();
        assert_eq!((pmi.rank(), pmi.ranks()), (2, 3));
        pmi.put("k", "v").unwrap();
        pmi.fence().unwrap();
        assert_eq!(pmi.get("k").unwrap(), "a=b/c");
        pmi.finish().unwrap();
        let asked = served.join().unwrap();
        assert_eq!(asked[0], "cmd=init pmi_version=1 pmi_subversion=1");
        assert_eq!(
            asked[2..5],
            ["cmd=put kvsname=kvs_7_0 key=k value=v", "cmd=barrier_in", "cmd=get kvsname=kvs_7_0 key=k"]
        );
    }

    #[test]
    fn an_answer_may_come_in_pieces_and_with_others() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let server = std::thread::spawn(move || {
            for byte in HELLO.bytes().chain(SPACE.bytes()) {
                theirs.write_all(&[byte]).unwrap();
            }
            theirs.write_all(b"cmd=barrier_out\ncmd=get_result rc=0 value=x\n").unwrap();
            theirs
        });
        let mut pmi = Pmi::begin(ours.into(), Some((0, 2))).unwrap();
        let _open = server.join().unwrap();
        pmi.fence().unwrap();
        assert_eq!(pmi.get("k").unwrap(), "x");
    }

    #[test]
    fn nonsense_is_an_error_that_shows_it() {
        let long: &'static str = "x".repeat(2 * MAX_LINE).leak();
        let long: &'static [&'static str] = vec![long].leak();
        let cases: [(&'static [&'static str], &str); 8] = [
            (&["cmd=response_to_init rc=-1\n"], "refuses"),
            (&["hello\n"], "hello"),
            (&["\u{1b}[2J\n"], "should come"),
            (long, "without the end of a line"),
            (&[HELLO, "cmd=my_kvsname\n"], "without kvsname"),
            (&[HELLO, "cmd=my_kvsname kvsname=\n"], "without kvsname"),
            // Depending on timing, the launcher has ended or no longer reads.
            (&[HELLO], "the launcher h"),
            (&[], "the launcher h"),
        ];
        for (answers, words) in cases {
            let (connection, served) = launcher(answers);
            let text = Pmi::begin(connection, Some((0, 2))).unwrap_err().to_string();
            assert!(
                text.contains(words) && text.contains("canele run") && !text.contains('\u{1b}'),
                "{text}"
            );
            served.join().unwrap();
        }
        let (connection, _) = launcher(&[]);
        assert!(Pmi::begin(connection, Some((2, 2))).unwrap_err().to_string().contains("rank 2 of 2"));
    }

    #[test]
    fn a_refused_get_shows_why() {
        let (connection, served) = launcher(&[HELLO, SPACE, "cmd=get_result rc=-1 msg=key_k_not_found\n"]);
        let mut pmi = Pmi::begin(connection, Some((1, 2))).unwrap();
        assert!(pmi.get("k").unwrap_err().to_string().contains("key_k_not_found"));
        served.join().unwrap();
    }

    #[test]
    fn variables_that_make_no_sense_are_named() {
        let open = |variables: &[(&str, &str)]| {
            Pmi::open(&|name| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| v.to_string()))
        };
        assert!(open(&[]).unwrap().is_none());
        let place = [("PMI_RANK", "1"), ("PMI_SIZE", "2")];
        for (name, value) in [("PMI_FD", "x"), ("PMI_FD", "987654"), ("PMI_FD", "4294967295")] {
            let text = open(&[place[0], place[1], (name, value)]).unwrap_err().to_string();
            assert!(text.contains(name), "{text}");
        }
        assert!(open(&[("PMI_FD", "3")]).unwrap_err().to_string().contains("PMI_RANK"));
        let port = [("PMI_PORT", "127.0.0.1:1"), ("PMI_ID", "0")];
        assert!(open(&port).unwrap_err().to_string().contains("PMI_PORT"));
    }

    #[test]
    fn a_launcher_behind_a_port_says_who_the_process_is() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().to_string();
        let served = std::thread::spawn(move || {
            let stream = listener.accept().unwrap().0;
            // The type of the socket does not matter here.
            serve(
                UnixStream::from(OwnedFd::from(stream)),
                &["cmd=initack\ncmd=set size=3\ncmd=set rank=2\ncmd=set debug=0\n", HELLO, SPACE],
            )
        });
        let get = |name: &str| match name {
            "PMI_PORT" => Some(port.clone()),
            "PMI_ID" => Some("5".into()),
            _ => None,
        };
        let pmi = Pmi::open(&get).unwrap().unwrap();
        assert_eq!((pmi.rank(), pmi.ranks()), (2, 3));
        assert!(pmi.connection.as_raw_fd() > 2);
        assert_eq!(served.join().unwrap()[0], "cmd=initack pmiid=5");
    }
}
