//! Buffers, statuses and other places of which C gets the address.

use super::argument::{Argument, One, from_number};
use super::procedure::Dialect;
use super::shape::Width;
use crate::tables::Parameter;

/// What finds the value of a constant that is known by its place. All lie in 32 bytes.
const IF_A_CONSTANT: &str = "if (iand(transfer(ADDRESS, 0_c_intptr_t) - transfer(c_loc(MPI_BOTTOM), 0_c_intptr_t), \
                             not(31_c_intptr_t)) == 0) ADDRESS = canele_fort_place(ADDRESS, MPI_BOTTOM)";

/// What takes the address of a status away that is ignored.
fn if_ignored(constant: &str) -> String {
    format!(
        "if (transfer(ADDRESS, 0_c_intptr_t) == transfer(c_loc({constant}), 0_c_intptr_t)) ADDRESS = c_null_ptr"
    )
}

impl One<'_> {
    /// A place that C gets the address of, and that may be a constant which is known by its place.
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
        self.placed(dummy, &if_ignored("MPI_STATUS_IGNORE"))
    }

    pub(super) fn statuses(&self) -> Argument {
        let name = self.name;
        let dummy = match self.dialect() {
            Dialect::F08 => format!("type(MPI_Status), target :: {name}(*)"),
            _ => format!("integer, target :: {name}(MPI_STATUS_SIZE, *)"),
        };
        self.placed(dummy, &if_ignored("MPI_STATUSES_IGNORE"))
    }

    pub(super) fn place(&self) -> Argument {
        self.placed(format!("integer{}, target :: {}(*)", self.intent(), self.name), IF_A_CONSTANT)
    }

    pub(super) fn buffer(&self, index: usize) -> Argument {
        let (name, intent) = (self.name, self.intent());
        if self.dialect() != Dialect::F08 {
            return self.placed(format!("type(*), dimension(*){intent}, target :: {name}"), IF_A_CONSTANT);
        }
        let parameters = &self.procedure.function.parameters;
        let datatype = |name: &str| format!("int({name}%MPI_VAL, c_int)");
        let (count, number) = match (self.procedure.pair(index), self.procedure.blocks(index)) {
            (Some((count, of)), _) => (format!("int({count}, c_int64_t)"), datatype(of)),
            (None, Some(of)) => {
                // Partitions have a count of their own, blocks of ranks may have many.
                let count =
                    if self.procedure.has_partitions() { "int(count, c_int64_t)" } else { "0_c_int64_t" };
                (count.to_owned(), datatype(&parameters[of].name))
            }
            (None, None) => ("0_c_int64_t".to_owned(), "0_c_int".to_owned()),
        };
        let flags = self.procedure.flags(index);
        let address = format!("c_{name}%address");
        let mut attempts = vec![
            format!("if (is_contiguous({name})) then"),
            format!("  {address} = c_loc({name})"),
            format!("  {}", IF_A_CONSTANT.replace("ADDRESS", &address)),
        ];
        if number != "0_c_int" {
            attempts.push(format!("  c_{name}%count = {count}"));
            let of = format!("c_{name}%datatype");
            attempts.extend(from_number(&of, "Type", &number).map(|line| format!("  {line}")));
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

    /// The count or the datatype of a buffer that is a descriptor: the descriptor may need others.
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
            return Some(Argument { dummy, of_c, actual, ..Argument::default() });
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
            // C has a number for MPI_BUFFER_AUTOMATIC, Fortran a place.
            let automatic = "c_loc(MPI_BUFFER_AUTOMATIC)";
            let back = format!("if (transfer({name}, 0_c_intptr_t) == 2) {name} = {automatic}");
            let on_success = if name == "buffer_addr" { vec![back] } else { Vec::new() };
            return Argument { dummy, of_c, actual: name.to_owned(), on_success, ..Argument::default() };
        }
        let local = vec![format!("type(c_ptr) :: c_{name}")];
        let actual = format!("c_{name}");
        if name == "buffer_addr" {
            // Fortran has no way to give the address of a buffer back through a buffer.
            let dummy = Some(format!("type(*), dimension(*) :: {name}"));
            return Argument { dummy, of_c, locals: local, actual, ..Argument::default() };
        }
        let dummy = Some(format!("integer(MPI_ADDRESS_KIND), intent(out) :: {name}"));
        let set = format!("{name} = transfer(c_{name}, {name})");
        Argument { dummy, of_c, locals: local, actual, on_success: vec![set], ..Argument::default() }
    }
}
