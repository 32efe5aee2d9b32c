//! What is behind the gate: the rails, the protocols and the socket to the launcher; and one pass over them.

use std::collections::HashMap;
use std::sync::Arc;
use std::thread::Thread;
use std::time::{Duration, Instant};

use canele_proto::errand::Desk;
use canele_proto::{Proto, Settings};
use canele_rail::shm::{CounterPage, Shm};
use canele_rail::tcp::Member;
use canele_sys::counters::{Counter, Counters};
use canele_sys::ids::Rank;
use canele_sys::tunables::Tunables;

use crate::Error;
use crate::collective::{Collectives, Pairs};
use crate::control::{Control, FromLauncher, Gone, JobInfo, ToLauncher};
use crate::elsewhere::Clerk;
use crate::network::Network;
use crate::patience::Habits;
use crate::rails::Rails;
use crate::regions::{Fenced, Puts};

/// The state of one rank's engine.
pub(crate) struct Core {
    pub rails: Rails,
    pub proto: Proto,
    pub control: Option<Control>,
    pub job: JobInfo,
    pub habits: Habits,
    /// Whose turn it is among the links, for receives from anybody.
    pub turn: usize,
    /// Threads that wait while another one makes progress.
    pub followers: Vec<Thread>,
    /// Some thread waits inside `Engine::wait_for` and makes progress for all.
    pub led: bool,
    /// That thread sleeps.
    pub asleep: bool,
    /// What `ended` was when followers were last woken.
    pub told: u64,
    /// How every rank that is gone ended.
    pub gone: HashMap<Rank, Gone>,
    /// Pairs of other ranks that communicate no more: collectives of both fail.
    pub splits: Vec<canele_proto::request::Failure>,
    /// Answers of the launcher that somebody waits for.
    pub found: HashMap<u64, Vec<u8>>,
    /// Regions of this rank that the launcher has confirmed to whoever made them.
    pub known_regions: Vec<u64>,
    /// Names of a job without a launcher.
    pub own_names: HashMap<String, Vec<u8>>,
    pub refused: Vec<String>,
    pub tickets: u64,
    /// The puts to each peer whose arrival is to be confirmed.
    pub fences: Vec<Fenced>,
    pub callbacks: Vec<Callback>,
    /// Fences that were answered.
    pub fenced: Vec<(Rank, u64)>,
    /// An error that every later call reports.
    pub broken: Option<String>,
    pub finished: bool,
    pub pairs: Pairs,
    pub collectives: Collectives,
    pub page: Arc<CounterPage>,
    pub counts: Counts,
    pub puts: Arc<Puts>,
    /// What ranks of other hosts ask for, and who answers their questions.
    pub desk: Desk,
    pub clerk: Option<Arc<dyn Clerk>>,
    pub network: Network,
    /// The launcher wants to be told the links: how many over sockets, at most.
    pub links_wanted: Option<u32>,
    /// Since when time is counted for those who connect.
    pub since: Instant,
}

/// What is counted of each TCP rail, in their order: links, bytes sent, speed, round trip, bytes under way.
const RAILS: [[Counter; 5]; 4] = [
    [
        Counter::Rail1Links,
        Counter::Rail1Sent,
        Counter::Rail1Speed,
        Counter::Rail1RoundTrip,
        Counter::Rail1UnderWay,
    ],
    [
        Counter::Rail2Links,
        Counter::Rail2Sent,
        Counter::Rail2Speed,
        Counter::Rail2RoundTrip,
        Counter::Rail2UnderWay,
    ],
    [
        Counter::Rail3Links,
        Counter::Rail3Sent,
        Counter::Rail3Speed,
        Counter::Rail3RoundTrip,
        Counter::Rail3UnderWay,
    ],
    [
        Counter::Rail4Links,
        Counter::Rail4Sent,
        Counter::Rail4Speed,
        Counter::Rail4RoundTrip,
        Counter::Rail4UnderWay,
    ],
];

/// What is called when a notice of a range of identifiers comes.
pub(crate) struct Callback {
    pub ids: std::ops::Range<u64>,
    pub call: Box<dyn FnMut(canele_proto::Notice) + Send>,
}

