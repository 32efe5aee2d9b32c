//! One pass over everything that can move: the steps in their order.

use crate::core::Core;

impl Core {
    /// Makes one pass; says whether anything moved. The order: links that a look before a sleep has made; collectives under way, which
    /// take their messages from where they come; packets and copies, which are most of the work; what follows operations; then connections of this host
    /// and of others; what survivors tell each other; then what the launcher says; then what is to be asked of it.
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
        // Behind all from which notices come: puts as RMA requests are served, not received.
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
