//! The functions of the C interface, as Rust code for the library of an ABI.
//!
//! Each converts its arguments, calls the body in `canele-mpi-c`, and raises the error of a failed body. The
//! functions are `C-unwind`, so an exception of a program's function may pass through them.
//!
//! `PMPI_X` is a second name of `MPI_X`: one address, one body, one cache. A tool may define `MPI_X` itself
//! and call `PMPI_X`. Rust has no second names: the linker assigns `PMPI_X` its address ([`aliases`]). A
//! function without instructions makes the compiler export the name.

use std::fmt::Write;

use crate::exported::{CallForm, Exported, exported, extensions, removed_functions};
use crate::tables::{Abi, ParameterKind, Tables};

/// Types of bodies that represent two C types.
const WIDE_TYPES: [&str; 4] = ["Count", "Counts", "Displacements", "OutCount"];

/// Returns the code: a `MPI_` and a `PMPI_` function for each function of the standard and beyond it.
pub fn rust(tables: &Tables) -> String {
    let mut text = String::new();
    for function in functions(tables) {
        write_function(&mut text, &function);
        write_second_name(&mut text, &format!("P{}", function.name), &function.name);
    }
    for (name, of) in persistent_by_open_mpi(tables) {
        write_second_name(&mut text, &name, &of);
    }
    text
}

/// Returns a linker script for a library of these functions, which assigns each `PMPI_X` the address of
/// `MPI_X`.
///
/// The last lines of the script make a linker fail that does not replace the addresses.
pub fn aliases(tables: &Tables) -> String {
    let names = functions(tables).map(|function| (format!("P{}", function.name), function.name));
    let names: Vec<(String, String)> = names.chain(persistent_by_open_mpi(tables)).collect();
    let alias = names.iter().map(|(name, of)| format!("{name} = {of};\n"));
    let check = names.iter().map(|(name, of)| format!("ASSERT({name} == {of}, \"{name} is not {of}\");\n"));
    alias.chain(check).collect()
}

/// Returns the names of persistent collectives in Open MPI 4, and the standard names of the same functions.
fn persistent_by_open_mpi(tables: &Tables) -> Vec<(String, String)> {
    if tables.abi != Abi::OpenMpi {
        return Vec::new();
    }
    let functions = exported(tables).into_iter();
    let persistent = functions.filter(|function| function.form == CallForm::Persistent && !function.large);
    let names = |of: String| {
        ["", "P"].map(|before| (format!("{before}MPIX_{}", of.trim_start_matches("MPI_")), of.clone()))
    };
    persistent.flat_map(|function| names(function.name)).collect()
}

/// Returns all functions that a library of these tables exports under two names.
fn functions(tables: &Tables) -> impl Iterator<Item = Exported<'_>> {
    exported(tables).into_iter().chain(extensions(tables)).chain(removed_functions(tables))
}

/// Writes another name of a function, as `PMPI_X`, whose own address the linker replaces. The compiler does
/// not inspect a naked function, so callers in the library are correct, too.
fn write_second_name(text: &mut String, name: &str, of: &str) {
    writeln!(
        text,
        "/// Another name of [`{of}`], by the linker's script.\n\
         // SAFETY: the name is MPI's, and this crate alone defines it.\n\
         #[unsafe(no_mangle)]\n\
         #[unsafe(naked)]\n\
         pub extern \"C-unwind\" fn {name}() {{\n    core::arch::naked_asm!(\"\")\n}}"
    )
    .expect("a string grows");
}

fn write_function(text: &mut String, function: &Exported<'_>) {
    let name = &function.name;
    let parameters = function.parameters.iter().filter(|p| p.kind.name != "...");
    let (result, statements) = body(function);
    if function.of.form == "short" {
        write_short(text, function, &statements);
        return;
    }
    if function.of.form == "mapped" {
        write_mapped(text, function, &statements);
        return;
    }
    let unused = |name: &str| function.of.body.is_none() && !statements.contains(&format!("({name})"));
    let declared = |p: &crate::Parameter| {
        let underscore = if unused(&p.name) { "_" } else { "" };
        format!("{underscore}{}: {}", p.name, extern_type(&p.kind, function.large))
    };
    let list: Vec<String> = parameters.map(declared).collect();
    writeln!(
        text,
        "/// `{name}` of the standard.\n\
         // SAFETY: the name is MPI's, and this crate alone defines it.\n\
         #[unsafe(no_mangle)]\n\
         pub extern \"C-unwind\" fn {name}({list}) -> {result} {{\n{statements}\n}}",
        list = list.join(", ")
    )
    .expect("a string grows");
}

