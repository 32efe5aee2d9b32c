//! How an argument goes from Fortran to C, and back.

use super::procedure::{Dialect, Procedure};
use super::shape::{Handle, Shape, Way, Width, shape, way};
use crate::tables::Parameter;

/// The parts of a procedure that belong to one parameter.
#[derive(Default)]
pub(super) struct Argument {
    /// Declaration of the dummy argument, if Fortran has it.
    pub dummy: Option<String>,
    /// Declaration in the interface of C's function.
    pub of_c: String,
    /// Declarations of local variables.
    pub locals: Vec<String>,
    /// What is done before the call, and may set `code`.
    pub attempts: Vec<String>,
    /// What is done before the call.
    pub before: Vec<String>,
    /// What C's function is called with.
    pub actual: String,
    /// What is done behind the call, whether it succeeded or not.
    pub after: Vec<String>,
    /// What is done behind a call that succeeded.
    pub on_success: Vec<String>,
}

/// Functions of the library that are given a function of the program: C gives no state to what it calls there.
pub(super) const WITH_A_FUNCTION: [&str; 6] =
    ["op", "op_c", "comm_errhandler", "file_errhandler", "session_errhandler", "win_errhandler"];

/// Functions of the library that need none: they find it in the state.
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

/// Returns the parts of the parameter with this index.
pub(super) fn argument(procedure: &Procedure<'_>, index: usize) -> Argument {
    let function = procedure.function;
    let parameter = &function.parameters[index];
    let (shape, way) = (shape(function, parameter), way(function, parameter));
    let one = One { procedure, name: &parameter.name, way };
    if let Some(argument) = one.of_a_buffer(parameter, index) {
        return argument;
    }
    match shape {
        Shape::Number(width) => one.number(width),
        Shape::Numbers(width) => one.numbers(width),
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

/// What finds the value of a constant that is known by its place. All lie in 32 bytes.
const IF_A_CONSTANT: &str = "if (iand(transfer(ADDRESS, 0_c_intptr_t) - transfer(c_loc(MPI_BOTTOM), 0_c_intptr_t), \
                             not(31_c_intptr_t)) == 0) ADDRESS = canele_fort_place(ADDRESS, MPI_BOTTOM)";

/// What takes the address of a status away that is ignored.
fn if_ignored(constant: &str) -> String {
    format!(
        "if (transfer(ADDRESS, 0_c_intptr_t) == transfer(c_loc({constant}), 0_c_intptr_t)) ADDRESS = c_null_ptr"
    )
}

/// Lines that set a variable to C's handle of a number. Numbers of constants are their handles (MPI 5.0, chapter 20).
fn from_number(variable: &str, kind: &str, number: &str) -> [String; 2] {
    [
        format!("{variable} = {number}"),
        format!(
            "if (iand({variable}, not(4095_c_intptr_t)) /= 0) {variable} = PMPI_{kind}_fromint({number})"
        ),
    ]
}

/// A parameter of a procedure.
struct One<'a> {
    procedure: &'a Procedure<'a>,
    name: &'a str,
    way: Way,
}

impl One<'_> {
    fn dialect(&self) -> Dialect {
        self.procedure.dialect
    }

    fn dummy(&self, of: &str) -> Option<String> {
        Some(format!("{of}{} :: {}", self.way.intent(), self.name))
    }

    fn value(&self, of: &str) -> String {
        format!("{of}, value :: {}", self.name)
    }

    fn reference(&self, of: &str) -> String {
        format!("{of} :: {}", self.name)
    }

    /// A scalar that is converted: its types in Fortran and in C, and the conversions.
    fn converted(&self, of: &str, of_c: &str, to_c: &str, from_c: &str) -> Argument {
        let name = self.name;
        if self.way == Way::In {
            let (of_c, actual) = (self.value(of_c), to_c.to_owned());
            return Argument { dummy: self.dummy(of), of_c, actual, ..Argument::default() };
        }
        let first = if self.way == Way::InOut { to_c } else { "0" };
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
            return self.converted("integer", width.of_c(), &to_c, &from_c);
        }
        let of_c = if self.way == Way::In { self.value(width.of_c()) } else { self.reference(width.of_c()) };
        Argument { dummy: self.dummy(width.declared()), of_c, actual: name.to_owned(), ..Argument::default() }
    }

    /// Conversions of a number, with what Fortran counts otherwise: the first request is 1, a string has no zero behind it.
    fn shifted(&self, to_c: &str, from_c: &str) -> (String, String) {
        match self.name {
            "indx" if self.way == Way::Out => {
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
        if name == "array_of_indices" {
            let mut argument = self.array(width.declared(), width.of_c(), "*");
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
        self.array(width.declared(), width.of_c(), "*")
    }

    fn array(&self, of: &str, of_c: &str, bounds: &str) -> Argument {
        let name = self.name;
        Argument {
            dummy: Some(format!("{of}{} :: {name}({bounds})", self.way.intent())),
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
            _ if self.way == Way::Out => "int(maxdims, c_int)".to_owned(),
            _ => "int(ndims, c_int)".to_owned(),
        };
        let mut argument = Argument {
            dummy: Some(format!("logical{} :: {name}(*)", self.way.intent())),
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
        if self.way == Way::In {
            argument.before.push(format!("where ({name}(1:n_{name})) c_{name} = 1"));
        } else {
            argument.on_success.push(format!("{name}(1:n_{name}) = c_{name} /= 0"));
        }
        argument
    }

    /// The number of a handle that stands in another parameter.
    fn number_of(&self, name: &str) -> String {
        let value = if self.dialect() == Dialect::F08 { "%MPI_VAL" } else { "" };
        format!("int({name}{value}, c_int)")
    }

    fn handle_type(&self, handle: Handle) -> String {
        if self.dialect() == Dialect::F08 { format!("type({})", handle.of) } else { "integer".to_owned() }
    }

    fn component(&self) -> &'static str {
        if self.dialect() == Dialect::F08 { "%MPI_VAL" } else { "" }
    }

    fn handle(&self, handle: Handle) -> Argument {
        let (name, value) = (self.name, format!("c_{}", self.name));
        let set = format!("{name}{} = PMPI_{}_toint({value})", self.component(), handle.name);
        let of_c = "integer(c_intptr_t)";
        let mut argument = Argument {
            dummy: self.dummy(&self.handle_type(handle)),
            of_c: if self.way == Way::In { self.value(of_c) } else { self.reference(of_c) },
            locals: vec![format!("{of_c} :: {value}")],
            before: from_number(&value, handle.name, &self.number_of(name)).to_vec(),
            actual: value.clone(),
            ..Argument::default()
        };
        match self.way {
            Way::In => {}
            Way::Out => {
                argument.before = vec![format!("{value} = 0")];
                argument.on_success.push(set);
            }
            Way::InOut => argument.after.push(set),
        }
        argument
    }

    fn handles(&self, handle: Handle) -> Argument {
        let (name, of) = (self.name, self.handle_type(handle));
        let component = self.component();
        let number = format!("int({name}(i_{name}){component}, c_int)");
        let to_c = format!("c_{name}(i_{name}) = PMPI_{}_fromint({number})", handle.name);
        let each = |line: String| {
            vec![format!("do i_{name} = 1, n_{name}"), format!("  {line}"), "end do".to_owned()]
        };
        let mut before = vec![
            format!("n_{name} = max(0_c_int, {})", self.length_of_handles()),
            format!("allocate(c_{name}(n_{name}))"),
            format!("c_{name} = 0"),
        ];
        if self.way != Way::Out {
            before.extend(each(to_c));
        }
        let mut after = Vec::new();
        if self.way != Way::In {
            let set = format!("{name}(i_{name}){component} = PMPI_{}_toint(c_{name}(i_{name}))", handle.name);
            let skip =
                if self.way == Way::Out { format!("if (c_{name}(i_{name}) /= 0) ") } else { String::new() };
            after = each(skip + &set);
        }
        Argument {
            dummy: Some(format!("{of}{} :: {name}(*)", self.way.intent())),
            of_c: format!("integer(c_intptr_t) :: {name}(*)"),
            locals: vec![
                format!("integer(c_intptr_t), allocatable :: c_{name}(:)"),
                format!("integer(c_int) :: n_{name}"),
                format!("integer(c_int) :: i_{name}"),
            ],
            before,
            actual: format!("c_{name}"),
            after,
            ..Argument::default()
        }
    }

    /// How many elements an array of handles has.
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
            _ => "int(count, c_int)".to_owned(),
        }
    }

    /// What is written may be a constant to be ignored, so that it has no intent.
    fn intent(&self) -> &'static str {
        if self.way == Way::In { ", intent(in)" } else { "" }
    }

    /// A place that C gets the address of, and that may be a constant which is known by its place.
    fn placed(&self, dummy: String, constant: &str) -> Argument {
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

    fn status(&self) -> Argument {
        let (name, intent) = (self.name, self.intent());
        let dummy = match self.dialect() {
            Dialect::F08 => format!("type(MPI_Status){intent}, target :: {name}"),
            _ => format!("integer{intent}, target :: {name}(MPI_STATUS_SIZE)"),
        };
        self.placed(dummy, &if_ignored("MPI_STATUS_IGNORE"))
    }

    fn statuses(&self) -> Argument {
        let name = self.name;
        let dummy = match self.dialect() {
            Dialect::F08 => format!("type(MPI_Status), target :: {name}(*)"),
            _ => format!("integer, target :: {name}(MPI_STATUS_SIZE, *)"),
        };
        self.placed(dummy, &if_ignored("MPI_STATUSES_IGNORE"))
    }

    fn place(&self) -> Argument {
        self.placed(format!("integer{}, target :: {}(*)", self.intent(), self.name), IF_A_CONSTANT)
    }

    fn buffer(&self, index: usize) -> Argument {
        let (name, intent) = (self.name, self.intent());
        if self.dialect() != Dialect::F08 {
            return self.placed(format!("type(*), dimension(*){intent}, target :: {name}"), IF_A_CONSTANT);
        }
        let parameters = &self.procedure.function.parameters;
        let datatype = |name: &str| format!("int({name}%MPI_VAL, c_int)");
        let (count, number) = match (self.procedure.pair(index), self.procedure.blocks(index)) {
            (Some((count, of)), _) => (format!("int({count}, c_int64_t)"), datatype(of)),
            (None, Some(of)) => ("0_c_int64_t".to_owned(), datatype(&parameters[of].name)),
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
        let kept = if self.procedure.is_asynchronous() { ", asynchronous" } else { "" };
        Argument {
            dummy: Some(format!("type(*), dimension(..){intent}{kept}, target :: {name}")),
            of_c: self.value("type(c_ptr)"),
            locals: vec![format!("type(canele_buffer) :: c_{name}")],
            attempts,
            actual: address,
            after: vec![format!("if (c_{name}%made /= 0) call canele_fort_end(c_{name})")],
            ..Argument::default()
        }
    }

    /// The count or the datatype of a buffer that is a descriptor: the descriptor may need others.
    fn of_a_buffer(&self, parameter: &Parameter, index: usize) -> Option<Argument> {
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

    fn pointer(&self) -> Argument {
        let name = self.name;
        let of_c = self.reference("type(c_ptr)");
        if self.procedure.gives_pointers() {
            let dummy = Some(format!("type(c_ptr), intent(out) :: {name}"));
            return Argument { dummy, of_c, actual: name.to_owned(), ..Argument::default() };
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

    fn attribute(&self) -> Argument {
        let name = self.name;
        let is_old = self.procedure.is_of_mpi_1();
        let of = if is_old { "integer" } else { "integer(MPI_ADDRESS_KIND)" };
        if self.way == Way::In {
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

    /// The arguments of `main`: Fortran has none that C could change.
    fn of_main(&self, parameter: &Parameter) -> Argument {
        let (of, nothing) = if parameter.kind.name == "int" {
            ("integer(c_int)", "0_c_int")
        } else {
            ("type(c_ptr)", "c_null_ptr")
        };
        Argument { of_c: self.value(of), actual: nothing.to_owned(), ..Argument::default() }
    }

    fn state(&self) -> Argument {
        let name = self.name;
        let of = if self.procedure.is_of_mpi_1() { "integer" } else { "integer(MPI_ADDRESS_KIND)" };
        let functions = self.procedure.callbacks();
        let functions: Vec<String> = functions.iter().map(|name| format!("c_funloc({name})")).collect();
        let kept = if self.procedure.is_of_mpi_1() { ", 1_c_int" } else { ", 0_c_int" };
        let kept = if functions.len() == 2 { kept } else { "" };
        let is_shared = self.procedure.function.name == "MPI_Grequest_start";
        let (make, value) = match functions.len() {
            2 => ("canele_fort_attribute_state", format!("int({name}, c_intptr_t)")),
            // Programs count on it that the functions change the variable which they gave.
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

    fn callback(&self, interface: &str) -> Argument {
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

    fn text(&self) -> Argument {
        let name = self.name;
        let of_c = format!("character(kind=c_char) :: {name}(*)");
        let dummy = Some(format!("character(len=*){} :: {name}", self.way.intent()));
        if self.way == Way::In {
            // Blanks at the end are not part of a text, those at its beginning not of what is said to MPI_Info and MPI_Comm_spawn (MPI 5.0,
            // chapters 10 and 11).
            let is_stripped = self.procedure.function.name.starts_with("MPI_Info_") || name == "command";
            let kept = if is_stripped { format!("trim(adjustl({name}))") } else { format!("trim({name})") };
            return Argument { dummy, of_c, actual: format!("{kept} // c_null_char"), ..Argument::default() };
        }
        // C says that there is a text and gives none where no room for one was promised.
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

    fn texts(&self) -> Argument {
        let name = self.name;
        let how_many = if name == "array_of_commands" { "int(count, c_int)" } else { "-1_c_int" };
        Argument {
            dummy: Some(format!("character(len=*), intent(in) :: {name}(*)")),
            of_c: self.value("type(c_ptr)"),
            locals: vec![format!("type(c_ptr) :: c_{name}")],
            before: vec![format!(
                "c_{name} = canele_fort_texts({name}, MPI_ARGV_NULL, len({name}, c_int), {how_many})"
            )],
            actual: format!("c_{name}"),
            after: vec![format!("call canele_fort_free_texts(c_{name})")],
            ..Argument::default()
        }
    }

    fn text_lists(&self) -> Argument {
        let name = self.name;
        Argument {
            dummy: Some(format!("character(len=*), intent(in) :: {name}(count, *)")),
            of_c: self.value("type(c_ptr)"),
            locals: vec![format!("type(c_ptr) :: c_{name}")],
            before: vec![format!(
                "c_{name} = canele_fort_text_lists({name}, MPI_ARGV_NULL, len({name}, c_int), int(count, c_int))"
            )],
            actual: format!("c_{name}"),
            after: vec![format!("call canele_fort_free_text_lists(c_{name}, int(count, c_int))")],
            ..Argument::default()
        }
    }
}
