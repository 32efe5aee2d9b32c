//! Collectives: operations of all ranks of a flow together (MPI 5.0, chapter 6).
//!
//! All ranks make the same calls on a flow in the same order, with the same lengths, roots and operations.
//! The messages of collectives never match receives on the flow. Results of reductions have the same bits on
//! every rank, and in every run with the same number of ranks. Once a rank has died, every collective fails
//! with an error that names it.

use canele_engine::collective::{Operation, Reduction, Shape};
use canele_engine::{Engine, FlowId, WantedLane};

use crate::{Endpoint, Error, Flow, Number, Op, Plain, Rank};

impl Flow {
    /// Returns once all ranks have called this function.
    ///
    /// ```
    /// # let job = canele::Job::start()?; let world = job.world();
    /// world.barrier()?;
    /// # job.finish()?; Ok::<(), canele::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if a rank died, or finished without this call.
    #[inline]
    pub fn barrier(&self) -> Result<(), Error> {
        self.collective::<u8>(Operation::Barrier, 0, None, &[], &mut [])
    }

    /// Gives all ranks the items of `root`.
    ///
    /// ```
    /// # let job = canele::Job::start()?; let world = job.world();
    /// # use canele::Rank;
    /// let mut answer = if job.rank() == Rank(0) { [42] } else { [0] };
    /// world.broadcast(Rank(0), &mut answer)?;
    /// assert_eq!(answer, [42]);
    /// # job.finish()?; Ok::<(), canele::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails as [`Flow::barrier`] does, and if the root does not exist or another rank gave another length.
    pub fn broadcast<T: Plain>(&self, root: Rank, items: &mut [T]) -> Result<(), Error> {
        self.check_root(root)?;
        self.collective(Operation::Broadcast(root.into()), items.len(), None, &[], items)
    }

    /// Reduces the items of all ranks, element by element, into `result` at `root`; elsewhere `result` is not
    /// used and may be empty.
    ///
    /// ```
    /// # let job = canele::Job::start()?; let world = job.world();
    /// # use canele::{Op, Rank};
    /// let mut most = [0; 2];
    /// world.reduce(Rank(0), &[job.rank().0, 7], &mut most, Op::Max)?;
    /// if job.rank() == Rank(0) {
    ///     assert_eq!(most, [job.size() - 1, 7]);
    /// }
    /// # job.finish()?; Ok::<(), canele::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails as [`Flow::broadcast`] does. Fails with [`Error::Lengths`] if `result` is not as long as
    /// `items`; then nothing was sent.
    ///
    /// # Panics
    /// Panics if the operation is not defined for such numbers. Examples are bitwise and logical operations
    /// on floating-point numbers, and [`Op`]s that return the place of an extremum on numbers that are no
    /// pairs.
    pub fn reduce<T: Number>(&self, root: Rank, items: &[T], result: &mut [T], op: Op) -> Result<(), Error> {
        self.check_root(root)?;
        let result = self.at_root(root, result, "items of the result of a reduction", items.len())?;
        self.collective(
            Operation::Reduce(root.into()),
            items.len(),
            Some(Reduction::of::<T>(op)),
            items,
            result,
        )
    }

    /// Reduces the items of all ranks, element by element, into `result` on all ranks.
    ///
    /// ```
    /// # let job = canele::Job::start()?; let world = job.world();
    /// # use canele::Op;
    /// let mut sum = [0.0];
    /// world.allreduce(&[0.5], &mut sum, Op::Sum)?;
    /// assert_eq!(sum, [0.5 * f64::from(job.size())]);
    /// # job.finish()?; Ok::<(), canele::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`Flow::reduce`].
    ///
    /// # Panics
    /// Panics as [`Flow::reduce`] does.
    #[inline]
    pub fn allreduce<T: Number>(&self, items: &[T], result: &mut [T], op: Op) -> Result<(), Error> {
        check("items of the result of a reduction", result.len(), items.len())?;
        self.collective(Operation::Allreduce, items.len(), Some(Reduction::of::<T>(op)), items, result)
    }

