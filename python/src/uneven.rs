//! Collectives in which the parts of ranks have different lengths. Counts are numbers of items of the
//! memory's type.

use canele_collective::{Block, CollectiveSpec, Uneven};
use pyo3::prelude::*;

use crate::buffer::Buffer;
use crate::collective::{Data, VECTORS, check, check_types};
use crate::errors::raise_text;
use crate::flow::Flow;
use crate::package::call;
use crate::request::Request;

/// A neighbour's rank, and the offset and bytes of its part.
type NeighbourPart = (i64, usize, usize);

/// Consecutive parts of memory.
struct Parts(Vec<Block>);

impl Parts {
    /// Returns the parts of the counted items; together they fill the memory.
    fn of(py: Python<'_>, (flow, counts): (&Flow, &[usize]), memory: &Buffer) -> PyResult<Self> {
        check(py, "counts of items, one for each rank", counts.len(), flow.ranks() as usize)?;
        let mut at = 0_usize;
        let mut blocks = Vec::with_capacity(counts.len());
        for count in counts {
            let len = count.saturating_mul(memory.item_bytes());
            blocks.push(Block { at, len });
            at = at.saturating_add(len);
        }
        check(py, "bytes of memory for all counts", memory.len(), at)?;
        Ok(Self(blocks))
    }
}

impl Flow {
    fn start_uneven(
        &self,
        py: Python<'_>,
        uneven: Uneven<'_>,
        memory: (Option<Buffer>, Option<Buffer>),
    ) -> PyResult<Request> {
        self.start(py, CollectiveSpec::Uneven(uneven), None, memory)
    }

    /// Checks that this rank's data has the length of its part.
    fn check_own(&self, py: Python<'_>, parts: &Parts, own: &Buffer) -> PyResult<()> {
        check(py, "bytes of the part of this rank", own.len(), parts.0[self.me().0 as usize].len)
    }
}

#[pymethods]
impl Flow {
    /// Starts gatherv(). The root gives `all` and `counts`; the other ranks give neither.
    #[pyo3(signature = (root, data, all=None, counts=None))]
    fn igatherv(
        &self,
        py: Python<'_>,
        root: i64,
        data: Data<'_, '_>,
        all: Option<Data<'_, '_>>,
        counts: Option<Vec<usize>>,
    ) -> PyResult<Request> {
        let (root, input) = (self.root(py, root)?, Buffer::of_parts(data)?);
        let mine = Some(Block { at: 0, len: input.len() });
        if root != self.me() {
            return self.start_uneven(
                py,
                Uneven::Gather { root: root.into(), mine, all: &[] },
                (Some(input), None),
            );
        }
        let (all, counts) = both(py, "igatherv", all, counts)?;
        let output = Buffer::parts_to_fill(all)?;
        let parts = Parts::of(py, (self, &counts), &output)?;
        self.check_own(py, &parts, &input)?;
        check_types(py, "what is gathered into", &output, "the data", &input)?;
        let uneven = Uneven::Gather { root: root.into(), mine, all: &parts.0 };
        self.start_uneven(py, uneven, (Some(input), Some(output)))
    }

    /// Starts scatterv(). The root gives `all` and `counts`; the other ranks give None.
    fn iscatterv(
        &self,
        py: Python<'_>,
        root: i64,
        all: Option<Data<'_, '_>>,
        counts: Option<Vec<usize>>,
        data: Data<'_, '_>,
    ) -> PyResult<Request> {
        let (root, output) = (self.root(py, root)?, Buffer::parts_to_fill(data)?);
        let mine = Some(Block { at: 0, len: output.len() });
        if root != self.me() {
            return self.start_uneven(
                py,
                Uneven::Scatter { root: root.into(), mine, all: &[] },
                (None, Some(output)),
            );
        }
        let (all, counts) = both(py, "iscatterv", all, counts)?;
        let input = Buffer::of_parts(all)?;
        let parts = Parts::of(py, (self, &counts), &input)?;
        self.check_own(py, &parts, &output)?;
        check_types(py, "the part of this rank", &output, "what is scattered", &input)?;
        let uneven = Uneven::Scatter { root: root.into(), mine, all: &parts.0 };
        self.start_uneven(py, uneven, (Some(input), Some(output)))
    }

    /// Starts allgatherv(). `counts` has the number of items of each rank, and all ranks give it.
    fn iallgatherv(
        &self,
        py: Python<'_>,
        data: Data<'_, '_>,
        all: Data<'_, '_>,
        counts: Vec<usize>,
    ) -> PyResult<Request> {
        let (input, output) = (Buffer::of_parts(data)?, Buffer::parts_to_fill(all)?);
        let parts = Parts::of(py, (self, &counts), &output)?;
        self.check_own(py, &parts, &input)?;
        check_types(py, "what is gathered into", &output, "the data", &input)?;
        let mine = Some(Block { at: 0, len: input.len() });
        self.start_uneven(py, Uneven::Allgather { mine, all: &parts.0 }, (Some(input), Some(output)))
    }

