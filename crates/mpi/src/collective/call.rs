//! A collective with its buffers, ready to be done.

use std::sync::Arc;

use canele_engine::Ended;
use canele_engine::collective::{
    Block, Buffers, Form, Operation, Place, Plan, Reduction, Root, Shape, Uneven,
};

use super::side::Side;
use crate::Result;
use crate::comm::Comm;
use crate::request::{Again, Request, Step, Steps};
use crate::status::Status;

/// A collective with its buffers.
#[derive(Clone)]
pub struct Call {
    pub(super) form: Owned,
    pub(super) reduction: Option<Reduction>,
    pub(super) input: Side,
    pub(super) output: Side,
    /// The output has data from the start.
    pub(super) load: bool,
}

/// What is to be done, with its lists.
#[derive(Clone)]
pub(super) enum Owned {
    Even(Shape),
    Gather { root: Root, mine: Option<Block>, all: Vec<Block> },
    Scatter { root: Root, all: Vec<Block>, mine: Option<Block> },
    Allgather { mine: Option<Block>, all: Vec<Block> },
    Alltoall { from: Option<Vec<Block>>, into: Vec<Block> },
    ReduceScatter { lens: Vec<usize>, shape: Shape },
    Exchange { sends: Vec<(u32, Block)>, receives: Vec<(u32, Block)> },
}

impl Owned {
    fn form(&self) -> Form<'_> {
        Form::Uneven(match self {
            Self::Even(shape) => return Form::Even(*shape),
            Self::Gather { root, mine, all } => Uneven::Gather { root: *root, mine: *mine, all },
            Self::Scatter { root, all, mine } => Uneven::Scatter { root: *root, all, mine: *mine },
            Self::Allgather { mine, all } => Uneven::Allgather { mine: *mine, all },
            Self::Alltoall { from, into } => Uneven::Alltoall { from: from.as_deref(), into },
            Self::ReduceScatter { lens, shape } => Uneven::ReduceScatter {
                lens,
                element: shape.element,
                commutative: shape.commutative,
                in_place: shape.in_place,
            },
            Self::Exchange { sends, receives } => Uneven::Exchange { sends, receives },
        })
    }
}

impl Call {
    pub(super) fn new(form: Owned, input: Side, output: Side) -> Self {
        Self { form, reduction: None, input, output, load: false }
    }

    /// One in which this rank has no part: it only counts the call, as all members do.
    pub(super) fn nothing() -> Self {
        let shape = Shape::new(Operation::Broadcast(Root::Elsewhere), 0);
        Self::new(Owned::Even(shape), Side::Nothing, Side::Nothing)
    }

    /// The output has data from the start.
    pub(super) fn loaded(self, load: bool) -> Self {
        Self { load, ..self }
    }

    fn buffers(&self) -> Buffers {
        Buffers { input: self.input.place(true), output: self.output.place(self.load) }
    }

    /// Does it.
    ///
    /// # Errors
    /// A member died; the members do not make the same call.
    #[inline]
    pub fn run(&self, comm: &Comm) -> Result<()> {
        let mut buffers = self.buffers();
        comm.engine.collective_at(
            comm.collectives(),
            self.form.form(),
            self.reduction.as_ref(),
            &mut buffers,
        )?;
        if let Place::Own(own) = &buffers.output {
            self.output.store(own.bytes());
        }
        Ok(())
    }

    /// Starts it.
    ///
    /// # Errors
    /// A root or neighbour that there is not; the job is over.
    pub fn start(self, comm: &Arc<Comm>) -> Result<Request> {
        let (engine, flow) = (&comm.engine, comm.collectives());
        let pending =
            engine.start_collective(flow, self.form.form(), self.reduction.clone(), self.buffers())?;
        Ok(Request::steps(comm.clone(), pending, Box::new(Running(self))))
    }

    /// Makes it a request that can be started.
    ///
    /// # Errors
    /// A root or neighbour that there is not; the job is over.
    pub fn persist(self, comm: &Arc<Comm>) -> Result<Request> {
        let plan = comm.engine.plan(comm.collectives(), self.form.form())?;
        let again = Box::new(Persistent { call: self, plan, comm: comm.clone() });
        Ok(Request::persistent(Some(comm.clone()), again))
    }
}

/// One under way.
struct Running(Call);

impl Steps for Running {
    fn step(&mut self, ended: Ended) -> Step {
        if let Err(error) = ended.result {
            return Step::Done(Err(error.into()));
        }
        if let Some(own) = ended.output {
            self.0.output.store(own.bytes());
        }
        Step::Done(Ok(Status::EMPTY))
    }
}

struct Persistent {
    call: Call,
    plan: Plan,
    comm: Arc<Comm>,
}

impl Again for Persistent {
    fn start(&mut self) -> Result<Request> {
        let comm = self.comm.clone();
        let (call, flow) = (self.call.clone(), comm.collectives());
        let pending = comm.engine.start_plan(flow, &self.plan, call.reduction.clone(), call.buffers())?;
        Ok(Request::steps(comm, pending, Box::new(Running(call))))
    }

    fn name(&self) -> &'static str {
        "collective"
    }
}
