//! The rails of a rank as one: shared memory to ranks of this host, TCP to the others.
//!
//! Owns the rails and the list of all links on which packets may come. A link's number says which rail it is on: 0 is shared
//! memory, which is asked first everywhere, k the k-th of TCP. Never chooses among the links to a peer: the protocols do.
//!
//! *Sleep.* A rank with sockets sleeps on them and on its event, without the lock. A thread that comes in meanwhile and
//! takes something from a socket takes with it what would have ended the sleep, so it wakes the sleeper (invariant I7). A rank
//! that got its sockets after its peers got its inbox has no event that they know of: it sleeps on its word, and a thread on the sockets.

mod rail;
mod socket_watcher;

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use canele_control::{ControlError, JobInfo, Network, SpawnedWorld};
use canele_rail::Rail;
use canele_rail::shm::fetch::SingleCopy;
use canele_rail::shm::{Shm, Waker};
use canele_rail::tcp::{Member, OtherRanks, Tcp, TcpLimits};
use canele_sys::atomic::AtomicUsize;
use canele_sys::ids::{LinkId, Rank};
use canele_sys::poller::Ready;
use canele_sys::tunables::Tunables;

use crate::Error;
use socket_watcher::SocketWatcher;

/// How long an attempt to connect may take.
const CONNECT_TIMEOUT_NS: u64 = 10_000_000_000;

/// How long a rank sleeps at most whose sleep its sockets do not end, as the system refuses a thread that watches them.
const UNWATCHED_SLEEP: Duration = Duration::from_millis(1);

/// The rails of a rank.
pub(crate) struct Rails {
    pub shm: Shm,
    pub tcp: Vec<Tcp>,
    waker: Waker,
    /// Watches the sockets of a rank that has got them after its inbox was handed out.
    watcher: Option<SocketWatcher>,
    /// How many threads of this process are the library's.
    pub own_threads: Arc<AtomicUsize>,
    /// The links of all rails.
    incoming: Vec<LinkId>,
    /// Those on which packets may have come; all, where there are no sockets.
    ready: Vec<LinkId>,
    /// Links that may be made to other hosts.
    remote_links: HashSet<LinkId>,
    /// A thread waits for acknowledgements.
    unsettled: bool,
    /// A thread may sleep on the sockets.
    armed: bool,
    /// When the clock of the sockets began.
    since: Instant,
}

impl Rails {
    /// Opens the rails of the rank `me` on a host that has the ranks `here`, in their order, at the start of the job; `oversubscribed`: those share
    /// processors; `alone`: there is no rank on another host, nor one of another job that is reached over sockets.
    pub fn open(
        me: Rank,
        here: impl IntoIterator<Item = u32>,
        (oversubscribed, alone): (bool, bool),
        tunables: &Tunables,
    ) -> Result<Self, Error> {
        let (cells, budget) = (tunables.ring_cells, tunables.inbox_bytes);
        let mut shm = Shm::open(me, here, cells, tunables.payload_ring_bytes, budget)?;
        if oversubscribed {
            shm.share_processors();
        }
        let single_copy = match tunables.single_copy {
            "always" => SingleCopy::Always,
            "never" => SingleCopy::Never,
            _ => SingleCopy::Auto,
        };
        shm.copy_once(single_copy);
        if !alone {
            shm.sleep_on_descriptors()?;
        }
        Ok(Self {
            waker: shm.waker(),
            watcher: None,
            own_threads: Arc::default(),
            shm,
            tcp: Vec::new(),
            incoming: Vec::new(),
            ready: Vec::new(),
            remote_links: HashSet::new(),
            unsettled: false,
            armed: false,
            since: Instant::now(),
        })
    }

    /// Opens the rails to other hosts: one for each list of addresses, on which it listens. A rail without an address that can be listened
    /// on is down for this rank, which is no error while there is another.
    pub fn open_sockets(&mut self, member: Member, addresses: &[Vec<IpAddr>]) -> Result<(), Error> {
        let mut refused = None;
        for (addresses, number) in addresses.iter().zip(1..) {
            let limits = TcpLimits { patience_ns: CONNECT_TIMEOUT_NS, ..TcpLimits::default() };
            let mut tcp = Tcp::open(number, member, addresses, limits)?;
            refused = refused.or(tcp.take_refused());
            self.tcp.push(tcp);
        }
        let is_reachable = self.tcp.iter().any(|tcp| !tcp.addresses().is_empty());
        refused.filter(|_| !is_reachable).map_or(Ok(()), |refused| Err(refused.into()))
    }

