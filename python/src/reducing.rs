//! Reductions. The engine reduces memory of numbers; functions of Python reduce other data, sent as messages
//! of objects.
//!
//! The type and the operation, which are equal on all ranks, decide between both. The layout of a rank's
//! array does not matter: an array that is not contiguous is copied.

use canele_collective::{CollectiveSpec, Operation, Reduction, Root, Shape, Uneven};
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::prelude::*;

use crate::buffer::Buffer;
use crate::collective::{Data, block_of, check, check_types};
use crate::flow::Flow;
use crate::op::{GivenOp, Op};
use crate::package::{ResultMemory, call};
use crate::request::Request;

/// The module that reduces objects.
const OBJECTS: &str = "canele._objects";

/// Numbers that the engine can reduce.
struct Numbers<'py> {
    /// The data of the program, or a contiguous copy of it.
    data: Bound<'py, PyAny>,
    input: Buffer,
    reduction: Reduction,
}

impl<'py> Numbers<'py> {
    /// Returns the numbers in `data`; none if the operation is a function, or is not defined for such data.
    fn of(data: Data<'_, 'py>, op: &GivenOp<'_>) -> PyResult<Option<Self>> {
        let GivenOp::Known(op) = op else { return Ok(None) };
        let (data, input) = match Buffer::of(data) {
            Ok(input) => (data.clone(), input),
            // Most objects lend no memory, which is no error here.
            Err(error) if error.is_instance_of::<PyTypeError>(data.py()) => return Ok(None),
            Err(error) => {
                let copy = call(data.py(), "canele._memory", "contiguous_copy", (data,))?;
                if copy.is_none() {
                    return Err(error);
                }
                let input = Buffer::of(&copy)?;
                (copy, input)
            }
        };
        Ok(input.reduction((*op).into()).map(|reduction| Self { data, input, reduction }))
    }

    /// Returns the numbers in `data` for a non-blocking call, which cannot reduce other data.
    fn to_start(data: Data<'_, 'py>, op: &GivenOp<'_>) -> PyResult<Self> {
        if let Some(numbers) = Self::of(data, op)? {
            return Ok(numbers);
        }
        let why = match op {
            GivenOp::Known(op) => {
                format!("op {} is not defined for {}", op.name(), Buffer::of(data)?.items().name())
            }
            GivenOp::Function(_) => "op is a function of the program".to_owned(),
        };
        Err(PyTypeError::new_err(format!(
            "the data cannot be reduced while the program goes on, because {why}: use the call without `i`, which reduces any objects"
        )))
    }
}

/// The kind of a reduction, by the result that a rank gets.
enum Reducing {
    Reduce(canele::Rank),
    Allreduce,
    Scan,
    Exscan,
    /// A reduce-scatter, with the number of items of each rank if they differ.
    Scatter(Option<Vec<usize>>),
}

impl Flow {
    fn start_reduction<'py>(
        &self,
        py: Python<'py>,
        reducing: Reducing,
        numbers: Numbers<'py>,
        result: Option<Data<'_, 'py>>,
    ) -> PyResult<Request> {
        let Numbers { data, input, reduction } = numbers;
        let is_cut = matches!(reducing, Reducing::Scatter(_));
        let input = if is_cut { input.in_rows()? } else { input };
        let (me, item, len) = (self.me().0, input.item_bytes(), input.len());
        let needed = match &reducing {
            Reducing::Scatter(None) => block_of(py, len, self.ranks())?,
            Reducing::Scatter(Some(counts)) => {
                let given = counts.iter().fold(0_usize, |sum, count| sum.saturating_add(*count));
                check(py, "counts of items for ranks", counts.len(), self.ranks() as usize)?;
                check(py, "items to reduce for all ranks", len / item, given)?;
                counts[me as usize] * item
            }
            _ => len,
        };
        let has_result = !matches!(reducing, Reducing::Reduce(root) if root.0 != me);
        let made = match (has_result && result.is_none(), &reducing) {
            (false, _) => None,
            (true, Reducing::Scatter(_)) => Some(ResultMemory::items(&data, needed / item)?),
            (true, _) => Some(ResultMemory::like(&data)?),
        };
        let output = made.as_ref().map(|made| &made.memory).or(result).filter(|_| has_result);
        let fill = if is_cut { Buffer::parts_to_fill } else { Buffer::to_fill };
        let output = output.map(fill).transpose()?;
        if let Some(output) = &output {
            check(py, "bytes of the result of a reduction", output.len(), needed)?;
            check_types(py, "the result of a reduction", output, "the data", &input)?;
            check_orders(output, &input)?;
        }
        let in_place = !is_cut && output.as_ref().is_some_and(|output| output.is_same_memory(&input));
        let lens;
        let shape = |operation, bytes| Shape { element: item, in_place, ..Shape::new(operation, bytes) };
        let spec = match &reducing {
            Reducing::Reduce(root) => shape(Operation::Reduce(Root::At(root.0)), len).into(),
            Reducing::Allreduce => shape(Operation::Allreduce, len).into(),
            Reducing::Scan => shape(Operation::Scan, len).into(),
            Reducing::Exscan => shape(Operation::Exscan, len).into(),
            Reducing::Scatter(None) => shape(Operation::ReduceScatter, needed).into(),
            Reducing::Scatter(Some(counts)) => {
                lens = counts.iter().map(|count| count * item).collect::<Vec<_>>();
                let uneven =
                    Uneven::ReduceScatter { lens: &lens, element: item, commutative: true, in_place: false };
                CollectiveSpec::Uneven(uneven)
            }
        };
        let input = (!in_place).then_some(input);
        let request = self.start(py, spec, Some(reduction), (input, output))?;
        let is_empty = matches!(reducing, Reducing::Exscan) && me == 0;
        Ok(request.giving(made.filter(|_| !is_empty)))
    }
}

