//! The shared-memory driver passes the suite, wakes ranks that sleep, and survives a peer that scribbles.

mod corrupt;
mod sleep;

use std::sync::Arc;

use canele_mem::buffer::Owned;
use canele_mem::chunk_counter::Generation;
use canele_rail::conformance::{Harness, RegionHarness};
use canele_rail::shm::Shm;
use canele_rail::shm::fetch::SingleCopy;
use canele_rail::{CopyingEnds, FastPath, Header, OneSided, PeerCopy, Rail};
use canele_rail::{Region, WantedRegion};
use canele_sys::atomic::{AtomicBool, Ordering};
use canele_sys::ids::{LinkId, Rank, RegionId};

/// All ranks in one process, introduced to each other as the launcher would. Their rings rewind if
/// `REWINDING`.
pub struct Of<const REWINDING: bool>(Vec<Option<Shm>>);

/// Ranks whose rings do not rewind.
type Local = Of<false>;

impl<const REWINDING: bool> Of<REWINDING> {
    /// Opens rails with sizes below the smallest; the driver rounds them up.
    fn open(ranks: usize) -> Self {
        let rails = (0..ranks as u32).map(|r| {
            let mut rail = Shm::open(Rank(r), 0..ranks as u32, 1, 1, usize::MAX).unwrap();
            if REWINDING {
                rail.share_processors();
            }
            Some(rail)
        });
        Self(rails.collect())
    }

    fn introduce(&mut self, to: usize, peer: usize) {
        let inbox = self.rail(peer).inbox_fd().try_clone_to_owned().unwrap();
        let event = self.rail(peer).event_fd().map(|event| event.try_clone_to_owned().unwrap());
        if !self.rail(to).is_introduced(Rank(peer as u32)) {
            self.rail(to).introduce(Rank(peer as u32), inbox, event).unwrap();
        }
    }
}

impl<const REWINDING: bool> Harness for Of<REWINDING> {
    type Rail = Shm;

    fn new(ranks: usize) -> Self {
        Self::open(ranks)
    }

    fn rail(&mut self, rank: usize) -> &mut Shm {
        self.0[rank].as_mut().expect("a rank that lives")
    }

    fn connect(&mut self, from: usize, to: usize) {
        self.introduce(from, to);
        self.introduce(to, from);
        self.rail(from).open_link(Rank(to as u32)).unwrap();
        self.rail(to).accept();
    }

    fn deliver(&mut self) {}

    fn kill(&mut self, rank: usize) {
        self.0[rank] = None;
    }
}

impl<const REWINDING: bool> RegionHarness for Of<REWINDING> {
    fn create_region(&mut self, rank: usize, bytes: usize) -> Arc<Region> {
        self.rail(rank).regions.create(bytes).unwrap()
    }

    fn drop_region(&mut self, rank: usize, id: RegionId) {
        self.rail(rank).regions.drop_own(id);
        for rail in self.0.iter_mut().flatten() {
            rail.regions.forget(Rank(rank as u32), Some(id));
        }
    }

    fn serve_regions(&mut self, rank: usize) {
        while let Some(WantedRegion { owner, id, .. }) = self.rail(rank).regions.take_wanted() {
            let region = self.rail(owner.0 as usize).regions.own(id);
            let memory = region.map(|region| region.fd().try_clone_to_owned().unwrap());
            self.rail(rank).regions.adopt(owner, id, memory.map(Ok));
        }
    }
}

canele_rail::conformance!(Local);

mod rewinding {
    canele_rail::conformance!(super::Of<true>);
}

/// Two rails connected both ways, taken out of the harness, and the link each has to the other.
fn connected() -> [(Shm, LinkId); 2] {
    connected_by([false; 2])
}

/// Connects two rails; `descriptors` says for each if it sleeps on descriptors.
fn connected_by(descriptors: [bool; 2]) -> [(Shm, LinkId); 2] {
    let mut local = Local::open(2);
    for rank in (0..2).filter(|rank| descriptors[*rank]) {
        local.rail(rank).sleep_on_descriptors().unwrap();
    }
    local.connect(0, 1);
    local.connect(1, 0);
    let mut rails = local.0.into_iter().flatten();
    [(rails.next().unwrap(), LinkId::new(0, Rank(1))), (rails.next().unwrap(), LinkId::new(0, Rank(0)))]
}

#[test]
fn a_peer_that_arrived_before_its_introduction_is_accepted_after_it() {
    let mut local = Local::open(3);
    local.introduce(0, 1);
    local.rail(0).open_link(Rank(1)).unwrap();
    local.rail(1).accept();
    assert!(canele_rail::Rail::incoming(local.rail(1)).is_empty());
    // Another rank arrives, so that the first arrival is not the last one.
    local.connect(2, 1);
    local.introduce(1, 0);
    local.rail(1).accept();
    assert_eq!(
        canele_rail::Rail::incoming(local.rail(1)),
        [LinkId::new(0, Rank(2)), LinkId::new(0, Rank(0))]
    );
}

