//! The constants of C that Fortran shares, and the module `canele_support`.

use super::callback::{WITH_A_FUNCTION, WITH_A_STATE};
use super::long::{IntegerLength, LONG_PAIR};
use super::shape::HANDLES;
use super::text::line;
use crate::tables::{Constant, Tables};

/// A constant in Fortran.
pub(super) struct Named<'a> {
    /// The name.
    pub name: &'a str,
    /// The type of a handle, as `MPI_Comm`; none for a number.
    pub of: Option<&'static str>,
    /// The value.
    value: i64,
    /// Another value, and its condition: compiler options have made a type longer.
    longer: Option<(i64, &'static str)>,
}

/// Datatypes whose lengths compiler options change: the longer datatype, and the condition.
const LONGER: [(&str, &str, &str); 7] = [
    ("MPI_INTEGER", "MPI_INTEGER8", "storage_size(0)==64"),
    ("MPI_LOGICAL", "MPI_LOGICAL8", "storage_size(.true.)==64"),
    ("MPI_REAL", "MPI_REAL8", "storage_size(0.0)==64"),
    ("MPI_COMPLEX", "MPI_COMPLEX16", "storage_size(0.0)==64"),
    ("MPI_2REAL", "MPI_2DOUBLE_PRECISION", "storage_size(0.0)==64"),
    ("MPI_DOUBLE_PRECISION", "MPI_REAL16", "storage_size(0d0)==128"),
    ("MPI_DOUBLE_COMPLEX", "MPI_COMPLEX32", "storage_size(0d0)==128"),
];

/// Returns the constants that are numbers or handles.
///
/// # Panics
/// Panics if the table has a value that is neither.
pub(super) fn named(tables: &Tables, integers: IntegerLength) -> Vec<Named<'_>> {
    tables
        .constants
        .iter()
        .filter(|constant| is_of_fortran(constant))
        .map(|constant| of(constant, tables))
        .map(|constant| match constant.name {
            "MPI_2INTEGER" if integers == IntegerLength::Eight => Named { value: LONG_PAIR, ..constant },
            _ => constant,
        })
        .collect()
}

fn is_of_fortran(constant: &Constant) -> bool {
    let name = constant.name.as_str();
    let is_a_place = [
        "MPI_BOTTOM",
        "MPI_IN_PLACE",
        "MPI_BUFFER_AUTOMATIC",
        "MPI_ARGV_NULL",
        "MPI_ARGVS_NULL",
        "MPI_ERRCODES_IGNORE",
        "MPI_STATUS_IGNORE",
        "MPI_STATUSES_IGNORE",
        "MPI_UNWEIGHTED",
        "MPI_WEIGHTS_EMPTY",
    ]
    .contains(&name);
    let is_a_function = name.ends_with("_FN") || name.contains("_FN_NULL");
    let is_of_c = name.starts_with("MPI_T_") || name.starts_with("MPI_ABI_");
    !(is_a_place || is_a_function || is_of_c)
}

fn of<'a>(constant: &'a Constant, tables: &Tables) -> Named<'a> {
    let name = constant.name.as_str();
    let text = constant.value.as_str();
    if let Some(other) = tables.constants.iter().find(|other| other.name == text) {
        return Named { name, ..of(other, tables).with_no_name() };
    }
    let cast =
        text.strip_prefix("((").and_then(|rest| rest.strip_suffix(')')).and_then(|rest| rest.split_once(')'));
    let (kind, number) = cast.unwrap_or(("", text));
    let number = number.trim();
    let value = match number.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16),
        None => number.parse(),
    };
    let value = value.unwrap_or_else(|_| panic!("{name} is {text}, which is no number"));
    let handle = HANDLES.iter().find(|(_, handle)| handle.of == kind).map(|(_, handle)| handle.of);
    // A string in C has one more character for the terminating zero.
    let is_a_length = name.starts_with("MPI_MAX_");
    let longer = LONGER.iter().find(|(of, ..)| *of == name).map(|(_, longer, condition)| {
        let longer = tables.constants.iter().find(|constant| constant.name == *longer);
        let longer = longer.unwrap_or_else(|| panic!("there is no datatype for a longer {name}"));
        (of(longer, tables).value, *condition)
    });
    Named { name, of: handle, value: if is_a_length { value - 1 } else { value }, longer }
}

