//! Non-blocking collectives: each pass takes them further, whoever makes it.
//!
//! Owns the parts of those that nobody waits inside of, and how they ended until that is taken; waits for none.

use canele_proto::request::Buffer;
use canele_proto::slab::{Key, Slab};
use canele_sys::buffer::Divided;
use canele_sys::ids::{FlowId, Tag};

use super::agreement::{Agreement, Next};
use super::call::Manner;
use super::form::{Form, Plan};
use super::lasting::{Buffers, Place};
use super::part::{Part, Step};
use super::reduce::Reduction;
use super::team::Watch;
use crate::core::Core;
use crate::engine::{Engine, Inside};
use crate::requests::{Ended, Pending};
use crate::{Error, Status};

/// All of them.
#[derive(Default)]
pub(crate) struct UnderWay {
    /// In the order in which they were started.
    running: Vec<Running>,
    /// How each has ended, once it has.
    all: Slab<Option<Ended>>,
}

/// One that has not ended.
struct Running {
    key: Key,
    part: Part,
    watch: Watch,
    tag: Tag,
    /// What follows each part, if there is more than one.
    agreement: Option<Agreement>,
    /// It was given up and waits for its memory.
    is_over: bool,
}

impl Engine {
    /// Starts a collective in memory that lasts until its end, which [`Engine::test`] and [`Engine::wait`] tell. Several
    /// may be under way on a flow; all members start theirs in the same order, whatever blocking ones they do between.
    ///
    /// # Errors
    /// A root or neighbour that there is not; lists of the wrong length; the job is over. What happens later is told at
    /// its end.
    pub fn start_collective<'f>(
        &self,
        flow: FlowId,
        form: impl Into<Form<'f>>,
        reduction: Option<Reduction>,
        buffers: Buffers,
    ) -> Result<Pending, Error> {
        let (mut core, mut state) = self.begin(flow)?;
        let schedule = self.schedule(&core, &mut state, &form.into(), Manner::Started);
        let (tag, watch) = match schedule {
            Ok(_) => (state.started.next(), state.watch.clone()),
            Err(_) => (Tag(0), Watch::default()),
        };
        self.give_back(&mut core, flow, state);
        let part = Part::of(schedule?, (flow, tag), reduction, buffers);
        Ok(self.run_on(core, part, tag, watch, None))
    }

    /// Starts a collective that was made ready on the same flow, and whose last start has ended.
    ///
    /// # Errors
    /// The job is over. What happens later is told at its end.
    pub fn start_plan(
        &self,
        flow: FlowId,
        plan: &Plan,
        reduction: Option<Reduction>,
        buffers: Buffers,
    ) -> Result<Pending, Error> {
        let (mut core, state) = self.begin(flow)?;
        let watch = state.watch.clone();
        self.give_back(&mut core, flow, state);
        let part = Part::of(plan.schedule.clone(), (flow, plan.tag), reduction, buffers);
        Ok(self.run_on(core, part, plan.tag, watch, None))
    }

    /// Lets a part go on with every pass until its end.
    pub(super) fn run_on(
        &self,
        mut core: Inside<'_>,
        part: Part,
        tag: Tag,
        watch: Watch,
        agreement: Option<Agreement>,
    ) -> Pending {
        self.rouse(&core);
        let key = core.collectives.under_way.all.insert(None);
        let mut running = Running { key, part, watch, tag, agreement, is_over: false };
        if !running.advance(&mut core) {
            core.collectives.under_way.running.push(running);
        }
        Pending::collective(key)
    }
}

impl Running {
    /// Goes on as far as it can; says whether it has ended.
    fn advance(&mut self, core: &mut Core) -> bool {
        let result = loop {
            match self.advance_part(core) {
                Ok(Step::Waiting) => return false,
                Ok(Step::Done) => {}
                Err(error) => break Err(error),
            }
            let Some(agreement) = &mut self.agreement else { break Ok(None) };
            match agreement.next(core, self.part.output()) {
                Ok(Next::Part(part)) => self.part = *part,
                Ok(Next::Agreed(flow)) => break Ok(Some(flow)),
                Err(error) => break Err(error),
            }
        };
        if let (Err(_), Some(agreement)) = (&result, &mut self.agreement) {
            agreement.give_up(core);
        }
        let output = match (&result, self.part.take_buffers().output) {
            (Ok(Some(flow)), _) => Some(Box::new(Divided::from(&flow.0.to_ne_bytes()[..]))),
            (_, Place::Own(own)) => Some(own),
            _ => None,
        };
        let result = result.map(|_| Status { source: core.proto.me(), tag: self.tag, bytes: 0 });
        if let Some(place) = core.collectives.under_way.all.get_mut(self.key) {
            *place = Some(Ended { result, buffer: Buffer::None, output });
        }
        true
    }

    fn advance_part(&mut self, core: &mut Core) -> Result<Step, Error> {
        if let Err(error) = core.check_alive(&mut self.watch)
            && !std::mem::replace(&mut self.is_over, true)
        {
            self.part.give_up(&mut core.proto, error)?;
        }
        self.part.advance(&mut core.proto, &mut core.rails)
    }
}

impl Core {
    /// Takes all that are under way further; says whether any has ended.
    #[cold]
    #[inline(never)]
    pub fn advance_collectives(&mut self) -> bool {
        let mut running = std::mem::take(&mut self.collectives.under_way.running);
        let before = running.len();
        running.retain_mut(|one| !one.advance(self));
        let ended = running.len() < before;
        self.collectives.under_way.running = running;
        if ended {
            // Whoever follows may wait for it.
            self.told = u64::MAX;
        }
        ended
    }

    /// How a collective has ended; nothing while it is under way.
    pub fn take_collective(&mut self, key: Key) -> Option<Ended> {
        let all = &mut self.collectives.under_way.all;
        all.get(key)?.as_ref()?;
        all.remove(key)?
    }
}

impl UnderWay {
    /// Whether there is nothing to take further.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.running.is_empty()
    }
}
