//! The papers' systems: Canelé's protocols on a network of their time, with the costs of their software.

use canele_proto::Settings;
use canele_sim::preset::{self, Preset};
use canele_sim::script::{ScriptCall, ScriptSetup, Software, play};
use canele_sim::world::Model;
use canele_sys::ids::Rank;

use super::lab::Trouble;

/// The networks of the papers by name, for [`preset::find`]. Each file names the source of its numbers.
pub const NETWORKS: [Preset; 3] = [
    ("hsl", include_str!("../networks/hsl.toml")),
    ("myrinet-bip", include_str!("../networks/myrinet-bip.toml")),
    ("sci-deck", include_str!("../networks/sci-deck.toml")),
];

/// A network and the software on it.
#[derive(Clone, Copy)]
pub struct System {
    /// The preset of the network.
    pub network: &'static str,
    pub software: Software,
    pub eager_bytes: usize,
    /// Most bytes of one packet: one page where the processor describes pages to the board one by one.
    pub piece_bytes: usize,
}

/// Bytes of a page of the processors of all these machines.
pub const PAGE: usize = 4096;
/// Messages of a simulated ping-pong, the first of which is not counted.
const MESSAGES: usize = 8;
/// Number of exchanges of a simulated run.
const EXCHANGES: usize = 50;

impl System {
    /// Makes the raw network, whose time is only its own.
    pub const fn raw(network: &'static str) -> Self {
        let software = Software { send_ns: 0, receive_ns: 0, copied_per_ms: 0 };
        Self { network, software, eager_bytes: 16 << 10, piece_bytes: 64 << 10 }
    }

    /// Returns the system with software that takes these nanoseconds at both ends.
    pub const fn with(self, send_ns: u64, receive_ns: u64) -> Self {
        let copied_per_ms = self.software.copied_per_ms;
        Self { software: Software { send_ns, receive_ns, copied_per_ms }, ..self }
    }

    pub fn model(&self) -> Result<Model, Trouble> {
        Ok(preset::find(self.network, &NETWORKS)?)
    }

    fn settings(&self) -> Settings {
        Settings { eager_bytes: self.eager_bytes, piece_bytes: self.piece_bytes, unexpected_bytes: 64 << 20 }
    }

    /// Returns the microseconds from a send to the end of its receive, in a ping-pong.
    pub fn one_way_us(&self, bytes: usize) -> Result<f64, Trouble> {
        let (to, from) = (Rank(1), Rank(0));
        let ping = [ScriptCall::Send(to, bytes), ScriptCall::Receive(to, bytes)].repeat(MESSAGES);
        let pong = [ScriptCall::Receive(from, bytes), ScriptCall::Send(from, bytes)].repeat(MESSAGES);
        let first = self.end_ns(&[ping[..2].to_vec(), pong[..2].to_vec()])?;
        let all = self.end_ns(&[ping, pong])?;
        Ok((all - first) as f64 / 2e3 / (MESSAGES - 1) as f64)
    }

    /// Returns the megabytes per second (10⁶ bytes) of a ping-pong.
    pub fn rate(&self, bytes: usize) -> Result<f64, Trouble> {
        Ok(bytes as f64 / self.one_way_us(bytes)?)
    }

    /// Returns the points (bytes, µs) of a ping-pong.
    pub fn curve(&self, sizes: &[usize]) -> Result<Vec<(f64, f64)>, Trouble> {
        sizes.iter().map(|bytes| Ok((*bytes as f64, self.one_way_us(*bytes)?))).collect()
    }

    /// Returns the microseconds of one exchange between three ranks that compute `computed_us` meanwhile.
    /// Each sends its own value to both others and receives theirs (CESTAC).
    pub fn exchange_us(&self, computed_us: f64) -> Result<f64, Trouble> {
        const VALUE: usize = 24;
        let computed = ScriptCall::Compute((computed_us * 1e3) as u64);
        let program = |own: u32| {
            let others = [(own + 1) % 3, (own + 2) % 3].map(Rank);
            let calls = [computed, ScriptCall::Send(others[0], VALUE), ScriptCall::Send(others[1], VALUE)];
            // The value of the previous rank arrives first.
            let received = [ScriptCall::Receive(others[1], VALUE), ScriptCall::Receive(others[0], VALUE)];
            [&calls[..], &received].concat().repeat(EXCHANGES)
        };
        let programs: Vec<_> = (0..3).map(program).collect();
        Ok(self.end_ns(&programs)? as f64 / 1e3 / EXCHANGES as f64)
    }

    /// Returns the end time of the same programs over several networks, with a strategy.
    pub fn end_over_ns(
        &self,
        networks: &[Model],
        strategy: &str,
        programs: &[Vec<ScriptCall>],
    ) -> Result<u64, Trouble> {
        let setup = ScriptSetup { networks, software: self.software, settings: self.settings(), strategy };
        Ok(play(&setup, programs)?.into_iter().max().unwrap_or(0))
    }

    fn end_ns(&self, programs: &[Vec<ScriptCall>]) -> Result<u64, Trouble> {
        self.end_over_ns(&[self.model()?], "aggregate", programs)
    }
}

/// Returns the powers of two from 1 byte to 1 MB; every fourth in a quick run.
pub fn sizes(quick: bool) -> Vec<usize> {
    (0..=20).step_by(if quick { 4 } else { 1 }).map(|power| 1 << power).collect()
}
