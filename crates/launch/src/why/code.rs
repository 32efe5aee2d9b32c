//! The names of places in code: the call of the library that a rank is in, and the line of the program.
//!
//! Reads symbols and debug information of the files that ranks were loaded from, if this host has the same
//! files.

use std::collections::HashMap;

use addr2line::{Loader, demangle_auto};
use serde::Serialize;

use crate::host_ranks::CodePlace;

/// The size in bytes above which files are not read, because an answer must come soon.
const MOST_FILE: u64 = 1 << 30;

/// The place of a rank in its program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CallSite {
    /// The call of the library: `MPI_Recv`, `Flow::recv`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The function of the program that called it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The file of its source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// A function in the stack of a thread.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Frame {
    function: Option<String>,
    file: Option<String>,
    line: Option<u32>,
    /// True if the frame's module is the library.
    is_in_library: bool,
}

/// The files that were read so far.
#[derive(Default)]
pub struct Code {
    modules: HashMap<String, Option<Loader>>,
    known: HashMap<CodePlace, Vec<Frame>>,
}

impl Code {
    /// Returns the place of a rank whose calls have these code places, innermost first.
    pub fn call_site(&mut self, places: &[CodePlace]) -> CallSite {
        call_site(&self.frames(places))
    }

    /// Returns the place where a rank computes. If the place has no name, it is the file of the code.
    pub fn computing_site(&mut self, places: &[CodePlace]) -> CallSite {
        let site = CallSite { call: None, ..call_site(&self.frames(places)) };
        let module = places.first().and_then(|place| place.module.rsplit('/').next());
        CallSite { function: site.function.or(module.map(str::to_owned)), ..site }
    }

    fn frames(&mut self, places: &[CodePlace]) -> Vec<Frame> {
        let mut frames = Vec::new();
        for place in places {
            if !self.known.contains_key(place) {
                let found = self.look_up(place);
                self.known.insert(place.clone(), found);
            }
            frames.extend_from_slice(&self.known[place]);
        }
        frames
    }

    /// Returns the functions at a place: several, if some are inlined into others.
    fn look_up(&mut self, place: &CodePlace) -> Vec<Frame> {
        let is_in_library = is_library(&place.module);
        let bare = Frame { is_in_library, ..Frame::default() };
        // Another process has sent the address. No code lies at the last address, and looking it up would
        // overflow.
        let is_possible = place.address < u64::MAX;
        let Some(loader) = is_possible.then(|| self.module(place)).flatten() else { return vec![bare] };
        let raw_symbol = loader.find_symbol(place.address);
        let symbol = raw_symbol.map(demangled);
        let mut found = Vec::new();
        if let Ok(mut frames) = loader.find_frames(place.address) {
            while let Ok(Some(frame)) = frames.next() {
                let name = frame.function.as_ref().and_then(|name| name.raw_name().ok());
                let location = frame.location.as_ref();
                found.push(Frame {
                    function: name.map(|name| demangled(&name)),
                    file: location.and_then(|location| location.file).map(str::to_owned),
                    line: location.and_then(|location| location.line),
                    is_in_library,
                });
            }
        }
        if raw_symbol.is_some_and(is_of_rust) {
            // Inlined functions have no path in the debug information, so their crate is unknown.
            found.drain(..found.len().saturating_sub(1));
        }
        // Users know a function by its exported name.
        match found.last_mut() {
            Some(outermost) => outermost.function = symbol.or(outermost.function.take()),
            None => found.push(Frame { function: symbol, ..bare }),
        }
        found
    }

    fn module(&mut self, place: &CodePlace) -> Option<&Loader> {
        let load = || {
            let about = std::fs::metadata(&place.module).ok()?;
            // Another file of the same name would give wrong lines; a device or a pipe would never end.
            let is_it = about.is_file() && about.len() == place.module_bytes && about.len() <= MOST_FILE;
            is_it.then(|| Loader::new(&place.module).ok())?
        };
        self.modules.entry(place.module.clone()).or_insert_with(load).as_ref()
    }
}

/// Returns true for a symbol of Rust, mangled in the new way or the old one.
fn is_of_rust(symbol: &str) -> bool {
    symbol.starts_with("_R") || symbol.starts_with("_ZN") && symbol.contains("17h")
}

/// Returns true for a file of Canelé's libraries.
fn is_library(module: &str) -> bool {
    let name = module.rsplit('/').next().unwrap_or(module);
    ["libmpi_abi.", "libmpi.", "libopenmpi_abi.", "libmpifort", "libcanele", "_native."]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}

/// Returns a name as in the source, without the hash that Rust adds.
fn demangled(name: &str) -> String {
    let name = demangle_auto(name.into(), None).into_owned();
    match name.rsplit_once("::h") {
        Some((before, hash)) if hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            before.to_owned()
        }
        _ => name,
    }
}