#[test]
fn an_inbox_of_other_sizes_is_refused_naming_both() {
    let mut small = Shm::open(Rank(0), 0..2, 64, 16 << 10, usize::MAX).unwrap();
    let large = Shm::open(Rank(1), 0..2, 128, 16 << 10, usize::MAX).unwrap();
    let error = small.introduce(Rank(1), large.inbox_fd().try_clone_to_owned().unwrap(), None).unwrap_err();
    let error = error.to_string();
    assert!(error.contains("rank 1") && error.contains("128") && error.contains("64"), "{error}");
}

#[test]
fn what_is_no_event_is_refused_with_the_inbox_it_came_with() {
    let mut a = Shm::open(Rank(0), 0..2, 64, 16 << 10, usize::MAX).unwrap();
    let b = Shm::open(Rank(1), 0..2, 64, 16 << 10, usize::MAX).unwrap();
    let fd = || b.inbox_fd().try_clone_to_owned().unwrap();
    let error = a.introduce(Rank(1), fd(), Some(fd())).unwrap_err().to_string();
    assert!(error.contains("rank 1") && error.contains("no eventfd"), "{error}");
    assert!(!a.is_introduced(Rank(1)));
    a.introduce(Rank(1), fd(), None).unwrap();
}

/// A job with as many ranks on other hosts as possible: an inbox depends only on the ranks of its own host.
#[test]
fn an_inbox_is_as_large_as_its_host_makes_it() {
    let bytes = |here: std::ops::Range<u32>| {
        let rail = Shm::open(Rank(here.start), here, 256, 2 << 20, 16 << 20).unwrap();
        rustix::fs::fstat(rail.inbox_fd()).unwrap().st_size
    };
    let alone = bytes(0..64);
    assert!((0..16).all(|host| bytes(64 * host..64 * (host + 1)) == alone));
    assert!(alone > bytes(0..2), "sizes depend on the ranks of the host");
    let far = LinkId::MOST_RANKS;
    assert_eq!(bytes(far - 64..far), alone);
}

/// Ranks that are dealt to hosts in turn.
#[test]
fn ranks_of_a_host_need_not_follow_each_other() {
    let open = |rank| Shm::open(Rank(rank), [1, 4, 9], 64, 16 << 10, usize::MAX).unwrap();
    let mut rails = [1, 4, 9].map(open);
    let inboxes = rails.each_ref().map(|rail| rail.inbox_fd().try_clone_to_owned().unwrap());
    let pairs = [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)];
    for (at, of) in pairs {
        let rank = Rank([1, 4, 9][of]);
        rails[at].introduce(rank, inboxes[of].try_clone().unwrap(), None).unwrap();
        rails[at].open_link(rank).unwrap();
    }
    for (at, others) in [[4, 9], [1, 9], [1, 4]].into_iter().enumerate() {
        rails[at].accept();
        let links = others.map(|rank| LinkId::new(0, Rank(rank)));
        assert_eq!(canele_rail::Rail::incoming(&rails[at]), links);
        assert_eq!(rails[at].outgoing(), links);
        for elsewhere in [0, 2, 3, 8] {
            assert!(rails[at].introduce(Rank(elsewhere), inboxes[at].try_clone().unwrap(), None).is_err());
        }
    }
}

#[test]
fn ranks_of_a_later_host_are_linked_and_those_of_other_hosts_refused() {
    let open = |rank| Shm::open(Rank(rank), 1_000_000..1_000_003, 64, 16 << 10, usize::MAX).unwrap();
    let (mut a, mut b) = (open(1_000_000), open(1_000_002));
    let inbox = |rail: &Shm| rail.inbox_fd().try_clone_to_owned().unwrap();
    a.introduce(Rank(1_000_002), inbox(&b), None).unwrap();
    b.introduce(Rank(1_000_000), inbox(&a), None).unwrap();
    let link = a.open_link(Rank(1_000_002)).unwrap();
    b.accept();
    assert_eq!(canele_rail::Rail::incoming(&b), [LinkId::new(0, Rank(1_000_000))]);
    assert_eq!(a.outgoing(), [link]);
    for far in [0, 2, 999_999, 1_000_003, LinkId::MOST_RANKS - 1] {
        assert!(a.introduce(Rank(far), inbox(&b), None).is_err(), "rank {far}");
        assert!(!a.is_introduced(Rank(far)) && canele_rail::Rail::link(&a, Rank(far)).is_none());
    }
    canele_rail::Rail::disconnect(&mut a, link);
    assert!(a.outgoing().is_empty() && canele_rail::Rail::link(&a, link.peer()).is_none());
}

/// Two ranks, of which the second sends to the first and both may read each other's memory.
fn copying(how: [SingleCopy; 2]) -> Local {
    let mut local = Local::open(2);
    (0..2).for_each(|rank| local.rail(rank).copy_once(how[rank]));
    local.connect(1, 0);
    local
}

