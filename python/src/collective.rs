//! Collectives of memory: each is started as one that does not block, and waited for.

use canele_collective::{Buffers, CollectiveBuffer, CollectiveSpec, Operation, Reduction, Shape};
use canele_mem::buffer::Divided;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::buffer::Buffer;
use crate::context::Lent;
use crate::errors::{raise, raise_text};
use crate::flow::Flow;
use crate::package::{ResultMemory, call};
use crate::request::{Kind, Request};

/// The module of parts of different lengths.
pub const VECTORS: &str = "canele._vectors";

/// An object that lends its memory.
pub type Data<'a, 'py> = &'a Bound<'py, PyAny>;

impl Flow {
    /// Starts a collective of memory.
    pub fn start<'s>(
        &self,
        py: Python<'_>,
        spec: impl Into<CollectiveSpec<'s>>,
        reduction: Option<Reduction>,
        (input, mut output): (Option<Buffer>, Option<Buffer>),
    ) -> PyResult<Request> {
        let buffers = Buffers {
            input: input
                .as_ref()
                .map_or(CollectiveBuffer::Nowhere, |buffer| CollectiveBuffer::At(buffer.raw())),
            output: output.as_mut().map_or(CollectiveBuffer::Nowhere, |buffer| {
                CollectiveBuffer::Own(Box::new(Divided::of(buffer.raw_mut())))
            }),
        };
        let (engine, flow) = self.flow.collectives_on_lane();
        let pending = engine.start_collective(flow, spec, reduction, buffers);
        let pending = pending.map_err(|error| raise(py, error))?;
        let lent = Lent::new(&self.flow, input.into_iter().chain(output));
        Ok(Request::under_way(&self.context, Kind::Collective, pending, lent))
    }

    fn parts(&self, block: usize) -> usize {
        block.saturating_mul(self.ranks() as usize)
    }
}

/// The memory of a call that only the root needs.
fn at_root<T>(py: Python<'_>, is_root: bool, what: &str, memory: Option<T>) -> PyResult<Option<T>> {
    match (is_root, memory) {
        (false, _) => Ok(None),
        (true, None) => {
            Err(raise_text(py, "LengthMismatch", format!("the root gives memory for {what}: there is none")))
        }
        (true, some) => Ok(some),
    }
}

/// Bytes of one rank's part of memory with equal parts for all.
pub fn block_of(py: Python<'_>, len: usize, ranks: u32) -> PyResult<usize> {
    let block = len / ranks as usize;
    check(py, "bytes of equal parts for all ranks", len, block * ranks as usize)?;
    Ok(block)
}

/// Refuses memory whose items have another type than those that come from other memory of this call.
pub fn check_types(py: Python<'_>, what: &str, one: &Buffer, whose: &str, other: &Buffer) -> PyResult<()> {
    let (items, others) = (one.items(), other.items());
    if items.fits(&others) {
        return Ok(());
    }
    let text = format!(
        "{what} has items of another type, {}, than {whose}, {}: give both the same type",
        items.name(),
        others.name()
    );
    Err(raise_text(py, "LengthMismatch", text))
}

/// Refuses memory of another length than a call needs.
pub fn check(py: Python<'_>, what: &'static str, given: usize, needed: usize) -> PyResult<()> {
    if given == needed { Ok(()) } else { Err(raise(py, canele::Error::Lengths { what, given, needed })) }
}

#[pymethods]
impl Flow {
    /// Starts a barrier: the request ends once all ranks have called it.
    fn ibarrier(&self, py: Python<'_>) -> PyResult<Request> {
        self.start(py, Shape::new(Operation::Barrier, 0), None, (None, None))
    }

    /// Starts broadcast().
    fn ibroadcast(&self, py: Python<'_>, root: i64, data: Data<'_, '_>) -> PyResult<Request> {
        let root = self.root(py, root)?;
        let output = Buffer::to_fill(data).or_else(|error| {
            // The root's is only read.
            if root == self.me() { Buffer::of(data) } else { Err(error) }
        })?;
        self.start(
            py,
            Shape::new(Operation::Broadcast(root.into()), output.len()),
            None,
            (None, Some(output)),
        )
    }

    /// Starts gather().
    #[pyo3(signature = (root, data, all=None))]
    fn igather<'py>(
        &self,
        py: Python<'py>,
        root: i64,
        data: &Bound<'py, PyAny>,
        all: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Request> {
        let root = self.root(py, root)?;
        match root == self.me() {
            true => self.start_gather(py, Operation::Gather(root.into()), data, all),
            false => {
                let input = Buffer::of(data)?;
                let shape = Shape::new(Operation::Gather(root.into()), input.len());
                self.start(py, shape, None, (Some(input), None))
            }
        }
    }

    /// Starts scatter() into memory that is given.
    fn iscatter(
        &self,
        py: Python<'_>,
        root: i64,
        all: Option<Data<'_, '_>>,
        data: Data<'_, '_>,
    ) -> PyResult<Request> {
        let root = self.root(py, root)?;
        let (all, output) =
            (at_root(py, root == self.me(), "what is scattered", all)?, Buffer::items_to_fill(data)?);
        let input = all.map(Buffer::of_items).transpose()?;
        if let Some(input) = &input {
            check(py, "bytes to scatter", input.len(), self.parts(output.len()))?;
            check_types(py, "the part of this rank", &output, "what is scattered", input)?;
        }
        self.start(py, Shape::new(Operation::Scatter(root.into()), output.len()), None, (input, Some(output)))
    }