    /// Starts alltoallv(). `counts` has the number of items for each rank, and `result_counts` the number of items from each rank.
    fn ialltoallv(
        &self,
        py: Python<'_>,
        data: Data<'_, '_>,
        counts: Vec<usize>,
        result: Data<'_, '_>,
        result_counts: Vec<usize>,
    ) -> PyResult<Request> {
        let (input, output) = (Buffer::of_parts(data)?, Buffer::parts_to_fill(result)?);
        let from = Parts::of(py, (self, &counts), &input)?;
        let into = Parts::of(py, (self, &result_counts), &output)?;
        let me = self.me().0 as usize;
        check(py, "bytes that this rank gets from itself", into.0[me].len, from.0[me].len)?;
        check_types(py, "the result", &output, "the data", &input)?;
        let uneven = Uneven::Alltoall { from: Some(&from.0), into: &into.0 };
        self.start_uneven(py, uneven, (Some(input), Some(output)))
    }

    /// Gathers memory of different lengths in `all` at rank `root`, one part after the other, in the order of
    /// ranks. `counts` has the number of items of each rank. Either all ranks give `counts`, or none does. If
    /// none does, the ranks exchange the counts first.
    ///
    /// Without `all` the root gets a list of arrays, one for each rank, in new memory of the type of its
    /// `data`. The arrays keep all dimensions but the first. The other ranks get None. Raises LengthMismatch
    /// if types, counts and lengths do not fit.
    #[pyo3(signature = (root, data, all=None, counts=None))]
    fn gatherv<'py>(
        slf: &Bound<'py, Self>,
        root: i64,
        data: Data<'_, 'py>,
        all: Option<Data<'_, 'py>>,
        counts: Option<Vec<usize>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        call(slf.py(), VECTORS, "gatherv", (slf, root, data, all, counts))
    }

    /// Sends each rank its part of the root's `all`. The parts are `counts` items long and lie one after the
    /// other. `all` may also be a list of one array for each rank. The other ranks' `all` and `counts` are
    /// not used.
    ///
    /// If all ranks give None as `data`, the call returns the part in new memory. Raises LengthMismatch if
    /// types, counts and lengths do not fit.
    #[pyo3(signature = (root, all=None, counts=None, data=None))]
    fn scatterv<'py>(
        slf: &Bound<'py, Self>,
        root: i64,
        all: Option<Data<'_, 'py>>,
        counts: Option<Vec<usize>>,
        data: Option<Data<'_, 'py>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        call(slf.py(), VECTORS, "scatterv", (slf, root, all, counts, data))
    }

    /// Does what gatherv() does, and gives the result to all ranks.
    #[pyo3(signature = (data, all=None, counts=None))]
    fn allgatherv<'py>(
        slf: &Bound<'py, Self>,
        data: Data<'_, 'py>,
        all: Option<Data<'_, 'py>>,
        counts: Option<Vec<usize>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        call(slf.py(), VECTORS, "allgatherv", (slf, data, all, counts))
    }

    /// Sends each rank `counts` items of `data`, whose parts lie one behind the other. Receives `result_counts` items from each rank in
    /// `result`.
    ///
    /// If all ranks leave out `result_counts`, they exchange the counts first. Without `result` the call returns a list of arrays, one for
    /// each rank. A list of one array for each rank needs no counts, and is exchanged as by alltoall_objects(). Raises LengthMismatch if
    /// types, counts and lengths do not fit.
    #[pyo3(signature = (data, counts=None, result=None, result_counts=None))]
    fn alltoallv<'py>(
        slf: &Bound<'py, Self>,
        data: Data<'_, 'py>,
        counts: Option<Vec<usize>>,
        result: Option<Data<'_, 'py>>,
        result_counts: Option<Vec<usize>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        call(slf.py(), VECTORS, "alltoallv", (slf, data, counts, result, result_counts))
    }

    /// Starts an exchange with some ranks. Each send is a part of `data`, and each receive a part of
    /// `result`: (rank, offset, bytes).
    fn _iexchange(
        &self,
        py: Python<'_>,
        data: Data<'_, '_>,
        sends: Vec<NeighbourPart>,
        result: Data<'_, '_>,
        receives: Vec<NeighbourPart>,
    ) -> PyResult<Request> {
        let (input, output) = (Buffer::of_parts(data)?, Buffer::parts_to_fill(result)?);
        check_types(py, "the result", &output, "the data", &input)?;
        let within = |list: &[NeighbourPart], memory: &Buffer| -> PyResult<Vec<(u32, Block)>> {
            let part = |&(rank, at, len): &NeighbourPart| {
                let end = at.saturating_add(len);
                check(py, "bytes of memory for all neighbours", memory.len(), memory.len().max(end))?;
                Ok((self.root(py, rank)?.0, Block { at, len }))
            };
            list.iter().map(part).collect()
        };
        let (sends, receives) = (within(&sends, &input)?, within(&receives, &output)?);
        let mut filled: Vec<Block> = receives.iter().map(|(_, block)| *block).collect();
        filled.sort_unstable_by_key(|block| (block.at, block.len));
        for pair in filled.windows(2) {
            check(
                py,
                "bytes between parts to be filled",
                pair[1].at.max(pair[0].at + pair[0].len),
                pair[1].at,
            )?;
        }
        let uneven = Uneven::Exchange { sends: &sends, receives: &receives };
        self.start_uneven(py, uneven, (Some(input), Some(output)))
    }
}

/// Returns both arguments that a root needs, or an error if one is missing.
fn both<A, B>(py: Python<'_>, call: &str, all: Option<A>, counts: Option<B>) -> PyResult<(A, B)> {
    all.zip(counts).ok_or_else(|| {
        raise_text(
            py,
            "LengthMismatch",
            format!("the root of {call} gives `all` and `counts`: one is missing"),
        )
    })
}