    /// Gathers the items of all ranks, in the order of ranks, in `all` at `root`. On other ranks `all` is not
    /// used and may be empty.
    ///
    /// ```
    /// # let job = canele::Job::start()?; let world = job.world();
    /// # use canele::Rank;
    /// let mut all = vec![0; job.size() as usize];
    /// world.gather(Rank(0), &[job.rank().0], &mut all)?;
    /// if job.rank() == Rank(0) {
    ///     assert!(all.into_iter().eq(0..job.size()));
    /// }
    /// # job.finish()?; Ok::<(), canele::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails as [`Flow::broadcast`] does. Fails with [`Error::Lengths`] if the number of items in `all` is
    /// not that in `items` times the number of ranks; then nothing was sent.
    pub fn gather<T: Plain>(&self, root: Rank, items: &[T], all: &mut [T]) -> Result<(), Error> {
        self.check_root(root)?;
        let all = self.at_root(root, all, "items to gather into", self.times_ranks(items.len()))?;
        self.collective(Operation::Gather(root.into()), items.len(), None, items, all)
    }

    /// Gives each rank its part of `all` at `root`, in the order of ranks. On other ranks `all` is not used
    /// and may be empty.
    ///
    /// ```
    /// # let job = canele::Job::start()?; let world = job.world();
    /// # use canele::Rank;
    /// let all: Vec<u32> = (0..job.size()).collect();
    /// let mut mine = [0];
    /// world.scatter(Rank(0), &all, &mut mine)?;
    /// assert_eq!(mine, [job.rank().0]);
    /// # job.finish()?; Ok::<(), canele::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`Flow::gather`].
    pub fn scatter<T: Plain>(&self, root: Rank, all: &[T], items: &mut [T]) -> Result<(), Error> {
        self.check_root(root)?;
        let all = if self.rank() == root { all } else { &[] };
        if self.rank() == root {
            check("items to scatter", all.len(), self.times_ranks(items.len()))?;
        }
        self.collective(Operation::Scatter(root.into()), items.len(), None, all, items)
    }

    /// Gathers the items of all ranks, in the order of ranks, in `all` on all ranks.
    ///
    /// ```
    /// # let job = canele::Job::start()?; let world = job.world();
    /// let mut all = vec![0; job.size() as usize];
    /// world.allgather(&[job.rank().0], &mut all)?;
    /// assert!(all.into_iter().eq(0..job.size()));
    /// # job.finish()?; Ok::<(), canele::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`Flow::gather`].
    pub fn allgather<T: Plain>(&self, items: &[T], all: &mut [T]) -> Result<(), Error> {
        check("items to gather into", all.len(), self.times_ranks(items.len()))?;
        self.collective(Operation::Allgather, items.len(), None, items, all)
    }

    /// Sends each rank its part of `items`, in the order of ranks, and receives a part from each rank in
    /// `result`, in the same order. The `n`th part of rank `m` becomes the `m`th part of rank `n`.
    ///
    /// ```
    /// # let job = canele::Job::start()?; let world = job.world();
    /// let ranks = job.size() as usize;
    /// let mut from = vec![0; ranks];
    /// world.alltoall(&vec![job.rank().0; ranks], &mut from)?;
    /// assert!(from.into_iter().eq(0..job.size()));
    /// # job.finish()?; Ok::<(), canele::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails as [`Flow::broadcast`] does. Fails with [`Error::Lengths`] if the two lengths differ or are no
    /// multiple of the number of ranks; then nothing was sent.
    pub fn alltoall<T: Plain>(&self, items: &[T], result: &mut [T]) -> Result<(), Error> {
        let part = items.len() / self.size() as usize;
        check("items to give to all ranks", items.len(), self.times_ranks(part))?;
        check("items to get from all ranks", result.len(), items.len())?;
        self.collective(Operation::Alltoall, part, None, items, result)
    }

