//! The conversion of arguments from Fortran to C, and back.

use super::long::class_of;
use super::procedure::{Dialect, Procedure};
use super::shape::{Direction, Handle, Shape, Width, direction, shape};

/// The parts of a procedure that belong to one parameter.
#[derive(Default)]
pub(super) struct Argument {
    /// The declaration of the dummy argument, if Fortran has it.
    pub dummy: Option<String>,
    /// The declaration in the interface of C's function.
    pub of_c: String,
    /// The declarations of local variables.
    pub locals: Vec<String>,
    /// Statements before the call that may set `code`.
    pub attempts: Vec<String>,
    /// Statements before the call.
    pub before: Vec<String>,
    /// The actual argument of C's function.
    pub actual: String,
    /// Statements after the call, whether it succeeded or not.
    pub after: Vec<String>,
    /// Statements after a successful call.
    pub on_success: Vec<String>,
}

/// Returns the parts of the parameter with this index.
pub(super) fn argument(procedure: &Procedure<'_>, index: usize) -> Argument {
    let function = procedure.function;
    let parameter = &function.parameters[index];
    let (shape, direction) = (shape(function, parameter), direction(function, parameter));
    let one = One { procedure, name: &parameter.name, direction };
    if let Some(argument) = one.of_a_buffer(parameter, index) {
        return argument;
    }
    match shape {
        Shape::Number(width) => one.number(width),
        Shape::Numbers(width) => one.numbers(width),
        Shape::Ranges if one.is_long() => one.long_numbers(3),
        Shape::Ranges => one.array("integer", "integer(c_int)", "3, *"),
        Shape::Logical => one.logical(),
        Shape::Logicals => one.logicals(),
        Shape::Handle(handle) => one.handle(handle),
        Shape::Handles(handle) => one.handles(handle),
        Shape::Status => one.status(),
        Shape::Statuses => one.statuses(),
        Shape::Place => one.place(),
        Shape::Buffer => one.buffer(index),
        Shape::Pointer => one.pointer(),
        Shape::Attribute => one.attribute(),
        Shape::State => one.state(),
        Shape::Text => one.text(),
        Shape::Texts => one.texts(),
        Shape::TextLists => one.text_lists(),
        Shape::Callback(interface) => one.callback(interface),
        Shape::OfMain => one.of_main(parameter),
        Shape::Nothing => Argument::default(),
    }
}

/// Returns lines that set a variable to C's handle of a number. The numbers of constants are their handles
/// (MPI 5.0, chapter 20).
pub(super) fn from_number(variable: &str, kind: &str, number: &str) -> [String; 2] {
    [
        format!("{variable} = {number}"),
        format!(
            "if (iand({variable}, not(4095_c_intptr_t)) /= 0) {variable} = PMPI_{kind}_fromint({number})"
        ),
    ]
}

/// A parameter of a procedure.
pub(super) struct One<'a> {
    /// The procedure.
    pub procedure: &'a Procedure<'a>,
    /// Its name.
    pub name: &'a str,
    /// The direction of its value.
    pub direction: Direction,
}