impl Named<'_> {
    fn with_no_name(self) -> Named<'static> {
        Named { name: "", ..self }
    }

    /// Returns the value in Fortran.
    pub(super) fn value(&self) -> String {
        match self.longer {
            None => self.value.to_string(),
            Some((longer, condition)) => format!("merge({longer}, {}, {condition})", self.value),
        }
    }

    /// Returns the kind of INTEGER, to follow the type.
    pub(super) fn kind(&self) -> &'static str {
        if self.name == "MPI_DISPLACEMENT_CURRENT" { "(MPI_OFFSET_KIND)" } else { "" }
    }
}

/// The kind and status constants, which C lacks: name, type and value of each.
pub(super) const OWN: [(&str, &str); 9] = [
    ("MPI_ADDRESS_KIND", "8"),
    ("MPI_COUNT_KIND", "8"),
    ("MPI_OFFSET_KIND", "8"),
    ("MPI_INTEGER_KIND", "kind(0)"),
    ("MPI_STATUS_SIZE", "8"),
    ("MPI_SOURCE", "1"),
    ("MPI_TAG", "2"),
    ("MPI_ERROR", "3"),
    ("CANELE_LONGEST_TEXT", "8192"),
];

/// Returns the modules `canele_constants` and `canele_support`.
pub(super) fn support(tables: &Tables, integers: IntegerLength) -> String {
    let mut text = String::from(
        "! Constants that the modules mpi and mpi_f08 share.\nmodule canele_constants\n  implicit none\n  public\n",
    );
    for (name, value) in OWN {
        text += &line(2, &format!("integer, parameter :: {name} = {value}"));
    }
    for constant in named(tables, integers).iter().filter(|constant| constant.of.is_none()) {
        let (name, kind, value) = (constant.name, constant.kind(), constant.value());
        text += &line(2, &format!("integer{kind}, parameter :: {name} = {value}"));
    }
    text += PLACES;
    text += "end module\n\n";
    let support = include_str!("support.f90");
    let support = match integers {
        IntegerLength::Four => support.to_owned(),
        IntegerLength::Eight => for_long_integers(support),
    };
    text + &support
        .replace("LONG\n", if integers == IntegerLength::Eight { LONG } else { "" })
        .replace("RAISE\n", &raise())
        .replace("CALLBACKS\n", &callbacks())
        .replace("CONVERSIONS\n", &conversions())
}

/// Returns the interfaces of the library's functions for an INTEGER of eight bytes.
fn for_long_integers(support: &str) -> String {
    let mut text = support.to_owned();
    for name in ["place", "begin", "grequest_state"] {
        let name = format!("canele_fort_{name}");
        let at = text.find(&format!("function {name}(")).expect("the interface is there");
        let (before, after) = text.split_at(at);
        text = before.to_owned() + &after.replacen("bind(C)", &format!("bind(C, name=\"{name}_long\")"), 1);
    }
    text.replace("integer(c_int), value :: datatype\n", "integer(c_int64_t), value :: datatype\n")
}

/// The interfaces of functions that only an INTEGER of eight bytes needs.
const LONG: &str = "    subroutine canele_fort_narrow(from, to, count) bind(C)
      import
      type(c_ptr), value :: from
      integer(c_int) :: to(*)
      integer(c_int), value :: count
    end subroutine
    subroutine canele_fort_widen(from, to, count) bind(C)
      import
      integer(c_int), intent(in) :: from(*)
      type(c_ptr), value :: to
      integer(c_int), value :: count
    end subroutine
    function canele_fort_long_type(number) bind(C) result(datatype)
      import
      integer(c_int64_t), value :: number
      integer(c_intptr_t) :: datatype
    end function
    function canele_fort_long_op(op, datatype) bind(C) result(own)
      import
      integer(c_intptr_t), value :: op, datatype
      integer(c_intptr_t) :: own
    end function
