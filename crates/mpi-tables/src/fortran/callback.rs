//! Strings, functions of the program, and their states.

use super::argument::{Argument, One};
use super::procedure::Dialect;
use super::shape::Direction;
use crate::tables::Parameter;

/// Functions of the library that get a function of the program, since C passes them no state.
pub(super) const WITH_A_FUNCTION: [&str; 6] =
    ["op", "op_c", "comm_errhandler", "file_errhandler", "session_errhandler", "win_errhandler"];

/// Functions of the library that find the program's function in the state.
pub(super) const WITH_A_STATE: [&str; 12] = [
    "comm_copy_attr",
    "comm_delete_attr",
    "type_copy_attr",
    "type_delete_attr",
    "win_copy_attr",
    "win_delete_attr",
    "copy",
    "delete",
    "grequest_query",
    "grequest_free",
    "grequest_cancel",
    "datarep_extent",
];

impl One<'_> {
    pub(super) fn attribute(&self) -> Argument {
        let name = self.name;
        let is_old = self.procedure.is_of_mpi_1();
        let of = if is_old { "integer" } else { "integer(MPI_ADDRESS_KIND)" };
        if self.direction == Direction::In {
            return Argument {
                dummy: self.dummy(of),
                of_c: self.value("type(c_ptr)"),
                locals: vec![format!("type(c_ptr) :: c_{name}")],
                before: vec![format!("c_{name} = canele_fort_keep(int({name}, c_intptr_t))")],
                actual: format!("c_{name}"),
                after: vec![format!("if (code /= 0) call canele_fort_forget(c_{name})")],
                ..Argument::default()
            };
        }
        let (kind, keyval) = self.procedure.keyval();
        Argument {
            dummy: self.dummy(of),
            of_c: self.reference("integer(c_intptr_t)"),
            locals: vec![format!("integer(c_intptr_t) :: c_{name}")],
            before: vec![format!("c_{name} = 0")],
            actual: format!("c_{name}"),
            on_success: vec![format!(
                "if (c_flag /= 0) {name} = int(canele_fort_attribute({kind}_c_int, int({keyval}, c_int), c_{name}), \
                 kind({name}))"
            )],
            ..Argument::default()
        }
    }

    /// Returns the parts of the arguments of `main`; Fortran has none that C could change.
    pub(super) fn of_main(&self, parameter: &Parameter) -> Argument {
        let (of, nothing) = if parameter.kind.name == "int" {
            ("integer(c_int)", "0_c_int")
        } else {
            ("type(c_ptr)", "c_null_ptr")
        };
        Argument { of_c: self.value(of), actual: nothing.to_owned(), ..Argument::default() }
    }

    pub(super) fn state(&self) -> Argument {
        let name = self.name;
        let of = if self.procedure.is_of_mpi_1() { "integer" } else { "integer(MPI_ADDRESS_KIND)" };
        let functions = self.procedure.callbacks();
        let functions: Vec<String> = functions.iter().map(|name| format!("c_funloc({name})")).collect();
        // An INTEGER of eight bytes is not truncated.
        let kept = if self.procedure.is_of_mpi_1() && !self.is_long() { ", 1_c_int" } else { ", 0_c_int" };
        let kept = if functions.len() == 2 { kept } else { "" };
        let is_shared = self.procedure.function.name == "MPI_Grequest_start";
        let (make, value) = match functions.len() {
            2 => ("canele_fort_attribute_state", format!("int({name}, c_intptr_t)")),
            // Programs expect that the functions change the variable that they passed.
            _ if is_shared => ("canele_fort_grequest_state", name.to_owned()),
            _ => ("canele_fort_datarep_state", format!("int({name}, c_intptr_t)")),
        };
        Argument {
            dummy: self.dummy(of),
            of_c: self.value("type(c_ptr)"),
            actual: format!("{make}({}, {value}{kept})", functions.join(", ")),
            ..Argument::default()
        }
    }

    pub(super) fn callback(&self, interface: &str) -> Argument {
        let name = self.name;
        let dummy = if self.dialect() == Dialect::F08 {
            format!("procedure({interface}) :: {name}")
        } else {
            format!("external :: {name}")
        };
        let root = interface.trim_start_matches("MPI_").to_lowercase().replace("_function", "");
        let function = root.replace("user", "op");
        let takes = WITH_A_FUNCTION.contains(&function.as_str());
        let arguments = if takes { format!("c_funloc({name})") } else { String::new() };
        let actual = if root.contains("datarep_conversion") {
            let which = if name.starts_with("read") { 1 } else { 0 };
            format!("canele_fort_{root}({which}_c_int, merge(1_c_int, 0_c_int, is_null_{name}))")
        } else {
            format!("canele_fort_{function}({arguments})")
        };
        let mut argument = Argument {
            dummy: Some(dummy),
            of_c: self.value("type(c_funptr)"),
            actual,
            ..Argument::default()
        };
        if root.contains("datarep_conversion") {
            let null =
                if root.ends_with("_c") { "MPI_CONVERSION_FN_NULL_C" } else { "MPI_CONVERSION_FN_NULL" };
            let (of, none) = (format!("of_{name}"), format!("null_{name}"));
            argument.locals =
                vec![format!("logical :: is_{none}"), format!("type(c_funptr) :: {of}, {none}")];
            if name.starts_with("read") {
                argument.locals.push(format!("external :: {null}"));
            }
            argument.before = vec![
                format!("{of} = c_funloc({name})"),
                format!("{none} = c_funloc({null})"),
                format!("is_{none} = c_associated({of}, {none})"),
            ];
        }
        argument
    }

    pub(super) fn text(&self) -> Argument {
        let name = self.name;
        let of_c = format!("character(kind=c_char) :: {name}(*)");
        let dummy = Some(format!("character(len=*){} :: {name}", self.direction.intent()));
        if self.direction == Direction::In {
            // Trailing blanks are not part of a text. Leading blanks are ignored for MPI_Info and
            // MPI_Comm_spawn (MPI 5.0, chapters 10 and 11).
            let is_stripped = self.procedure.function.name.starts_with("MPI_Info_") || name == "command";
            let kept = if is_stripped { format!("trim(adjustl({name}))") } else { format!("trim({name})") };
            return Argument { dummy, of_c, actual: format!("{kept} // c_null_char"), ..Argument::default() };
        }
        // If there is no room, C reports a text but stores none.
        let has =
            |name: &str| self.procedure.function.parameters.iter().any(|parameter| parameter.name == name);
        let room = ["buflen", "pset_len"].into_iter().find(|name| has(name)).unwrap_or("1");
        let flag = if has("flag") { "c_flag" } else { "1" };
        Argument {
            dummy,
            of_c,
            locals: vec![
                format!("character(kind=c_char) :: c_{name}(CANELE_LONGEST_TEXT)"),
                format!("logical :: has_{name}"),
            ],
            before: vec![format!("has_{name} = {room} > 0"), format!("c_{name}(1) = c_null_char")],
            actual: format!("c_{name}"),
            on_success: vec![format!(
                "if (has_{name} .and. {flag} /= 0) call canele_copy_text(c_{name}, {name})"
            )],
            ..Argument::default()
        }
    }

    pub(super) fn texts(&self) -> Argument {
        let name = self.name;
        let how_many = if name == "array_of_commands" { "int(count, c_int)" } else { "-1_c_int" };
        Argument {
            dummy: Some(format!("character(len=*), intent(in) :: {name}(*)")),
            of_c: self.value("type(c_ptr)"),
            locals: vec![format!("type(c_ptr) :: c_{name}")],
            before: self.at_the_root(format!(
                "canele_fort_texts({name}, MPI_ARGV_NULL, len({name}, c_int), {how_many})"
            )),
            actual: format!("c_{name}"),
            after: vec![format!("call canele_fort_free_texts(c_{name})")],
            ..Argument::default()
        }
    }

    /// Returns the lines that set strings which are significant only at the root; elsewhere they may be
    /// invalid.
    fn at_the_root(&self, strings: String) -> Vec<String> {
        let name = self.name;
        let is_root = self.is_root();
        vec![format!("c_{name} = c_null_ptr"), format!("if ({is_root}) c_{name} = {strings}")]
    }

    pub(super) fn text_lists(&self) -> Argument {
        let name = self.name;
        Argument {
            dummy: Some(format!("character(len=*), intent(in) :: {name}(count, *)")),
            of_c: self.value("type(c_ptr)"),
            locals: vec![format!("type(c_ptr) :: c_{name}")],
            before: self.at_the_root(format!(
                "canele_fort_text_lists({name}, MPI_ARGV_NULL, len({name}, c_int), int(count, c_int))"
            )),
            actual: format!("c_{name}"),
            after: vec![format!("call canele_fort_free_text_lists(c_{name}, int(count, c_int))")],
            ..Argument::default()
        }
    }
}
