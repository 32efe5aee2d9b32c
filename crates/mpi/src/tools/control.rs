//! Control variables (MPI 5.0, §15.3.6): the tunables, with their values in force.
//!
//! A value is written like an environment variable. It takes effect at the start of the rank, or at once if
//! the rank can apply it while it runs. Values that must be equal on all ranks are set before the ranks join
//! their job; the launcher compares them.

use std::sync::LazyLock;

use canele_sys::tunables::{Allowed, Settable, TunableRow, Tunables};

use super::enumeration::{enumeration_of, enumerations};
use super::{Reason, ToolError, ToolResult, Verbosity};
use crate::process::{NotSet, Process};

/// The representation of a variable's value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Representation {
    /// The index of a word in the variable's enumeration.
    Choice,
    /// An unsigned number of 64 bits.
    Number,
    /// A text.
    Text,
}

/// The value of a variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ControlValue {
    /// See [`Representation::Choice`].
    Choice(i32),
    /// See [`Representation::Number`].
    Number(u64),
    /// See [`Representation::Text`].
    Text(String),
}

/// The ranks that must set a variable together (MPI 5.0, table 15.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ControlScope {
    /// No rank: it never changes.
    Constant,
    /// Each rank for itself.
    Local,
    /// All ranks, to the same value.
    AllEqual,
}

/// A control variable.
#[derive(Debug)]
pub struct ControlVariable {
    /// The tunable.
    row: TunableRow,
    /// The meaning, values, default and environment variable of the control variable.
    pub description: String,
    /// The index of its enumeration, for a choice.
    pub enumeration: Option<usize>,
}

/// Returns all control variables, in the order of the tunables.
pub fn controls() -> &'static [ControlVariable] {
    static ALL: LazyLock<Vec<ControlVariable>> =
        LazyLock::new(|| Tunables::table().map(ControlVariable::new).collect());
    &ALL
}

impl ControlVariable {
    fn new(row: TunableRow) -> Self {
        let unit = if row.unit.is_empty() { String::new() } else { format!(" {}", row.unit) };
        let default = if row.default.is_empty() { "none" } else { &row.default };
        let description =
            format!("{}: {}{unit}; default {default}; {}", row.doc, row.allowed, row.variable());
        let enumeration =
            matches!(row.allowed, Allowed::OneOf(_)).then(|| enumeration_of(row.name)).flatten();
        Self { row, description, enumeration }
    }