/// Writes a function that is first tried without a frame; its general part is a separate function, reached by
/// a jump.
fn write_short(text: &mut String, function: &Exported<'_>, statements: &str) {
    let name = &function.name;
    let path = function.of.body.as_ref().expect("a short function is written");
    let declared = |p: &crate::Parameter| format!("{}: {}", p.name, extern_type(&p.kind, function.large));
    let list = function.parameters.iter().map(declared).collect::<Vec<_>>().join(", ");
    // The arguments that follow from a route and a number of bytes.
    let routed =
        |p: &&crate::Parameter| ["comm", "count", "datatype", "rank"].contains(&p.kind.name.as_str());
    let own = function.parameters.iter().filter(|p| !routed(p));
    let from_route = |p: &crate::Parameter| match p.kind.name.as_str() {
        "count" => format!("    let {} = route.count(bytes) as _;", declared(p)),
        kind => format!("    let {} = route.{kind}();", declared(p)),
    };
    let names = function.parameters.iter().map(|p| p.name.as_str()).collect::<Vec<_>>().join(", ");
    let arguments: Vec<String> =
        function.of.parameters.iter().filter_map(|p| argument(p, function.large)).collect();
    let named =
        |kind: &str| function.parameters.iter().find(|p| p.kind.name == kind).map_or("", |p| p.name.as_str());
    let (rank, tag) = (named("rank"), named("tag"));
    let packed = |each: &dyn Fn(&crate::Parameter) -> String, rank_and_tag: &str| {
        let parts = function.parameters.iter().filter(|p| p.kind.name != "tag");
        let part =
            |p: &crate::Parameter| if p.kind.name == "rank" { rank_and_tag.to_owned() } else { each(p) };
        parts.map(part).collect::<Vec<_>>().join(", ")
    };
    writeln!(
        text,
        "/// Takes the general path of `{name}`.\n\
         #[inline(never)]\n\
         extern \"C-unwind\" fn general_{name}({list}) -> c_int {{\n{statements}\n}}\n\
         /// Takes the general path. Rank and tag are one argument, so that a jump with arguments in registers suffices.\n\
         #[cold]\n\
         #[inline(never)]\n\
         extern \"C-unwind\" fn packed_{name}({packed_list}) -> c_int {{\n    \
         let ({rank}, {tag}) = ((rank_and_tag >> 32) as c_int, rank_and_tag as c_int);\n    \
         general_{name}({names})\n}}\n\
         /// Takes the path of `{name}` for a message that the link does not take at once or that fits into no cell.\n\
         /// The other arguments follow from the route and the bytes. No traced process knows a route.\n\
         #[cold]\n\
         #[inline(never)]\n\
         extern \"C-unwind\" fn routed_{name}(route: *const Route, bytes: usize, {not_routed}) -> c_int {{\n    \
         // SAFETY: this call found the route, and reads it before any other call, which may find another one.\n    \
         let route = unsafe {{ &*route }};\n\
         {from_route}\n{tell}{refused}\n}}",
        packed_list = packed(&declared, "rank_and_tag: u64"),
        not_routed = own.clone().map(declared).collect::<Vec<_>>().join(", "),
        from_route = function.parameters.iter().filter(routed).map(from_route).collect::<Vec<_>>().join("\n"),
        tell = tell_guard(function),
        refused = outcome(function, &format!("{path}_refused")),
    )
    .expect("a string grows");
    writeln!(
        text,
        "/// `{name}` of the standard.\n\
         // SAFETY: the name is MPI's, and this crate alone defines it.\n\
         #[unsafe(no_mangle)]\n\
         pub extern \"C-unwind\" fn {name}({list}) -> c_int {{\n    \
         match {path}_at_once({arguments}) {{\n        \
         Attempt::Done => MPI_SUCCESS,\n        \
         Attempt::ToSleeper(route) => Route::wake_peer(route),\n        \
         Attempt::Left => packed_{name}({packed}),\n        \
         Attempt::LeftOn(route, bytes) => routed_{name}(route, bytes, {own_names}),\n    }}\n}}",
        packed = packed(&|p| p.name.clone(), &format!("({rank} as u64) << 32 | {tag} as u32 as u64")),
        own_names = own.map(|p| p.name.as_str()).collect::<Vec<_>>().join(", "),
        arguments = arguments.join(", ")
    )
    .expect("a string grows");
}

