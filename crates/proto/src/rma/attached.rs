//! Memory that is attached to a dynamic exposure. Owns the list; adjacent parts are found as one.

use std::collections::{BTreeMap, VecDeque};

use canele_mem::exposed::Exposed;

/// The reason for which memory was not attached or detached.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AttachError {
    /// The exposure has ended, or has memory of its own.
    #[error("memory is attached to and detached from exposures that began without any, until they end")]
    NotDynamic,
    /// Other memory of the exposure overlaps.
    #[error("the memory overlaps memory that is attached")]
    Overlaps,
    /// No memory begins there.
    #[error("no attached memory begins at that address")]
    NotAttached,
}

/// The memory attached to a dynamic exposure, by its start.
#[derive(Default)]
pub(super) struct Attached {
    pub parts: BTreeMap<usize, Exposed>,
    /// Two and more parts without a gap between them, as one: an access may reach over their borders.
    runs: BTreeMap<usize, Exposed>,
}

impl Attached {
    /// Returns the memory of `len` bytes at an address and their offset, if all of them are attached.
    pub fn find(&self, address: usize, len: usize) -> Option<(&Exposed, usize)> {
        [&self.parts, &self.runs].into_iter().find_map(|list| {
            let (start, memory) = list.range(..=address).next_back()?;
            memory.window(address - start, len).map(|_| (memory, address - start))
        })
    }

    /// Attaches memory.
    pub fn attach(&mut self, memory: Exposed) -> Result<(), AttachError> {
        let (start, end) = (memory.address(), memory.address() + memory.len());
        let before = self.parts.range(..end.max(start + 1)).next_back();
        if before.is_some_and(|(other, behind)| *other == start || other + behind.len() > start) {
            return Err(AttachError::Overlaps);
        }
        self.parts.insert(start, memory);
        self.join(start);
        Ok(())
    }

    /// Detaches the memory that begins at an address.
    pub fn detach(&mut self, address: usize) -> Result<Exposed, AttachError> {
        let memory = self.parts.remove(&address).ok_or(AttachError::NotAttached)?;
        let run =
            self.runs.range(..=address).next_back().filter(|(start, run)| address - **start < run.len());
        if let Some(start) = run.map(|(start, _)| *start) {
            self.runs.remove(&start);
            self.join(start);
            self.join(address + memory.len());
        }
        Ok(memory)
    }

    /// Makes a run of the part that begins at `start` and the parts that touch it, if there are any.
    fn join(&mut self, start: usize) {
        let Some(part) = self.parts.get(&start) else { return };
        if part.is_empty() {
            return;
        }
        let (mut first, mut end) = (start, start + part.len());
        let mut run = VecDeque::from([part.clone()]);
        for (at, part) in self.parts.range(..start).rev() {
            if at + part.len() != first {
                break;
            }
            first = *at;
            run.push_front(part.clone());
        }
        for (at, part) in self.parts.range(end..) {
            if *at != end {
                break;
            }
            end += part.len();
            run.push_back(part.clone());
        }
        self.runs.retain(|at, _| *at < first || *at >= end);
        if run.len() > 1
            && let Some(joined) = Exposed::joined(run.make_contiguous())
        {
            self.runs.insert(first, joined);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_adjacent_is_one_memory_until_a_part_of_it_is_detached() {
        let all = Exposed::of(vec![0; 40]);
        let base = all.address();
        let mut attached = Attached::default();
        // From the middle to both sides, and one beside a gap.
        for at in [8, 0, 16, 32] {
            let part = all.part(at, if at == 16 { 4 } else { 8 }).expect("inside");
            attached.attach(part).expect("nothing overlaps");
        }
        assert_eq!(attached.attach(all.part(4, 8).expect("inside")), Err(AttachError::Overlaps));
        let find = |attached: &Attached, at, len| attached.find(base + at, len).map(|(_, at)| at);
        assert_eq!((find(&attached, 0, 20), find(&attached, 6, 12)), (Some(0), Some(6)));
        assert_eq!(
            (find(&attached, 9, 2), find(&attached, 16, 5)),
            (Some(1), None),
            "a part is found before a run"
        );
        assert_eq!((find(&attached, 0, 21), find(&attached, 31, 1)), (None, None));
        let middle = attached.detach(base + 8).expect("it is attached");
        assert!(!middle.is_lent());
        assert_eq!(
            (find(&attached, 0, 8), find(&attached, 0, 9), find(&attached, 16, 4)),
            (Some(0), None, Some(0))
        );
        attached.attach(middle).expect("it was detached");
        assert_eq!(find(&attached, 0, 20), Some(0));
    }
}
