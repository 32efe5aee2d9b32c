//! The name of a communicator, and the names that it gives its flows.

use super::Comm;

impl Comm {
    /// Returns the communicator's name; empty if it has none.
    pub fn name(&self) -> String {
        self.kept().name.clone()
    }

    /// Sets the communicator's name.
    pub fn set_name(&self, name: &str) {
        name.clone_into(&mut self.kept().name);
        self.name_flows(name);
    }

    /// Names its flows for diagnosis. A communicator without a name is named after its first flow.
    pub(super) fn name_flows(&self, name: &str) {
        let unnamed;
        let name = if name.is_empty() {
            unnamed = format!("communicator {}", self.flow.0);
            &unnamed
        } else {
            name
        };
        for (lane, flow) in self.flows().chain([(&self.engine, self.collectives())]) {
            // This fails only in a forked child, which has no flows.
            let _ = lane.name_flow(flow, name);
        }
    }
}