/// Makes rank 0 read a message of 64 KB at `address`. Returns true if it could.
fn fetch(local: &mut Local, address: u64, into: &mut Owned<u8>) -> bool {
    let mut buffer = into.lend_in();
    let share = buffer.share(0, buffer.len());
    let read = PeerCopy::copy_from_peer(
        local.rail(0),
        LinkId::in_memory(Rank(1)),
        &[(address, share.len())],
        64 << 10,
        share,
    );
    into.take_back_in(buffer);
    read
}

/// Makes rank 0 write a message of rank 1 to `address`. Returns true if it could.
fn store(local: &mut Local, address: u64, from: &mut Owned<u8>) -> bool {
    let mut buffer = from.lend_out();
    let share = buffer.share(0, buffer.len());
    let written = local.rail(0).copy_to_peer(LinkId::in_memory(Rank(1)), &[(address, share.len())], share);
    from.take_back_out(buffer);
    written
}

#[test]
fn a_message_is_copied_from_process_to_process_if_both_may_and_it_is_long() {
    use SingleCopy::{Always, Auto, Both, Never};
    let to = LinkId::in_memory(Rank(0));
    let auto = |both_from| Auto { both_from };
    for (how, ends) in [
        ([Always, Always], Some(CopyingEnds::Receiver)),
        ([Both, Both], Some(CopyingEnds::Both)),
        ([Always, Both], Some(CopyingEnds::Both)),
        ([auto(20_000), auto(20_000)], Some(CopyingEnds::Both)),
        ([auto(usize::MAX), auto(usize::MAX)], None),
        ([Never, Both], None),
        ([Both, Never], None),
    ] {
        let message = vec![7u8; 64 << 10];
        let mut local = copying(how);
        local.connect(0, 1);
        assert_eq!(local.rail(1).prefers_peer_copy(to, message.len()), ends, "{how:?}");
        let is_by_both = ends == Some(CopyingEnds::Both);
        assert_eq!(local.rail(1).prefers_both_ends(to, message.len()), is_by_both, "{how:?}");
        assert_eq!(local.rail(1).prefers_peer_copy(to, 1000), None);
        assert!(!local.rail(1).prefers_both_ends(to, 1000));
        let may = !how.contains(&Never);
        let mut into = Owned::new(vec![0u8; message.len()]);
        assert_eq!(fetch(&mut local, message.as_ptr() as u64, &mut into), may);
        assert_eq!(into.bytes() == message, may);
        assert!(!fetch(&mut local, 64, &mut into), "there is no memory");
        let (mut from, mut there) = (Owned::new(vec![8u8; message.len()]), vec![0u8; message.len()]);
        let link = LinkId::in_memory(Rank(1));
        assert_eq!(local.rail(0).can_copy_to_peer(link), may, "{how:?}");
        assert_eq!(store(&mut local, there.as_mut_ptr() as u64, &mut from), may);
        assert_eq!(std::hint::black_box(&there) == from.bytes(), may);
        assert!(!store(&mut local, 64, &mut from), "there is no memory");
        assert!(!local.rail(0).can_copy_to_peer(link), "what was refused is not tried again");
    }
}

#[test]
fn a_closed_link_lets_the_peer_take_no_piece_and_waits_for_the_one_in_its_hand() {
    let mut local = copying([SingleCopy::Both, SingleCopy::Both]);
    let (to, from) = (LinkId::in_memory(Rank(0)), LinkId::in_memory(Rank(1)));
    let generation = Generation(1);
    local.rail(0).chunk_counter(from, true, 3).expect("a chunk counter").start(generation);
    let counter = local.rail(1).chunk_counter(to, false, 3).expect("a chunk counter");
    assert_eq!(counter.take_back(generation, 4), Some(3));
    let has_finished = &AtomicBool::new(false);
    let sender = local.0[1].take().expect("it is open");
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut sender = sender;
            let counter = sender.chunk_counter(to, false, 3).expect("a chunk counter");
            // It takes pieces until the other end stops it.
            while counter.take_back(generation, 4).is_some() {
                counter.finish_piece();
            }
            has_finished.store(true, Ordering::SeqCst);
            counter.finish_piece();
        });
        local.rail(0).disconnect(from);
        assert!(has_finished.load(Ordering::SeqCst), "the peer still writes");
    });
}

#[test]
fn a_link_is_idle_until_a_packet_has_come_and_after_the_last() {
    let [(mut a, to_b), (mut b, from_a)] = connected();
    let header = Header { kind: 1, ..Header::default() };
    for lap in 0..3000 {
        assert!(b.is_idle(from_a), "lap {lap}");
        a.post(to_b, header, &[7]).expect("there is room");
        assert!(!b.is_idle(from_a), "lap {lap}");
        assert!(b.poll(from_a).expect("an honest peer").is_some());
        b.release(from_a);
    }
}

#[test]
fn memory_is_shared_with_the_ranks_of_the_host_alone() {
    let mut rail = Shm::open(Rank(5), [2, 5, 9], 1, 1, usize::MAX).unwrap();
    rail.add_rank(Rank(12));
    let shared: Vec<u32> = (0..20).filter(|rank| rail.memory_link(Rank(*rank)).is_some()).collect();
    assert_eq!(shared, [2, 5, 9, 12]);
}
