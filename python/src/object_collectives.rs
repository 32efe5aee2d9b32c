//! Collectives of objects, by messages on a flow of their own.
//!
//! Each call pickles all its objects before it sends the first, and loads none before it has received the
//! last. So an object that cannot be pickled or loaded leaves no message behind. Messages that an interrupted
//! call leaves behind have its tag, which no later call uses.

use canele_collective::{Operation, Shape};
use canele_engine::{Envelope, Tag, Want};
use canele_sys::atomic::{AtomicU32, Ordering};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::buffer::Buffer;
use crate::errors::raise;
use crate::flow::Flow;
use crate::object::{self, Frame, ObjectMessage};
use crate::request::Request;

/// The flow of the messages of collectives of objects.
pub struct ObjectFlow {
    flow: canele::Flow,
    /// Counts the calls, so that a call has the same number on all ranks.
    calls: AtomicU32,
}

/// A call of a collective of objects: the flow and the tag of its messages.
type ObjectCall<'a> = (&'a canele::Flow, Tag);

impl Flow {
    /// Returns the flow and the tag of the next call's messages. All ranks create the flow in their first
    /// such call.
    pub fn next_object_call(&self, py: Python<'_>) -> PyResult<ObjectCall<'_>> {
        let objects = match self.objects.get() {
            Some(objects) => objects,
            None => {
                let flow = py.detach(|| self.flow.duplicate()).map_err(|error| raise(py, error))?;
                // All calls of collectives on a flow have an order: no other thread has created it meanwhile.
                self.objects.get_or_init(|| ObjectFlow { flow, calls: AtomicU32::new(0) })
            }
        };
        Ok((&objects.flow, Tag(objects.calls.fetch_add(1, Ordering::Relaxed))))
    }

    fn recv_message<'py>(
        &self,
        py: Python<'py>,
        (flow, tag): ObjectCall<'_>,
        from: u32,
    ) -> PyResult<ObjectMessage<'py>> {
        let from = self.members.rank(py, from.into())?;
        let want = Want { source: Some(from), tag: Some(tag) };
        object::recv_message(py, &self.context, flow, want, None)
    }

    fn send_frame(
        &self,
        py: Python<'_>,
        (flow, tag): ObjectCall<'_>,
        (to, frame): (u32, Box<Frame>),
    ) -> PyResult<Request> {
        let to = self.members.rank(py, to.into())?;
        let envelope = Envelope::new(to, flow.on_lane().1, tag);
        Ok(object::begin_frame(py, flow, envelope, frame)?.into_request(&self.context, &self.members))
    }

    /// Returns the objects of a Python list with one for each rank.
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
        object::load(&bytes, canele::Status { source: root, tag: Tag(0), bytes: usize::try_from(len)? })
    }

    /// Returns the list of all ranks' objects on rank `root`, in the order of ranks. Returns None on the other ranks.
    fn gather_objects<'py>(
        &self,
        py: Python<'py>,
        root: i64,
        obj: Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyList>>> {
        let (root, me) = (self.root(py, root)?, self.me());
        if root != me {
            let frame = Box::new(Frame::of(&obj)?);
            let call = self.next_object_call(py)?;
            self.send_frame(py, call, (root.0, frame))?.finish(py)?;
            return Ok(None);
        }
        let call = self.next_object_call(py)?;
        let messages = self.recv_messages(py, call)?;
        self.load_all(py, &messages, &obj).map(Some)
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
        let Some(mut list) = list else {
            let call = self.next_object_call(py)?;
            return self.recv_message(py, call, root.0)?.load();
        };
        let frames = self.frames_for_others(&list)?;
        let call = self.next_object_call(py)?;
        let sends = frames.into_iter().map(|frame| self.send_frame(py, call, frame));
        let sends = sends.collect::<PyResult<Vec<_>>>()?;
        sends.into_iter().try_for_each(|send| send.finish(py))?;
        Ok(list.swap_remove(me.0 as usize))
    }

    /// Returns the list of the objects of all ranks, in their order. Each rank sends its object to each other
    /// rank.
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
        let frames = self.frames_for_others(list)?;
        let call = self.next_object_call(py)?;
        let sends = frames.into_iter().map(|frame| self.send_frame(py, call, frame));
        let sends = sends.collect::<PyResult<Vec<_>>>()?;
        let messages = self.recv_messages(py, call)?;
        sends.into_iter().try_for_each(|send| send.finish(py))?;
        self.load_all(py, &messages, &list[self.me().0 as usize])
    }

    /// Pickles the object for each other rank, beginning after this rank, so that not all ranks send to one
    /// rank first.
    fn frames_for_others(&self, list: &[Bound<'_, PyAny>]) -> PyResult<Vec<(u32, Box<Frame>)>> {
        let (me, size) = (self.me().0, self.ranks());
        let others = (1..size).map(|step| (me + step) % size);
        others.map(|to| Ok((to, Box::new(Frame::of(&list[to as usize])?)))).collect()
    }

    /// Receives the message of each other rank, in the order of ranks.
    fn recv_messages<'py>(&self, py: Python<'py>, call: ObjectCall<'_>) -> PyResult<Vec<ObjectMessage<'py>>> {
        let me = self.me().0;
        let others = (0..self.ranks()).filter(|from| *from != me);
        others.map(|from| self.recv_message(py, call, from)).collect()
    }

    /// Returns the list of all ranks' objects: the objects of the other ranks, and this rank's own.
    fn load_all<'py>(
        &self,
        py: Python<'py>,
        messages: &[ObjectMessage<'py>],
        own: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        let all = PyList::empty(py);
        for message in messages {
            all.append(message.load()?)?;
        }
        all.insert(self.me().0 as usize, own)?;
        Ok(all)
    }
}
