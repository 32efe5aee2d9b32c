//! A collective call with its buffers, ready to be run.

use std::sync::{Arc, Mutex, PoisonError};

use canele_engine::Completion;
use canele_engine::collective::{
    Block, Buffers, CollectiveBuffer, CollectiveSpec, Operation, Plan, Reduction, Root, Shape, Uneven,
};
use canele_mem::buffer::{Raw, RawMut};

use super::check::{self, Description, Form};
use super::side::Side;
use crate::comm::Comm;
use crate::request::{Again, Request, Step, Steps};
use crate::status::Status;
use crate::{Result, fail};

/// A collective call with its buffers.
pub struct Call {
    pub(super) spec: OwnedSpec,
    pub(super) reduction: Option<Reduction>,
    pub(super) sides: Sides,
    /// The description that is compared with the calls of other members, if calls are checked.
    pub(super) description: Option<Box<Description>>,
}

/// Both buffers of a collective.
pub(super) struct Sides {
    pub input: Side<Raw>,
    pub output: Side<RawMut>,
    /// True if the output holds input data at the start.
    pub load: bool,
    /// True if the output is written.
    pub store: bool,
}

impl Sides {
    /// Returns the buffers for the engine; packs the elements that are read.
    #[inline(always)]
    fn take(&mut self) -> Buffers {
        self.input.load();
        self.output.prepare(self.load);
        let input = match &self.input.buffer {
            CollectiveBuffer::At(raw) => CollectiveBuffer::At(*raw),
            CollectiveBuffer::Parts(parts) => CollectiveBuffer::Parts(parts.clone()),
            _ => std::mem::take(&mut self.input.buffer),
        };
        let output = match &self.output.buffer {
            CollectiveBuffer::Parts(parts) => CollectiveBuffer::Parts(parts.clone()),
            _ => std::mem::take(&mut self.output.buffer),
        };
        Buffers { input, output }
    }

    /// Unpacks a packed output that is written.
    #[inline(always)]
    fn store(&mut self) {
        if self.output.is_packed() && self.store {
            self.output.store();
        }
    }
}

/// The specification of a collective, with owned lists.
#[derive(Clone)]
pub(super) enum OwnedSpec {
    Even(Shape),
    Gather { root: Root, mine: Option<Block>, all: Vec<Block> },
    Scatter { root: Root, all: Vec<Block>, mine: Option<Block> },
    Allgather { mine: Option<Block>, all: Vec<Block> },
    Alltoall { from: Option<Vec<Block>>, into: Vec<Block> },
    ReduceScatter { lens: Vec<usize>, shape: Shape },
    Exchange { sends: Vec<(u32, Block)>, receives: Vec<(u32, Block)> },
}

impl OwnedSpec {
    fn as_spec(&self) -> CollectiveSpec<'_> {
        CollectiveSpec::Uneven(match self {
            Self::Even(shape) => return CollectiveSpec::Even(*shape),
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
    pub(super) fn new(spec: OwnedSpec, input: Side<Raw>, output: Side<RawMut>) -> Self {
        let sides = Sides { input, output, load: false, store: true };
        Self { spec, reduction: None, sides, description: None }
    }

    /// Sets the description that is compared with the calls of other members.
    pub(super) fn described(self, description: Option<Box<Description>>) -> Self {
        Self { description, ..self }
    }

    /// Makes a call in which this rank takes no part. The rank still counts the call, as all members do.
    pub(super) fn nothing() -> Self {
        let shape = Shape::new(Operation::Broadcast(Root::Elsewhere), 0);
        Self::new(OwnedSpec::Even(shape), Side::NOTHING, Side::NOTHING)
    }

    /// Sets whether the output holds input data at the start.
    pub(super) fn loaded(mut self, load: bool) -> Self {
        self.sides.load = load;
        self
    }

    /// Marks the output as a buffer that is only read, such as that of the root of a broadcast.
    pub(super) fn only_read(mut self) -> Self {
        (self.sides.load, self.sides.store) = (true, false);
        self
    }

    /// Runs the collective.
    ///
    /// # Errors
    /// Fails if a member died or makes another call.
    #[inline]
    pub fn run(&mut self, comm: &Comm) -> Result<()> {
        if self.description.is_some() {
            self.check(comm)?;
        }
        let mut buffers = self.sides.take();
        let result = comm.engine.collective_at(
            comm.collectives(),
            self.spec.as_spec(),
            self.reduction.as_ref(),
            &mut buffers,
        );
        self.sides.output.buffer = buffers.output;
        result?;
        self.sides.store();
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn check(&self, comm: &Comm) -> Result<()> {
        comm.check(Form::Blocking, self.description.as_deref())
    }

    /// Starts the collective.
    ///
    /// # Errors
    /// Fails if the root or a neighbour does not exist, or the job is over.
    pub fn start(self, comm: &Arc<Comm>) -> Result<Request> {
        let (engine, flow) = (&comm.engine, comm.collectives());
        let Self { spec, reduction, mut sides, description } = self;
        let exchange = comm.start_check(Form::Immediate, description.as_deref())?;
        let pending = engine.start_collective(flow, spec.as_spec(), reduction, sides.take())?;
        let running = RunningCollective { sides: Some(sides), home: None };
        Ok(check::request(comm, exchange, pending, Box::new(running)))
    }

    /// Makes a persistent request of the call.
    ///
    /// # Errors
    /// Fails if the root or a neighbour does not exist, or the job is over.
    pub fn persist(self, comm: &Arc<Comm>) -> Result<Request> {
        let Self { spec, reduction, sides, description } = self;
        comm.check(Form::Persistent, description.as_deref())?;
        let plan = comm.engine.plan(comm.collectives(), spec.as_spec())?;
        let home = Arc::new(Mutex::new(Some(sides)));
        let again = Box::new(PersistentCollective { reduction, home, plan, comm: comm.clone() });
        Ok(Request::persistent(Some(comm.clone()), again))
    }
}

/// The buffers of a persistent collective while no call is under way.
type Home = Arc<Mutex<Option<Sides>>>;

/// A started collective.
struct RunningCollective {
    sides: Option<Sides>,
    home: Option<Home>,
}

impl Steps for RunningCollective {
    fn step(&mut self, ended: Completion) -> Step {
        let Some(mut sides) = self.sides.take() else { return Step::Done(Ok(Status::EMPTY)) };
        if let Some(own) = ended.output {
            sides.output.buffer = CollectiveBuffer::Own(own);
        }
        let result = ended.result.map(|_| sides.store());
        if let Some(home) = &self.home {
            *home.lock().unwrap_or_else(PoisonError::into_inner) = Some(sides);
        }
        Step::Done(result.map(|()| Status::EMPTY).map_err(Into::into))
    }
}

struct PersistentCollective {
    reduction: Option<Reduction>,
    home: Home,
    plan: Plan,
    comm: Arc<Comm>,
}

impl Again for PersistentCollective {
    fn start(&mut self) -> Result<Request> {
        let comm = self.comm.clone();
        let mut home = self.home.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(sides) = home.as_mut() else {
            fail!(Request, "the persistent collective is under way: its buffers are in use");
        };
        let (flow, reduction) = (comm.collectives(), self.reduction.clone());
        // Its buffers stay here unless the start succeeds.
        let pending = comm.engine.start_plan(flow, &self.plan, reduction, || sides.take())?;
        let running = RunningCollective { sides: home.take(), home: Some(self.home.clone()) };
        drop(home);
        Ok(Request::steps(comm, pending, Box::new(running)))
    }

    fn name(&self) -> &'static str {
        "collective"
    }
}
