//! New flows made from a flow: of the same ranks, of some of them, and grids.

use canele_collective::{Operation, Shape};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes};

use crate::buffer::Buffer;
use crate::errors::raise;
use crate::flow::Flow;
use crate::members::Members;
use crate::package::call;

/// The choice of a rank in a split: its color, 1 if it has one, and its key.
type SplitChoice = [i64; 3];

#[pymethods]
impl Flow {
    /// Makes a new flow of the same ranks. All ranks call duplicate(), in the same order among their collectives.
    ///
    /// With `lane` the flow lies on the lane of that number, otherwise on the lane of this flow. Threads that use flows on different lanes
    /// do not wait for each other. Lane 0 is that of the world. After a rank's last lane the count continues with lane 0.
    #[pyo3(signature = (lane = None))]
    fn duplicate(&self, py: Python<'_>, lane: Option<u32>) -> PyResult<Self> {
        let flow = self.new_flow(py, lane)?;
        self.members.take_over(py, &flow)?;
        Ok(Self::of_members(self.context.clone(), flow, self.members.clone()))
    }

    /// Makes a new flow of the ranks that give the same `color`. All ranks call split(). A rank that gives
    /// None as color gets None.
    ///
    /// The keys order the ranks of the new flow, which are numbered from 0. Ranks with equal keys keep their
    /// order. Messages and collectives of the new flow name ranks by these numbers. Errors name ranks by
    /// their numbers in the job, as `error.rank` does.
    #[pyo3(signature = (color, key=0))]
    fn split(&self, py: Python<'_>, color: Option<i64>, key: i64) -> PyResult<Option<Self>> {
        let mine: SplitChoice = [color.unwrap_or_default(), color.is_some().into(), key];
        let told = self.tell_all(py, mine)?;
        let flow = self.new_flow(py, None)?;
        if color.is_none() {
            return Ok(None);
        }
        let same = |told: &SplitChoice| told[..2] == mine[..2];
        let mut chosen: Vec<(i64, u32)> =
            (0..).zip(&told).filter(|(_, told)| same(told)).map(|(rank, told)| (told[2], rank)).collect();
        chosen.sort_unstable();
        let ranks = chosen.into_iter().map(|(_, rank)| self.members.rank(py, rank.into()));
        let members = Members::of(ranks.collect::<PyResult<Vec<_>>>()?.into());
        members.take_over(py, &flow)?;
        Ok(Some(Self::of_members(self.context.clone(), flow, members)))
    }

    /// Makes a grid of this flow's ranks, a canele.Cart. All ranks call cart(). A rank beyond the places of
    /// the grid gets None.
    ///
    /// `dims` has the size of each dimension, or is the number of dimensions. A size of 0 is chosen.
    /// `periods` is True for a dimension that is closed to a ring, given for each dimension or for all of
    /// them. Raises ValueError if there are fewer ranks than places.
    #[pyo3(signature = (dims, periods=None))]
    fn cart<'py>(
        slf: &Bound<'py, Self>,
        dims: &Bound<'py, PyAny>,
        periods: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        call(slf.py(), "canele.cart", "create", (slf, dims, periods))
    }

    /// Returns the flow of the messages of the package's own collectives of objects, and the tag of the next
    /// one.
    fn _of_objects(&self, py: Python<'_>) -> PyResult<(Self, u32)> {
        let (flow, tag) = self.next_object_call(py)?;
        Ok((Self::of_members(self.context.clone(), flow.clone(), self.members.clone()), tag.0))
    }
}

impl Flow {
    /// Makes a flow that all ranks of this flow agree on. Its collectives are at first those of all ranks of
    /// the job.
    fn new_flow(&self, py: Python<'_>, lane: Option<u32>) -> PyResult<canele::Flow> {
        let make = || match lane {
            Some(lane) => self.flow.duplicate_on_lane(lane),
            None => self.flow.duplicate(),
        };
        py.detach(make).map_err(|error| raise(py, error))
    }

    fn tell_all(&self, py: Python<'_>, mine: SplitChoice) -> PyResult<Vec<SplitChoice>> {
        let bytes: Vec<u8> = mine.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let shape = Shape::new(Operation::Allgather, bytes.len());
        // Memory of Python may be left to the collective if an interrupt ends the wait.
        let all = PyByteArray::new(py, &vec![0; bytes.len() * self.ranks() as usize]);
        let buffers = (Some(Buffer::of(&PyBytes::new(py, &bytes))?), Some(Buffer::to_fill(&all)?));
        self.start(py, shape, None, buffers)?.finish(py)?;
        let word = |bytes: &[u8]| i64::from_ne_bytes(bytes.try_into().unwrap_or_default());
        let told = |bytes: &[u8]| [word(&bytes[..8]), word(&bytes[8..16]), word(&bytes[16..])];
        Ok(all.to_vec().chunks_exact(24).map(told).collect())
    }
}
