//! Buffers, statuses and other places whose address is passed to C.

use super::argument::{Argument, One, from_number};
use super::procedure::Dialect;
use super::shape::Width;
use crate::tables::Parameter;

/// A line that finds C's value of a constant identified by address; these constants lie in 32 bytes.
pub(super) const IF_A_CONSTANT: &str = "if (iand(transfer(ADDRESS, 0_c_intptr_t) - transfer(c_loc(MPI_BOTTOM), 0_c_intptr_t), \
                             not(31_c_intptr_t)) == 0) ADDRESS = canele_fort_place(ADDRESS, MPI_BOTTOM)";

/// A line that finds C's value of a constant, for an INTEGER of eight bytes.
const IF_A_LONG_CONSTANT: &str = "if (iand(transfer(ADDRESS, 0_c_intptr_t) - transfer(c_loc(MPI_BOTTOM), 0_c_intptr_t), \
                                  not(63_c_intptr_t)) == 0) ADDRESS = canele_fort_place(ADDRESS, MPI_BOTTOM)";

/// Returns a line that replaces the address of an ignored status by null.
fn if_ignored(constant: &str) -> String {
    format!(
        "if (transfer(ADDRESS, 0_c_intptr_t) == transfer(c_loc({constant}), 0_c_intptr_t)) ADDRESS = c_null_ptr"
    )
}

