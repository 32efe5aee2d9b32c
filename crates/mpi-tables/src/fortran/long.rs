//! Fortran with an INTEGER of eight bytes, by compiler options. C's `int` stays short: numbers, arrays and
//! statuses are converted, and a number that does not fit is an error.

use super::argument::{Argument, One};
use super::procedure::Dialect;
use super::shape::{Direction, Handle};

/// The length of an INTEGER.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntegerLength {
    /// Four bytes, like C's `int`.
    Four,
    /// Eight bytes, like `MPI_Count`.
    Eight,
}

/// Marks an element that C has not written; the program's number then stays.
const NOT_WRITTEN: &str = "-huge(0_c_int) - 1";

/// `MPI_2INTEGER` for an INTEGER of eight bytes: no number of a C datatype. The library makes the datatype
/// with its operations.
pub(super) const LONG_PAIR: i64 = (1 << 32) + 0x232;

impl One<'_> {
    pub(super) fn is_long(&self) -> bool {
        self.procedure.integers == IntegerLength::Eight
    }

    /// Returns the line that detects a number which does not fit into C's `int`.
    pub(super) fn check_number(&self) -> Vec<String> {
        if !self.is_long() || self.direction == Direction::Out || self.is_of_one_rank() {
            return Vec::new();
        }
        let class = match self.name {
            "count" | "incount" | "n" | "length" | "partitions" | "position" => "COUNT",
            "tag" | "sendtag" | "recvtag" => "TAG",
            "root" => "ROOT",
            "dest" | "source" | "rank" | "target_rank" => "RANK",
            _ => "ARG",
        };
        vec![check(self.name, &format!("MPI_ERR_{class}"))]
    }

    /// Returns the line that detects a number which is no handle.
    pub(super) fn check_handle(&self, handle: Handle) -> Vec<String> {
        // The library checks datatypes, one of which has a number of its own.
        let is_checked = self.is_long() && handle.name != "Type" && !self.is_of_one_rank();
        if !is_checked || self.direction == Direction::Out {
            return Vec::new();
        }
        vec![check(&format!("{}{}", self.name, self.component()), class_of(handle))]
    }

    /// Returns true for an argument that is significant on one rank only; other ranks may pass any number.
    fn is_of_one_rank(&self) -> bool {
        let function = self.procedure.function.of.name.as_str();
        match self.name {
            "peer_comm" | "remote_leader" => function == "MPI_Intercomm_create",
            "maxprocs" => function == "MPI_Comm_spawn",
            "count" => function == "MPI_Comm_spawn_multiple",
            "info" => ["MPI_Comm_spawn", "MPI_Comm_accept", "MPI_Comm_connect"].contains(&function),
            _ => false,
        }
    }

    /// Returns the line that selects another object for the error of an invalid handle.
    pub(super) fn if_no_handle(&self, variable: &str, handle: Handle) -> Option<String> {
        if !self.is_long() || self.direction == Direction::Out {
            return None;
        }
        let number = format!("{}{}", self.name, self.component());
        let other = if handle.name == "Comm" { "CANELE_COMM_SELF" } else { "0" };
        Some(format!("if (int({number}, c_int) /= {number}) {variable} = {other}"))
    }

    /// Returns the lines that make C's handle of a datatype.
    pub(super) fn long_datatype(variable: &str, number: &str) -> Vec<String> {
        vec![
            format!("{variable} = {number}"),
            format!(
                "if (iand({variable}, not(4095_c_intptr_t)) /= 0) {variable} = \
                 canele_fort_long_type(int({number}, c_int64_t))"
            ),
        ]
    }

    /// Returns the line that selects the library's own operation for pairs of INTEGER.
    pub(super) fn long_operation(&self) -> Vec<String> {
        let function = self.procedure.function;
        let is_reduced = self.is_long()
            && self.direction == Direction::In
            && !function.name.to_lowercase().contains("accumulate")
            && function.parameters.iter().any(|parameter| parameter.name == "datatype");
        // MPI_MINLOC and MPI_MAXLOC.
        let line = "if (iand(c_op, not(1_c_intptr_t)) == 56) c_op = canele_fort_long_op(c_op, c_datatype)";
        if is_reduced { vec![line.to_owned()] } else { Vec::new() }
    }

    /// Returns the parts of an array of numbers that C has as `int`.
    pub(super) fn long_numbers(&self, rows: u32) -> Argument {
        let (name, n) = (self.name, format!("n_{}", self.name));
        let (bounds, all) = match rows {
            1 => ("*".to_owned(), format!("1:{n}")),
            rows => (format!("{rows}, *"), format!(":, 1:{n}")),
        };
        let (shape, size) = match rows {
            1 => (":".to_owned(), n.clone()),
            rows => (":, :".to_owned(), format!("{rows}, {n}")),
        };
        let mut before = vec![format!("{n} = {}", self.length()), format!("allocate(c_{name}({size}))")];
        if self.direction == Direction::Out {
            before.push(format!("c_{name} = {NOT_WRITTEN}"));
        } else {
            before.push(format!("c_{name} = int({name}({all}), c_int)"));
            before.push(format!("if (any(c_{name} /= {name}({all}))) code = MPI_ERR_ARG"));
        }
        let mut after = Vec::new();
        if self.direction != Direction::In {
            after.push(format!("where (c_{name} /= {NOT_WRITTEN}) {name}({all}) = c_{name}"));
        }
        Argument {
            dummy: Some(format!("integer{} :: {name}({bounds})", self.direction.intent_of_places())),
            of_c: format!("integer(c_int) :: {name}({bounds})"),
            locals: vec![
                format!("integer(c_int), allocatable :: c_{name}({shape})"),
                format!("integer(c_int) :: {n}"),
            ],
            before,
            actual: format!("c_{name}"),
            after,
            ..Argument::default()
        }
    }

    /// Returns the number of elements in an array of numbers, at least 0.
    fn length(&self) -> String {
        let function = self.procedure.function.of.name.as_str();
        let is_adjacent = function.contains("adjacent");
        let length = match (self.name, function) {
            ("array_of_indices", _) => "incount",
            ("array_of_partitions", _) => "length",
            ("array_of_integers", _) => "max_integers",
            ("array_of_distribs" | "array_of_dargs" | "array_of_psizes" | "array_of_gsizes", _) => "ndims",
            ("array_of_sizes" | "array_of_subsizes" | "array_of_starts", _) => "ndims",
            ("coords", "MPI_Cart_rank") => {
                return format!("max(0_c_int, canele_fort_dimensions({}))", self.number_of("comm"));
            }
            ("coords", _) | ("dims", "MPI_Cart_get") => "maxdims",
            ("dims", _) => "ndims",
            ("indx", "MPI_Graph_get") => "maxindex",
            ("edges", "MPI_Graph_get") => "maxedges",
            ("indx", _) => "nnodes",
            // The last index is the number of all edges.
            ("edges", _) => {
                return "max(0_c_int, merge(c_indx(max(1, n_indx)), 0_c_int, n_indx > 0))".to_owned();
            }
            ("neighbors", _) => "maxneighbors",
            ("sources" | "sourceweights", "MPI_Dist_graph_neighbors") => "maxindegree",
            ("destinations" | "destweights", "MPI_Dist_graph_neighbors") => "maxoutdegree",
            ("sources" | "sourceweights", _) if is_adjacent => "indegree",
            ("destinations" | "destweights", _) if is_adjacent => "outdegree",
            ("destinations" | "weights", _) => {
                return "int(max(0_c_int64_t, min(int(huge(0_c_int), c_int64_t), sum(int(c_degrees, c_int64_t)))), c_int)"
                    .to_owned();
            }
            ("array_of_errcodes", "MPI_Comm_spawn") => "maxprocs",
            ("array_of_errcodes", _) => return "max(0_c_int, sum(c_array_of_maxprocs))".to_owned(),
            ("array_of_maxprocs", _) => {
                return format!("merge(max(0_c_int, int(count, c_int)), 0_c_int, {})", self.is_root());
            }
            ("array_of_blocklengths" | "array_of_displacements", _) => "count",
            _ => "n",
        };
        format!("max(0_c_int, int({length}, c_int))")
    }

    /// Returns the parts of an array of numbers that may be a constant identified by address.
    pub(super) fn long_place(&self, if_a_constant: &str) -> Argument {
        let (name, n) = (self.name, format!("n_{}", self.name));
        let is_of_root = name == "array_of_errcodes";
        let mut before = vec![
            format!("c_{name} = c_loc({name})"),
            if_a_constant.replace("ADDRESS", &format!("c_{name}")),
            format!("{n} = -1"),
        ];
        let is_array = format!("transfer(c_{name}, 0_c_intptr_t) == transfer(c_loc({name}), 0_c_intptr_t)");
        // C returns the error codes at the root, where their number is known.
        let condition =
            if is_of_root { format!("{is_array} .and. {}", self.is_root()) } else { is_array.clone() };
        before.extend([
            format!("if ({condition}) then"),
            format!("  {n} = {}", self.length()),
            format!("  allocate(s_{name}({n}))"),
        ]);
        if self.direction == Direction::In {
            before.push(format!("  s_{name} = int({name}(1:{n}), c_int)"));
            before.push(format!("  if (any(s_{name} /= {name}(1:{n}))) code = MPI_ERR_ARG"));
        } else {
            before.push(format!("  s_{name} = {NOT_WRITTEN}"));
        }
        before.push(format!("  c_{name} = c_loc(s_{name})"));
        if is_of_root {
            before.extend([
                format!("else if ({is_array}) then"),
                format!("  c_{name} = c_null_ptr"),
                format!("  {n} = -2"),
            ]);
        }
        before.push("end if".to_owned());
        let mut after = Vec::new();
        if self.direction != Direction::In {
            after.push(format!("if ({n} >= 0) then"));
            after.push(format!("  where (s_{name} /= {NOT_WRITTEN}) {name}(1:{n}) = s_{name}"));
            after.push("end if".to_owned());
        }
        let mut on_success = Vec::new();
        if is_of_root {
            let started = "canele_fort_peers(PMPI_Comm_toint(c_intercomm))";
            on_success.push(format!("if ({n} == -2) {name}(1:{started}) = MPI_SUCCESS"));
        }
        Argument {
            dummy: Some(format!("integer{}, target :: {name}(*)", self.intent())),
            of_c: self.value("type(c_ptr)"),
            locals: vec![
                format!("type(c_ptr) :: c_{name}"),
                format!("integer(c_int), allocatable, target :: s_{name}(:)"),
                format!("integer(c_int) :: {n}"),
            ],
            before,
            actual: format!("c_{name}"),
            after,
            on_success,
            ..Argument::default()
        }
    }

    /// Returns the parts of one or more statuses of eight numbers each.
    pub(super) fn long_statuses(&self, dummy: String, if_ignored: &str, how_many: &str) -> Argument {
        let name = self.name;
        let numbers = format!("8_c_int * max(0_c_int, int({how_many}, c_int))");
        let mut after = Vec::new();
        if self.direction != Direction::In {
            after.push(format!(
                "if (c_associated(c_{name})) call canele_fort_widen(s_{name}, c_loc({name}), {numbers})"
            ));
        }
        Argument {
            dummy: Some(dummy),
            of_c: self.value("type(c_ptr)"),
            locals: vec![
                format!("type(c_ptr) :: c_{name}"),
                format!("integer(c_int), allocatable, target :: s_{name}(:)"),
            ],
            before: vec![
                format!("c_{name} = c_loc({name})"),
                if_ignored.replace("ADDRESS", &format!("c_{name}")),
                format!("if (c_associated(c_{name})) then"),
                format!("  allocate(s_{name}({numbers}))"),
                format!("  call canele_fort_narrow(c_{name}, s_{name}, {numbers})"),
                format!("  c_{name} = c_loc(s_{name})"),
                "end if".to_owned(),
            ],
            actual: format!("c_{name}"),
            after,
            ..Argument::default()
        }
    }

    /// Returns the number of statuses in an array.
    pub(super) fn statuses_count(&self) -> &'static str {
        if self.procedure.function.of.name.ends_with("some") { "incount" } else { "count" }
    }

    /// Returns the number of a datatype in the library's form.
    pub(super) fn number_of_datatype(&self, name: &str) -> String {
        let kind = if self.is_long() { "c_int64_t" } else { "c_int" };
        let component = if self.dialect() == Dialect::F08 { "%MPI_VAL" } else { "" };
        format!("int({name}{component}, {kind})")
    }
}

/// Returns the line that detects a number which does not fit into C's `int`.
fn check(number: &str, class: &str) -> String {
    format!("if (int({number}, c_int) /= {number}) code = {class}")
}

/// Returns the error class of an invalid handle.
pub(super) fn class_of(handle: Handle) -> &'static str {
    match handle.name {
        "Comm" => "MPI_ERR_COMM",
        "Errhandler" => "MPI_ERR_ERRHANDLER",
        "File" => "MPI_ERR_FILE",
        "Group" => "MPI_ERR_GROUP",
        "Info" => "MPI_ERR_INFO",
        "Op" => "MPI_ERR_OP",
        "Session" => "MPI_ERR_SESSION",
        "Win" => "MPI_ERR_WIN",
        "Type" => "MPI_ERR_TYPE",
        _ => "MPI_ERR_REQUEST",
    }
}