    /// Makes a new flow of the same ranks, whose messages match no receive on any other flow. All ranks must
    /// call it. The flow's number is free again once all ranks have dropped it.
    ///
    /// The new flow is on the lane of this one, so the strategy combines messages that wait on both; see
    /// [`Flow::duplicate_on_lane`].
    ///
    /// ```
    /// # let job = canele::Job::start()?; let world = job.world();
    /// let of_a_library = world.duplicate()?;
    /// # job.finish()?; Ok::<(), canele::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails as [`Flow::barrier`] does. Fails with [`Error::Lengths`] while some 32,000 flows are in use.
    pub fn duplicate(&self) -> Result<Flow, Error> {
        let id = self.engine.create_flow(self.of_collectives())?;
        Ok(Flow::agreed(self.engine.clone(), id))
    }

    /// Does [`Flow::duplicate`] on the lane with this number. Threads that use flows on different lanes do
    /// not wait for each other. Lane 0 is that of the world. Numbers wrap at the number of lanes that a rank
    /// may have: one for each processor, unless `CANELE_LANES` is set. A lane is opened on first use. If a
    /// rank cannot open its lane, or the ranks name different lanes, the flow is on lane 0. No strategy
    /// combines messages of several lanes.
    ///
    /// ```
    /// # let job = canele::Job::start()?; let world = job.world();
    /// let flows: Vec<_> = (0..4).map(|thread| world.duplicate_on_lane(thread)).collect::<Result<_, _>>()?;
    /// std::thread::scope(|scope| {
    ///     for flow in &flows {
    ///         scope.spawn(|| flow.barrier().expect("all ranks live"));
    ///     }
    /// });
    /// # drop(flows); job.finish()?; Ok::<(), canele::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`Flow::duplicate`].
    pub fn duplicate_on_lane(&self, lane: u32) -> Result<Flow, Error> {
        let wanted = WantedLane::Numbered(lane);
        let mut made = self.engine.create_flows_on_lanes(self.of_collectives(), wanted)?;
        let (engine, id) = made.swap_remove(0);
        Ok(Flow::agreed(engine, id))
    }

    /// Returns the number of the flow on which this flow's collectives send their messages.
    fn of_collectives(&self) -> FlowId {
        FlowId(self.id.0 + 1)
    }

    /// Returns this flow's lane on this rank, and the flow of its collectives there, for interfaces of other
    /// languages.
    #[doc(hidden)]
    pub fn collectives_on_lane(&self) -> (&Engine, FlowId) {
        (&self.engine, self.of_collectives())
    }

    #[inline]
    fn collective<T: Plain>(
        &self,
        operation: Operation,
        block: usize,
        reduction: Option<Reduction>,
        input: &[T],
        output: &mut [T],
    ) -> Result<(), Error> {
        let shape = Shape { element: size_of::<T>().max(1), ..Shape::new(operation, block * size_of::<T>()) };
        let (input, output) = (bytemuck::cast_slice(input), bytemuck::cast_slice_mut(output));
        self.engine.collective(self.of_collectives(), shape, reduction.as_ref(), input, output)
    }

    fn times_ranks(&self, items: usize) -> usize {
        items.saturating_mul(self.size() as usize)
    }

    fn check_root(&self, root: Rank) -> Result<(), Error> {
        let size = self.size();
        if root.0 < size { Ok(()) } else { Err(Error::NoSuchRank { rank: root, size }) }
    }

    /// Returns a buffer of the right length at the root, an empty one elsewhere.
    fn at_root<'a, T>(
        &self,
        root: Rank,
        items: &'a mut [T],
        what: &'static str,
        needed: usize,
    ) -> Result<&'a mut [T], Error> {
        if self.rank() != root {
            return Ok(&mut []);
        }
        check(what, items.len(), needed)?;
        Ok(items)
    }
}

impl Endpoint {
    /// Makes a new flow of all ranks by [`Flow::duplicate`] of the world.
    ///
    /// # Errors
    /// Returns the errors of [`Flow::duplicate`].
    pub fn create_flow(&self) -> Result<Flow, Error> {
        self.world().duplicate()
    }
}

#[inline]
fn check(what: &'static str, given: usize, needed: usize) -> Result<(), Error> {
    if given == needed { Ok(()) } else { Err(Error::Lengths { what, given, needed }) }
}
