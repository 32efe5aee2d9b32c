//! The TCP ports that a job may listen on, for hosts behind a firewall that permits a range.

use std::fmt;
use std::io;

/// A range of TCP ports; the default leaves the choice to the system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortRange {
    first: u16,
    last: u16,
}

impl PortRange {
    /// Any port that the system chooses.
    pub const ANY: PortRange = PortRange { first: 0, last: 0 };

    /// Returns the range that a text such as `50000-50999` names, `ANY` for an empty text, and nothing for other texts.
    pub fn read(text: &str) -> Option<PortRange> {
        if text.is_empty() {
            return Some(PortRange::ANY);
        }
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let port = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?;
        let (first, last) = (port(first)?, port(last)?);
        (first > 0 && first <= last).then_some(PortRange { first, last })
    }

    /// Binds to a port of the range by `bind`. Each port is tried once, from one on that differs from process to process.
    ///
    /// # Errors
    /// Returns the first error of `bind` other than a port in use. If all ports are in use, the error names the range.
    pub fn bind<T>(self, mut bind: impl FnMut(u16) -> io::Result<T>) -> io::Result<T> {
        if self == PortRange::ANY {
            return bind(0);
        }
        let count = u32::from(self.last - self.first) + 1;
        // Neighbours among processes have neighbouring numbers, so they seldom try one port.
        let start = std::process::id() % count;
        for step in 0..count {
            let port = self.first + ((start + step) % count) as u16;
            match bind(port) {
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
                bound => return bound,
            }
        }
        let text = format!("all ports of CANELE_PORTS={self} are in use: name a longer range");
        Err(io::Error::new(io::ErrorKind::AddrInUse, text))
    }
}

/// Writes the range as [`PortRange::read`] reads it.
impl fmt::Display for PortRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            PortRange::ANY => Ok(()),
            PortRange { first, last } => write!(f, "{first}-{last}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_range_is_read_as_it_is_written() {
        for (text, written) in
            [("", ""), ("7", "7-7"), ("50000-50999", "50000-50999"), ("1-65535", "1-65535")]
        {
            assert_eq!(PortRange::read(text).unwrap().to_string(), written);
        }
        for text in ["0", "0-5", "5-4", "-", "5-", "-5", "a", "+5-6", "1-65536", "1-2-3", " 1"] {
            assert_eq!(PortRange::read(text), None, "{text}");
        }
    }

    #[test]
    fn each_port_of_a_range_is_tried_once() {
        let range = PortRange::read("50000-50003").unwrap();
        let mut tried = Vec::new();
        let refused = range.bind(|port| {
            tried.push(port);
            Err::<(), _>(io::ErrorKind::AddrInUse.into())
        });
        tried.sort_unstable();
        assert_eq!(tried, [50000, 50001, 50002, 50003]);
        assert!(refused.unwrap_err().to_string().contains("CANELE_PORTS=50000-50003"));
        let denied = range.bind(|_| Err::<(), _>(io::ErrorKind::PermissionDenied.into()));
        assert_eq!(denied.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert!(PortRange::read("65535").unwrap().bind(Ok).is_ok_and(|port| port == 65535));
        assert!(PortRange::ANY.bind(Ok).is_ok_and(|port| port == 0));
    }

    #[test]
    fn a_second_listener_takes_another_port() {
        // Some of these may be in use by other programs.
        let range = PortRange::read("42000-42999").unwrap();
        let listen = || range.bind(|port| TcpListener::bind(("127.0.0.1", port))).unwrap();
        let ports = [listen(), listen()].map(|listener| listener.local_addr().unwrap().port());
        assert!(ports[0] != ports[1] && ports.iter().all(|port| (42000..43000).contains(port)));
    }
}
