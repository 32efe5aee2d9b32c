//! One pass: the steps of progress in their order.

use crate::core::Core;

impl Core {
    /// Makes one pass; returns true if anything moved. It first opens links that a look before a sleep has
    /// made, and advances collectives under way, which take their messages from the links. Then it moves
    /// packets and copies, which is most of the work. Follow-ups of operations, connections, messages of
    /// survivors, notices of the launcher and requests to it come last.
    #[inline]
    pub fn pass(&mut self) -> bool {
        let Self { lane, connections, membership, rma, collectives, survivors, .. } = self;
        let mut moved = lane.rails.has_networks() && connections.open_links(lane);
        moved |= collectives.has_any_under_way() && collectives.advance(lane, &membership.splits);
        moved |= lane.proto.pass(&mut lane.rails);
        moved |= lane.follow_ups.any() && lane.call_follow_ups();
        lane.rails.accept();
        if lane.rails.has_networks() || lane.proto.has_rma_requests() {
            moved |= rma.serve(lane);
        }
        if lane.rails.has_networks() {
            moved |= connections.tend(lane, &membership.job, moved);
        }
        // After all sources of notices: puts in RMA requests are served, not received.
        rma.notices.call_handlers(&mut lane.proto);
        if survivors.have_work(lane, &membership.splits) {
            moved |= self.advance_survivors();
        }
        if self.lane.rails.take_notification() {
            self.read_notifications();
            return true;
        }
        self.ask_launcher() | moved
    }
}
