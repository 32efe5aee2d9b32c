//! Resources that a program has not freed when it finalises: operations under way are always reported, other
//! handles on request.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::Write;

use canele_engine::{Engine, Pending, PointToPoint, Tag, Want};
use canele_mpi::{Result, World};

use crate::library;
use crate::point::{LARGEST_TAG, wait};
use crate::requests::{add_all_deferred, all_requests};
use crate::table::{HANDLES, ObjectKind};

/// Largest number of different operations in one message.
const MOST_KINDS: usize = 4;

/// The name of an operation and its peer, as in `receive`, ` from rank 1 with tag 7`.
type Kind = (&'static str, String);

/// Operations under way, in the order of the table.
pub struct UnderWay(Vec<(Option<Pending>, Kind)>);

impl UnderWay {
    /// Returns the operations that are under way now. It is called before the end, since operations cannot be
    /// described after a peer has finished.
    ///
    /// # Errors
    /// Fails in a forked child.
    pub fn now(world: &World) -> Result<Self> {
        let all = under_way()?;
        let described = |pending| Ok((pending, kind(world.engine(), pending)?));
        all.into_iter().map(described).collect::<Result<_>>().map(Self)
    }

    /// Returns the operations that are under way now, with the descriptions in this list.
    fn still(self) -> Result<Vec<Kind>> {
        let now = under_way()?;
        let mut before = self.0.as_slice();
        let kind = |pending| match before.iter().position(|(known, _)| *known == pending) {
            Some(at) => {
                let kind = before[at].1.clone();
                before = &before[at + 1..];
                kind
            }
            // The next step of an operation with several steps.
            None => OTHER,
        };
        Ok(now.into_iter().map(kind).collect())
    }
}

/// Reports unfinished operations to the launcher, which prints them once for all ranks. Reports other handles
/// on standard error.
///
/// # Errors
/// Fails in a forked child.
pub fn tell(world: &World, before: UnderWay) -> Result<()> {
    wait::sweep_all()?;
    let engine = world.engine();
    let still = before.still()?;
    if !still.is_empty() {
        let (operations, what) = (still.len() as u32, listed(still));
        if !engine.tell_given_up(operations, &what)? {
            say(&format!("MPI_Finalize: still under way and given up, wait for the requests first: {what}"));
        }
    }
    if library::PROCESS.tunables().is_ok_and(|tunables| tunables.mpi_leaks) {
        for (kind, count) in counts()? {
            say(&format!("MPI_Finalize: {count} {kind} not freed"));
        }
    }
    Ok(())
}

/// Writes a line with this rank's name to standard error.
pub fn say(text: &str) {
    let who =
        library::world().map_or("canele".to_owned(), |world| format!("canele: {}", world.engine().rank()));
    // A failed write, as to a closed stream, has no reader.
    let _ = writeln!(std::io::stderr(), "{who}: {text}");
}

/// Returns a list like `2 receives from rank 1 with tag 7, 1 send to rank 3 with tag 0`. Equal operations are
/// counted, and the most frequent come first.
fn listed(operations: Vec<Kind>) -> String {
    let mut kinds: BTreeMap<Kind, usize> = BTreeMap::new();
    operations.into_iter().for_each(|kind| *kinds.entry(kind).or_default() += 1);
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by_key(|&(_, count)| Reverse(count));
    let others: usize = kinds.iter().skip(MOST_KINDS).map(|(_, count)| count).sum();
    let kinds = kinds.into_iter().take(MOST_KINDS).map(|((name, rest), count)| {
        let plural = if count == 1 { "" } else { "s" };
        format!("{count} {name}{plural}{rest}")
    });
    kinds.chain((others > 0).then(|| format!("{others} others"))).collect::<Vec<_>>().join(", ")
}

/// An operation that the engine does not know.
const OTHER: Kind = ("other operation", String::new());

fn kind(engine: &Engine, pending: Option<Pending>) -> Result<Kind> {
    let Some(pending) = pending else { return Ok(OTHER) };
    let tagged = |tag: Option<Tag>| match tag {
        None => " with any tag".to_owned(),
        Some(Tag(tag)) if tag <= LARGEST_TAG as u32 => format!(" with tag {tag}"),
        // An operation of the library itself.
        Some(_) => String::new(),
    };
    Ok(match engine.describe(pending)? {
        _ if pending.is_collective() => ("collective operation", String::new()),
        Some(PointToPoint::Send { to, tag }) => ("send", format!(" to {to}{}", tagged(Some(tag)))),
        Some(PointToPoint::Receive(Want { source, tag })) => {
            let source = source.map_or("any rank".to_owned(), |source| source.to_string());
            ("receive", format!(" from {source}{}", tagged(tag)))
        }
        None => OTHER,
    })
}

/// Returns the operations under way on all lanes.
fn under_way() -> Result<Vec<Option<Pending>>> {
    add_all_deferred(library::engine()?)?;
    let all = all_requests().map(|table| Ok(table?.under_way())).collect::<Result<Vec<_>>>()?;
    Ok(all.concat())
}

/// Returns the number of handles of each kind that has any.
fn counts() -> Result<Vec<(&'static str, usize)>> {
    let requests = all_requests().try_fold(0, |sum, table| table.map(|table| sum + table.used()))?;
    let objects = ObjectKind::ALL.iter().map(|(kind, plural)| (*plural, HANDLES.used(*kind)));
    let all = objects.chain([("requests", requests)]);
    Ok(all.filter(|(_, count)| *count > 0).collect())
}
