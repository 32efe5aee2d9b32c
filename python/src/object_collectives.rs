//! Collectives of objects, by messages on a flow of their own.

use canele_collective::{Operation, Shape};
use canele_engine::{Envelope, Tag, Want};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::buffer::Buffer;
use crate::errors::raise;
use crate::flow::Flow;
use crate::object::{self, Frame};
use crate::request::Request;

/// Tag of all messages: those of one rank are matched in the order of the calls.
const TAG: Tag = Tag(0);

impl Flow {
    /// The flow of such messages, which all ranks create at their first such call.
    pub fn of_objects(&self, py: Python<'_>) -> PyResult<&canele::Flow> {
        if let Some(flow) = self.objects.get() {
            return Ok(flow);
        }
        let flow = py.detach(|| self.flow.duplicate()).map_err(|error| raise(py, error))?;
        // All calls of collectives on a flow have an order: no other thread has created it meanwhile.
        Ok(self.objects.get_or_init(|| flow))
    }

    fn object_of<'py>(&self, py: Python<'py>, flow: &canele::Flow, from: u32) -> PyResult<Bound<'py, PyAny>> {
        let from = self.members.rank(py, from.into())?;
        let want = Want { source: Some(from), tag: Some(TAG) };
        object::recv(py, &self.context, flow, want, None)
    }

    fn start_object(
        &self,
        py: Python<'_>,
        flow: &canele::Flow,
        to: u32,
        obj: &Bound<'_, PyAny>,
    ) -> PyResult<Request> {
        let to = self.members.rank(py, to.into())?;
        let envelope = Envelope::new(to, flow.on_lane().1, TAG);
        Ok(object::begin(py, flow, envelope, obj)?.into_request(&self.context, &self.members))
    }

    /// One object for each rank, as a list of Python that a rank gave.
    fn one_each<'py>(&self, objects: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let list = objects.try_iter()?.collect::<PyResult<Vec<_>>>()?;
        let (given, needed) = (list.len(), self.ranks() as usize);
        match given == needed {
            true => Ok(list),
            false => Err(PyValueError::new_err(format!(
                "{given} objects were given for {needed} ranks: give one for each rank"
            ))),
        }
    }
}

#[pymethods]
impl Flow {
    /// Sends the object of rank `root` to all ranks, and returns it. The other ranks' `obj` is not used.
    #[pyo3(signature = (root, obj=None))]
    fn broadcast_object<'py>(
        &self,
        py: Python<'py>,
        root: i64,
        obj: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let root = self.root(py, root)?;
        let is_root = root == self.me();
        let obj = obj.unwrap_or_else(|| py.None().into_bound(py));
        let frame = if is_root { Some(Frame::of(&obj)?) } else { None };
        let len = pyo3::types::PyByteArray::new(
            py,
            &frame.as_ref().map_or(0, |frame| frame.len() as u64).to_ne_bytes(),
        );
        let share = |bytes: &Bound<'py, PyAny>| {
            let buffer = Buffer::to_fill(bytes)?;
            let shape = Shape::new(Operation::Broadcast(root.into()), buffer.len());
            self.start(py, shape, None, (None, Some(buffer)))?.finish(py)
        };
        share(len.as_any())?;
        if let Some(frame) = frame {
            share(pyo3::types::PyByteArray::new(py, &frame.to_bytes()).as_any())?;
            return Ok(obj);
        }
        let len = u64::from_ne_bytes(len.to_vec().try_into().unwrap_or_default());
        let bytes = object::new_bytearray(py, usize::try_from(len)?)?;
        share(&bytes)?;
        object::load(&bytes, canele::Status { source: root, tag: TAG, bytes: usize::try_from(len)? })
    }

    /// Returns the list of all ranks' objects on rank `root`, in the order of ranks. Returns None on the other ranks.
    fn gather_objects<'py>(
        &self,
        py: Python<'py>,
        root: i64,
        obj: Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyList>>> {
        let (root, me) = (self.root(py, root)?, self.me());
        let flow = self.of_objects(py)?;
        if root != me {
            self.start_object(py, flow, root.0, &obj)?.finish(py)?;
            return Ok(None);
        }
        let all = PyList::empty(py);
        for from in 0..self.ranks() {
            all.append(if from == me.0 { obj.clone() } else { self.object_of(py, flow, from)? })?;
        }
        Ok(Some(all))
    }

    /// Returns this rank's object of the root's list, which has one object for each rank. The other ranks' `objects` is not used.
    #[pyo3(signature = (root, objects=None))]
    fn scatter_objects<'py>(
        &self,
        py: Python<'py>,
        root: i64,
        objects: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (root, me) = (self.root(py, root)?, self.me());
        let list = match (root == me, objects) {
            (true, Some(objects)) => Some(self.one_each(&objects)?),
            (true, None) => {
                return Err(PyValueError::new_err("the root gives the objects to scatter: there are none"));
            }
            (false, _) => None,
        };
        let flow = self.of_objects(py)?;
        let Some(mut list) = list else { return self.object_of(py, flow, root.0) };
        let others = (0..self.ranks()).filter(|to| *to != me.0);
        let sends = others.map(|to| self.start_object(py, flow, to, &list[to as usize]));
        let sends = sends.collect::<PyResult<Vec<_>>>()?;
        sends.into_iter().try_for_each(|send| send.finish(py))?;
        Ok(list.swap_remove(me.0 as usize))
    }

    /// Returns the list of the objects of all ranks, in their order. Each rank sends to each other one.
    fn allgather_objects<'py>(
        &self,
        py: Python<'py>,
        obj: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        let list = vec![obj; self.ranks() as usize];
        self.exchange(py, &list)
    }

    /// Sends each rank its object of the list `objects`. Returns the list of the objects that the ranks sent to this one. Both lists are in
    /// the order of ranks.
    pub fn alltoall_objects<'py>(
        &self,
        py: Python<'py>,
        objects: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        let list = self.one_each(&objects)?;
        self.exchange(py, &list)
    }
}

impl Flow {
    fn exchange<'py>(&self, py: Python<'py>, list: &[Bound<'py, PyAny>]) -> PyResult<Bound<'py, PyList>> {
        let (flow, me, size) = (self.of_objects(py)?, self.me().0, self.ranks());
        // Beginning behind this rank, so that not all send to one at first.
        let others = (1..size).map(|step| (me + step) % size);
        let sends = others.map(|to| self.start_object(py, flow, to, &list[to as usize]));
        let sends = sends.collect::<PyResult<Vec<_>>>()?;
        let all = PyList::empty(py);
        for from in 0..size {
            all.append(if from == me { list[me as usize].clone() } else { self.object_of(py, flow, from)? })?;
        }
        sends.into_iter().try_for_each(|send| send.finish(py))?;
        Ok(all)
    }
}
