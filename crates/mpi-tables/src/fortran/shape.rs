//! The form of a parameter in Fortran.

use crate::exported::Exported;
use crate::tables::Parameter;

/// The form of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// INTEGER of a width.
    Number(Width),
    /// Array of INTEGER.
    Numbers(Width),
    /// Array of three ranks each.
    Ranges,
    /// LOGICAL.
    Logical,
    /// Array of LOGICAL.
    Logicals,
    /// Handle: the type in the module `mpi_f08`, and the name in the functions that convert it.
    Handle(Handle),
    /// Array of handles.
    Handles(Handle),
    /// Status, or MPI_STATUS_IGNORE.
    Status,
    /// Array of statuses, or MPI_STATUSES_IGNORE.
    Statuses,
    /// Array of INTEGER, or a constant identified by address.
    Place,
    /// Buffer of any type.
    Buffer,
    /// Address that the library returns.
    Pointer,
    /// Value of an attribute.
    Attribute,
    /// State of a program's function.
    State,
    /// CHARACTER.
    Text,
    /// Array of CHARACTER that ends with a blank one, or MPI_ARGV_NULL.
    Texts,
    /// Array of arrays of CHARACTER, or MPI_ARGVS_NULL.
    TextLists,
    /// Function of the program: the name of its interface.
    Callback(&'static str),
    /// Argument of `main`, which Fortran lacks.
    OfMain,
    /// Parameter that Fortran omits.
    Nothing,
}

/// The length of an INTEGER.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    /// The default.
    Default,
    /// MPI_ADDRESS_KIND.
    Address,
    /// MPI_COUNT_KIND.
    Count,
    /// MPI_OFFSET_KIND.
    Offset,
}

/// A kind of handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handle {
    /// The type, as `MPI_Datatype`.
    pub of: &'static str,
    /// The middle of the names of `PMPI_…_toint` and `PMPI_…_fromint`.
    pub name: &'static str,
}

/// The direction of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    In,
    Out,
    InOut,
}

/// All kinds of handles: the kind in the table, the type, and the name in functions.
pub(super) const HANDLES: [(&str, Handle); 11] = [
    ("comm", Handle { of: "MPI_Comm", name: "Comm" }),
    ("datatype", Handle { of: "MPI_Datatype", name: "Type" }),
    ("errhandler", Handle { of: "MPI_Errhandler", name: "Errhandler" }),
    ("file", Handle { of: "MPI_File", name: "File" }),
    ("group", Handle { of: "MPI_Group", name: "Group" }),
    ("info", Handle { of: "MPI_Info", name: "Info" }),
    ("message", Handle { of: "MPI_Message", name: "Message" }),
    ("op", Handle { of: "MPI_Op", name: "Op" }),
    ("request", Handle { of: "MPI_Request", name: "Request" }),
    ("session", Handle { of: "MPI_Session", name: "Session" }),
    ("win", Handle { of: "MPI_Win", name: "Win" }),
];

/// Kinds of the table that are functions of the program, with their interfaces.
const CALLBACKS: [(&str, &str); 19] = [
    ("comm_errhandler_function", "MPI_Comm_errhandler_function"),
    ("file_errhandler_function", "MPI_File_errhandler_function"),
    ("session_errhandler_function", "MPI_Session_errhandler_function"),
    ("win_errhandler_function", "MPI_Win_errhandler_function"),
    ("comm_copy_attr_function", "MPI_Comm_copy_attr_function"),
    ("comm_delete_attr_function", "MPI_Comm_delete_attr_function"),
    ("type_copy_attr_function", "MPI_Type_copy_attr_function"),
    ("type_delete_attr_function", "MPI_Type_delete_attr_function"),
    ("win_copy_attr_function", "MPI_Win_copy_attr_function"),
    ("win_delete_attr_function", "MPI_Win_delete_attr_function"),
    ("copy_function", "MPI_Copy_function"),
    ("delete_function", "MPI_Delete_function"),
    ("grequest_query_function", "MPI_Grequest_query_function"),
    ("grequest_free_function", "MPI_Grequest_free_function"),
    ("grequest_cancel_function", "MPI_Grequest_cancel_function"),
    ("user_function", "MPI_User_function"),
    ("user_function_c", "MPI_User_function_c"),
    ("datarep_extent_function", "MPI_Datarep_extent_function"),
    ("datarep_conversion_function", "MPI_Datarep_conversion_function"),
];

