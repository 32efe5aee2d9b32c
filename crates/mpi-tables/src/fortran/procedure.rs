//! The procedures: their names, and the needs of their parameters. `source` generates their text.

mod source;

use super::argument::{Argument, argument};
use super::long::IntegerLength;
use super::shape::{Shape, Width, shape};
use crate::exported::Exported;
use crate::tables::Parameter;

/// The Fortran dialect of a procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// The dialect of `mpif.h` and the module `mpi`.
    Mpi,
    /// The dialect of MPI 1, whose addresses have type INTEGER.
    Removed,
    /// The dialect of the module `mpi_f08`.
    F08,
}

/// A procedure in Fortran.
pub(super) struct Procedure<'a> {
    /// C's function.
    pub function: &'a Exported<'a>,
    /// The dialect.
    pub dialect: Dialect,
    /// The length of an INTEGER.
    pub integers: IntegerLength,
    /// True if addresses are returned as `type(c_ptr)`, not as numbers.
    pointers: bool,
    /// True if it has the name without `_c`, since an INTEGER is as long as an MPI_Count.
    has_short_name: bool,
}

/// The buffer belongs to the caller again when the procedure returns, so it may be copied.
const BLOCKING: u32 = 1;
/// The buffer is written.
const WRITTEN: u32 = 2;
/// The buffer has a count and a datatype, which may be replaced.
const PAIR: u32 = 4;
/// Only the address is needed.
const ADDRESS: u32 = 8;
/// The buffer has a datatype, with a block for each rank or partition. Its elements must follow each other in
/// the array.
const BLOCKS: u32 = 16;
/// The call returns a request, to which a copy may be attached.
const REQUEST: u32 = 32;

impl<'a> Procedure<'a> {
    /// Returns the procedures of a function: one, or two if addresses are returned in two ways.
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

    /// Returns the procedure with the name without `_c`.
    pub(super) fn with_short_name(self) -> Self {
        Self { has_short_name: true, ..self }
    }

    /// Returns the name of the function in Fortran.
    fn title(&self) -> &str {
        let name = self.function.name.as_str();
        if self.has_short_name { name.trim_end_matches("_c") } else { name }
    }

    /// Returns its specific name, which profiling tools must define.
    pub(super) fn name(&self) -> String {
        let name = self.title();
        match self.dialect {
            Dialect::F08 if self.has_buffers() => format!("{name}_f08ts"),
            Dialect::F08 => format!("{name}_f08"),
            _ if self.pointers => format!("{name}_cptr"),
            _ => name.to_owned(),
        }
    }

    /// Returns the generic name, which programs call.
    pub(super) fn generic(&self) -> &str {
        let name = self.title();
        match name.strip_suffix("_c") {
            Some(small) if self.integers == IntegerLength::Four && self.differs_in_width() => small,
            _ => name,
        }
    }

    /// Returns true if a compiler can distinguish its arguments from those of the function without `_c`.
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

    /// Returns true if a buffer is passed as a descriptor.
    fn has_buffers(&self) -> bool {
        !self.descriptors().is_empty()
    }

    /// Returns the names of buffers that are passed as descriptors.
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

    /// Returns true for the attribute functions of MPI 1, whose values have type INTEGER.
    pub(super) fn is_of_mpi_1(&self) -> bool {
        ["MPI_Attr_put", "MPI_Attr_get", "MPI_Keyval_create"].contains(&self.function.name.as_str())
    }

    /// Returns true if addresses are returned as `type(c_ptr)`.
    pub(super) fn gives_pointers(&self) -> bool {
        self.pointers
    }

    /// Returns true if the library uses the buffers after the procedure has returned.
    pub(super) fn is_asynchronous(&self) -> bool {
        let name = self.function.name.trim_end_matches("_c");
        let starts = ["MPI_Put", "MPI_Get", "MPI_Accumulate", "MPI_Get_accumulate", "MPI_Fetch_and_op"];
        self.gives_a_request()
            || starts.contains(&name)
            || ["_begin", "ttach", "tach_buffer", "_create", "_and_swap"]
                .iter()
                .any(|end| name.ends_with(end))
    }

    /// Returns the names of the count and the datatype of the buffer with this index, if it is one message.
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

    /// Returns true if the buffer has partitions.
    pub(super) fn has_partitions(&self) -> bool {
        self.function.parameters.iter().any(|parameter| parameter.name == "partitions")
    }

    /// Returns the index of the datatype of the buffer with this index, if that has a block for each rank or
    /// partition.
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

    /// Returns the permitted uses of the buffer with this index.
    pub(super) fn flags(&self, index: usize) -> u32 {
        let address = ["MPI_Get_address", "MPI_Free_mem", "MPI_Win_detach", "MPI_Address"];
        // The end of a split collective gets the buffer of its beginning.
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

    /// Returns the kind of the attributes (0 communicators, 1 windows, 2 datatypes), and the parameter with
    /// their key.
    pub(super) fn keyval(&self) -> (u32, &str) {
        let keyval = self.function.parameters.iter().find(|parameter| parameter.kind.name == "keyval");
        let kind = match &self.function.name {
            name if name.starts_with("MPI_Win_") => 1,
            name if name.starts_with("MPI_Type_") => 2,
            _ => 0,
        };
        (kind, keyval.map_or("0", |parameter| &parameter.name))
    }

    /// Returns the parameters that are functions of the program.
    pub(super) fn callbacks(&self) -> Vec<&str> {
        let all = self.function.parameters.iter();
        let callbacks = all.filter(|parameter| matches!(shape(self.function, parameter), Shape::Callback(_)));
        callbacks.map(|parameter| parameter.name.as_str()).collect()
    }

    fn arguments(&self) -> Vec<Argument> {
        (0..self.function.parameters.len()).map(|index| argument(self, index)).collect()
    }

    /// Returns the Fortran type of a result that is not an error code.
    fn result(&self) -> Option<&'static str> {
        match self.function.of.returns.as_str() {
            "double" => Some("double precision"),
            "MPI_Aint" => Some("integer(MPI_ADDRESS_KIND)"),
            _ => None,
        }
    }

    /// Returns true if it has the argument `ierror`.
    fn has_error(&self) -> bool {
        self.result().is_none() && self.function.name != "MPI_Pcontrol"
    }
}

/// Returns the definitions of procedures.
pub(super) fn definitions(procedures: &[Procedure<'_>]) -> String {
    procedures.iter().map(Procedure::definition).collect()
}