    /// Returns the variable's name, that of the tunable.
    pub fn name(&self) -> &'static str {
        self.row.name
    }

    /// Returns the representation of its value.
    pub fn representation(&self) -> Representation {
        match self.row.allowed {
            Allowed::OneOf(_) => Representation::Choice,
            Allowed::Ports | Allowed::Text => Representation::Text,
            Allowed::Between(..) | Allowed::PowerOfTwo(..) => Representation::Number,
        }
    }

    /// Returns the variable's scope.
    pub fn scope(&self) -> ControlScope {
        match self.row.settable() {
            Settable::Never => ControlScope::Constant,
            _ if self.row.is_shared() => ControlScope::AllEqual,
            _ => ControlScope::Local,
        }
    }

    /// Returns the variable's audience: words and texts change visible behaviour, numbers change performance.
    pub fn verbosity(&self) -> Verbosity {
        match self.representation() {
            Representation::Choice | Representation::Text => Verbosity::UserBasic,
            Representation::Number if self.row.is_shared() => Verbosity::TunerBasic,
            Representation::Number => Verbosity::TunerDetail,
        }
    }

    /// Returns the variable's value in force.
    ///
    /// # Errors
    /// Fails if an environment variable has an invalid value.
    pub fn read(&self, process: &Process) -> ToolResult<ControlValue> {
        let tunables =
            process.tunables().map_err(|error| ToolError::new(Reason::NotAccessible, error.to_string()))?;
        let written = tunables.value(self.row.name).unwrap_or_default();
        let unreadable = || ToolError::new(Reason::NotAccessible, format!("{} is {written}", self.row.name));
        Ok(match self.row.allowed {
            Allowed::OneOf(words) => {
                let place = words.iter().position(|word| *word == written).ok_or_else(unreadable)?;
                ControlValue::Choice(place as i32)
            }
            Allowed::Ports | Allowed::Text => ControlValue::Text(written),
            _ => ControlValue::Number(written.parse().map_err(|_| unreadable())?),
        })
    }

    /// Sets the variable's value, for the start of this rank or from now on.
    ///
    /// # Errors
    /// Fails if it cannot be set, cannot be set any more, or cannot have this value.
    pub fn write(&self, process: &Process, value: &ControlValue) -> ToolResult<()> {
        let written = match value {
            ControlValue::Choice(place) => {
                let items = self.enumeration.map_or(&[][..], |at| &enumerations()[at].items);
                let word = usize::try_from(*place).ok().and_then(|place| items.get(place));
                word.map(|word| (*word).to_owned()).ok_or_else(|| {
                    let text =
                        format!("{} is {place}: its enumeration has {} items", self.row.name, items.len());
                    ToolError::new(Reason::Invalid, text)
                })?
            }
            ControlValue::Number(number) => number.to_string(),
            ControlValue::Text(text) => text.clone(),
        };
        process.set_tunable(&self.row, &written).map_err(|error| {
            let name = self.row.name;
            match error {
                NotSet::Never => ToolError::new(
                    Reason::SetNever,
                    format!("{name} is the launcher's: give {} to canele run", self.row.variable()),
                ),
                NotSet::NotNow => {
                    ToolError::new(Reason::SetNotNow, format!("{name} is set before the rank joins its job"))
                }
                NotSet::Value(error) => ToolError::new(Reason::Invalid, error.to_string()),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn control(name: &str) -> &'static ControlVariable {
        controls().iter().find(|control| control.name() == name).expect("a tunable")
    }

    #[test]
    fn each_tunable_is_a_variable_of_its_name() {
        let names: Vec<_> = Tunables::table().map(|row| row.name).collect();
        assert_eq!(controls().iter().map(ControlVariable::name).collect::<Vec<_>>(), names);
        assert_eq!(control("wait").representation(), Representation::Choice);
        assert_eq!(control("spin_ns").representation(), Representation::Number);
        assert_eq!(control("rails").representation(), Representation::Text);
        assert_eq!(
            (control("rails").scope(), control("check").scope()),
            (ControlScope::Constant, ControlScope::AllEqual)
        );
        assert!(control("spin_ns").description.contains("CANELE_SPIN_NS"));
    }

    #[test]
    fn what_is_written_before_the_start_is_in_force_and_only_what_is_allowed() {
        let process = Process::new(|| {});
        let (wait, spin) = (control("wait"), control("spin_ns"));
        assert_eq!(wait.read(&process), Ok(ControlValue::Choice(0)));
        wait.write(&process, &ControlValue::Choice(2)).expect("allowed");
        spin.write(&process, &ControlValue::Number(7)).expect("allowed");
        spin.write(&process, &ControlValue::Number(8)).expect("allowed");
        assert_eq!(
            (wait.read(&process), spin.read(&process)),
            (Ok(ControlValue::Choice(2)), Ok(ControlValue::Number(8)))
        );
        for (control, value, reason) in [
            (wait, ControlValue::Choice(3), Reason::Invalid),
            (wait, ControlValue::Choice(-1), Reason::Invalid),
            (spin, ControlValue::Number(u64::MAX), Reason::Invalid),
            (control("ring_cells"), ControlValue::Number(65), Reason::Invalid),
            (control("rails"), ControlValue::Text("lo".into()), Reason::SetNever),
        ] {
            assert_eq!(control.write(&process, &value).map_err(|error| error.reason), Err(reason));
        }
        assert_eq!(spin.read(&process), Ok(ControlValue::Number(8)), "what was refused changes nothing");
    }

    #[test]
    fn an_error_handler_that_is_in_use_is_not_changed() {
        let (process, handler) = (Process::new(|| {}), control("mpi_errhandler"));
        handler.write(&process, &ControlValue::Choice(2)).expect("allowed");
        assert!(matches!(*process.errhandler(), crate::Errhandler::Return));
        let late = handler.write(&process, &ControlValue::Choice(0)).map_err(|error| error.reason);
        assert_eq!(late, Err(Reason::SetNotNow));
    }
}
