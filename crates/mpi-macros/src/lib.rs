//! `#[mpi]`: makes a Rust function a function of MPI's C interface.
//!
//! ```text
//!   #[mpi(large)]
//!   fn MPI_Send(buf: Memory, count: Count, …, comm: MPI_Comm) -> Outcome { … }
//!
//!     ──▶  MPI_Send, PMPI_Send (count: int)   MPI_Send_c, PMPI_Send_c (count: MPI_Count)
//! ```
//! The body is written once. What it fails with goes to the error handler of the communicator, session or file among its
//! arguments, to the error handler among them, or to that of `MPI_COMM_SELF`. With `large` these types stand for one C type in each of the twins:
//!
//! | in the body | ordinary | large |
//! |---|---|---|
//! | `Count` | `int` | `MPI_Count` |
//! | `Counts` | `const int[]` | `const MPI_Count[]` |
//! | `Displacements` | `const int[]` | `const MPI_Aint[]` |
//! | `OutCount` | `int *` | `MPI_Count *` |
//!
//! With `collective` the body makes a `Call` of its arguments, the last of which is the communicator; exported are the function
//! that does it, that which starts it (`MPI_I…`, with a request), and that which makes it persistent (`…_init`, with an info
//! and a request). The blocking one keeps the calls it made last, unless it is given arrays.
//!
//! Functions of the list [`ANYTIME`] may be called by any thread at any time: they do not count as calls in which one is inside.
//!
//! `hot` puts the body into each of the exported functions, which says itself when late receives are to be submitted; the others do
//! that first. `plain` exports a function that cannot fail, with the result it has.
#![forbid(unsafe_code)]

use proc_macro::TokenStream;
use proc_macro2::TokenStream as Tokens;
use quote::{format_ident, quote};
use syn::{FnArg, Ident, ItemFn, Pat, Type, parse_macro_input};

/// What any thread may call at any time, whatever the level of thread support: before the beginning and after the end too
/// (MPI 5.0, §11.4.1, §11.6.2).
const ANYTIME: [&str; 36] = [
    "MPI_Initialized",
    "MPI_Finalized",
    "MPI_Query_thread",
    "MPI_Is_thread_main",
    "MPI_Get_version",
    "MPI_Get_library_version",
    "MPI_Abi_get_version",
    "MPI_Abi_get_info",
    "MPI_Abi_get_fortran_info",
    "MPI_Abi_get_fortran_booleans",
    "MPI_Info_create",
    "MPI_Info_create_env",
    "MPI_Info_set",
    "MPI_Info_delete",
    "MPI_Info_get",
    "MPI_Info_get_valuelen",
    "MPI_Info_get_string",
    "MPI_Info_get_nkeys",
    "MPI_Info_get_nthkey",
    "MPI_Info_dup",
    "MPI_Info_free",
    "MPI_Session_init",
    "MPI_Session_create_errhandler",
    "MPI_Session_call_errhandler",
    "MPI_Comm_create_errhandler",
    "MPI_Win_create_errhandler",
    "MPI_File_create_errhandler",
    "MPI_Errhandler_free",
    "MPI_Error_class",
    "MPI_Error_string",
    "MPI_Add_error_class",
    "MPI_Add_error_code",
    "MPI_Add_error_string",
    "MPI_Remove_error_class",
    "MPI_Remove_error_code",
    "MPI_Remove_error_string",
];

/// See the crate's text.
#[proc_macro_attribute]
pub fn mpi(options: TokenStream, item: TokenStream) -> TokenStream {
    let mut choice = Choice::default();
    let parser = syn::meta::parser(|meta| {
        if meta.path.is_ident("large") {
            choice.large = true;
        } else if meta.path.is_ident("hot") {
            choice.hot = true;
        } else if meta.path.is_ident("plain") {
            choice.plain = true;
        } else if meta.path.is_ident("collective") {
            choice.collective = true;
        } else {
            return Err(meta.error("there are `large`, `hot`, `plain` and `collective`"));
        }
        Ok(())
    });
    parse_macro_input!(options with parser);
    let function = parse_macro_input!(item as ItemFn);
    expand(&choice, &function).unwrap_or_else(|error| error.to_compile_error()).into()
}

#[derive(Default)]
struct Choice {
    large: bool,
    hot: bool,
    plain: bool,
    collective: bool,
}

/// A parameter: its name, and its type in the body.
struct Parameter<'a> {
    name: &'a Ident,
    of: &'a Type,
}