";

/// Returns the interfaces of the functions that raise an error on an object.
fn raise() -> String {
    let of = |kind| {
        format!(
            "    subroutine canele_fort_raise_{kind}({kind}, code) bind(C)\n      import\n      \
             integer(c_intptr_t), value :: {kind}\n      integer(c_int), value :: code\n    end subroutine\n"
        )
    };
    ["comm", "win", "file", "session"].map(of).concat()
}

/// Returns the interfaces of the functions that C calls for a function of the program.
fn callbacks() -> String {
    let of = |name: &str, names: &str, declared: &str| {
        let function = format!("function canele_fort_{name}({names}) bind(C) result(called)");
        format!("    {function}\n      import\n{declared}      type(c_funptr) :: called\n    end function\n")
    };
    let mut text = String::new();
    for name in WITH_A_FUNCTION {
        text += &of(name, "function", "      type(c_funptr), value :: function\n");
    }
    for name in WITH_A_STATE {
        text += &of(name, "", "");
    }
    for name in ["datarep_conversion", "datarep_conversion_c"] {
        text += &of(name, "is_read, is_null", "      integer(c_int), value :: is_read, is_null\n");
    }
    text
}

/// Returns the interfaces of the functions that convert handles.
fn conversions() -> String {
    let of = |name: &str, argument: &str, result: &str| {
        format!(
            "    function {name}(handle) bind(C, name=\"{name}\") result(converted)\n      import\n      {argument}, \
             value :: handle\n      {result} :: converted\n    end function\n"
        )
    };
    let all = HANDLES.iter().flat_map(|(_, handle)| {
        let (number, value) = ("integer(c_int)", "integer(c_intptr_t)");
        [
            of(&format!("PMPI_{}_fromint", handle.name), number, value),
            of(&format!("PMPI_{}_toint", handle.name), value, number),
        ]
    });
    all.collect()
}

/// Constants identified by address. Their storage is common, so that `mpif.h` and the modules share it.
const PLACES: &str = "
  integer, target :: MPI_BOTTOM, MPI_IN_PLACE, MPI_BUFFER_AUTOMATIC
  integer, target :: MPI_ERRCODES_IGNORE(1), MPI_UNWEIGHTED(1), MPI_WEIGHTS_EMPTY(1)
  common /canele_places/ MPI_BOTTOM, MPI_IN_PLACE, MPI_BUFFER_AUTOMATIC, &
    MPI_ERRCODES_IGNORE, MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY
  character :: MPI_ARGV_NULL(1), MPI_ARGVS_NULL(1, 1)
  common /canele_texts/ MPI_ARGV_NULL, MPI_ARGVS_NULL
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_have_the_values_of_c_but_for_lengths_and_longer_types() {
        let tables = Tables::standard();
        let all = named(&tables, IntegerLength::Four);
        let value = |name: &str| all.iter().find(|constant| constant.name == name).map(Named::value);
        assert_eq!(value("MPI_COMM_WORLD").as_deref(), Some("257"));
        assert_eq!(value("MPI_LONG_LONG_INT"), value("MPI_LONG_LONG"));
        assert_eq!(value("MPI_MAX_ERROR_STRING").as_deref(), Some("511"));
        assert_eq!(value("MPI_REAL").as_deref(), Some("merge(730, 538, storage_size(0.0)==64)"));
        assert_eq!(value("MPI_BOTTOM"), None);
        assert_eq!(value("MPI_COMM_DUP_FN"), None);
    }
}