impl One<'_> {
    /// Returns the parts of a place whose address is passed to C, and which may be a constant identified by
    /// address.
    pub(super) fn placed(&self, dummy: String, constant: &str) -> Argument {
        let (name, address) = (self.name, format!("c_{}", self.name));
        Argument {
            dummy: Some(dummy),
            of_c: self.value("type(c_ptr)"),
            locals: vec![format!("type(c_ptr) :: {address}")],
            before: vec![format!("{address} = c_loc({name})"), constant.replace("ADDRESS", &address)],
            actual: address,
            ..Argument::default()
        }
    }

    pub(super) fn status(&self) -> Argument {
        let (name, intent) = (self.name, self.intent());
        let dummy = match self.dialect() {
            Dialect::F08 => format!("type(MPI_Status){intent}, target :: {name}"),
            _ => format!("integer{intent}, target :: {name}(MPI_STATUS_SIZE)"),
        };
        let if_ignored = if_ignored("MPI_STATUS_IGNORE");
        match self.is_long() {
            true => self.long_statuses(dummy, &if_ignored, "1"),
            false => self.placed(dummy, &if_ignored),
        }
    }

    pub(super) fn statuses(&self) -> Argument {
        let name = self.name;
        let dummy = match self.dialect() {
            Dialect::F08 => format!("type(MPI_Status), target :: {name}(*)"),
            _ => format!("integer, target :: {name}(MPI_STATUS_SIZE, *)"),
        };
        let if_ignored = if_ignored("MPI_STATUSES_IGNORE");
        match self.is_long() {
            true => self.long_statuses(dummy, &if_ignored, self.statuses_count()),
            false => self.placed(dummy, &if_ignored),
        }
    }

    /// Returns the line that finds C's value of a constant identified by address.
    fn if_a_constant(&self) -> &'static str {
        if self.is_long() { IF_A_LONG_CONSTANT } else { IF_A_CONSTANT }
    }

    pub(super) fn place(&self) -> Argument {
        if self.is_long() {
            return self.long_place(self.if_a_constant());
        }
        self.placed(format!("integer{}, target :: {}(*)", self.intent(), self.name), IF_A_CONSTANT)
    }

    pub(super) fn buffer(&self, index: usize) -> Argument {
        let (name, intent) = (self.name, self.intent());
        if self.dialect() != Dialect::F08 {
            return self
                .placed(format!("type(*), dimension(*){intent}, target :: {name}"), self.if_a_constant());
        }
        let parameters = &self.procedure.function.parameters;
        let (count, datatype) = match (self.procedure.pair(index), self.procedure.blocks(index)) {
            (Some((count, of)), _) => (format!("int({count}, c_int64_t)"), Some(of)),
            (None, Some(of)) => {
                // Partitions have a count of their own; blocks of ranks may have many.
                let count =
                    if self.procedure.has_partitions() { "int(count, c_int64_t)" } else { "0_c_int64_t" };
                (count.to_owned(), Some(parameters[of].name.as_str()))
            }
            (None, None) => ("0_c_int64_t".to_owned(), None),
        };
        let nothing = if self.is_long() { "0_c_int64_t" } else { "0_c_int" };
        let number = datatype.map_or(nothing.to_owned(), |of| self.number_of_datatype(of));
        let flags = self.procedure.flags(index);
        let address = format!("c_{name}%address");
        let mut attempts = vec![
            format!("if (is_contiguous({name})) then"),
            format!("  {address} = c_loc({name})"),
            format!("  {}", self.if_a_constant().replace("ADDRESS", &address)),
        ];
        if datatype.is_some() {
            attempts.push(format!("  c_{name}%count = {count}"));
            let of = format!("c_{name}%datatype");
            let lines = match self.is_long() {
                true => Self::long_datatype(&of, &number),
                false => from_number(&of, "Type", &number).to_vec(),
            };
            attempts.extend(lines.iter().map(|line| format!("  {line}")));
        }
        attempts.extend([
            "else if (code == 0) then".to_owned(),
            format!(
                "  code = canele_fort_begin({name}, MPI_BOTTOM, {flags}_c_int, {count}, {number}, c_{name})"
            ),
            "end if".to_owned(),
        ]);
        let after = match self.procedure.gives_a_request() {
            true => Vec::new(),
            false => vec![format!("if (c_{name}%made /= 0) call canele_fort_end(c_{name})")],
        };
        let kept = if self.procedure.is_asynchronous() { ", asynchronous" } else { "" };
        Argument {
            dummy: Some(format!("type(*), dimension(..){intent}{kept}, target :: {name}")),
            of_c: self.value("type(c_ptr)"),
            locals: vec![format!("type(canele_buffer) :: c_{name}")],
            attempts,
            actual: address,
            after,
            ..Argument::default()
        }
    }

    /// Returns the parts of a buffer's count or datatype, which a descriptor may replace.
    pub(super) fn of_a_buffer(&self, parameter: &Parameter, index: usize) -> Option<Argument> {
        if self.dialect() != Dialect::F08 {
            return None;
        }
        let before = |n: usize| index.checked_sub(n).filter(|of| self.procedure.pair(*of).is_some());
        let buffer = |of: usize| &self.procedure.function.parameters[of].name;
        if let Some(of) = before(1) {
            let width = if self.procedure.function.large { Width::Count } else { Width::Default };
            let actual = format!("c_{}%count", buffer(of));
            let actual = if width == Width::Default { format!("int({actual}, c_int)") } else { actual };
            let (dummy, of_c) = (self.dummy(width.declared()), self.value(width.of_c()));
            let attempts = if width == Width::Default { self.check_number() } else { Vec::new() };
            return Some(Argument { dummy, of_c, attempts, actual, ..Argument::default() });
        }
        let with_blocks = (0..index).find(|of| self.procedure.blocks(*of) == Some(index));
        let of = with_blocks.or_else(|| before(2))?;
        debug_assert_eq!(parameter.kind.name, "datatype");
        Some(Argument {
            dummy: self.dummy("type(MPI_Datatype)"),
            of_c: self.value("integer(c_intptr_t)"),
            actual: format!("c_{}%datatype", buffer(of)),
            ..Argument::default()
        })
    }

    pub(super) fn pointer(&self) -> Argument {
        let name = self.name;
        let of_c = self.reference("type(c_ptr)");
        if self.procedure.gives_pointers() {
            let dummy = Some(format!("type(c_ptr), intent(out) :: {name}"));
            // `MPI_BUFFER_AUTOMATIC` is a number in C and a place in Fortran.
            let automatic = "c_loc(MPI_BUFFER_AUTOMATIC)";
            let back = format!("if (transfer({name}, 0_c_intptr_t) == 2) {name} = {automatic}");
            let on_success = if name == "buffer_addr" { vec![back] } else { Vec::new() };
            return Argument { dummy, of_c, actual: name.to_owned(), on_success, ..Argument::default() };
        }
        let local = vec![format!("type(c_ptr) :: c_{name}")];
        let actual = format!("c_{name}");
        if name == "buffer_addr" {
            // Fortran cannot return the address of a buffer through a buffer.
            let dummy = Some(format!("type(*), dimension(*) :: {name}"));
            return Argument { dummy, of_c, locals: local, actual, ..Argument::default() };
        }
        let dummy = Some(format!("integer(MPI_ADDRESS_KIND), intent(out) :: {name}"));
        let set = format!("{name} = transfer(c_{name}, {name})");
        Argument { dummy, of_c, locals: local, actual, on_success: vec![set], ..Argument::default() }
    }
}