/// Returns true for a function of Canelé, of Rust's library, or of the unwinder.
fn is_own(frame: &Frame) -> bool {
    let Some(function) = &frame.function else { return frame.is_in_library };
    let path = function.trim_start_matches(['<', '&']);
    let starts = |name: &&str| path.strip_prefix(*name).is_some_and(|rest| rest.starts_with("::"));
    let crates = [
        "canele",
        "canele_sys",
        "canele_mem",
        "canele_rail",
        "canele_proto",
        "canele_collective",
        "canele_control",
        "canele_engine",
        "canele_trace",
        "canele_mpi",
        "canele_mpi_layout",
        "canele_mpich_layout",
        "canele_openmpi_layout",
        "canele_mpi_c",
        "canele_mpich_c",
        "canele_openmpi_c",
        "mpi_abi",
        "openmpi_abi",
        "core",
        "alloc",
        "std",
        "T as core",
    ];
    frame.is_in_library || crates.iter().any(starts) || function.starts_with("_Unwind")
}

/// Returns the call and its caller, at the end of the library's frames.
fn call_site(frames: &[Frame]) -> CallSite {
    let Some(first) = frames.iter().position(|frame| !is_own(frame)) else {
        let call = frames.iter().rev().find_map(call_name);
        return CallSite { call, ..CallSite::default() };
    };
    let Frame { function, file, line, .. } = frames[first].clone();
    CallSite { call: frames[..first].iter().rev().find_map(call_name), function, file, line }
}

/// Returns the name by which programs call the function: `MPI_Recv` also for `PMPI_Recv`, and `Flow::recv`
/// for `canele::flow::Flow::recv`.
fn call_name(frame: &Frame) -> Option<String> {
    let function = frame.function.as_deref()?;
    // Some functions continue by a jump to a part of their own: `mpi_abi::exports::general_MPI_Recv`.
    let parts = ["::general_", "::packed_", "::routed_"];
    let function =
        parts.iter().find_map(|part| function.rsplit_once(part)).map_or(function, |(_, name)| name);
    if let Some(mpi) = function.strip_prefix("PMPI_").or(function.strip_prefix("MPI_")) {
        return Some(format!("MPI_{mpi}"));
    }
    let path = function.strip_prefix('<').and_then(|path| path.split_once('>'));
    let plain = match path {
        Some((of, method)) => format!("{}{method}", of.split(" as ").next().unwrap_or(of)),
        None => function.to_owned(),
    };
    let public = plain.strip_prefix("canele::")?;
    let parts: Vec<&str> = public.split("::").filter(|part| !part.starts_with('{')).collect();
    let last = &parts[parts.len().saturating_sub(2)..];
    Some(last.join("::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str, is_in_library: bool, line: u32) -> Frame {
        let (file, line) = ((line > 0).then(|| "ring.c".to_owned()), (line > 0).then_some(line));
        Frame { function: Some(function.into()), file, line, is_in_library }
    }

    #[test]
    fn the_call_is_the_last_of_the_library_and_its_caller_the_first_of_the_program() {
        let frames = [
            frame("canele_sys::call_stack::addresses", true, 0),
            frame("canele_engine::p2p::tagged::<impl canele_engine::engine::Engine>::recv_posted", true, 0),
            frame("PMPI_Recv", true, 0),
            frame("exchange", false, 12),
            frame("main", false, 40),
        ];
        let site = call_site(&frames);
        assert_eq!((site.call.as_deref(), site.function.as_deref()), (Some("MPI_Recv"), Some("exchange")));
        assert_eq!((site.file.as_deref(), site.line), (Some("ring.c"), Some(12)));
        for part in ["general", "packed", "routed"] {
            let frame = frame(&format!("mpi_abi::exports::{part}_MPI_Recv"), true, 0);
            assert_eq!(call_name(&frame).as_deref(), Some("MPI_Recv"));
        }
    }

    #[test]
    fn a_program_in_rust_that_has_the_library_within_itself_is_told_from_it() {
        let frames = [
            frame("<canele_engine::engine::Engine>::wait_before::<()>", false, 1),
            frame("canele::flow::Flow::recv", false, 7),
            frame("core::ops::function::FnOnce::call_once", false, 9),
            frame("ring::main", false, 3),
        ];
        let site = call_site(&frames);
        assert_eq!(
            (site.call.as_deref(), site.function.as_deref()),
            (Some("Flow::recv"), Some("ring::main"))
        );
        assert_eq!(call_name(&frame("<canele::flow::Flow>::recv", false, 0)).as_deref(), Some("Flow::recv"));
    }

    #[test]
    fn places_of_this_program_have_names_and_lines() {
        let own = std::env::current_exe().unwrap();
        let place = CodePlace {
            module: own.to_str().unwrap().into(),
            module_bytes: own.metadata().unwrap().len(),
            address: u64::MAX,
        };
        assert_eq!(Code::default().call_site(std::slice::from_ref(&place)), CallSite::default());
        let other = CodePlace { module_bytes: 1, ..place };
        assert_eq!(Code::default().call_site(&[other]), CallSite::default());
    }
}
