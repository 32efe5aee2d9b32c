//! Enumerations (MPI 5.0, §15.3.5): the words of a control variable, and the names of an event's elements.
//! The number of an item is its index.

use std::sync::LazyLock;

use canele_sys::tunables::{Allowed, Tunables};

use super::event;

/// Numbers with names.
#[derive(Debug)]
pub struct Enumeration {
    /// The name of its control variable or event.
    pub name: &'static str,
    /// The names of its items, which are numbered from 0.
    pub items: Vec<&'static str>,
}

/// Returns all enumerations: those of control variables in their order, then those of events.
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

/// Returns the index of the enumeration of a variable or event.
pub fn enumeration_of(name: &str) -> Option<usize> {
    enumerations().iter().position(|enumeration| enumeration.name == name)
}
