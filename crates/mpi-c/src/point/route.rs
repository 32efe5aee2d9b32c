//! Routes: resolved arguments of point-to-point calls, for the short paths. Each thread caches its own.

use core::ffi::c_int;

use canele_engine::{DeferredSource, Engine, ShortAddress};
use canele_mpi::{Class, Tag};

use super::short::Attempt;
use crate::cache::Resolved;
use crate::cache::own::{self, own};
use crate::codes::keep;
use crate::constants::MPI_SUCCESS;
use crate::handle::{MPI_Comm, MPI_Datatype, ObjectHandle};
use crate::width::Count;

/// Longer messages use the general path, which may copy directly between both ends.
pub const MOST_BYTES: usize = 4096;

/// The resolved communicator, rank and datatype of a call.
pub struct Route {
    comm: MPI_Comm,
    datatype: MPI_Datatype,
    /// The lane of the communicator.
    pub engine: &'static Engine,
    rank: c_int,
    /// Size of an element in bytes; elements are contiguous.
    size: u32,
    /// The peer and the flow.
    pub address: ShortAddress,
    /// The peer and the flow for deferred receives.
    pub source: DeferredSource,
}

// Together with the count of its cache entry it fits into a cache line.
const _: () = assert!(size_of::<Route>() <= 56);

/// The communicator, the datatype and the rank on the communicator.
type RouteArguments = (MPI_Comm, MPI_Datatype, c_int);

impl Resolved for Route {
    type Arguments = RouteArguments;

    #[inline(always)]
    fn place((_, _, rank): RouteArguments) -> usize {
        rank as usize
    }

    #[inline(always)]
    fn is_of(&self, (comm, datatype, rank): RouteArguments) -> bool {
        self.comm == comm && self.rank == rank && self.datatype == datatype
    }

    /// Resolves the arguments, if communicator and rank exist, and the datatype is committed and has no gaps.
    fn resolve((comm, datatype, rank): RouteArguments) -> Option<Self> {
        // On a communicator that spreads messages, the route depends on the tag.
        comm.find().filter(|on| !on.is_spread())?;
        Self::at(0, (comm, datatype, rank))
    }
}

/// A route on a communicator that spreads messages, for the tags of one flow.
pub struct SpreadRoute {
    route: Route,
    place: usize,
}

impl Resolved for SpreadRoute {
    /// The index of the flow, and the arguments of a route.
    type Arguments = (usize, RouteArguments);

    #[inline(always)]
    fn place((place, (_, _, rank)): Self::Arguments) -> usize {
        place.wrapping_add(rank as usize)
    }

    #[inline(always)]
    fn is_of(&self, (place, arguments): Self::Arguments) -> bool {
        self.place == place && self.route.is_of(arguments)
    }

    fn resolve((place, arguments): Self::Arguments) -> Option<Self> {
        Some(Self { route: Route::at(place, arguments)?, place })
    }
}

impl Route {
    /// Makes the route over the flow with this index.
    fn at(place: usize, (comm, datatype, rank): RouteArguments) -> Option<Self> {
        let (on, of) = (comm.find()?, datatype.find()?);
        let to = *on.peers().members().get(rank as usize)?;
        on.check_revoked().ok()?;
        let fits = of.is_contiguous() && of.is_committed() && (1..=MOST_BYTES).contains(&of.size());
        if !fits {
            return None;
        }
        let (lane, flow) = on.flow_at(place)?;
        let (engine, size) = (&**lane, of.size() as u32);
        let peer = engine.peer_index(to).ok()?;
        let address = ShortAddress { peer, flow };
        // Handles of communicators fit into 32 bits.
        let source = DeferredSource::new(to, flow, comm.value() as u32);
        Some(Self { comm, datatype, engine, rank, size, address, source })
    }

    /// Wakes the peer, to which a message was sent while it slept; returns the function's result. As an
    /// `extern "C"` function it never unwinds, so its caller can jump to it.
    #[cold]
    #[inline(never)]
    pub extern "C" fn wake_peer(route: &'static Self) -> c_int {
        match route.engine.wake_peer(route.address.peer) {
            Ok(()) => MPI_SUCCESS,
            // This happens in a forked child, where nothing was sent.
            Err(error) => keep(Class::Other, error.to_string()),
        }
    }

    /// Returns the length of `count` elements in bytes, if it is at most `most`.
    #[inline(always)]
    pub fn bytes(&self, count: Count, most: usize) -> Option<usize> {
        // A negative count becomes a large number.
        let bytes = count.value.checked_mul(i64::from(self.size))? as usize;
        (bytes <= most).then_some(bytes)
    }

    /// Returns the outcome for a call whose message does not fit into a cell.
    #[inline(always)]
    pub fn longer(&'static self, count: Count) -> Attempt {
        self.bytes(count, MOST_BYTES).map_or(Attempt::Left, |bytes| Attempt::LeftOn(self, bytes))
    }

    /// Returns the number of elements in this many bytes.
    pub fn count(&self, bytes: usize) -> usize {
        bytes / self.size as usize
    }

    /// Returns the communicator.
    pub fn comm(&self) -> MPI_Comm {
        self.comm
    }

    /// Returns the datatype.
    pub fn datatype(&self) -> MPI_Datatype {
        self.datatype
    }

    /// Returns the rank on the communicator.
    pub fn rank(&self) -> c_int {
        self.rank
    }
}

/// Returns the route of these arguments, if this thread has cached it. It is valid until the thread caches
/// another one.
#[inline(always)]
pub fn known(comm: MPI_Comm, datatype: MPI_Datatype, rank: c_int) -> Option<&'static Route> {
    own().routes.known((comm, datatype, rank))
}

/// Returns the route of these arguments, also on a communicator that spreads messages, which the short paths
/// of exported functions do not support.
#[inline(always)]
pub fn known_with_tag(
    comm: MPI_Comm,
    datatype: MPI_Datatype,
    (rank, tag): (c_int, c_int),
) -> Option<&'static Route> {
    match known(comm, datatype, rank) {
        None => known_on_spread(comm, datatype, (rank, tag)),
        known => known,
    }
}

#[inline(never)]
fn known_on_spread(
    comm: MPI_Comm,
    datatype: MPI_Datatype,
    (rank, tag): (c_int, c_int),
) -> Option<&'static Route> {
    known_spread(place(comm, tag)?, (comm, datatype, rank))
}

/// Caches the route of a call that the short path of an exported function refused, if routes may be cached.
/// Returns the route if another short path may try the call, because it is new or the communicator spreads
/// messages.
#[inline(never)]
pub fn learn(comm: MPI_Comm, datatype: MPI_Datatype, (rank, tag): (c_int, c_int)) -> Option<&'static Route> {
    if known(comm, datatype, rank).is_some() {
        return None;
    }
    let arguments = (comm, datatype, rank);
    let Some(place) = place(comm, tag) else {
        return own::learn(|own| &own.routes, arguments).then(|| known(comm, datatype, rank))?;
    };
    known_spread(place, arguments).or_else(|| {
        own::learn(|own| &own.spread_routes, (place, arguments));
        known_spread(place, arguments)
    })
}

#[inline(always)]
fn known_spread(place: usize, arguments: RouteArguments) -> Option<&'static Route> {
    own().spread_routes.known((place, arguments)).map(|spread| &spread.route)
}

/// Returns the index of the flow for messages with a tag, on a communicator that spreads messages.
#[inline(always)]
fn place(comm: MPI_Comm, tag: c_int) -> Option<usize> {
    let on = comm.find().filter(|on| on.is_spread())?;
    Some(on.place_of(Tag(tag as u32)))
}
