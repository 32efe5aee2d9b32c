//! The text of a procedure: a header, which the modules' interfaces share, and a body that calls C's
//! function.

use super::{Dialect, Procedure};
use crate::fortran::argument::Argument;
use crate::fortran::long::IntegerLength;
use crate::fortran::shape::{Direction, Shape, direction, shape};
use crate::fortran::short::GENERAL;
use crate::fortran::text::{line, lines};

impl Procedure<'_> {
    /// Returns the first line and the declarations of the dummy arguments, with other lines between them.
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

    /// Returns the body of an interface. Buffers have any type, in the compiler's notation.
    pub(in crate::fortran) fn interface(&self, prefix: &str, indent: usize) -> String {
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

    /// Returns the interface of C's function.
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

    /// Returns the modules that a definition uses.
    fn used(&self) -> Vec<String> {
        let statuses = if self.dialect == Dialect::F08 { "use mpi_f08_types" } else { "use canele_statuses" };
        ["use canele_support", statuses, "implicit none"].map(str::to_owned).to_vec()
    }

    pub(super) fn definition(&self) -> String {
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

    /// Returns the line that stores the error code for the program.
    pub(in crate::fortran) fn set_error(&self) -> &'static str {
        if self.dialect == Dialect::F08 { "if (present(ierror)) ierror = code" } else { "ierror = code" }
    }

    fn call(&self, arguments: &[Argument], attempts: &[String], before: &[String]) -> String {
        let used = arguments.iter().filter(|argument| !argument.of_c.is_empty());
        let actual: Vec<&str> = used.map(|argument| argument.actual.as_str()).collect();
        let call = format!("code = c_{}({})", self.function.name, actual.join(", "));
        let call = self.call_for_requests(call);
        // Elements of arrays may be invalid, too.
        let may_fail = self.integers == IntegerLength::Eight && self.result().is_none();
        if attempts.is_empty() && !may_fail {
            return lines(2, before) + &lines(2, &call);
        }
        let mut text = line(2, "code = 0") + &lines(2, attempts) + &lines(2, before);
        text += &line(2, "if (code /= 0) then");
        text += &line(4, &self.raise());
        text + &line(2, "else") + &lines(4, &call) + &line(2, "end if")
    }

    /// Returns the line that raises an error detected before the call, on the object of the call (MPI 5.0,
    /// section 9.3).
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
