//! New flows made of one: of the same ranks, of some of them, and grids.

use canele_collective::{Operation, Shape};
use pyo3::prelude::*;

use crate::errors::raise;
use crate::flow::Flow;
use crate::members::Members;
use crate::package::call;

/// What each rank tells all others in a split: its color, 1 if it has one, and its key.
type SplitChoice = [i64; 3];

#[pymethods]
impl Flow {
    /// A new flow of the same ranks. All ranks call it, in the same order among their collectives. With a `lane` it lies on the lane of that number:
    /// threads that use flows on different lanes do not wait for each other. Lanes are counted from 0, that of the world, and beyond those that
    /// a rank may have from the first again. Otherwise it lies where this one does.
    #[pyo3(signature = (lane = None))]
    fn duplicate(&self, py: Python<'_>, lane: Option<u32>) -> PyResult<Self> {
        let flow = self.new_flow(py, lane)?;
        self.members.take_over(py, &flow)?;
        Ok(Self::of_members(self.context.clone(), flow, self.members.clone()))
    }

    /// A new flow of the ranks that give the same `color`, numbered by their keys from 0 on, ranks with equal keys in their order here. All
    /// ranks call it. One that gives None is returned None.
    ///
    /// Its messages and collectives name ranks by these numbers; errors name those of the job, as `error.rank` does.
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

    /// A grid of this flow's ranks; see canele.Cart. All ranks call it. Those beyond the places of the grid are returned None.
    ///
    /// `dims` are the sizes of the dimensions, of which those that are 0 are chosen, or the number of dimensions; `periods` says of each
    /// dimension, or of all, whether it is closed to a ring. Raises ValueError if there are fewer ranks than places.
    #[pyo3(signature = (dims, periods=None))]
    fn cart<'py>(
        slf: &Bound<'py, Self>,
        dims: &Bound<'py, PyAny>,
        periods: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        call(slf.py(), "canele.cart", "create", (slf, dims, periods))
    }

    /// The flow of messages of the package's own collectives of objects.
    fn _of_objects(&self, py: Python<'_>) -> PyResult<Self> {
        let flow = self.of_objects(py)?.clone();
        Ok(Self::of_members(self.context.clone(), flow, self.members.clone()))
    }
}

impl Flow {
    /// A flow that all ranks of this one have agreed on, whose collectives are still those of all ranks of the job.
    fn new_flow(&self, py: Python<'_>, lane: Option<u32>) -> PyResult<canele::Flow> {
        let make = || match lane {
            Some(lane) => self.flow.duplicate_on_lane(lane),
            None => self.flow.duplicate(),
        };
        py.detach(make).map_err(|error| raise(py, error))
    }

    fn tell_all(&self, py: Python<'_>, mine: SplitChoice) -> PyResult<Vec<SplitChoice>> {
        let bytes: Vec<u8> = mine.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let mut all = vec![0; bytes.len() * self.ranks() as usize];
        let (engine, flow) = self.flow.collectives_on_lane();
        let shape = Shape::new(Operation::Allgather, bytes.len());
        py.detach(|| engine.collective(flow, shape, None, &bytes, &mut all))
            .map_err(|error| raise(py, error))?;
        let word = |bytes: &[u8]| i64::from_ne_bytes(bytes.try_into().unwrap_or_default());
        let told = |bytes: &[u8]| [word(&bytes[..8]), word(&bytes[8..16]), word(&bytes[16..])];
        Ok(all.chunks_exact(24).map(told).collect())
    }
}
