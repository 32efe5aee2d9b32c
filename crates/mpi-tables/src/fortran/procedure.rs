//! The procedures: a header that the interfaces of the modules have too, and a body that calls C's function.

use super::argument::{Argument, argument};
use super::long::IntegerLength;
use super::shape::{Direction, Shape, Width, direction, shape};
use super::short::GENERAL;
use super::text::{line, lines};
use crate::exported::Exported;
use crate::tables::Parameter;

/// In which Fortran a procedure is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// That of `mpif.h` and the module `mpi`.
    Mpi,
    /// That of MPI 1, whose addresses are of type INTEGER.
    Removed,
    /// That of the module `mpi_f08`.
    F08,
}

/// A procedure in Fortran.
pub(super) struct Procedure<'a> {
    /// C's function.
    pub function: &'a Exported<'a>,
    /// How it is written.
    pub dialect: Dialect,
    /// How long an INTEGER is.
    pub integers: IntegerLength,
    /// True if addresses are given as `type(c_ptr)`, not as numbers.
    pointers: bool,
    /// True if it has the name of the function without `_c`: an INTEGER is as long as MPI_Count.
    has_short_name: bool,
}

/// The buffer is the caller's again when the procedure returns: it may be copied.
const BLOCKING: u32 = 1;
/// The buffer is written.
const WRITTEN: u32 = 2;
/// A count and a datatype belong to the buffer: others can stand for them.
const PAIR: u32 = 4;
/// The address alone is asked for.
const ADDRESS: u32 = 8;
/// A datatype belongs to the buffer, which has a block for each rank or partition: its elements must follow each other as those of the array do.
const BLOCKS: u32 = 16;
/// The call gives a request, with which a copy may live.
const REQUEST: u32 = 32;

impl<'a> Procedure<'a> {
    /// The procedures of a function: one, or two if addresses are given in two ways.
    pub(super) fn of(function: &'a Exported<'a>, dialect: Dialect, integers: IntegerLength) -> Vec<Self> {
        let is_of_mpi_1 = matches!(
            function.name.as_str(),
            "MPI_Attr_put" | "MPI_Attr_get" | "MPI_Attr_delete" | "MPI_Keyval_create" | "MPI_Keyval_free"
        );
        if dialect == Dialect::F08 && (is_of_mpi_1 || function.of.returns != "int") {
            return Vec::new();
        }
        let has_pointers = function.parameters.iter().any(|parameter| parameter.kind.name == "address*");
        let pointers: &[bool] = match dialect {
            Dialect::F08 => &[true],
            _ if has_pointers && !function.name.contains("etach") => &[false, true],
            _ => &[false],
        };
        let of = |pointers| Self { function, dialect, integers, pointers, has_short_name: false };
        pointers.iter().copied().map(of).collect()
    }

    /// The same procedures by the name without `_c`.
    pub(super) fn with_short_name(self) -> Self {
        Self { has_short_name: true, ..self }
    }

    /// The name of the function in Fortran.
    fn title(&self) -> &str {
        let name = self.function.name.as_str();
        if self.has_short_name { name.trim_end_matches("_c") } else { name }
    }

    /// Its own name: that which tools for profiling have to define.
    pub(super) fn name(&self) -> String {
        let name = self.title();
        match self.dialect {
            Dialect::F08 if self.has_buffers() => format!("{name}_f08ts"),
            Dialect::F08 => format!("{name}_f08"),
            _ if self.pointers => format!("{name}_cptr"),
            _ => name.to_owned(),
        }
    }

    /// The name that programs call it by.
    pub(super) fn generic(&self) -> &str {
        let name = self.title();
        match name.strip_suffix("_c") {
            Some(small) if self.integers == IntegerLength::Four && self.differs_in_width() => small,
            _ => name,
        }
    }

    /// True if a compiler can tell its arguments from those of the function without `_c`.
    fn differs_in_width(&self) -> bool {
        if !self.function.large {
            return self.function.name.starts_with("MPI_Type_get_");
        }
        let widths = |large: bool| {
            let function = Exported { large, ..self.function.clone() };
            let of = |parameter| shape(&function, parameter);
            self.function.parameters.iter().map(of).collect::<Vec<_>>()
        };
        let default = [Shape::Number(Width::Default), Shape::Numbers(Width::Default)];
        widths(false)
            .iter()
            .zip(widths(true))
            .any(|(small, large)| *small != large && default.contains(small))
    }

    /// True if a buffer is passed as a descriptor.
    fn has_buffers(&self) -> bool {
        !self.descriptors().is_empty()
    }

