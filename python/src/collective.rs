//! Collectives of memory. A blocking collective starts the non-blocking one, and waits for it.

use canele_collective::{Buffers, CollectiveBuffer, CollectiveSpec, Operation, Reduction, Shape};
use canele_mem::buffer::Divided;
use pyo3::exceptions::PyValueError;
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
    /// Starts a collective of memory. Data and result must not overlap.
    pub fn start<'s>(
        &self,
        py: Python<'_>,
        spec: impl Into<CollectiveSpec<'s>>,
        reduction: Option<Reduction>,
        (input, mut output): (Option<Buffer>, Option<Buffer>),
    ) -> PyResult<Request> {
        if let (Some(input), Some(output)) = (&input, &output)
            && input.overlaps(output)
        {
            let text = "data and result lie in the same memory: give other memory for the result";
            return Err(PyValueError::new_err(text));
        }
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

/// Returns the memory of a call that only the root needs, and refuses a root without it.
fn at_root<T>(py: Python<'_>, is_root: bool, what: &str, memory: Option<T>) -> PyResult<Option<T>> {
    match (is_root, memory) {
        (false, _) => Ok(None),
        (true, None) => {
            Err(raise_text(py, "LengthMismatch", format!("the root gives memory for {what}: there is none")))
        }
        (true, some) => Ok(some),
    }
}

/// Returns the bytes of one rank's part of memory with equal parts for all ranks.
pub fn block_of(py: Python<'_>, len: usize, ranks: u32) -> PyResult<usize> {
    let block = len / ranks as usize;
    check(py, "bytes of equal parts for all ranks", len, block * ranks as usize)?;
    Ok(block)
}

/// Refuses memory whose items have another type than those of other memory of the call.
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

/// Refuses memory of another length than the call needs.
pub fn check(py: Python<'_>, what: &'static str, given: usize, needed: usize) -> PyResult<()> {
    if given == needed { Ok(()) } else { Err(raise(py, canele::Error::Lengths { what, given, needed })) }
}

#[pymethods]
impl Flow {
    /// Starts a barrier. Its request ends once all ranks have called ibarrier().
    fn ibarrier(&self, py: Python<'_>) -> PyResult<Request> {
        self.start(py, Shape::new(Operation::Barrier, 0), None, (None, None))
    }

    /// Starts broadcast().
    fn ibroadcast(&self, py: Python<'_>, root: i64, data: Data<'_, '_>) -> PyResult<Request> {
        let root = self.root(py, root)?;
        let output = Buffer::to_fill(data).or_else(|error| {
            // The memory of the root is only read.
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
                let input = Buffer::of_parts(data)?;
                let shape = Shape::new(Operation::Gather(root.into()), input.len());
                self.start(py, shape, None, (Some(input), None))
            }
        }
    }

    /// Starts scatter() into the memory `data`.
    fn iscatter(
        &self,
        py: Python<'_>,
        root: i64,
        all: Option<Data<'_, '_>>,
        data: Data<'_, '_>,
    ) -> PyResult<Request> {
        let root = self.root(py, root)?;
        let (all, output) =
            (at_root(py, root == self.me(), "what is scattered", all)?, Buffer::parts_to_fill(data)?);
        let input = all.map(Buffer::of_parts).transpose()?;
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
        let input = Buffer::of_parts(data)?;
        let block = block_of(py, input.len(), self.ranks())?;
        let made = if result.is_none() { Some(ResultMemory::like(data)?) } else { None };
        let memory = made.as_ref().map(|made| &made.memory).or(result);
        let output = memory.map(Buffer::parts_to_fill).transpose()?;
        if let Some(output) = &output {
            check(py, "bytes to get from all ranks", output.len(), input.len())?;
            check_types(py, "the result", output, "the data", &input)?;
        }
        let request = self.start(py, Shape::new(Operation::Alltoall, block), None, (Some(input), output))?;
        Ok(request.giving(made))
    }

    /// Waits until all ranks have called barrier().
    ///
    /// All ranks make the same calls of collectives on a flow in the same order, with the same lengths, roots and operations. Once a rank
    /// has died, every collective raises PeerFailed, which names the rank.
    ///
    /// Calls that take data and a result raise ValueError if both lie in the same memory. Reductions may put the result in the place of the
    /// data. Calls that cut arrays into parts raise BufferError unless the arrays lie in C's order.
    fn barrier(&self, py: Python<'_>) -> PyResult<()> {
        self.ibarrier(py)?.finish(py)
    }

    /// Sends the memory `data` of rank `root` to all ranks, which receive it in their `data`. The memory has the same length on all ranks.
    fn broadcast(&self, py: Python<'_>, root: i64, data: Data<'_, '_>) -> PyResult<()> {
        self.ibroadcast(py, root, data)?.finish(py)
    }

    /// Gathers the memory of all ranks in `all` at rank `root`, in the order of ranks. The length of `all` is
    /// that of `data` times the number of ranks. The other ranks' `all` is not used.
    ///
    /// If the root gives no `all`, the call returns new memory of the type of `data` there. An array gets a
    /// new first dimension, whose size is the number of ranks. Raises LengthMismatch if `all` has another
    /// type or length.
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

    /// Sends each rank its part of the root's `all`, in the order of ranks. The other ranks' `all` is not used and may be None.
    ///
    /// If all ranks give None as `data`, the part is returned in new memory of the type of `all`. A part of one row is returned without the
    /// first dimension of an array. Raises LengthMismatch if `data` has another type than `all`, or another length than the part.
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

    /// Gathers the memory of all ranks in `all` on every rank, in the order of ranks. The length of `all` is that of `data` times the
    /// number of ranks.
    ///
    /// Without `all` the call returns new memory of the type of `data`. An array gets a new first dimension, whose size is the number of
    /// ranks. Raises LengthMismatch if `all` has another type or length.
    #[pyo3(signature = (data, all=None))]
    fn allgather<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
        all: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        self.iallgather(py, data, all)?.complete(py)
    }

    /// Sends each rank its part of `data`, and receives a part from each rank in `result`. The parts are in the order of ranks. Without
    /// `result` the call returns new memory.
    ///
    /// `data` may also be a list or tuple with one object for each rank, such as arrays of different lengths. The call then does what
    /// alltoall_objects() does. Raises LengthMismatch if the type or length of `result` differs from that of `data`. Raises it, too, if the
    /// length is no multiple of the number of ranks.
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
    /// Starts to gather the data of all ranks in this rank's memory.
    fn start_gather<'py>(
        &self,
        py: Python<'py>,
        operation: Operation,
        data: &Bound<'py, PyAny>,
        all: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Request> {
        let input = Buffer::of_parts(data)?;
        let made = if all.is_none() { Some(ResultMemory::times(data, self.ranks())?) } else { None };
        let memory = made.as_ref().map(|made| &made.memory).or(all);
        let output = memory.map(Buffer::parts_to_fill).transpose()?;
        if let Some(output) = &output {
            check(py, "bytes to gather into", output.len(), self.parts(input.len()))?;
            check_types(py, "what is gathered into", output, "the data", &input)?;
        }
        let request = self.start(py, Shape::new(operation, input.len()), None, (Some(input), output))?;
        Ok(request.giving(made))
    }
}
