//! Enumerations (MPI 5.0, §15.3.5): the values of a control variable that has one of several words, and the names of the elements of
//! an event. The number of an item is its place.

use std::sync::LazyLock;

use canele_sys::tunables::{Allowed, Tunables};

use super::event;

/// Numbers with names.
#[derive(Debug)]
pub struct Enumeration {
    /// What it is the enumeration of: the name of a control variable or an event.
    pub name: &'static str,
    /// The names of its items, whose numbers are 0, 1 and so on.
    pub items: Vec<&'static str>,
}

/// All enumerations: those of control variables in their order, then those of events.
pub fn enumerations() -> &'static [Enumeration] {
    static ALL: LazyLock<Vec<Enumeration>> = LazyLock::new(|| {
        let of_controls = Tunables::table().filter_map(|row| match row.allowed {
            Allowed::OneOf(words) => Some(Enumeration { name: row.name, items: words.to_vec() }),
            _ => None,
        });
        let of_events = event::TABLE.iter().map(|row| Enumeration {
            name: row.name,
            items: row.elements.iter().map(|element| element.name).collect(),
        });
        of_controls.chain(of_events).collect()
    });
    &ALL
}

/// The place of the enumeration of a variable or event.
pub fn enumeration_of(name: &str) -> Option<usize> {
    enumerations().iter().position(|enumeration| enumeration.name == name)
}