/// Writes a function that is first tried on mapped memory, which does all of a call or nothing. Its general
/// part is a separate function with the same parameters, so that a jump is sufficient.
fn write_mapped(text: &mut String, function: &Exported<'_>, statements: &str) {
    let name = &function.name;
    let path = function.of.body.as_ref().expect("such a function is written");
    let declared = |p: &crate::Parameter| format!("{}: {}", p.name, extern_type(&p.kind, function.large));
    let list = function.parameters.iter().map(declared).collect::<Vec<_>>().join(", ");
    let names = function.parameters.iter().map(|p| p.name.as_str()).collect::<Vec<_>>().join(", ");
    let arguments: Vec<String> =
        function.of.parameters.iter().filter_map(|p| argument(p, function.large)).collect();
    writeln!(
        text,
        "/// Takes the general path of `{name}`.\n\
         #[inline(never)]\n\
         extern \"C-unwind\" fn general_{name}({list}) -> c_int {{\n{statements}\n}}"
    )
    .expect("a string grows");
    writeln!(
        text,
        "/// `{name}` of the standard.\n\
         // SAFETY: the name is MPI's, and this crate alone defines it.\n\
         #[unsafe(no_mangle)]\n\
         pub extern \"C-unwind\" fn {name}({list}) -> c_int {{\n    \
         if {path}_at_once({arguments}) {{ MPI_SUCCESS }} else {{ general_{name}({names}) }}\n}}",
        arguments = arguments.join(", ")
    )
    .expect("a string grows");
}

/// Returns the type of a parameter at the C interface.
fn extern_type(kind: &ParameterKind, large: bool) -> String {
    match (is_converted(kind), large) {
        (false, _) => kind.rust.clone(),
        (true, false) => format!("<{} as WideArgument>::Small", kind.rust),
        (true, true) => format!("<{} as WideArgument>::Large", kind.rust),
    }
}

fn is_converted(kind: &ParameterKind) -> bool {
    WIDE_TYPES.contains(&kind.rust.as_str())
}

/// Returns the type of the result, and the statements of the function.
fn body(function: &Exported<'_>) -> (&'static str, String) {
    let (name, on) = (&function.name, error_object(function));
    let Some(path) = &function.of.body else {
        return ("c_int", format!("    error::unsupported({name:?}, {on})"));
    };
    if function.of.form == "value" {
        return (returned(&function.of.returns), format!("    {}", call_of(function, path)));
    }
    let call_guard = match function.of.call.as_str() {
        "any" => String::new(),
        _ => format!(
            "    static NAME: traced::CallName = traced::CallName::new({name:?});\n    \
             let _call = NAME.record_if_traced();\n"
        ),
    };
    ("c_int", format!("{}{call_guard}{}", tell_guard(function), outcome(function, path)))
}

