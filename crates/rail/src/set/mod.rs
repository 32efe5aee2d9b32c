//! The opened rails of a rank as one rail: shared memory to ranks of its host, and networks to ranks of other
//! hosts.
//!
//! Owns the rails and the list of all links on which packets may arrive. The number in a link names its rail:
//! 0 is shared memory, which is polled first, and k is the k-th network. Never chooses among the links to a
//! peer: the protocols do.
//!
//! - `host`: the control path to ranks of this host, whose memory comes and goes through the launcher.
//! - `connections`: the control path to ranks of other hosts, over all networks ([`crate::Network`]).
//! - `rail`: packets; each call goes to the rail of its link.
//! - `sleep`: the sleep of a rank on all rails at once.

mod connections;
mod descriptor_watcher;
mod host;
mod rail;
mod sleep;

use std::sync::Arc;
use std::time::Instant;

use canele_profile::HostProfile;
use canele_sys::atomic::AtomicUsize;
use canele_sys::ids::{LinkId, Rank};
use canele_sys::port_range::PortRange;
use canele_sys::tunables::Tunables;

use crate::shm::fetch::{SingleCopy, both_ends_from};
use crate::shm::{Shm, Waker};
use crate::tcp::Tcp;
use crate::{Network, OpenError, Rail, Regions};
use descriptor_watcher::DescriptorWatcher;

/// The number of the rail to ranks of this host.
const HOST: u8 = 0;

/// The rails of a rank.
pub struct Set<N = Tcp> {
    shm: Shm,
    networks: Vec<N>,
    /// The TCP ports that networks listen on.
    listen_ports: PortRange,
    waker: Waker,
    /// Watches the descriptors of a rank that has got networks after its inbox was handed out.
    watcher: Option<DescriptorWatcher>,
    own_threads: Arc<AtomicUsize>,
    /// The links of all rails.
    incoming: Vec<LinkId>,
    /// The links on which packets may have arrived; all links if there is no network.
    ready: Vec<LinkId>,
    /// True while a thread waits for acknowledgements.
    unsettled: bool,
    /// True while a thread may sleep on the descriptors.
    armed: bool,
    /// The start of the networks' clock.
    since: Instant,
}

impl<N: Network> Set<N> {
    /// Opens the rails of the rank `me` on a host with the ranks `here`, in their order, at the start of the
    /// job. `oversubscribed` is true if the ranks share processors. `alone` is true if no rank of another
    /// host, nor of another job over a network, is reachable.
    ///
    /// # Errors
    /// There is no memory for an inbox, or no event to sleep on.
    pub fn open(
        me: Rank,
        here: impl IntoIterator<Item = u32>,
        (oversubscribed, alone): (bool, bool),
        (tunables, host): (&Tunables, &HostProfile),
    ) -> Result<Self, OpenError> {
        let here: Vec<u32> = here.into_iter().collect();
        let pairs = here.len() / 2;
        let (cells, budget) = (tunables.ring_cells, tunables.inbox_bytes);
        let mut shm = Shm::open(me, here, cells, tunables.payload_ring_bytes, budget)?;
        if oversubscribed {
            shm.share_processors();
        } else if !host.shares_caches() {
            shm.demote_lines();
        }
        let single_copy = match tunables.single_copy {
            "always" => SingleCopy::Always,
            "never" => SingleCopy::Never,
            "both" => SingleCopy::Both,
            // The two ends of a copy take turns if ranks share processors.
            _ if oversubscribed || pairs == 0 => SingleCopy::Auto { both_from: usize::MAX },
            _ => SingleCopy::Auto { both_from: both_ends_from(host, pairs) },
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
            networks: Vec::new(),
            listen_ports: tunables.ports,
            incoming: Vec::new(),
            ready: Vec::new(),
            unsettled: false,
            armed: false,
            since: Instant::now(),
        })
    }

    /// Raises the number of ranks of the job to `ranks`; the new ranks on this host are `here`.
    pub fn add_ranks(&mut self, ranks: u32, here: impl Iterator<Item = Rank>) {
        here.for_each(|rank| self.shm.add_rank(rank));
        self.networks.iter_mut().for_each(|network| network.add_ranks(ranks));
    }

    /// Accepts the senders of this host that have arrived. Costs a few loads if there are none.
    #[inline(always)]
    pub fn accept(&mut self) {
        self.shm.accept();
        self.note_links();
    }

    /// Returns the memory that ranks of this host share.
    #[inline(always)]
    pub fn regions(&self) -> &Regions {
        &self.shm.regions
    }

    /// Returns the memory that ranks of this host share, for changes.
    #[inline(always)]
    pub fn regions_mut(&mut self) -> &mut Regions {
        &mut self.shm.regions
    }

    /// Returns the counter of the threads of this process that belong to the library.
    pub fn own_threads(&self) -> &Arc<AtomicUsize> {
        &self.own_threads
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Returns the network of a link that is not in shared memory.
    #[inline]
    fn network(&mut self, link: LinkId) -> &mut N {
        self.wake_sleeper();
        &mut self.networks[link.rail() as usize - 1]
    }

    /// Updates the list of links after links were added. Code that removes a link updates the list at once.
    #[inline(always)]
    fn note_links(&mut self) {
        let of_networks = self.networks.iter().fold(0, |sum, network| sum + network.incoming().len());
        if self.shm.incoming().len() + of_networks != self.incoming.len() {
            self.list_links();
        }
    }

    #[cold]
    fn list_links(&mut self) {
        self.incoming.clear();
        self.incoming.extend(self.shm.incoming());
        for network in &self.networks {
            self.incoming.extend(network.incoming());
        }
        if !self.has_networks() {
            self.ready.clone_from(&self.incoming);
        }
    }
}
