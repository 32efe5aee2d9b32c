//! The algorithm that all collectives of the job take that it can carry out.

use canele_collective::Algorithm;

/// The algorithm that all collectives of the job take that it can carry out: for measurements, by a variable that is no setting and that the
/// launcher hands to all ranks alike.
pub(crate) fn forced_algorithm() -> Option<Algorithm> {
    let name = std::env::var("FORCED_COLLECTIVE_ALGORITHM").ok()?;
    Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name)
}
