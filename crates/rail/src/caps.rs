//! What rails can do, in numbers.

/// What a rail can do, in numbers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Caps {
    /// The driver's name.
    pub name: &'static str,
    /// One-way time of the smallest packet.
    pub latency_ns: u32,
    /// Bandwidth of large transfers.
    pub bytes_per_us: u32,
    /// Largest bulk of one packet, in bytes.
    pub max_bulk: usize,
    /// What a packet costs beside its bytes, in nanoseconds of a processor: where it is much, several messages are worth one
    /// packet.
    pub overhead_ns: u32,
    /// Bytes of bulk from which on a packet gains nothing by growing.
    pub best_packet: usize,
    /// Packets of a link arrive in the order in which they were committed.
    pub ordered: bool,
    /// A peer may have several links of this kind, or lose one and get another: messages carry their number within their
    /// flow, so that their order can be restored. The same at both ends.
    pub numbered: bool,
    /// [`crate::FastPath::lend`] copies nothing.
    pub lends: bool,
    /// Nothing is lost or doubled.
    pub reliable: bool,
    /// Memory registered as a region can be read and written by peers without their help.
    pub one_sided: bool,
}

/// How fast a link is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Speed {
    /// From a packet's leaving to its acknowledgement, when little else was under way.
    pub round_trip_ns: u32,
    /// Bytes that reach the peer in a microsecond.
    pub bytes_per_us: u32,
    /// Bytes that have left and are not acknowledged.
    pub under_way: usize,
}
