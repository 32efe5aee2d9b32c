//! Collectives of memory: each is started as one that does not block, and waited for.

use canele_collective::{Buffers, CollectiveBuffer, Operation, Reduction, Shape};
use canele_mem::buffer::Divided;
use pyo3::prelude::*;

use crate::buffer::Buffer;
use crate::context::Lent;
use crate::errors::{raise, raise_text};
use crate::flow::{Flow, root};
use crate::request::{Kind, Request};

/// How numbers are reduced. Results have the same bits on every rank and in every run with as many ranks.
#[pyclass(frozen, eq, eq_int, from_py_object, rename_all = "UPPERCASE", module = "canele")]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// Their sum; integers wrap around.
    Sum,
    /// The smaller; a number is taken before a NaN.
    Min,
    /// The larger; a number is taken before a NaN.
    Max,
    /// Their product; integers wrap around.
    Prod,
}

impl From<Op> for canele::Op {
    fn from(op: Op) -> Self {
        match op {
            Op::Sum => Self::Sum,
            Op::Min => Self::Min,
            Op::Max => Self::Max,
            Op::Prod => Self::Prod,
        }
    }
}

type Data<'a, 'py> = &'a Bound<'py, PyAny>;

impl Flow {
    /// Starts a collective in which a member gives `block` bytes to another one.
    pub fn start(
        &self,
        py: Python<'_>,
        operation: Operation,
        (block, element): (usize, usize),
        reduction: Option<Reduction>,
        (input, mut output): (Option<Buffer>, Option<Buffer>),
    ) -> PyResult<Request> {
        let shape = Shape { element, ..Shape::new(operation, block) };
        let buffers = Buffers {
            input: input
                .as_ref()
                .map_or(CollectiveBuffer::Nowhere, |buffer| CollectiveBuffer::At(buffer.raw())),
            output: output.as_mut().map_or(CollectiveBuffer::Nowhere, |buffer| {
                CollectiveBuffer::Own(Box::new(Divided::of(buffer.raw_mut())))
            }),
        };
        let (engine, flow) = self.flow.collectives_on_lane();
        let pending = engine.start_collective(flow, shape, reduction, buffers);
        let pending = pending.map_err(|error| raise(py, error))?;
        let lent = Lent::new(&self.flow, input.into_iter().chain(output));
        Ok(Request::under_way(&self.context, Kind::Collective, pending, lent))
    }

    fn parts(&self, block: usize) -> usize {
        block.saturating_mul(self.flow.size() as usize)
    }