impl One<'_> {
    pub(super) fn dialect(&self) -> Dialect {
        self.procedure.dialect
    }

    pub(super) fn dummy(&self, of: &str) -> Option<String> {
        Some(format!("{of}{} :: {}", self.direction.intent(), self.name))
    }

    pub(super) fn value(&self, of: &str) -> String {
        format!("{of}, value :: {}", self.name)
    }

    pub(super) fn reference(&self, of: &str) -> String {
        format!("{of} :: {}", self.name)
    }

    /// Returns the parts of a converted scalar, given its types in Fortran and in C and both conversions.
    pub(super) fn converted(&self, of: &str, of_c: &str, to_c: &str, from_c: &str) -> Argument {
        let name = self.name;
        if self.direction == Direction::In {
            let (of_c, actual) = (self.value(of_c), to_c.to_owned());
            return Argument { dummy: self.dummy(of), of_c, actual, ..Argument::default() };
        }
        let first = if self.direction == Direction::InOut { to_c } else { "0" };
        Argument {
            dummy: self.dummy(of),
            of_c: self.reference(of_c),
            locals: vec![format!("{of_c} :: c_{name}")],
            before: vec![format!("c_{name} = {first}")],
            actual: format!("c_{name}"),
            after: vec![format!("{name} = {from_c}")],
            ..Argument::default()
        }
    }

    fn number(&self, width: Width) -> Argument {
        let name = self.name;
        let is_old = self.dialect() == Dialect::Removed;
        if width == Width::Default || is_old {
            let kind = if width == Width::Default { "c_int" } else { "MPI_ADDRESS_KIND" };
            let (to_c, from_c) = self.shifted(&format!("int({name}, {kind})"), &format!("int(c_{name})"));
            let attempts = if width == Width::Default { self.check_number() } else { Vec::new() };
            return Argument { attempts, ..self.converted("integer", width.of_c(), &to_c, &from_c) };
        }
        let of_c = if self.direction == Direction::In {
            self.value(width.of_c())
        } else {
            self.reference(width.of_c())
        };
        Argument { dummy: self.dummy(width.declared()), of_c, actual: name.to_owned(), ..Argument::default() }
    }

    /// Returns the conversions of a number that Fortran counts differently: requests from 1, strings without
    /// the terminating zero.
    fn shifted(&self, to_c: &str, from_c: &str) -> (String, String) {
        match self.name {
            "indx" if self.direction == Direction::Out => {
                (to_c.to_owned(), format!("{from_c} + merge(1, 0, c_{} >= 0)", self.name))
            }
            "buflen" | "pset_len" => (
                format!("{to_c} + merge(1_c_int, 0_c_int, {} > 0)", self.name),
                format!("max(0, {from_c} - 1)"),
            ),
            _ => (to_c.to_owned(), from_c.to_owned()),
        }
    }

    fn numbers(&self, width: Width) -> Argument {
        let name = self.name;
        let array = || match width {
            Width::Default if self.is_long() => self.long_numbers(1),
            _ => self.array(width.declared(), width.of_c(), "*"),
        };
        if name == "array_of_indices" {
            let mut argument = array();
            argument
                .after
                .push(format!("if (c_outcount > 0) {name}(1:c_outcount) = {name}(1:c_outcount) + 1"));
            return argument;
        }
        if width != Width::Default && self.dialect() == Dialect::Removed {
            return Argument {
                dummy: Some(format!("integer, intent(in) :: {name}(*)")),
                of_c: format!("{} :: {name}(*)", width.of_c()),
                locals: vec![format!("{} :: c_{name}(max(1, count))", width.of_c())],
                before: vec![format!("c_{name}(1:count) = {name}(1:count)")],
                actual: format!("c_{name}"),
                ..Argument::default()
            };
        }
        array()
    }

    fn array(&self, of: &str, of_c: &str, bounds: &str) -> Argument {
        let name = self.name;
        Argument {
            dummy: Some(format!("{of}{} :: {name}({bounds})", self.direction.intent())),
            of_c: format!("{of_c} :: {name}({bounds})"),
            actual: name.to_owned(),
            ..Argument::default()
        }
    }

    fn logical(&self) -> Argument {
        let (to_c, from_c) =
            (format!("merge(1_c_int, 0_c_int, {})", self.name), format!("c_{} /= 0", self.name));
        self.converted("logical", "integer(c_int)", &to_c, &from_c)
    }

    fn logicals(&self) -> Argument {
        let name = self.name;
        let length = match name {
            "remain_dims" => format!("canele_fort_dimensions({})", self.number_of("comm")),
            _ if self.direction == Direction::Out => "int(maxdims, c_int)".to_owned(),
            _ => "int(ndims, c_int)".to_owned(),
        };
        let mut argument = Argument {
            dummy: Some(format!("logical{} :: {name}(*)", self.direction.intent())),
            of_c: format!("integer(c_int) :: {name}(*)"),
            locals: vec![
                format!("integer(c_int), allocatable :: c_{name}(:)"),
                format!("integer(c_int) :: n_{name}"),
            ],
            before: vec![
                format!("n_{name} = max(0_c_int, {length})"),
                format!("allocate(c_{name}(n_{name}))"),
                format!("c_{name} = 0"),
            ],
            actual: format!("c_{name}"),
            ..Argument::default()
        };
        if self.direction == Direction::In {
            argument.before.push(format!("where ({name}(1:n_{name})) c_{name} = 1"));
        } else {
            argument.on_success.push(format!("{name}(1:n_{name}) = c_{name} /= 0"));
        }
        argument
    }

    /// Returns the number of a handle in another parameter.
    pub(super) fn number_of(&self, name: &str) -> String {
        let value = if self.dialect() == Dialect::F08 { "%MPI_VAL" } else { "" };
        format!("int({name}{value}, c_int)")
    }

    pub(super) fn handle_type(&self, handle: Handle) -> String {
        if self.dialect() == Dialect::F08 { format!("type({})", handle.of) } else { "integer".to_owned() }
    }

    pub(super) fn component(&self) -> &'static str {
        if self.dialect() == Dialect::F08 { "%MPI_VAL" } else { "" }
    }

    fn handle(&self, handle: Handle) -> Argument {
        let (name, value) = (self.name, format!("c_{}", self.name));
        let set = format!("{name}{} = PMPI_{}_toint({value})", self.component(), handle.name);
        let of_c = "integer(c_intptr_t)";
        let mut argument = Argument {
            dummy: self.dummy(&self.handle_type(handle)),
            of_c: if self.direction == Direction::In { self.value(of_c) } else { self.reference(of_c) },
            locals: vec![format!("{of_c}{} :: {value}", self.shown(handle))],
            attempts: self.check_handle(handle),
            before: self.to_handle_of_c(&value, handle),
            actual: value.clone(),
            ..Argument::default()
        };
        match self.direction {
            Direction::In if self.procedure.function.name == "MPI_Cancel" => {
                argument.of_c = self.reference(of_c)
            }
            Direction::In => {}
            Direction::Out if self.is_settled_later() => {
                argument.locals = vec!["type(c_ptr) :: c_newcomm".to_owned()];
                argument.before = vec![format!(
                    "c_newcomm = canele_fort_later({name}{}, storage_size({name}{}, c_int) / 8_c_int, canele_live)",
                    self.component(),
                    self.component()
                )];
                argument.of_c = "type(c_ptr), value :: newcomm".to_owned();
                argument.after = vec![format!("if (code /= 0) call canele_fort_never(c_newcomm)")];
            }
            Direction::Out => {
                argument.before = vec![format!("{value} = 0")];
                argument.on_success.push(set);
            }
            Direction::InOut => argument.after.push(set),
        }
        argument
    }

    /// Returns the lines that set a variable to C's handle.
    fn to_handle_of_c(&self, variable: &str, handle: Handle) -> Vec<String> {
        if self.is_long() && handle.name == "Type" {
            return Self::long_datatype(variable, &format!("{}{}", self.name, self.component()));
        }
        let mut lines = from_number(variable, handle.name, &self.number_of(self.name)).to_vec();
        lines.extend(self.if_no_handle(variable, handle));
        if handle.name == "Op" {
            lines.extend(self.long_operation());
        }
        lines
    }

    /// Returns the attribute that lets the library access C's handles of requests.
    fn shown(&self, handle: Handle) -> &'static str {
        if handle.name == "Request" && self.procedure.shows_requests() { ", target" } else { "" }
    }

    /// Returns true for a handle that is written when a request completes.
    fn is_settled_later(&self) -> bool {
        self.name == "newcomm" && self.procedure.function.name.starts_with("MPI_Comm_idup")
    }

    fn handles(&self, handle: Handle) -> Argument {
        let (name, of) = (self.name, self.handle_type(handle));
        let component = self.component();
        let number = format!("int({name}(i_{name}){component}, c_int)");
        let to_c = match self.is_long() {
            true if handle.name == "Type" => {
                format!(
                    "c_{name}(i_{name}) = canele_fort_long_type(int({name}(i_{name}){component}, c_int64_t))"
                )
            }
            _ => format!("c_{name}(i_{name}) = PMPI_{}_fromint({number})", handle.name),
        };
        let each = |line: String| {
            vec![format!("do i_{name} = 1, n_{name}"), format!("  {line}"), "end do".to_owned()]
        };
        let check = format!("if ({number} /= {name}(i_{name}){component}) code = {}", class_of(handle));
        let (kind, make) = match self.procedure.lends_handles() {
            true => (
                ", pointer, contiguous",
                format!("call c_f_pointer(canele_fort_array(resources, n_{name}), c_{name}, [n_{name}])"),
            ),
            false => (", allocatable", format!("allocate(c_{name}(n_{name}))")),
        };
        let mut before = vec![
            format!("n_{name} = max(0_c_int, {})", self.length_of_handles()),
            make,
            format!("c_{name} = 0"),
        ];
        if self.direction != Direction::Out {
            before.extend(each(to_c));
            if self.is_long() && handle.name != "Type" {
                before.extend(each(check));
            }
        }
        let mut after = Vec::new();
        if self.direction != Direction::In {
            let set = format!("{name}(i_{name}){component} = PMPI_{}_toint(c_{name}(i_{name}))", handle.name);
            let skip = if self.direction == Direction::Out {
                format!("if (c_{name}(i_{name}) /= 0) ")
            } else {
                String::new()
            };
            after = each(skip + &set);
        }
        Argument {
            dummy: Some(format!("{of}{} :: {name}(*)", self.direction.intent())),
            of_c: format!("integer(c_intptr_t) :: {name}(*)"),
            locals: vec![
                format!("integer(c_intptr_t){kind}{} :: c_{name}(:)", self.shown(handle)),
                format!("integer(c_int) :: n_{name}"),
                format!("integer(c_int) :: i_{name}"),
            ],
            before,
            actual: format!("c_{name}"),
            after,
            ..Argument::default()
        }
    }

    /// Returns the number of elements in an array of handles.
    fn length_of_handles(&self) -> String {
        let function = self.procedure.function.of.name.as_str();
        let comm = self.number_of("comm");
        match self.name {
            "array_of_requests" if function.ends_with("some") => "int(incount, c_int)".to_owned(),
            "array_of_datatypes" => "int(max_datatypes, c_int)".to_owned(),
            "sendtypes" if function.contains("eighbor") => format!("canele_fort_neighbors({comm}, 1_c_int)"),
            "recvtypes" if function.contains("eighbor") => format!("canele_fort_neighbors({comm}, 0_c_int)"),
            "sendtypes" if self.dialect() == Dialect::F08 => {
                format!(
                    "merge(0_c_int, canele_fort_peers({comm}), canele_fort_in_place(c_sendbuf%address) /= 0)"
                )
            }
            "sendtypes" => {
                format!("merge(0_c_int, canele_fort_peers({comm}), canele_fort_in_place(c_sendbuf) /= 0)")
            }
            "recvtypes" => format!("canele_fort_peers({comm})"),
            "array_of_info" => format!("merge(int(count, c_int), 0_c_int, {})", self.is_root()),
            _ => "int(count, c_int)".to_owned(),
        }
    }

    /// Returns a condition that holds at the root of a collective.
    pub(super) fn is_root(&self) -> String {
        format!("canele_fort_is_root({}, int(root, c_int)) /= 0", self.number_of("comm"))
    }

    /// Returns the intent. An output may be a constant for an ignored value, so it has none.
    pub(super) fn intent(&self) -> &'static str {
        if self.direction == Direction::In { ", intent(in)" } else { "" }
    }
}
