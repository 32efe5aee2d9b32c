//! What MPI 3.0 removed, for programs that were written before: each function calls its successor.
//!
//! The header declares them from `tables/removed.tsv` where a program asks for it. A successor reports errors under its own name.

use core::ffi::{c_int, c_void};

use crate::constants::MPI_SUCCESS;

/// Handles and functions of the program, which are only passed on.
type Word = *mut c_void;

/// The marker of a lower bound among the types of `MPI_Type_struct`.
const LB: usize = 0xff0;
/// The marker of an upper bound.
const UB: usize = 0xff1;

unsafe extern "C" {
    fn PMPI_Get_address(location: Word, address: *mut isize) -> c_int;
    fn PMPI_Comm_create_errhandler(function: Word, errhandler: *mut Word) -> c_int;
    fn PMPI_Comm_get_errhandler(comm: Word, errhandler: *mut Word) -> c_int;
    fn PMPI_Comm_set_errhandler(comm: Word, errhandler: Word) -> c_int;
    fn PMPI_Type_get_extent(datatype: Word, lb: *mut isize, extent: *mut isize) -> c_int;
    fn PMPI_Type_create_hindexed(
        n: c_int,
        blocks: *const c_int,
        places: *const isize,
        old: Word,
        new: *mut Word,
    ) -> c_int;
    fn PMPI_Type_create_hvector(n: c_int, block: c_int, stride: isize, old: Word, new: *mut Word) -> c_int;
    fn PMPI_Type_create_struct(
        n: c_int,
        blocks: *const c_int,
        places: *const isize,
        types: *const Word,
        new: *mut Word,
    ) -> c_int;
    fn PMPI_Type_create_resized(old: Word, lb: isize, extent: isize, new: *mut Word) -> c_int;
    fn PMPI_Type_free(datatype: *mut Word) -> c_int;
}

/// Exports a body under both names.
macro_rules! removed {
    ($($name:ident $profiled:ident($($argument:ident: $of:ty),*) => $body:expr;)*) => {$(
        removed!(@ $name($($argument: $of),*) => $body);
        removed!(@ $profiled($($argument: $of),*) => $body);
    )*};
    (@ $name:ident($($argument:ident: $of:ty),*) => $body:expr) => {
        #[doc = concat!("`", stringify!($name), "`, which MPI 3.0 removed.")]
        // SAFETY: the name is MPI's, and this crate alone defines it.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        pub extern "C" fn $name($($argument: $of),*) -> c_int {
            // SAFETY: the successor takes these arguments, as the program gives them, and checks them.
            unsafe { $body }
        }
    };
}

removed! {
    MPI_Address PMPI_Address(location: Word, address: *mut isize) => PMPI_Get_address(location, address);
    MPI_Errhandler_create PMPI_Errhandler_create(function: Word, errhandler: *mut Word) =>
        PMPI_Comm_create_errhandler(function, errhandler);
    MPI_Errhandler_get PMPI_Errhandler_get(comm: Word, errhandler: *mut Word) =>
        PMPI_Comm_get_errhandler(comm, errhandler);
    MPI_Errhandler_set PMPI_Errhandler_set(comm: Word, errhandler: Word) =>
        PMPI_Comm_set_errhandler(comm, errhandler);
    MPI_Type_extent PMPI_Type_extent(datatype: Word, extent: *mut isize) =>
        PMPI_Type_get_extent(datatype, &mut 0, extent);
    MPI_Type_lb PMPI_Type_lb(datatype: Word, lb: *mut isize) => PMPI_Type_get_extent(datatype, lb, &mut 0);
    MPI_Type_ub PMPI_Type_ub(datatype: Word, ub: *mut isize) => upper_bound(datatype, ub);
    MPI_Type_hindexed PMPI_Type_hindexed(
        n: c_int, blocks: *const c_int, places: *const isize, old: Word, new: *mut Word
    ) => PMPI_Type_create_hindexed(n, blocks, places, old, new);
    MPI_Type_hvector PMPI_Type_hvector(n: c_int, block: c_int, stride: isize, old: Word, new: *mut Word) =>
        PMPI_Type_create_hvector(n, block, stride, old, new);
    MPI_Type_struct PMPI_Type_struct(
        n: c_int, blocks: *const c_int, places: *const isize, types: *const Word, new: *mut Word
    ) => structure(n, blocks, places, types, new);
}

