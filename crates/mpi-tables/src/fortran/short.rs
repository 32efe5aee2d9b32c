//! Short procedures for the most frequent functions: they convert nothing that needs a call, and leave other
//! cases to the general procedure.
//!
//! A procedure that may call a conversion saves six registers first; one that only tests saves none. It calls
//! C's function at once if all handles are numbers of constants, like predefined datatypes and
//! MPI_COMM_WORLD. Buffers must be no constants and have no gaps.

use super::argument::Argument;
use super::buffer::IF_A_CONSTANT;
use super::long::IntegerLength;
use super::procedure::{Dialect, Procedure};
use super::shape::{Direction, Handle, Shape, direction, shape};
use super::text::{line, lines};

/// The functions that have a short procedure.
const CALLED_MOST: [&str; 12] = [
    "MPI_Allreduce",
    "MPI_Barrier",
    "MPI_Bcast",
    "MPI_Bsend",
    "MPI_Irecv",
    "MPI_Isend",
    "MPI_Recv",
    "MPI_Reduce",
    "MPI_Rsend",
    "MPI_Send",
    "MPI_Sendrecv",
    "MPI_Ssend",
];

/// The prefix of a procedure that converts everything.
pub(super) const GENERAL: &str = "canele_general_";

impl Procedure<'_> {
    /// Returns true if the procedure is a short one with a general one behind it.
    pub(super) fn is_short(&self) -> bool {
        self.integers == IntegerLength::Four
            && self.dialect != Dialect::Removed
            && CALLED_MOST.contains(&self.function.name.as_str())
    }

    /// Returns the body of the short procedure, after the interface of C's function.
    pub(super) fn short_body(&self, arguments: &[Argument]) -> String {
        let parameters = self.function.parameters.iter().zip(arguments);
        let (mut handles, mut conditions, mut actual) = (Vec::new(), Vec::new(), Vec::new());
        let (mut locals, mut before, mut on_success) = (Vec::new(), Vec::new(), Vec::new());
        for (parameter, argument) in parameters {
            let name = parameter.name.as_str();
            let is_read = direction(self.function, parameter) == Direction::In;
            match shape(self.function, parameter) {
                Shape::Handle(Handle { .. }) if is_read => {
                    let number = self.number(name);
                    actual.push(format!("int({number}, c_intptr_t)"));
                    handles.push(number);
                }
                Shape::Buffer => {
                    conditions.push(is_no_constant(name));
                    actual.push(format!("c_loc({name})"));
                }
                Shape::Number(_) if argument.actual.contains('%') => {
                    actual.push(format!("int({name}, c_int)"))
                }
                _ => {
                    locals.extend(argument.locals.clone());
                    before.extend(argument.before.clone());
                    on_success.extend(argument.on_success.clone());
                    actual.push(argument.actual.clone());
                }
            }
        }
        let all = handles.into_iter().reduce(|all, number| format!("ior({all}, {number})"));
        conditions.splice(0..0, all.map(|all| format!("iand({all}, not(4095)) == 0")));
        // The test for contiguity may be a call, so it comes last and a scalar does without it.
        let has_no_gap = |name: &&str| format!("(rank({name}) == 0 .or. is_contiguous({name}))");
        conditions.extend(self.descriptors().iter().map(has_no_gap));
        let mut text = lines(2, &locals) + &line(2, "integer(c_int) :: code");
        text += &line(2, &format!("if ({}) then", conditions.join(" .and. ")));
        text += &lines(4, &before);
        text += &line(4, &format!("code = c_{}({})", self.function.name, actual.join(", ")));
        if !on_success.is_empty() {
            text += &(line(4, "if (code == 0) then") + &lines(6, &on_success) + &line(4, "end if"));
        }
        text += &line(4, self.set_error());
        let names: Vec<&str> = self.function.parameters.iter().map(|parameter| &*parameter.name).collect();
        text += &line(2, "else");
        text += &line(4, &format!("call {GENERAL}{}({}, ierror)", self.name(), names.join(", ")));
        text + &line(2, "end if")
    }

    fn number(&self, name: &str) -> String {
        if self.dialect == Dialect::F08 { format!("{name}%MPI_VAL") } else { name.to_owned() }
    }
}

/// Returns the condition that a buffer is no constant identified by address.
fn is_no_constant(name: &str) -> String {
    let condition = IF_A_CONSTANT.split_once(" == 0").map_or("", |(condition, _)| condition);
    let condition = condition.trim_start_matches("if (").replace("ADDRESS", &format!("c_loc({name})"));
    format!("{condition} /= 0")
}
