//! One pass over everything that can move: the steps in their order.

use crate::core::Core;

impl Core {
    /// Makes one pass; says whether anything moved. The order: links that a look before a sleep has made; collectives under way, which
    /// take their messages from where they come; packets and copies, which are most of the work; what follows operations; then connections of this host
    /// and of others; what survivors tell each other; then what the launcher says; then what is to be asked of it.
    #[inline]
    pub fn pass(&mut self) -> bool {
        let Self { progress, connections, membership, rma, collectives, follow_ups, survivors, .. } = self;
        let mut moved = progress.rails.has_networks() && connections.open_links(progress);
        moved |= collectives.has_any_under_way() && collectives.advance(progress, &membership.splits);
        moved |= progress.proto.pass(&mut progress.rails);
        moved |= follow_ups.any() && follow_ups.call(progress);
        progress.rails.accept();
        if progress.rails.has_networks() || progress.proto.has_rma_requests() {
            moved |= rma.serve(progress);
        }
        if progress.rails.has_networks() {
            moved |= connections.tend(progress, &membership.job, moved);
        }
        // Behind all from which notices come: puts as RMA requests are served, not received.
        rma.notices.call_handlers(&mut progress.proto);
        if survivors.have_work(progress, &membership.splits) {
            moved |= self.advance_survivors();
        }
        if self.progress.rails.take_notification() {
            self.read_notifications();
            return true;
        }
        self.ask_launcher() | moved
    }
}