/// What the engine itself counts.
#[derive(Default, Clone, Copy)]
pub(crate) struct Counts {
    pub system_calls: u64,
    pub yields: u64,
    pub sleeps: u64,
    pub connections: u64,
}

impl Core {
    /// Opens the rails and tells the launcher about them.
    pub fn open(tunables: &Tunables, mut control: Option<Control>) -> Result<Self, Error> {
        let place = control.as_ref().map_or(crate::control::Place::ALONE, Control::place);
        let (me, ranks) = (Rank(place.rank), place.size as usize);
        let mut rails = Rails::open(me, ranks, place.local_size as usize, tunables)?;
        let job = match &mut control {
            Some(control) => introduce(control, &rails.shm, tunables)?,
            None => JobInfo {
                launcher: 0,
                size: 1,
                hosts: vec![crate::control::Host::this(1)],
                processors: canele_sys::topology::allowed().map_or(1, |all| all.len() as u32),
                on_failure: crate::control::OnFailure::Stop,
                network: None,
            },
        };
        if let Some(network) = &job.network {
            let member = Member { me, ranks: place.size, job: network.job, key: network.key };
            let here = network.rails.get(job.host_of(place.rank));
            rails.open_sockets(member, here.map_or(&[][..], Vec::as_slice))?;
        }
        let settings = Settings {
            eager_bytes: tunables.eager_bytes,
            piece_bytes: tunables.piece_bytes,
            unexpected_bytes: tunables.unexpected_bytes as u64,
        };
        let mut proto = Proto::new(me, ranks, settings);
        proto.set_strategy(canele_proto::strategy::named(tunables.strategy).expect("an allowed name"));
        // Hosts may differ in processors, of which each knows its own: a job of several is never crowded.
        let crowded_everywhere = job.hosts.len() == 1 && place.local_size > job.processors;
        let mut core = Self {
            proto,
            habits: Habits {
                wait: tunables.wait,
                spin: Duration::from_nanos(tunables.spin_ns),
                yields: tunables.yields,
                crowded: place.local_size > job.processors,
                wary: 0,
            },
            page: rails.shm.counters(),
            rails,
            control,
            job,
            turn: 0,
            followers: Vec::new(),
            led: false,
            asleep: false,
            told: 0,
            gone: HashMap::new(),
            splits: Vec::new(),
            found: HashMap::new(),
            known_regions: Vec::new(),
            own_names: HashMap::new(),
            fences: vec![Fenced::default(); ranks],
            callbacks: Vec::new(),
            refused: Vec::new(),
            tickets: 0,
            fenced: Vec::new(),
            broken: None,
            finished: false,
            pairs: Pairs::default(),
            collectives: Collectives::new(crowded_everywhere),
            counts: Counts::default(),
            puts: Arc::default(),
            desk: Desk::default(),
            clerk: None,
            network: Network::new(),
            links_wanted: None,
            since: Instant::now(),
        };
        if core.job.network.is_some() {
            core.tell_addresses()?;
        }
        Ok(core)
    }

    /// One progress pass; says whether anything moved. The order: collectives under way first, which take their messages
    /// from where they come; packets and copies, because they are why we are here; then who is new, of this host and of others, then what the launcher says, then what is to be asked of it.
    #[inline]
    pub fn pass(&mut self) -> bool {
        let mut moved = !self.collectives.under_way.is_empty() && self.advance_collectives();
        moved |= self.proto.pass(&mut self.rails);
        self.rails.accept();
        if self.rails.has_sockets() {
            moved |= self.serve();
            moved |= self.tend_network(moved);
        }
        // Behind all from which notices come: puts of other hosts are served, not received.
        if !self.callbacks.is_empty() {
            self.call_back();
        }
        if self.rails.shm.has_news() {
            self.read_news();
            self.call_back();
            self.ask_launcher();
            // Names, regions and links are waited for as messages are: whoever follows must look too.
            self.told = u64::MAX;
            return true;
        }
        self.ask_launcher() | moved
    }

