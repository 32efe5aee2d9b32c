//! The abstract names of the sockets that listen in this network namespace.
//!
//! Owns the parsing of the kernel's list. Names in it are arbitrary bytes of their owners, also line ends; no
//! line is trusted.

use std::fs;
use std::io::{self, BufRead, BufReader, Read};

/// The longest line that can hold a name of Canelé's, in bytes.
const MOST_LINE: u64 = 256;

/// The kind of listed sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Stream,
    SeqPacket,
}

impl Kind {
    /// Returns the type in the list's format.
    fn column(self) -> &'static [u8] {
        match self {
            Kind::Stream => b"0001",
            Kind::SeqPacket => b"0005",
        }
    }
}

/// Passes to `visit` the rest behind `prefix` of each listener's name of this kind.
///
/// # Errors
/// Fails if `/proc/net/unix` cannot be read.
pub fn visit_listeners(kind: Kind, prefix: &str, visit: impl FnMut(&str)) -> io::Result<()> {
    visit_in(BufReader::new(fs::File::open("/proc/net/unix")?), kind, prefix, visit)
}

/// Visits the listeners in a list of the kernel's format.
///
/// # Errors
/// Fails if the list cannot be read.
pub fn visit_in(
    mut sockets: impl BufRead,
    kind: Kind,
    prefix: &str,
    mut visit: impl FnMut(&str),
) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        // A longer line comes in pieces, none of which has a name of Canelé's.
        if sockets.by_ref().take(MOST_LINE).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if let Some(name) = listener(&line, kind).and_then(|name| name.strip_prefix(prefix)) {
            visit(name);
        }
    }
}

/// Returns the abstract name in a line, if it is that of a listener of this kind and the name is text without
/// spaces.
fn listener(line: &[u8], kind: Kind) -> Option<&str> {
    let mut words = line.trim_ascii_end().split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    let [flags, column] = [words.nth(3)?, words.next()?];
    let name = words.nth(2)?.strip_prefix(b"@")?;
    let is_it = words.next().is_none() && flags == b"00010000" && column == kind.column();
    std::str::from_utf8(name).ok().filter(|_| is_it)
}

/// Parses a number in the form that names use: 16 digits.
pub fn parse_nonce(text: &str) -> Option<u64> {
    let is_plain = text.len() == 16 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_plain.then(|| u64::from_str_radix(text, 16).ok())?
}