    /// Lets ranks of another job be reached, if they are over sockets; says whether this rank has its first ones from now on.
    ///
    /// # Errors
    /// Sockets cannot be opened.
    pub fn add_others(&mut self, me: Rank, job: &JobInfo, world: &SpawnedWorld) -> Result<bool, Error> {
        let (Some(network), Some(origin)) = (&world.network, world.origin) else { return Ok(false) };
        let opens = !self.has_sockets();
        if opens {
            let drawn = Network::draw().map_err(ControlError::from)?;
            // Nobody else has the key: ranks of this job share the memory of their host.
            let member = Member { me, ranks: job.ranks(), job: drawn.job, key: *drawn.key };
            let here = network.rails.get(job.host_of(me.0));
            self.open_sockets(member, here.map_or(&[][..], Vec::as_slice))?;
            self.list_links();
        }
        let others = OtherRanks {
            job: job.id,
            theirs: origin.job,
            key: *network.key,
            first: origin.rank,
            ranks: world.hosts.len() as u32,
            here: Rank(world.first),
        };
        self.tcp.iter_mut().for_each(|tcp| tcp.add_others(others));
        Ok(opens)
    }

    /// Where this rank listens, for each rail over sockets.
    pub fn socket_addresses(&self) -> Vec<Vec<SocketAddr>> {
        self.tcp.iter().map(|tcp| tcp.addresses().to_vec()).collect()
    }

    /// From now on the job has so many ranks, of which `here` are new on this host.
    pub fn add_ranks(&mut self, ranks: u32, here: impl Iterator<Item = Rank>) {
        here.for_each(|rank| self.shm.add_rank(rank));
        self.tcp.iter_mut().for_each(|tcp| tcp.add_ranks(ranks));
    }

    /// This rank's sleep.
    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// Says where a peer of another host is reached over the TCP rail number `at`, from 0.
    pub fn introduce(&mut self, peer: Rank, at: usize, addresses: Vec<SocketAddr>) {
        if !addresses.is_empty() && !self.tcp[at].addresses().is_empty() {
            self.remote_links.insert(LinkId::new(at as u8 + 1, peer));
            self.tcp[at].introduce(peer, addresses);
        }
    }

    /// The links that may be made to a peer of another host: over the rails that both are on.
    pub fn routes(&self, peer: Rank) -> Vec<LinkId> {
        let rails = 1..=self.tcp.len() as u8;
        rails.map(|rail| LinkId::new(rail, peer)).filter(|link| self.remote_links.contains(link)).collect()
    }

    /// Begins to make a link to a peer that was introduced, if there is none.
    pub fn connect(&mut self, link: LinkId) {
        self.socket(link).open_link(link.peer());
        self.note_links();
    }

    /// The links on which something was sent and nothing is heard of the peer's host, with for how long.
    pub fn silent(&self) -> Vec<(LinkId, Duration)> {
        self.tcp.iter().flat_map(Tcp::silent).collect()
    }

    /// Whether something was sent to another host whose acknowledgement has not come.
    pub fn is_waiting(&self) -> bool {
        self.tcp.iter().any(Tcp::is_waiting)
    }

    /// Accepts the senders of this host that have arrived. A few loads when there are none.
    #[inline(always)]
    pub fn accept(&mut self) {
        self.shm.accept();
        self.note_links();
    }

    /// Whether there is more than shared memory.
    #[inline(always)]
    pub fn has_sockets(&self) -> bool {
        !self.tcp.is_empty()
    }

    /// How many links lead over sockets.
    #[inline]
    pub fn sockets(&self) -> usize {
        self.incoming.len() - self.shm.incoming().len()
    }

    /// Goes on with connections that are being made. A few system calls.
    pub fn poll_handshakes(&mut self) {
        self.wake_sleeper();
        let now_ns = self.now_ns();
        for tcp in &mut self.tcp {
            tcp.meet(now_ns);
        }
        self.note_links();
    }