    /// The names of buffers that are passed as descriptors.
    pub(super) fn descriptors(&self) -> Vec<&str> {
        let is_descriptor = |p: &&Parameter| shape(self.function, p) == Shape::Buffer;
        match self.dialect {
            Dialect::F08 => {
                let buffers = self.function.parameters.iter().filter(is_descriptor);
                buffers.map(|parameter| parameter.name.as_str()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// True for the functions of attributes that MPI 1 had, whose values are of type INTEGER.
    pub(super) fn is_of_mpi_1(&self) -> bool {
        ["MPI_Attr_put", "MPI_Attr_get", "MPI_Keyval_create"].contains(&self.function.name.as_str())
    }

    /// True if addresses are given as `type(c_ptr)`.
    pub(super) fn gives_pointers(&self) -> bool {
        self.pointers
    }

    /// True if the library has the buffers after the procedure has returned.
    pub(super) fn is_asynchronous(&self) -> bool {
        let name = self.function.name.trim_end_matches("_c");
        let starts = ["MPI_Put", "MPI_Get", "MPI_Accumulate", "MPI_Get_accumulate", "MPI_Fetch_and_op"];
        self.gives_a_request()
            || starts.contains(&name)
            || ["_begin", "ttach", "tach_buffer", "_create", "_and_swap"]
                .iter()
                .any(|end| name.ends_with(end))
    }

    /// The names of the count and the datatype of the buffer with this index, if it is a message of its own.
    pub(super) fn pair(&self, index: usize) -> Option<(&str, &str)> {
        let parameters = &self.function.parameters;
        let kind = |n: usize| parameters.get(n).map_or("", |parameter| parameter.kind.name.as_str());
        let name = self.function.name.as_str();
        let is_reduced =
            parameters.iter().any(|p| p.kind.name == "op") && !name.to_lowercase().contains("accumulate");
        let is_pair =
            kind(index).starts_with("buffer") && kind(index + 1) == "count" && kind(index + 2) == "datatype";
        (is_pair && !is_reduced && self.blocks(index).is_none())
            .then(|| (parameters[index + 1].name.as_str(), parameters[index + 2].name.as_str()))
    }

    /// True if the buffer has partitions.
    pub(super) fn has_partitions(&self) -> bool {
        self.function.parameters.iter().any(|parameter| parameter.name == "partitions")
    }

    /// The index of the datatype of the buffer with this index, if that has a block for each rank or partition.
    pub(super) fn blocks(&self, index: usize) -> Option<usize> {
        let parameters = &self.function.parameters;
        let name = self.function.of.name.to_lowercase();
        let buffer = parameters[index].name.as_str();
        let has_blocks = match buffer {
            "sendbuf" => {
                ["scatter", "scatterv", "alltoall", "alltoallv"].iter().any(|end| name.ends_with(end))
            }
            "buf" => self.has_partitions(),
            "recvbuf" => ["gather", "gatherv", "alltoall", "alltoallv"].iter().any(|end| name.ends_with(end)),
            _ => false,
        };
        let datatype = parameters[index..].iter().position(|parameter| parameter.kind.name == "datatype");
        datatype.filter(|_| has_blocks && !name.contains("reduce")).map(|distance| index + distance)
    }

    /// What the library may do with the buffer with this index.
    pub(super) fn flags(&self, index: usize) -> u32 {
        let address = ["MPI_Get_address", "MPI_Free_mem", "MPI_Win_detach", "MPI_Address"];
        // The end of a split collective has the buffer of its beginning.
        if address.contains(&self.function.name.as_str()) || self.function.name.ends_with("_end") {
            return ADDRESS;
        }
        let is_written = self.function.parameters[index].kind.name.ends_with('*');
        let mut flags = 0;
        for (flag, holds) in [
            (BLOCKING, !self.is_asynchronous()),
            (WRITTEN, is_written),
            (PAIR, self.pair(index).is_some()),
            (BLOCKS, self.blocks(index).is_some()),
            (REQUEST, self.gives_a_request()),
        ] {
            flags |= if holds { flag } else { 0 };
        }
        flags
    }

    /// Of which kind the attributes are (0 communicators, 1 windows, 2 datatypes), and the parameter with their key.
    pub(super) fn keyval(&self) -> (u32, &str) {
        let keyval = self.function.parameters.iter().find(|parameter| parameter.kind.name == "keyval");
        let kind = match &self.function.name {
            name if name.starts_with("MPI_Win_") => 1,
            name if name.starts_with("MPI_Type_") => 2,
            _ => 0,
        };
        (kind, keyval.map_or("0", |parameter| &parameter.name))
    }

    /// The parameters that are functions of the program.
    pub(super) fn callbacks(&self) -> Vec<&str> {
        let all = self.function.parameters.iter();
        let callbacks = all.filter(|parameter| matches!(shape(self.function, parameter), Shape::Callback(_)));
        callbacks.map(|parameter| parameter.name.as_str()).collect()
    }

    fn arguments(&self) -> Vec<Argument> {
        (0..self.function.parameters.len()).map(|index| argument(self, index)).collect()
    }

    /// The result that is not an error code, in Fortran.
    fn result(&self) -> Option<&'static str> {
        match self.function.of.returns.as_str() {
            "double" => Some("double precision"),
            "MPI_Aint" => Some("integer(MPI_ADDRESS_KIND)"),
            _ => None,
        }
    }

    /// True if it has the argument `ierror`.
    fn has_error(&self) -> bool {
        self.result().is_none() && self.function.name != "MPI_Pcontrol"
    }

    /// The first line and the declarations of the dummy arguments, behind each other with what stands between them.
    fn header(&self, prefix: &str, between: &[String], arguments: &[Argument], indent: usize) -> String {
        let named = self.function.parameters.iter().zip(arguments);
        let mut names: Vec<&str> = named
            .filter(|(_, argument)| argument.dummy.is_some())
            .map(|(parameter, _)| &*parameter.name)
            .collect();
        let result = self.result();
        if self.has_error() {
            names.push("ierror");
        }
        let name = format!("{prefix}{}", self.name());
        let mut text = match result {
            None => line(indent, &format!("recursive subroutine {name}({})", names.join(", "))),
            Some(_) => line(indent, &format!("recursive function {name}({}) result(code)", names.join(", "))),
        };
        text += &lines(indent + 2, between);
        text += &lines(
            indent + 2,
            &arguments.iter().filter_map(|argument| argument.dummy.clone()).collect::<Vec<_>>(),
        );
        let optional = if self.dialect == Dialect::F08 { ", optional" } else { "" };
        if let Some(of) = result {
            text += &line(indent + 2, &format!("{of} :: code"));
        } else if self.has_error() {
            text += &line(indent + 2, &format!("integer{optional}, intent(out) :: ierror"));
        }
        text
    }

    fn footer(&self) -> &'static str {
        if self.result().is_some() { "end function" } else { "end subroutine" }
    }

    /// The body of an interface. Buffers have any type, whatever the compiler calls that.
    pub(super) fn interface(&self, prefix: &str, indent: usize) -> String {
        let mut between = vec!["import".to_owned()];
        if self.dialect != Dialect::F08 {
            let buffers = self.function.parameters.iter();
            let buffers = buffers.filter(|p| {
                shape(self.function, p) == Shape::Buffer || (p.name == "buffer_addr" && !self.pointers)
            });
            for buffer in buffers {
                between.extend(
                    [
                        "!DEC$ ATTRIBUTES NO_ARG_CHECK ::",
                        "!GCC$ ATTRIBUTES NO_ARG_CHECK ::",
                        "!DIR$ IGNORE_TKR",
                    ]
                    .map(|directive| format!("{directive} {}", buffer.name)),
                );
            }
        }
        self.header(prefix, &between, &self.arguments(), indent) + &line(indent, self.footer())
    }

    /// The interface of C's function.
    fn of_c(&self, arguments: &[Argument]) -> String {
        let named = self.function.parameters.iter().zip(arguments);
        let named: Vec<_> = named.filter(|(_, argument)| !argument.of_c.is_empty()).collect();
        let names: Vec<&str> = named.iter().map(|(parameter, _)| &*parameter.name).collect();
        let name = &self.function.name;
        let mut text = line(2, "interface");
        text += &line(
            4,
            &format!("function c_{name}({}) bind(C, name=\"{name}\") result(code)", names.join(", ")),
        );
        text += &line(6, "import");
        text += &lines(6, &named.iter().map(|(_, argument)| argument.of_c.clone()).collect::<Vec<_>>());
        text += &line(6, &format!("{} :: code", self.result_of_c()));
        text + &line(4, "end function") + &line(2, "end interface")
    }

    fn result_of_c(&self) -> &'static str {
        match self.function.of.returns.as_str() {
            "double" => "real(c_double)",
            "MPI_Aint" => "integer(MPI_ADDRESS_KIND)",
            _ => "integer(c_int)",
        }
    }

    /// The modules that a definition uses.
    fn used(&self) -> Vec<String> {
        let statuses = if self.dialect == Dialect::F08 { "use mpi_f08_types" } else { "use canele_statuses" };
        ["use canele_support", statuses, "implicit none"].map(str::to_owned).to_vec()
    }

    fn definition(&self) -> String {
        let arguments = self.arguments();
        let prefix = if self.is_short() { GENERAL } else { "" };
        let mut text = self.header(prefix, &self.used(), &arguments, 0);
        text += &self.of_c(&arguments);
        text += &self.body(&arguments);
        text += &(line(0, self.footer()) + "\n");
        if self.is_short() {
            text += &self.short_definition(&arguments);
        }
        text
    }

    fn short_definition(&self, arguments: &[Argument]) -> String {
        let mut text = self.header("", &self.used(), arguments, 0);
        text += &self.of_c(arguments);
        text += &(line(2, "interface") + &self.interface(GENERAL, 4) + &line(2, "end interface"));
        text += &self.short_body(arguments);
        text + &line(0, self.footer()) + "\n"
    }

    fn body(&self, arguments: &[Argument]) -> String {
        let all = |part: fn(&Argument) -> &Vec<String>| {
            arguments.iter().flat_map(|argument| part(argument).clone()).collect::<Vec<_>>()
        };
        let mut text = lines(2, &all(|argument| &argument.locals));
        text += &lines(2, &self.locals_for_resources());
        if self.function.name == "MPI_Pready_list" {
            text += &line(2, "integer(c_int) :: n_ready");
        }
        if self.result().is_none() {
            text += &line(2, "integer(c_int) :: code");
        }
        if self.lends_handles() {
            text += &line(2, "resources = c_null_ptr");
        }
        text += &self.call(arguments, &all(|argument| &argument.attempts), &all(|argument| &argument.before));
        text += &lines(2, &all(|argument| &argument.after));
        text += &lines(2, &self.attach());
        let mut on_success = all(|argument| &argument.on_success);
        if ["MPI_Init", "MPI_Init_thread", "MPI_Session_init"].contains(&self.function.name.as_str()) {
            on_success.push("call canele_prepare()".to_owned());
        }
        if !on_success.is_empty() {
            text += &(line(2, "if (code == 0) then") + &lines(4, &on_success) + &line(2, "end if"));
        }
        if self.has_error() {
            text += &line(2, self.set_error());
        }
        text
    }

    /// The line that gives the program the error code.
    pub(super) fn set_error(&self) -> &'static str {
        if self.dialect == Dialect::F08 { "if (present(ierror)) ierror = code" } else { "ierror = code" }
    }

