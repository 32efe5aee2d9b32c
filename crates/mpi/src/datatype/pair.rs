//! Pairs of a value and an index, for `MPI_MINLOC` and `MPI_MAXLOC` (MPI 5.0, §6.9.4).

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use super::Datatype;
use super::basic::{Basic, BasicKind};
use super::envelope::{Combiner, Envelope};
use super::map::Map;

/// Unnamed pairs already made: the same request returns the same datatype.
static UNNAMED: LazyLock<Mutex<UnnamedPairs>> = LazyLock::new(Mutex::default);

type UnnamedPairs = HashMap<(Basic, Basic), Arc<Datatype>>;

impl Datatype {
    /// Returns the predefined datatype of such a pair, named or not, if there is one
    /// (`MPI_Type_get_value_index`).
    pub fn value_index(value: &Arc<Self>, index: &Arc<Self>) -> Option<Arc<Self>> {
        let (of, at) = (value.as_basic()?, index.as_basic()?);
        let named = |basic: &&Basic| basic.kind() == BasicKind::Pair(of, at);
        if let Some(basic) = Basic::ALL.iter().find(named) {
            return Some(Self::basic(*basic).clone());
        }
        let is_value = matches!(of.kind(), BasicKind::Signed | BasicKind::Unsigned | BasicKind::Float(_));
        if !is_value || !matches!(at.kind(), BasicKind::Signed | BasicKind::Unsigned) {
            return None;
        }
        let mut unnamed = UNNAMED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pair) = unnamed.get(&(of, at)) {
            return Some(pair.clone());
        }
        let behind = Basic::index_at(of, at) as isize;
        let parts = [(&value.map, &*value.layout, 0, 1), (&index.map, &*index.layout, behind, 1)];
        let map = Map::sequence(parts.into_iter())?;
        let envelope = Envelope::new(Combiner::ValueIndex).datatype(value).datatype(index);
        let pair = Self::made(map, envelope).ok()?;
        pair.commit();
        unnamed.insert((of, at), pair.clone());
        Some(pair)
    }

    /// Returns value and index of a predefined pair. Packed, the index follows the value without a gap.
    pub fn pair(&self) -> Option<(Basic, Basic)> {
        match (self.combiner(), &self.envelope.datatypes[..]) {
            (Combiner::ValueIndex, [value, index]) => Some((value.as_basic()?, index.as_basic()?)),
            _ => match self.as_basic()?.kind() {
                BasicKind::Pair(value, index) => Some((value, index)),
                _ => None,
            },
        }
    }

    /// Returns the datatype's basic datatype, if it is predefined and not an unnamed pair.
    pub fn as_basic(&self) -> Option<Basic> {
        self.uniform()
            .filter(|_| self.is_predefined() && self.combiner() != Combiner::ValueIndex)
            .map(|(basic, _)| basic)
    }
}