    /// True if [`Rails::poll_handshakes`] probably has something to do.
    pub fn has_handshakes(&self) -> bool {
        self.tcp.iter().any(Tcp::has_handshakes)
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// True if there is this link over a socket.
    pub fn has_link(&self, link: LinkId) -> bool {
        self.tcp[link.rail() as usize - 1].link(link.peer()).is_some()
    }

    /// A link over a socket that can be used from now on.
    pub fn take_opened(&mut self) -> Option<LinkId> {
        self.tcp.iter_mut().find_map(Tcp::take_opened)
    }

    /// A peer that cannot be reached (any more) over a rail, and why. What had come can still be polled; then the link is to
    /// be disconnected.
    pub fn take_unreachable(&mut self) -> Option<(LinkId, String)> {
        self.tcp.iter_mut().zip(1..).find_map(|(tcp, rail)| {
            let lost = tcp.take_unreachable()?;
            Some((LinkId::new(rail, lost.peer), lost.to_string()))
        })
    }

    /// Whether everything that was sent has been taken by its receiver's library, where leaving could lose it. If not,
    /// [`Rails::has_settled`] tells of it.
    pub fn is_settled(&mut self) -> bool {
        let settled = !self.is_waiting();
        self.unsettled = !settled;
        settled
    }

    /// True if a thread waits for acknowledgements and all have come by now.
    pub fn has_settled(&mut self) -> bool {
        self.unsettled && self.is_settled()
    }

    /// Lets everything leave that peers may wait for, acknowledgements too, as before a sleep.
    pub fn leave(&mut self) {
        let now_ns = self.now_ns();
        for tcp in &mut self.tcp {
            tcp.set_time(now_ns);
            let _ = tcp.arm();
        }
    }

    /// Tells the peers on other hosts that this rank has finished.
    pub fn finish(&mut self) {
        self.tcp.iter_mut().for_each(Tcp::finish);
    }

    /// How long a sleep may last; for ever, unless an attempt to connect may time out.
    pub fn longest_sleep(&self) -> Option<Duration> {
        let are_watched = self.waker.watches() || self.watcher.is_some();
        let unwatched = (self.has_sockets() && !are_watched).then_some(UNWATCHED_SLEEP);
        self.tcp.iter().filter_map(Tcp::patience).chain(unwatched).min()
    }

    /// Wakes the thread that sleeps on the sockets, if one does: what it waits for may be gone from them.
    #[inline]
    fn wake_sleeper(&mut self) {
        if std::mem::take(&mut self.armed) {
            self.waker.wake();
        }
    }

    /// The thread that slept is awake, though its word may say otherwise after a nap: waking it would end its next sleep at once.
    pub fn has_slept(&mut self) {
        self.armed = false;
    }

    /// The rail of a link that is not in shared memory.
    #[inline]
    fn socket(&mut self, link: LinkId) -> &mut Tcp {
        self.wake_sleeper();
        &mut self.tcp[link.rail() as usize - 1]
    }

    /// Brings the list of links up to date. Whatever removes one does so at once.
    #[inline(always)]
    fn note_links(&mut self) {
        let links = self.tcp.iter().fold(self.shm.incoming().len(), |sum, tcp| sum + tcp.incoming().len());
        if links != self.incoming.len() {
            self.list_links();
        }
    }

    #[cold]
    fn list_links(&mut self) {
        self.incoming.clear();
        self.incoming.extend(self.shm.incoming());
        for tcp in &self.tcp {
            self.incoming.extend(tcp.incoming());
        }
        if !self.has_sockets() {
            self.ready.clone_from(&self.incoming);
        }
    }

    /// Lets every socket end the sleep that was announced; says whether all can.
    fn watch_sockets(&mut self) -> bool {
        if self.has_sockets() && !self.waker.watches() && self.watcher.is_none() {
            self.watcher = SocketWatcher::start(self.waker.clone(), &self.own_threads).ok();
        }
        let watch = |tcp: &Tcp| match &self.watcher {
            Some(watcher) => watcher.watch_once(tcp.descriptor()),
            None => self.waker.watch_once(tcp.descriptor(), Ready::IN),
        };
        self.tcp.iter().all(|tcp| watch(tcp).is_ok())
    }
}