    fn call(&self, arguments: &[Argument], attempts: &[String], before: &[String]) -> String {
        let used = arguments.iter().filter(|argument| !argument.of_c.is_empty());
        let actual: Vec<&str> = used.map(|argument| argument.actual.as_str()).collect();
        let call = format!("code = c_{}({})", self.function.name, actual.join(", "));
        let call = self.call_for_requests(call);
        // Elements of arrays may be found to be wrong, too.
        let may_fail = self.integers == IntegerLength::Eight && self.result().is_none();
        if attempts.is_empty() && !may_fail {
            return lines(2, before) + &lines(2, &call);
        }
        let mut text = line(2, "code = 0") + &lines(2, attempts) + &lines(2, before);
        text += &line(2, "if (code /= 0) then");
        text += &line(4, &self.raise());
        text + &line(2, "else") + &lines(4, &call) + &line(2, "end if")
    }

    /// The line that raises an error which is found before the call, on the object that the call is about (MPI 5.0, section 9.3).
    fn raise(&self) -> String {
        let objects = [("comm", "comm"), ("win", "win"), ("file", "file"), ("session", "session")];
        let mut all = self.function.parameters.iter();
        let found = all.find_map(|parameter| {
            let kind = parameter.kind.name.trim_end_matches('*');
            let is_given = direction(self.function, parameter) != Direction::Out;
            let object = objects.iter().find(|(name, _)| *name == kind && is_given)?;
            Some((object.1, format!("c_{}", parameter.name)))
        });
        let (kind, handle) = found.unwrap_or(("comm", "CANELE_COMM_SELF".to_owned()));
        format!("call canele_fort_raise_{kind}({handle}, code)")
    }
}

/// The definitions of procedures.
pub(super) fn definitions(procedures: &[Procedure<'_>]) -> String {
    procedures.iter().map(Procedure::definition).collect()
}