/// Returns the form of a parameter of a function.
///
/// # Panics
/// Panics if the table has a kind without a form in Fortran.
pub(super) fn shape(function: &Exported<'_>, parameter: &Parameter) -> Shape {
    let kind = parameter.kind.name.as_str();
    if function.name == "MPI_Info_create_env" && parameter.name.starts_with("arg") {
        return Shape::OfMain;
    }
    let (root, is_array) = match kind.strip_suffix("[]*").or_else(|| kind.strip_suffix("[]")) {
        Some(root) => (root, true),
        None => (kind.strip_suffix('*').unwrap_or(kind), false),
    };
    if let Some((_, handle)) = HANDLES.iter().find(|(name, _)| *name == root) {
        return if is_array { Shape::Handles(*handle) } else { Shape::Handle(*handle) };
    }
    if let Some((_, interface)) = CALLBACKS.iter().find(|(name, _)| *name == root) {
        return Shape::Callback(interface);
    }
    match (root, is_array) {
        ("datarep_conversion_function_c", _) => Shape::Callback("MPI_Datarep_conversion_function_c"),
        ("buffer" | "packed", _) => Shape::Buffer,
        ("address", _) => Shape::Pointer,
        ("attribute", _) => Shape::Attribute,
        ("state", _) => Shape::State,
        ("logical", false) => Shape::Logical,
        ("logical", true) => Shape::Logicals,
        ("string", _) => Shape::Text,
        ("strings", false) => Shape::Texts,
        ("strings", true) => Shape::TextLists,
        ("status", true) => Shape::Statuses,
        ("status" | "status_inout", _) => Shape::Status,
        ("range", _) => Shape::Ranges,
        ("weight", _) => Shape::Place,
        ("error_code", true) => Shape::Place,
        ("int", false) if parameter.name.ends_with("weights") => Shape::Place,
        ("argc" | "argv", _) => Shape::OfMain,
        ("...", _) => Shape::Nothing,
        _ if is_array => Shape::Numbers(width(root, function.large)),
        _ => Shape::Number(width(root, function.large)),
    }
}

fn width(root: &str, large: bool) -> Width {
    match root {
        "aint" => Width::Address,
        "offset" => Width::Offset,
        "large_count" => Width::Count,
        "aint_count" if large => Width::Count,
        "aint_count" => Width::Address,
        "count" | "stride" if large => Width::Count,
        "displacement" | "displacement_unit" if large => Width::Address,
        _ => Width::Default,
    }
}

/// Returns the direction of a parameter of a function.
pub(super) fn direction(function: &Exported<'_>, parameter: &Parameter) -> Direction {
    let (kind, name) = (parameter.kind.name.as_str(), function.of.name.as_str());
    if kind == "status_inout" {
        return Direction::InOut;
    }
    if !kind.ends_with('*') || name == "MPI_Cancel" {
        return Direction::In;
    }
    let ends = ["_free", "_disconnect", "_finalize", "_close", "_commit", "_free_keyval"];
    let is_read = match kind {
        "request*" | "request[]*" => {
            ["MPI_Start", "MPI_Startall"].contains(&name)
                || ["MPI_Wait", "MPI_Test", "MPI_Request_free"].iter().any(|start| name.starts_with(start))
        }
        "message*" => name.ends_with("mrecv") || name.ends_with("Mrecv"),
        "buffer*" => true,
        _ => {
            ends.iter().any(|end| name.ends_with(end))
                || ["position", "buflen", "pset_len"].contains(&parameter.name.as_str())
                || name == "MPI_Dims_create"
        }
    };
    if is_read { Direction::InOut } else { Direction::Out }
}

impl Width {
    /// Returns the type in Fortran.
    pub(super) fn declared(self) -> &'static str {
        match self {
            Self::Default => "integer",
            Self::Address => "integer(MPI_ADDRESS_KIND)",
            Self::Count => "integer(MPI_COUNT_KIND)",
            Self::Offset => "integer(MPI_OFFSET_KIND)",
        }
    }

    /// Returns the type in C's function.
    pub(super) fn of_c(self) -> &'static str {
        match self {
            Self::Default => "integer(c_int)",
            wide => wide.declared(),
        }
    }
}

impl Direction {
    /// Returns the intent, to follow the type.
    pub(super) fn intent(self) -> &'static str {
        match self {
            Self::In => ", intent(in)",
            Self::Out => ", intent(out)",
            Self::InOut => ", intent(inout)",
        }
    }

    /// Returns the intent of an array of which C may leave elements unchanged.
    pub(super) fn intent_of_places(self) -> &'static str {
        if self == Self::In { ", intent(in)" } else { ", intent(inout)" }
    }
}