/// Refuses a result in another order than the data, because its items would be in other places.
fn check_orders(result: &Buffer, data: &Buffer) -> PyResult<()> {
    match result.has_order_of(data) {
        true => Ok(()),
        false => Err(PyBufferError::new_err(
            "data and result lie in different orders, one in C's and one in Fortran's: give both in the same order",
        )),
    }
}

#[pymethods]
impl Flow {
    /// Starts reduce() of memory with numbers.
    #[pyo3(signature = (root, data, result=None, op=GivenOp::Known(Op::Sum)))]
    fn ireduce<'py>(
        &self,
        py: Python<'py>,
        root: i64,
        data: &Bound<'py, PyAny>,
        result: Option<&Bound<'py, PyAny>>,
        op: GivenOp<'py>,
    ) -> PyResult<Request> {
        let root = self.root(py, root)?;
        self.start_reduction(py, Reducing::Reduce(root), Numbers::to_start(data, &op)?, result)
    }

    /// Starts allreduce() of memory with numbers.
    #[pyo3(signature = (data, result=None, op=GivenOp::Known(Op::Sum)))]
    fn iallreduce<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
        result: Option<&Bound<'py, PyAny>>,
        op: GivenOp<'py>,
    ) -> PyResult<Request> {
        self.start_reduction(py, Reducing::Allreduce, Numbers::to_start(data, &op)?, result)
    }

    /// Starts scan() of memory with numbers.
    #[pyo3(signature = (data, result=None, op=GivenOp::Known(Op::Sum)))]
    fn iscan<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
        result: Option<&Bound<'py, PyAny>>,
        op: GivenOp<'py>,
    ) -> PyResult<Request> {
        self.start_reduction(py, Reducing::Scan, Numbers::to_start(data, &op)?, result)
    }

    /// Starts exscan() of memory with numbers.
    #[pyo3(signature = (data, result=None, op=GivenOp::Known(Op::Sum)))]
    fn iexscan<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
        result: Option<&Bound<'py, PyAny>>,
        op: GivenOp<'py>,
    ) -> PyResult<Request> {
        self.start_reduction(py, Reducing::Exscan, Numbers::to_start(data, &op)?, result)
    }

    /// Starts reduce_scatter() of memory with numbers.
    #[pyo3(signature = (data, result=None, op=GivenOp::Known(Op::Sum), counts=None))]
    fn ireduce_scatter<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
        result: Option<&Bound<'py, PyAny>>,
        op: GivenOp<'py>,
        counts: Option<Vec<usize>>,
    ) -> PyResult<Request> {
        let numbers = Numbers::to_start(data, &op)?;
        self.start_reduction(py, Reducing::Scatter(counts), numbers, result)
    }

    /// Reduces the values of all ranks to one on rank `root`, in the order of ranks. The other ranks'
    /// `result` is not used, and they get None.
    ///
    /// The rules are those of allreduce().
    #[pyo3(signature = (root, data, result=None, op=GivenOp::Known(Op::Sum)))]
    fn reduce<'py>(
        slf: &Bound<'py, Self>,
        root: i64,
        data: &Bound<'py, PyAny>,
        result: Option<&Bound<'py, PyAny>>,
        op: GivenOp<'py>,
    ) -> PyResult<Py<PyAny>> {
        let (py, flow) = (slf.py(), slf.get());
        let at = flow.root(py, root)?;
        match Numbers::of(data, &op)? {
            Some(numbers) => flow.start_reduction(py, Reducing::Reduce(at), numbers, result)?.complete(py),
            None => Ok(call(py, OBJECTS, "reduce", (slf, root, data, result, op.into_object(py)?))?.unbind()),
        }
    }

    /// Reduces the values of all ranks to one, in the order of ranks. All ranks get the result.
    ///
    /// Memory of numbers (numpy.ndarray, array.array, scalars of numpy …) is reduced element by element.
    /// Bytes are numbers from 0 to 255. The result is put into `result`, which has the same type and length.
    /// Without `result` the call returns new memory of this type; for a memoryview or memory of ctypes that
    /// is a bytearray. Python's operators reduce any other picklable value: numbers, strings, lists, arrays of
    /// objects. The call returns their result.
    ///
    /// `op` is one of canele.Op, or a function of two values. The function gets the value of lower ranks and
    /// that of higher ranks, and returns their combination. It gets whole arrays and need not be commutative.
    /// The order of its calls depends only on the number of ranks.
    ///
    /// An array that is not contiguous is copied first. `result` may be `data` itself. It may not overlap it
    /// in another way.
    ///
    /// All ranks give the same type, length and operation: numpy.float64 and float are different types.
    /// Raises TypeError if the operation is not defined for the values. Raises LengthMismatch if `result` has
    /// another type or length. Raises BufferError if `data` and `result` lie in different orders, C's and
    /// Fortran's. Raises ValueError if the library reduces them and they overlap. Raises PeerFailed.
    #[pyo3(signature = (data, result=None, op=GivenOp::Known(Op::Sum)))]
    fn allreduce<'py>(
        slf: &Bound<'py, Self>,
        data: &Bound<'py, PyAny>,
        result: Option<&Bound<'py, PyAny>>,
        op: GivenOp<'py>,
    ) -> PyResult<Py<PyAny>> {
        let (py, flow) = (slf.py(), slf.get());
        match Numbers::of(data, &op)? {
            Some(numbers) => flow.start_reduction(py, Reducing::Allreduce, numbers, result)?.complete(py),
            None => Ok(call(py, OBJECTS, "allreduce", (slf, data, result, op.into_object(py)?))?.unbind()),
        }
    }

    /// Reduces the values of all ranks up to this one, in the order of ranks. The rules are those of allreduce().
    #[pyo3(signature = (data, result=None, op=GivenOp::Known(Op::Sum)))]
    fn scan<'py>(
        slf: &Bound<'py, Self>,
        data: &Bound<'py, PyAny>,
        result: Option<&Bound<'py, PyAny>>,
        op: GivenOp<'py>,
    ) -> PyResult<Py<PyAny>> {
        let (py, flow) = (slf.py(), slf.get());
        match Numbers::of(data, &op)? {
            Some(numbers) => flow.start_reduction(py, Reducing::Scan, numbers, result)?.complete(py),
            None => Ok(call(py, OBJECTS, "scan", (slf, data, result, op.into_object(py)?))?.unbind()),
        }
    }

    /// Reduces the values of all ranks before this one, in the order of ranks. Rank 0 has no rank before it:
    /// it gets None, and its `result` is not changed. The rules are those of allreduce().
    #[pyo3(signature = (data, result=None, op=GivenOp::Known(Op::Sum)))]
    fn exscan<'py>(
        slf: &Bound<'py, Self>,
        data: &Bound<'py, PyAny>,
        result: Option<&Bound<'py, PyAny>>,
        op: GivenOp<'py>,
    ) -> PyResult<Py<PyAny>> {
        let (py, flow) = (slf.py(), slf.get());
        match Numbers::of(data, &op)? {
            Some(numbers) => flow.start_reduction(py, Reducing::Exscan, numbers, result)?.complete(py),
            None => Ok(call(py, OBJECTS, "exscan", (slf, data, result, op.into_object(py)?))?.unbind()),
        }
    }

    /// Reduces the values of all ranks and gives each rank its part. Memory of numbers has parts of equal length, or of `counts` items,
    /// which all ranks give. Other data is a sequence of one object for each rank. The rules are those of allreduce().
    #[pyo3(signature = (data, result=None, op=GivenOp::Known(Op::Sum), counts=None))]
    fn reduce_scatter<'py>(
        slf: &Bound<'py, Self>,
        data: &Bound<'py, PyAny>,
        result: Option<&Bound<'py, PyAny>>,
        op: GivenOp<'py>,
        counts: Option<Vec<usize>>,
    ) -> PyResult<Py<PyAny>> {
        let (py, flow) = (slf.py(), slf.get());
        match Numbers::of(data, &op)? {
            Some(numbers) => {
                flow.start_reduction(py, Reducing::Scatter(counts), numbers, result)?.complete(py)
            }
            None => {
                let arguments = (slf, data, result, op.into_object(py)?, counts);
                Ok(call(py, OBJECTS, "reduce_scatter", arguments)?.unbind())
            }
        }
    }
}