impl Parameter<'_> {
    /// The last part of the type's path.
    fn kind(&self) -> Option<&Ident> {
        match self.of {
            Type::Path(path) => path.path.segments.last().map(|segment| &segment.ident),
            _ => None,
        }
    }

    /// Whether it is another C type in the large twin.
    fn differs(&self) -> bool {
        self.kind().is_some_and(|kind| {
            ["Count", "Counts", "Displacements", "OutCount"].iter().any(|name| kind == name)
        })
    }

    /// Whether one word says all of it: it is no array.
    fn is_word(&self) -> bool {
        let words = ["Memory", "MemoryMut", "Count", "c_int", "MPI_Datatype", "MPI_Op", "MPI_Comm"];
        self.kind().is_some_and(|kind| words.iter().any(|name| kind == name))
    }

    /// Its C type in one of the twins, and how the body's value is made of it.
    fn in_c(&self, large: bool) -> (Tokens, Tokens) {
        let (name, of) = (self.name, self.of);
        if !self.differs() {
            return (quote!(#of), quote!(#name));
        }
        let (width, from) = if large { ("Large", "from_large") } else { ("Small", "from_small") };
        let (width, from) = (format_ident!("{width}"), format_ident!("{from}"));
        (quote!(<#of as crate::width::Width>::#width), quote!(<#of as crate::width::Width>::#from(#name)))
    }
}

fn expand(choice: &Choice, function: &ItemFn) -> syn::Result<Tokens> {
    let parameters = function.sig.inputs.iter().map(parameter).collect::<syn::Result<Vec<_>>>()?;
    if !choice.large
        && let Some(differing) = parameters.iter().find(|p| p.differs())
    {
        return Err(syn::Error::new_spanned(differing.name, "only a `large` function has such a parameter"));
    }
    let on = parameters.iter().find_map(|p| {
        let (name, kind) = (p.name, p.kind()?);
        (kind == "MPI_Comm" || kind == "MPI_Session" || kind == "MPI_File")
            .then(|| quote!(crate::error::On::from(#name)))
    });
    let name = &function.sig.ident;
    let on = on.or_else(|| given_handler(&parameters, name));
    let on = on.unwrap_or_else(|| quote!(crate::error::On::Nothing));
    let mut all = Tokens::new();
    if choice.plain {
        for exported in [format!("{name}"), format!("P{name}")] {
            all.extend(plain(&parameters, function, &exported));
        }
        let body = body(choice, function);
        return Ok(quote!(#body #all));
    }
    if choice.collective {
        for form in Form::ALL {
            for prefix in ["", "P"] {
                let stem = format!("{prefix}{}", form.name(&name.to_string()));
                all.extend(of_collective(form, &parameters, &on, name, &stem, false));
                if choice.large {
                    all.extend(of_collective(form, &parameters, &on, name, &format!("{stem}_c"), true));
                }
            }
        }
        let body = body(choice, function);
        return Ok(quote!(#body #all));
    }
    let anytime = ANYTIME.iter().any(|function| name == function);
    let begin = if choice.hot || anytime { quote!() } else { begin() };
    for prefix in ["", "P"] {
        all.extend(exported(&parameters, (&begin, &on), name, &format!("{prefix}{name}"), false));
        if choice.large {
            all.extend(exported(&parameters, (&begin, &on), name, &format!("{prefix}{name}_c"), true));
        }
    }
    let body = body(choice, function);
    Ok(quote!(#body #all))
}

/// The handler that is an argument of a function that makes a communicator or session out of none.
fn given_handler(parameters: &[Parameter<'_>], function: &Ident) -> Option<Tokens> {
    let handler = parameters.iter().find(|p| p.kind().is_some_and(|kind| kind == "MPI_Errhandler"))?.name;
    let is_session = function.to_string().starts_with("MPI_Session");
    let null = format_ident!("{}", if is_session { "MPI_SESSION_NULL" } else { "MPI_COMM_NULL" });
    Some(quote!(crate::error::On::Given(#handler, crate::constants::#null.value())))
}

/// The function itself, under its name with an underscore.
fn body(choice: &Choice, function: &ItemFn) -> Tokens {
    let mut function = function.clone();
    function.sig.ident = body_name(&function.sig.ident);
    let inline = if choice.hot { quote!(#[inline(always)]) } else { quote!() };
    quote!(#inline #[allow(non_snake_case, clippy::too_many_arguments)] #function)
}

fn body_name(name: &Ident) -> Ident {
    format_ident!("body_of_{name}")
}

/// What comes first in a call that is not hot.
fn begin() -> Tokens {
    quote!(let _call = crate::deferred_recv::Call::begin();)
}

/// One exported function; with what comes first, and whose handler is told of errors.
fn exported(
    parameters: &[Parameter<'_>],
    (begin, on): (&Tokens, &Tokens),
    name: &Ident,
    exported: &str,
    large: bool,
) -> Tokens {
    let body = body_name(name);
    let called = exported.strip_prefix('P').unwrap_or(exported);
    let identifier = format_ident!("{exported}");
    let (mut declared, mut passed) = (Vec::new(), Vec::new());
    for parameter in parameters {
        let (of, value) = parameter.in_c(large);
        let name = parameter.name;
        declared.push(quote!(#name: #of));
        passed.push(value);
    }
    let text = format!("`{called}` of the standard.");
    quote! {
        #[doc = #text]
        // SAFETY: the name is MPI's, and this crate alone defines it.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, clippy::too_many_arguments)]
        pub extern "C" fn #identifier(#(#declared),*) -> ::core::ffi::c_int {
            #begin
            match #body(#(#passed),*) {
                Ok(()) => crate::constants::MPI_SUCCESS,
                Err(failed) => crate::error::raise(#called, #on, failed),
            }
        }
    }
}

/// The ways in which a collective is called.
#[derive(Clone, Copy)]
enum Form {
    Blocking,
    Immediate,
    Persistent,
}

impl Form {
    const ALL: [Form; 3] = [Form::Blocking, Form::Immediate, Form::Persistent];

    /// The name of the function, from that of the blocking one.
    fn name(self, blocking: &str) -> String {
        match self {
            Form::Blocking => blocking.to_owned(),
            Form::Immediate => {
                let stem = blocking.strip_prefix("MPI_").unwrap_or(blocking);
                format!("MPI_I{}", stem.to_lowercase())
            }
            Form::Persistent => format!("{blocking}_init"),
        }
    }
}

/// One exported function of a collective.
fn of_collective(
    form: Form,
    parameters: &[Parameter<'_>],
    on: &Tokens,
    name: &Ident,
    exported: &str,
    large: bool,
) -> Tokens {
    let body = body_name(name);
    let called = exported.strip_prefix('P').unwrap_or(exported);
    let identifier = format_ident!("{exported}");
    let (mut declared, mut passed) = (Vec::new(), Vec::new());
    for parameter in parameters {
        let (of, value) = parameter.in_c(large);
        let name = parameter.name;
        declared.push(quote!(#name: #of));
        passed.push(value);
    }
    let comm = parameters.last().map(|p| p.name);
    let request = quote!(request: crate::pointer::Out<crate::handle::MPI_Request>);
    let call = quote!(#body(#(#passed),*));
    let words = parameters.iter().map(|p| p.name);
    let done = match form {
        Form::Blocking if parameters.iter().all(Parameter::is_word) => {
            let n = parameters.len();
            quote! {{
                static CACHE: crate::call_cache::CallCache<#n> = crate::call_cache::CallCache::new();
                crate::collective::run_cached(#comm, &CACHE, [#(crate::call_cache::Word::word(#words)),*], || #call)
            }}
        }
        Form::Blocking => quote!(crate::collective::run(#comm, #call)),
        Form::Immediate => {
            declared.push(request);
            quote!(crate::collective::start(#comm, #call, request))
        }
        Form::Persistent => {
            declared.push(quote!(_info: crate::handle::MPI_Info));
            declared.push(request);
            quote!(crate::collective::persist(#comm, #call, request))
        }
    };
    let (begin, text) = (begin(), format!("`{called}` of the standard."));
    quote! {
        #[doc = #text]
        // SAFETY: the name is MPI's, and this crate alone defines it.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, clippy::too_many_arguments)]
        pub extern "C" fn #identifier(#(#declared),*) -> ::core::ffi::c_int {
            #begin
            match #done {
                Ok(()) => crate::constants::MPI_SUCCESS,
                Err(failed) => crate::error::raise(#called, #on, failed),
            }
        }
    }
}

/// One exported function that cannot fail.
fn plain(parameters: &[Parameter<'_>], function: &ItemFn, exported: &str) -> Tokens {
    let (body, identifier) = (body_name(&function.sig.ident), format_ident!("{exported}"));
    let (inputs, output) = (&function.sig.inputs, &function.sig.output);
    let names = parameters.iter().map(|p| p.name);
    let text = format!("`{exported}` of the standard.");
    quote! {
        #[doc = #text]
        // SAFETY: the name is MPI's, and this crate alone defines it.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        pub extern "C" fn #identifier(#inputs) #output {
            #body(#(#names),*)
        }
    }
}

fn parameter(argument: &FnArg) -> syn::Result<Parameter<'_>> {
    if let FnArg::Typed(typed) = argument
        && let Pat::Ident(name) = &*typed.pat
    {
        return Ok(Parameter { name: &name.ident, of: &typed.ty });
    }
    Err(syn::Error::new_spanned(argument, "a parameter has a name and a type"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(name: &str, hot: bool) -> String {
        let name = format_ident!("{name}");
        let function = syn::parse_quote!(fn #name(flag: Out<c_int>) -> Outcome { Ok(()) });
        expand(&Choice { hot, ..Choice::default() }, &function).unwrap().to_string()
    }

    #[test]
    fn what_any_thread_may_call_does_not_count_as_a_call() {
        let counts = |text: String| text.contains("deferred_recv :: Call");
        assert!(ANYTIME.iter().all(|name| !counts(expanded(name, false))));
        assert!(counts(expanded("MPI_Test", false)) && !counts(expanded("MPI_Wait", true)));
    }
}