    fn start_reduction(
        &self,
        py: Python<'_>,
        operation: Operation,
        data: Data<'_, '_>,
        result: Option<Data<'_, '_>>,
        op: Op,
    ) -> PyResult<Request> {
        let input = Buffer::of_numbers(data)?;
        let reduction = input.reduction(op.into())?;
        let output = result.map(Buffer::numbers_to_fill).transpose()?;
        if let Some(output) = &output {
            check(py, "bytes of the result of a reduction", output.len(), input.len())?;
            if output.number()? != input.number()? {
                let text = "the result of a reduction has numbers of another type than the data: give both the same type";
                return Err(raise_text(py, "LengthMismatch", text.to_owned()));
            }
        }
        let sizes = (input.len(), input.item_bytes());
        self.start(py, operation, sizes, Some(reduction), (Some(input), output))
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

fn check(py: Python<'_>, what: &'static str, given: usize, needed: usize) -> PyResult<()> {
    if given == needed { Ok(()) } else { Err(raise(py, canele::Error::Lengths { what, given, needed })) }
}

#[pymethods]
impl Flow {
    /// Starts a barrier: the request ends once all ranks have called it.
    fn ibarrier(&self, py: Python<'_>) -> PyResult<Request> {
        self.start(py, Operation::Barrier, (0, 1), None, (None, None))
    }

    /// Starts broadcast().
    fn ibroadcast(&self, py: Python<'_>, root: i64, data: Data<'_, '_>) -> PyResult<Request> {
        let root = self::root(root, &self.flow, py)?;
        let output = Buffer::to_fill(data).or_else(|error| {
            // The root's is only read.
            if root == self.flow.rank() { Buffer::of(data) } else { Err(error) }
        })?;
        self.start(py, Operation::Broadcast(root.into()), (output.len(), 1), None, (None, Some(output)))
    }

    /// Starts reduce().
    #[pyo3(signature = (root, data, result=None, op=Op::Sum))]
    fn ireduce(
        &self,
        py: Python<'_>,
        root: i64,
        data: Data<'_, '_>,
        result: Option<Data<'_, '_>>,
        op: Op,
    ) -> PyResult<Request> {
        let root = self::root(root, &self.flow, py)?;
        let result = at_root(py, root == self.flow.rank(), "the result", result)?;
        self.start_reduction(py, Operation::Reduce(root.into()), data, result, op)
    }

    /// Starts allreduce().
    #[pyo3(signature = (data, result, op=Op::Sum))]
    fn iallreduce(
        &self,
        py: Python<'_>,
        data: Data<'_, '_>,
        result: Data<'_, '_>,
        op: Op,
    ) -> PyResult<Request> {
        self.start_reduction(py, Operation::Allreduce, data, Some(result), op)
    }

    /// Starts gather().
    #[pyo3(signature = (root, data, all=None))]
    fn igather(
        &self,
        py: Python<'_>,
        root: i64,
        data: Data<'_, '_>,
        all: Option<Data<'_, '_>>,
    ) -> PyResult<Request> {
        let root = self::root(root, &self.flow, py)?;
        let (input, all) =
            (Buffer::of(data)?, at_root(py, root == self.flow.rank(), "what is gathered", all)?);
        let output = all.map(Buffer::to_fill).transpose()?;
        if let Some(output) = &output {
            check(py, "bytes to gather into", output.len(), self.parts(input.len()))?;
        }
        self.start(py, Operation::Gather(root.into()), (input.len(), 1), None, (Some(input), output))
    }

    /// Starts scatter().
    fn iscatter(
        &self,
        py: Python<'_>,
        root: i64,
        all: Option<Data<'_, '_>>,
        data: Data<'_, '_>,
    ) -> PyResult<Request> {
        let root = self::root(root, &self.flow, py)?;
        let (all, output) =
            (at_root(py, root == self.flow.rank(), "what is scattered", all)?, Buffer::to_fill(data)?);
        let input = all.map(Buffer::of).transpose()?;
        if let Some(input) = &input {
            check(py, "bytes to scatter", input.len(), self.parts(output.len()))?;
        }
        self.start(py, Operation::Scatter(root.into()), (output.len(), 1), None, (input, Some(output)))
    }

    /// Starts allgather().
    fn iallgather(&self, py: Python<'_>, data: Data<'_, '_>, all: Data<'_, '_>) -> PyResult<Request> {
        let (input, output) = (Buffer::of(data)?, Buffer::to_fill(all)?);
        check(py, "bytes to gather into", output.len(), self.parts(input.len()))?;
        self.start(py, Operation::Allgather, (input.len(), 1), None, (Some(input), Some(output)))
    }

    /// Starts alltoall().
    fn ialltoall(&self, py: Python<'_>, data: Data<'_, '_>, result: Data<'_, '_>) -> PyResult<Request> {
        let (input, output) = (Buffer::of(data)?, Buffer::to_fill(result)?);
        let part = input.len() / self.flow.size() as usize;
        check(py, "bytes to give to all ranks", input.len(), self.parts(part))?;
        check(py, "bytes to get from all ranks", output.len(), input.len())?;
        self.start(py, Operation::Alltoall, (part, 1), None, (Some(input), Some(output)))
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

    /// Reduces the numbers of all ranks, place by place, into `result` at rank `root`; elsewhere `result` is not used.
    ///
    /// `data` and `result` have the same type and length: integers of 1 to 8 bytes, float32 or float64.
    #[pyo3(signature = (root, data, result=None, op=Op::Sum))]
    fn reduce(
        &self,
        py: Python<'_>,
        root: i64,
        data: Data<'_, '_>,
        result: Option<Data<'_, '_>>,
        op: Op,
    ) -> PyResult<()> {
        self.ireduce(py, root, data, result, op)?.finish(py)
    }

    /// Reduces the numbers of all ranks, place by place, into `result` on all ranks.
    #[pyo3(signature = (data, result, op=Op::Sum))]
    fn allreduce(&self, py: Python<'_>, data: Data<'_, '_>, result: Data<'_, '_>, op: Op) -> PyResult<()> {
        self.iallreduce(py, data, result, op)?.finish(py)
    }

    /// Gathers the memory of all ranks, in the order of ranks, in `all` at rank `root`, which is size times as long; elsewhere `all` is
    /// not used.
    #[pyo3(signature = (root, data, all=None))]
    fn gather(
        &self,
        py: Python<'_>,
        root: i64,
        data: Data<'_, '_>,
        all: Option<Data<'_, '_>>,
    ) -> PyResult<()> {
        self.igather(py, root, data, all)?.finish(py)
    }

    /// Gives each rank its part of `all` at rank `root`, in the order of ranks; elsewhere `all` is not used and may be None.
    fn scatter(
        &self,
        py: Python<'_>,
        root: i64,
        all: Option<Data<'_, '_>>,
        data: Data<'_, '_>,
    ) -> PyResult<()> {
        self.iscatter(py, root, all, data)?.finish(py)
    }

    /// Gathers the memory of all ranks, in the order of ranks, in `all` on all ranks, which is size times as long.
    fn allgather(&self, py: Python<'_>, data: Data<'_, '_>, all: Data<'_, '_>) -> PyResult<()> {
        self.iallgather(py, data, all)?.finish(py)
    }

    /// Gives each rank its part of `data`, and gets a part from each rank in `result`, both in the order of ranks.
    fn alltoall(&self, py: Python<'_>, data: Data<'_, '_>, result: Data<'_, '_>) -> PyResult<()> {
        self.ialltoall(py, data, result)?.finish(py)
    }
}