    /// Starts allgather().
    #[pyo3(signature = (data, all=None))]
    fn iallgather<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
        all: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Request> {
        self.start_gather(py, Operation::Allgather, data, all)
    }

    /// Starts alltoall() of memory.
    #[pyo3(signature = (data, result=None))]
    fn ialltoall<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
        result: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Request> {
        let input = Buffer::of_items(data)?;
        let block = block_of(py, input.len(), self.ranks())?;
        let made = if result.is_none() { Some(ResultMemory::like(data)?) } else { None };
        let memory = made.as_ref().map(|made| &made.memory).or(result);
        let output = memory.map(Buffer::items_to_fill).transpose()?;
        if let Some(output) = &output {
            check(py, "bytes to get from all ranks", output.len(), input.len())?;
            check_types(py, "the result", output, "the data", &input)?;
        }
        let request = self.start(py, Shape::new(Operation::Alltoall, block), None, (Some(input), output))?;
        Ok(request.giving(made))
    }

    /// Returns once all ranks have called it.
    ///
    /// All ranks make the same calls of collectives on a flow in the same order, with the same lengths, roots and operations. Once a rank
    /// has died every collective raises PeerFailed, naming it.
    fn barrier(&self, py: Python<'_>) -> PyResult<()> {
        self.ibarrier(py)?.finish(py)
    }

    /// Gives all ranks the memory of rank `root`: its `data` is sent, that of the others filled. All have the same length.
    fn broadcast(&self, py: Python<'_>, root: i64, data: Data<'_, '_>) -> PyResult<()> {
        self.ibroadcast(py, root, data)?.finish(py)
    }

    /// Gathers the memory of all ranks, in the order of ranks, in `all` at rank `root`, which is size times as long; elsewhere `all` is
    /// not used. If the root gives no `all`, new memory of the type of `data` is returned there: arrays get a first dimension of size ranks.
    ///
    /// Raises LengthMismatch if `all` has another type or length.
    #[pyo3(signature = (root, data, all=None))]
    fn gather<'py>(
        &self,
        py: Python<'py>,
        root: i64,
        data: &Bound<'py, PyAny>,
        all: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        self.igather(py, root, data, all)?.complete(py)
    }

    /// Gives each rank its part of `all` at rank `root`, in the order of ranks; elsewhere `all` is not used and may be None.
    ///
    /// If `data` is None, on all ranks, the part is returned in new memory of the type of `all`, without the first dimension of an array.
    /// Raises LengthMismatch if `data` has another type than `all`, or not the length of a part.
    #[pyo3(signature = (root, all=None, data=None))]
    fn scatter<'py>(
        slf: &Bound<'py, Self>,
        root: i64,
        all: Option<&Bound<'py, PyAny>>,
        data: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        match data {
            Some(data) => slf.get().iscatter(slf.py(), root, all, data)?.complete(slf.py()),
            None => Ok(call(slf.py(), VECTORS, "scatter", (slf, root, all))?.unbind()),
        }
    }

    /// Gathers the memory of all ranks, in the order of ranks, in `all` on all ranks, which is size times as long; if there is none, in
    /// new memory of the type of `data`, which is returned: arrays get a first dimension of size ranks.
    ///
    /// Raises LengthMismatch if `all` has another type or length.
    #[pyo3(signature = (data, all=None))]
    fn allgather<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
        all: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        self.iallgather(py, data, all)?.complete(py)
    }

    /// Gives each rank its part of `data`, and gets a part from each rank in `result`, both in the order of ranks. Without `result` new memory is
    /// returned.
    ///
    /// A list or tuple of one object for each rank, as of arrays of different lengths, is exchanged as alltoall_objects() does. Raises
    /// LengthMismatch if `result` has another type or length than `data`, or that is no multiple of the number of ranks.
    #[pyo3(signature = (data, result=None))]
    fn alltoall<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
        result: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        if result.is_none() && (data.is_instance_of::<PyList>() || data.is_instance_of::<PyTuple>()) {
            return Ok(self.alltoall_objects(py, data.clone())?.into_any().unbind());
        }
        self.ialltoall(py, data, result)?.complete(py)
    }
}

impl Flow {
    /// Starts to gather the data of all ranks here.
    fn start_gather<'py>(
        &self,
        py: Python<'py>,
        operation: Operation,
        data: &Bound<'py, PyAny>,
        all: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Request> {
        let input = Buffer::of_items(data)?;
        let made = if all.is_none() { Some(ResultMemory::times(data, self.ranks())?) } else { None };
        let memory = made.as_ref().map(|made| &made.memory).or(all);
        let output = memory.map(Buffer::items_to_fill).transpose()?;
        if let Some(output) = &output {
            check(py, "bytes to gather into", output.len(), self.parts(input.len()))?;
            check_types(py, "what is gathered into", output, "the data", &input)?;
        }
        let request = self.start(py, Shape::new(operation, input.len()), None, (Some(input), output))?;
        Ok(request.giving(made))
    }
}