/// Returns the guard that reports events to tools when the call ends; it is dropped after the guard of the
/// call.
fn tell_guard(function: &Exported<'_>) -> &'static str {
    if function.of.call == "any" { "" } else { "    let _tell = tools::TellGuard;\n" }
}

/// Returns the call of a body.
fn call_of(function: &Exported<'_>, path: &str) -> String {
    let parameters = function.of.parameters.iter();
    let arguments: Vec<String> = parameters.filter_map(|p| argument(p, function.large)).collect();
    format!("{path}({})", arguments.join(", "))
}

/// Returns the call of a body and the code that raises its error.
fn outcome(function: &Exported<'_>, path: &str) -> String {
    let (name, on, call) = (&function.name, error_object(function), call_of(function, path));
    let call = if function.of.form == "collective" { collective(function, &call) } else { call };
    let checked = |call: String, check: String| format!("{check}.and_then(|()| {call})");
    let call = function.parameters.iter().filter_map(check).fold(call, checked);
    format!(
        "    let outcome = {call};\n    match outcome {{\n        Ok(()) => MPI_SUCCESS,\n        Err(failed) => error::raise({name:?}, {on}, failed),\n    }}"
    )
}

/// Returns the check of a handle that bodies do not use.
fn check(parameter: &crate::Parameter) -> Option<String> {
    match parameter.kind.name.as_str() {
        "info" => Some(format!("infos::check({})", parameter.name)),
        "errhandler" => Some(format!("errhandlers::check({})", parameter.name)),
        _ => None,
    }
}

/// Returns an argument of the body.
fn argument(parameter: &crate::Parameter, large: bool) -> Option<String> {
    let (name, kind) = (&parameter.name, &parameter.kind);
    let from = if large { "from_large" } else { "from_small" };
    match kind.name.as_str() {
        "..." => None,
        _ if is_converted(kind) => Some(format!("<{} as WideArgument>::{from}({name})", kind.rust)),
        _ => Some(name.clone()),
    }
}

/// Returns the use of the call that the body of a collective makes.
fn collective(function: &Exported<'_>, call: &str) -> String {
    let parameters = &function.of.parameters;
    match function.form {
        // Calls with word arguments only are cached.
        CallForm::Blocking if parameters.iter().all(|p| !p.kind.name.contains('[')) => {
            let (n, words) = (parameters.len(), parameters.iter().map(|p| format!("Word::word({})", p.name)));
            let words = words.collect::<Vec<_>>().join(", ");
            format!(
                "{{\n        static CACHE: CallCache<{n}> = CallCache::new();\n        \
                 collective::run_cached(comm, &CACHE, [{words}], || {call})\n    }}"
            )
        }
        CallForm::Blocking => format!("collective::run(comm, {call})"),
        CallForm::Immediate => format!("collective::start(comm, {call}, request)"),
        CallForm::Persistent => format!("collective::persist(comm, {call}, info, request)"),
    }
}

/// Returns the object whose error handler gets errors.
fn error_object(function: &Exported<'_>) -> String {
    let of = function.of.parameters.iter().find(|p| p.kind.name == function.of.errors);
    match (function.of.errors.as_str(), of) {
        ("file", None) if function.name == "MPI_File_close" => "On::from(fh)".to_owned(),
        // The function has no file yet, or uses none.
        ("file", None) => "On::File(constants::MPI_FILE_NULL)".to_owned(),
        ("code", _) => "On::Code".to_owned(),
        // The function makes an object from none, so the handler gets a null handle.
        ("errhandler", Some(parameter)) => {
            let null =
                if function.name.starts_with("MPI_Session") { "MPI_SESSION_NULL" } else { "MPI_COMM_NULL" };
            format!("On::Given({}, constants::{null}.value())", parameter.name)
        }
        (_, Some(parameter)) => format!("On::from({})", parameter.name),
        _ => "On::Nothing".to_owned(),
    }
}

/// Returns the Rust type of a C result.
fn returned(of: &str) -> &'static str {
    match of {
        "double" => "c_double",
        "MPI_Aint" => "i64",
        "int" => "c_int",
        handle => handles(handle),
    }
}

/// Returns the name of a handle type, which is equal in Rust.
fn handles(name: &str) -> &'static str {
    let all = [
        "MPI_Comm",
        "MPI_Errhandler",
        "MPI_File",
        "MPI_Group",
        "MPI_Info",
        "MPI_Message",
        "MPI_Op",
        "MPI_Request",
        "MPI_Session",
        "MPI_Datatype",
        "MPI_Win",
    ];
    all.into_iter()
        .find(|handle| *handle == name)
        .unwrap_or_else(|| panic!("{name} is no type that is returned"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_called_at_any_time_is_not_recorded() {
        let tables = Tables::standard();
        for function in exported(&tables).iter().filter(|f| f.of.body.is_some() && f.of.form != "value") {
            let is_recorded = body(function).1.contains("NAME.record_if_traced()");
            assert_eq!(is_recorded, function.of.call == "-", "{}", function.name);
        }
        let is_any = |name: &str| exported(&tables).iter().any(|f| f.name == name && f.of.call == "any");
        let always =
            ["MPI_Initialized", "MPI_Finalized", "MPI_Info_set", "MPI_Error_string", "MPI_Session_init"];
        assert!(always.iter().all(|name| is_any(name)) && !is_any("MPI_Test"));
    }

    #[test]
    fn what_was_tried_in_vain_is_not_tried_again() {
        let text = rust(&Tables::standard());
        let bodies = [
            ("Send", "blocking::send"),
            ("Isend", "start::isend"),
            ("Recv", "blocking::recv"),
            ("Irecv", "start::irecv"),
        ];
        for (name, body) in bodies
            .iter()
            .flat_map(|(name, body)| [(format!("MPI_{name}"), body), (format!("MPI_{name}_c"), body)])
        {
            let routed =
                text.split(&format!("fn routed_{name}(")).nth(1).and_then(|rest| rest.split("\n}\n").next());
            let routed = routed.unwrap_or_else(|| panic!("{name} has a short path"));
            assert!(routed.contains(&format!("{body}_refused(")) && !routed.contains("general_"), "{routed}");
        }
    }
}