/// The lower bound and the extent together.
///
/// # Safety
/// `ub` is null or a place for the result.
unsafe fn upper_bound(datatype: Word, ub: *mut isize) -> c_int {
    let mut lb = 0;
    // SAFETY: the caller's promise; the successor stores nothing unless it succeeds.
    unsafe {
        let code = PMPI_Type_get_extent(datatype, &raw mut lb, ub);
        if code == MPI_SUCCESS {
            *ub += lb;
        }
        code
    }
}

/// What is said of bounds and of other types in the arguments of `MPI_Type_struct`.
#[derive(Default)]
struct Parts {
    lb: Option<isize>,
    ub: Option<isize>,
    blocks: Vec<c_int>,
    places: Vec<isize>,
    types: Vec<Word>,
}

impl Parts {
    /// Takes the arguments apart. Of several bounds the outermost counts; a bound that no block has counts not at all.
    fn of(blocks: &[c_int], places: &[isize], types: &[Word]) -> Self {
        let mut parts = Self::default();
        for ((&block, &place), &of) in blocks.iter().zip(places).zip(types) {
            match of.addr() {
                LB | UB if block == 0 => {}
                LB => parts.lb = Some(parts.lb.map_or(place, |lb| lb.min(place))),
                UB => parts.ub = Some(parts.ub.map_or(place, |ub| ub.max(place))),
                _ => {
                    parts.blocks.push(block);
                    parts.places.push(place);
                    parts.types.push(of);
                }
            }
        }
        parts
    }
}

/// The structure of what is no marker, with the bounds that markers give it.
///
/// # Safety
/// The arrays have `n` elements, or are null; `new` is null or a place for the result.
unsafe fn structure(
    n: c_int,
    blocks: *const c_int,
    places: *const isize,
    types: *const Word,
    new: *mut Word,
) -> c_int {
    if n <= 0 || blocks.is_null() || places.is_null() || types.is_null() || new.is_null() {
        // SAFETY: the successor says what is wrong with them.
        return unsafe { PMPI_Type_create_struct(n, blocks, places, types, new) };
    }
    let len = n as usize;
    // SAFETY: the caller's promise; nobody changes them during the call.
    let parts = unsafe {
        let places = core::slice::from_raw_parts(places, len);
        Parts::of(core::slice::from_raw_parts(blocks, len), places, core::slice::from_raw_parts(types, len))
    };
    let n = parts.types.len() as c_int;
    let (blocks, places, types) = (parts.blocks.as_ptr(), parts.places.as_ptr(), parts.types.as_ptr());
    // SAFETY: arrays of n elements, and a place for the result.
    let code = unsafe { PMPI_Type_create_struct(n, blocks, places, types, new) };
    if code != MPI_SUCCESS || (parts.lb.is_none() && parts.ub.is_none()) {
        return code;
    }
    // SAFETY: the structure was made, and is given up whatever comes of it.
    unsafe {
        let mut inner = *new;
        let (mut lb, mut extent) = (0, 0);
        let mut code = PMPI_Type_get_extent(inner, &raw mut lb, &raw mut extent);
        if code == MPI_SUCCESS {
            let (first, end) = (parts.lb.unwrap_or(lb), parts.ub.unwrap_or(lb + extent));
            code = PMPI_Type_create_resized(inner, first, end.wrapping_sub(first), new);
        }
        PMPI_Type_free(&raw mut inner);
        code
    }
}
