//! The part of `docs/mpi.md` that lists which functions work.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::sources::Defined;
use crate::tables::Tables;

pub fn text(tables: &Tables, defined: &Defined) -> String {
    let mut groups: BTreeMap<&str, (Vec<&str>, Vec<&str>)> = BTreeMap::new();
    for function in &tables.functions {
        let (works, waits) = groups.entry(group(&function.name)).or_default();
        let list = if defined.contains_key(&function.name) { works } else { waits };
        list.push(&function.name);
    }
    let total: usize = groups.values().map(|(works, _)| works.len()).sum();
    let mut text = String::new();
    writeln!(text, "{total} of {} functions are written; `_c` twins are counted.\n", tables.functions.len())
        .expect("a string grows");
    text.push_str("| group | written | not yet |\n|---|---|---|\n");
    for (name, (works, waits)) in &groups {
        let waits = if waits.is_empty() { "–".to_owned() } else { listed(waits) };
        writeln!(text, "| {name} | {} | {waits} |", works.len()).expect("a string grows");
    }
    text
}

/// Names without their twins, each in the form of code.
fn listed(names: &[&str]) -> String {
    let plain = names.iter().filter(|name| !name.strip_suffix("_c").is_some_and(|n| names.contains(&n)));
    plain.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" ")
}

/// The standard's chapter a function belongs to, by its name.
fn group(name: &str) -> &'static str {
    let stem = name.strip_prefix("MPI_").unwrap_or(name);
    let begins = |list: &[&str]| list.iter().any(|prefix| stem.starts_with(prefix));
    match stem {
        _ if begins(&["T_"]) => "tools interface",
        _ if begins(&["File_", "Register_datarep"]) => "files",
        _ if begins(&[
            "Win_",
            "Put",
            "Get_accumulate",
            "Accumulate",
            "Rput",
            "Rget",
            "Raccumulate",
            "Fetch_and_op",
            "Compare_and",
        ]) || stem == "Get"
            || stem == "Get_c" =>
        {
            "one-sided"
        }
        _ if begins(&[
            "Comm_spawn",
            "Comm_accept",
            "Comm_connect",
            "Comm_join",
            "Comm_disconnect",
            "Comm_get_parent",
            "Open_port",
            "Close_port",
            "Publish",
            "Unpublish",
            "Lookup",
        ]) =>
        {
            "dynamic processes"
        }
        _ if begins(&["Type_", "Pack", "Unpack", "Get_address", "Get_elements", "Get_count", "Aint_"]) => {
            "datatypes"
        }
        _ if begins(&["Cart", "Graph", "Dist_graph", "Topo", "Dims"]) => "topologies",
        _ if begins(&["Comm_", "Intercomm", "Attr_", "Keyval_"]) => "communicators",
        _ if begins(&["Group_"]) => "groups",
        _ if begins(&["Session_"]) => "sessions",
        _ if begins(&["Info_"]) => "info",
        _ if begins(&["Errhandler", "Error_", "Add_error", "Remove_error"]) => "errors",
        _ if begins(&[
            "Allgather",
            "Allreduce",
            "Alltoall",
            "Barrier",
            "Bcast",
            "Exscan",
            "Gather",
            "Iallgather",
            "Iallreduce",
            "Ialltoall",
            "Ibarrier",
            "Ibcast",
            "Iexscan",
            "Igather",
            "Ineighbor",
            "Ireduce",
            "Iscan",
            "Iscatter",
            "Neighbor",
            "Op_",
            "Reduce",
            "Scan",
            "Scatter",
        ]) =>
        {
            "collectives and operations"
        }
        _ if begins(&[
            "Abi_",
            "Abort",
            "Alloc_mem",
            "Free_mem",
            "Finalize",
            "Get_",
            "Init",
            "Is_thread",
            "Pcontrol",
            "Query_thread",
            "Wti",
        ]) =>
        {
            "environment"
        }
        _ => "messages and requests",
    }
}