    /// Publishes the counters where the launcher can read them: before a sleep, at the end, when the launcher rings.
    pub fn publish_counters(&self) {
        use Counter::*;
        let traffic = &self.proto.traffic;
        let words = self.page.words();
        let set = |counter: Counter, value: u64| {
            words[counter as usize].store(value, canele_sys::atomic::Ordering::Relaxed);
        };
        let rows = [
            [ShortSent, ShortSentBytes, ShortReceived, ShortReceivedBytes],
            [EagerSent, EagerSentBytes, EagerReceived, EagerReceivedBytes],
            [StreamedSent, StreamedSentBytes, StreamedReceived, StreamedReceivedBytes],
            [DirectSent, DirectSentBytes, DirectReceived, DirectReceivedBytes],
        ];
        let [sent, received] = traffic.by_protocol();
        for (row, (sent, received)) in rows.iter().zip(sent.iter().zip(&received)) {
            for (counter, value) in
                row.iter().zip([sent.messages, sent.bytes, received.messages, received.bytes])
            {
                set(*counter, value);
            }
        }
        set(LocalSent, traffic.own.messages);
        set(LocalSentBytes, traffic.own.bytes);
        let puts = self.puts.so_far();
        set(PutSent, traffic.put.messages + puts.messages);
        set(PutSentBytes, traffic.put.bytes + puts.bytes);
        set(Unexpected, traffic.unexpected);
        set(Copies, traffic.copies);
        set(ControlSent, traffic.control);
        set(SystemCalls, self.counts.system_calls);
        set(Yields, self.counts.yields);
        set(Sleeps, self.counts.sleeps);
        set(Wakeups, self.rails.shm.wakeups());
        set(Connections, self.counts.connections);
        set(Packets, traffic.packets);
        set(Parts, traffic.parts);
        set(Aggregated, traffic.aggregated);
        set(Waited, traffic.waited);
        set(Deepest, traffic.deepest);
        set(Reordered, traffic.reordered);
        set(LostLinks, traffic.lost_links);
        set(SentAgain, traffic.sent_again);
        for (counters, rail) in RAILS.iter().zip(&self.rails.tcp) {
            let now = rail.now();
            let values = [
                u64::from(now.links),
                now.sent,
                u64::from(now.speed.bytes_per_us),
                u64::from(now.speed.round_trip_ns),
                now.speed.under_way as u64,
            ];
            counters.iter().zip(values).for_each(|(counter, value)| set(*counter, value));
        }
        self.rails.shm.counted();
    }

    /// The counters now.
    pub fn counters(&self) -> canele_sys::counters::Snapshot {
        self.publish_counters();
        Counters::new(self.page.words()).snapshot()
    }

    /// Says something to the launcher, if there is one.
    pub fn tell(&mut self, message: &ToLauncher) -> Result<(), Error> {
        self.counts.system_calls += 1;
        match &self.control {
            Some(control) => Ok(control.send(message, &[])?),
            None => Ok(()),
        }
    }

    /// Why nothing can be done any more, if so.
    #[inline(always)]
    pub fn check(&self) -> Result<(), Error> {
        if self.finished || self.broken.is_some() { Err(self.why_over()) } else { Ok(()) }
    }

    #[cold]
    #[inline(never)]
    fn why_over(&self) -> Error {
        match self.finished {
            true => Error::Finished,
            false => Error::Control(crate::control::ControlError::LauncherGone),
        }
    }
}

/// Says hello, hands over the inbox, and waits for the launcher's welcome.
fn introduce(control: &mut Control, shm: &Shm, tunables: &Tunables) -> Result<JobInfo, Error> {
    control.send(&ToLauncher::Hello { version: crate::control::VERSION }, &[])?;
    let descriptors: Vec<_> = std::iter::once(shm.inbox_fd()).chain(shm.event_fd()).collect();
    control.send(&ToLauncher::Inbox { settings: tunables.shared() }, &descriptors)?;
    loop {
        match control.receive(None)? {
            Some((FromLauncher::Welcome { version, job }, _)) if version == crate::control::VERSION => {
                return Ok(job);
            }
            Some((FromLauncher::Welcome { version, .. }, _)) => {
                let ours = crate::control::VERSION;
                let text = format!("its control messages have version {version}, this program's {ours}");
                return Err(crate::control::ControlError::Malformed(text).into());
            }
            Some((other, _)) => {
                let text = format!("{other:?} before its welcome");
                return Err(crate::control::ControlError::Malformed(text).into());
            }
            None => {}
        }
    }
}
