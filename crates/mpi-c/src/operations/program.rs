//! Functions of the program that combine elements.

use core::ffi::{c_int, c_void};
use std::sync::Arc;

use canele_mem::buffer::{RawMut, Readable};
use canele_mpi::datatype::Datatype;

use crate::conversions::to_int;
use crate::handle::{MPI_Datatype, ObjectHandle};
use crate::program_call::{State, call_program};

/// `MPI_User_function`: the first operands, the second operands and results, their number, and their
/// datatype.
pub type UserFunction = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void, *mut c_int, *mut MPI_Datatype);
/// `MPI_User_function_c`.
pub type UserFunctionLarge =
    unsafe extern "C-unwind" fn(*mut c_void, *mut c_void, *mut i64, *mut MPI_Datatype);

/// `MPIX_User_function_x` of MPICH: a large count, the datatype by value, and a state of the function.
pub type UserFunctionX =
    unsafe extern "C-unwind" fn(*mut c_void, *mut c_void, i64, MPI_Datatype, *mut c_void);

/// A function in Fortran, which gets the datatype as a number.
pub type UserFunctionFortran = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void, *mut c_int, *mut c_int);

/// A function of Open MPI's C++ library, which calls the program's function, its last argument.
pub type UserFunctionCPlusPlus =
    unsafe extern "C-unwind" fn(*mut c_void, *mut c_void, *mut c_int, *mut MPI_Datatype, UserFunction);

/// A function of MPICH's C++ library, which calls the program's function, its last argument. The number of
/// elements and the datatype are values.
pub type OperationCaller =
    unsafe extern "C-unwind" fn(*mut c_void, *mut c_void, c_int, MPI_Datatype, UserFunction);

/// The language of a program's function, if it is not C.
#[derive(Clone, Copy)]
pub enum Language {
    /// Fortran.
    Fortran,
    /// C++: this function, which the operation's function of the C++ library calls.
    CPlusPlus(UserFunction),
    /// C++: the operation's function, which this function of the C++ library calls.
    CalledByCPlusPlus(OperationCaller),
}

/// A function of the program.
#[derive(Clone)]
pub enum ProgramFunction {
    /// A function with a count of type `int`.
    Small(UserFunction),
    /// A function with a large count.
    Large(UserFunctionLarge),
    /// A function in Fortran.
    Fortran(UserFunctionFortran),
    /// A function in C++, with its caller in Open MPI's library.
    CPlusPlus(UserFunctionCPlusPlus, UserFunction),
    /// A function in C++, with its caller in MPICH's library.
    CalledByCPlusPlus(OperationCaller, UserFunction),
    /// A function with a state of its own.
    WithState(UserFunctionX, Arc<State>),
}

impl ProgramFunction {
    /// Returns the function, which a library of another language passed, as one of that language.
    pub fn in_language(&self, language: Language) -> Self {
        match (self, language) {
            // SAFETY: the function is one of Fortran, as the library says that has given it; it is not called
            // in any other way.
            (Self::Small(function), Language::Fortran) => unsafe {
                Self::Fortran(core::mem::transmute::<UserFunction, UserFunctionFortran>(*function))
            },
            // SAFETY: the function is that of the library for C++, as this says; it is not called in any
            // other way.
            (Self::Small(function), Language::CPlusPlus(of_program)) => unsafe {
                let caller = core::mem::transmute::<UserFunction, UserFunctionCPlusPlus>(*function);
                Self::CPlusPlus(caller, of_program)
            },
            (Self::Small(function), Language::CalledByCPlusPlus(caller)) => {
                Self::CalledByCPlusPlus(caller, *function)
            }
            (other, _) => other.clone(),
        }
    }
}

/// A function with the datatype of its elements.
pub struct Typed {
    function: ProgramFunction,
    handle: MPI_Datatype,
    of: Arc<Datatype>,
    /// Alignment of elements in bytes.
    alignment: usize,
    /// True if an exception of the function may reach the caller.
    may_throw: bool,
}

impl Typed {
    /// Makes the function for elements of the datatype of this handle.
    pub fn new(function: ProgramFunction, handle: MPI_Datatype, of: Arc<Datatype>) -> Self {
        let mut alignment = 1;
        of.each_run(|basic, _| alignment = alignment.max(basic.alignment()));
        Self { function, handle, of, alignment, may_throw: false }
    }

    /// Allows an exception of the function to reach the caller.
    pub fn which_may_throw(self) -> Self {
        Self { may_throw: true, ..self }
    }

    /// Combines packed elements; the results replace the second operands.
    pub fn call(&self, first: &[u8], second: &mut [u8], count: usize) {
        let is_aligned = |bytes: &[u8]| bytes.as_ptr().addr().is_multiple_of(self.alignment);
        if self.of.is_contiguous() && is_aligned(first) && is_aligned(second) {
            let (first, second) = (first.as_ptr().cast_mut(), second.as_mut_ptr());
            return self.call_at(first.cast(), second.cast(), count);
        }
        let (mut one, mut other) = (Elements::new(&self.of, count), Elements::new(&self.of, count));
        self.of.unpack(&mut one.raw(), count, 0, first);
        self.of.unpack(&mut other.raw(), count, 0, second);
        self.call_at(one.raw().address().cast(), other.raw().address().cast(), count);
        self.of.pack(&other.raw(), count, 0, second);
    }

    /// Calls the function with elements in their memory layout, in as few calls as its count allows.
    fn call_at(&self, first: *mut c_void, second: *mut c_void, count: usize) {
        // The program may have freed its handle meanwhile; the function then gets another one for this call.
        let is_same = self.handle.get().is_ok_and(|of| core::ptr::eq(of, &*self.of));
        let own = if is_same { None } else { MPI_Datatype::new(self.of.clone()).ok() };
        let datatype = own.unwrap_or(self.handle);
        let most = match &self.function {
            ProgramFunction::Large(_) | ProgramFunction::WithState(..) => i64::MAX as usize,
            ProgramFunction::Small(_)
            | ProgramFunction::Fortran(_)
            | ProgramFunction::CPlusPlus(..)
            | ProgramFunction::CalledByCPlusPlus(..) => c_int::MAX as usize,
        };
        let mut at = 0;
        while at < count {
            let n = (count - at).min(most);
            let by = self.of.extent().wrapping_mul(at.cast_signed());
            let (first, second) = (first.wrapping_byte_offset(by), second.wrapping_byte_offset(by));
            let mut datatype = datatype;
            // SAFETY: the program gave this function for such elements, of which there are `n` at both
            // addresses.
            let mut call = || unsafe {
                match &self.function {
                    ProgramFunction::Small(function) => {
                        function(first, second, &mut (n as c_int), &raw mut datatype);
                    }
                    ProgramFunction::Large(function) => {
                        function(first, second, &mut (n as i64), &raw mut datatype)
                    }
                    ProgramFunction::Fortran(function) => {
                        function(first, second, &mut (n as c_int), &mut to_int(datatype));
                    }
                    ProgramFunction::CPlusPlus(function, of_program) => {
                        function(first, second, &mut (n as c_int), &raw mut datatype, *of_program);
                    }
                    ProgramFunction::CalledByCPlusPlus(caller, function) => {
                        caller(first, second, n as c_int, datatype, *function);
                    }
                    ProgramFunction::WithState(function, state) => {
                        function(first, second, n as i64, datatype, state.get());
                    }
                }
            };
            if self.may_throw {
                call()
            } else {
                call_program("an operation", call)
            }
            at += n;
        }
        if let Some(own) = own {
            let _ = own.free();
        }
    }
}

/// Memory for unpacked elements, aligned for each of them.
struct Elements {
    blocks: Vec<u128>,
    /// Offset of the memory from the first element.
    low: isize,
}

impl Elements {
    fn new(of: &Datatype, count: usize) -> Self {
        let span = of.span(count);
        // The first element lies at a multiple of the block size, too.
        let low = span.start.div_euclid(BLOCK) * BLOCK;
        let len = usize::try_from(span.end - low).unwrap_or(0);
        Self { blocks: vec![0; len.div_ceil(BLOCK as usize)], low }
    }

    fn raw(&mut self) -> RawMut {
        let start = self.blocks.as_mut_ptr().cast::<u8>().wrapping_offset(-self.low);
        let high = self.low + (self.blocks.len() * BLOCK as usize).cast_signed();
        // SAFETY: the blocks are this value's own and lie from `low` to `high`; no other code touches them.
        unsafe { RawMut::new(start, self.low, high) }
    }
}

const BLOCK: isize = size_of::<u128>().cast_signed();

#[cfg(test)]
mod tests {
    use super::*;
    use canele_mpi::datatype::{Basic, Width};

    /// Subtracts the first two of each three numbers, which lie before and at the element's address.
    unsafe extern "C-unwind" fn subtract(
        first: *mut c_void,
        second: *mut c_void,
        count: *mut c_int,
        _: *mut MPI_Datatype,
    ) {
        let (first, second) = (first.cast::<i32>(), second.cast::<i32>());
        // SAFETY: as the standard says; the elements are those of the test below.
        unsafe {
            for n in 0..*count as isize {
                for part in [-1, 0] {
                    let (from, to) = (first.offset(3 * n + part), second.offset(3 * n + part));
                    *to = *from - *to;
                }
            }
        }
    }

    #[test]
    fn elements_with_gaps_lie_in_memory_as_their_datatype_says() {
        let int = Datatype::basic(Basic::Int);
        let two = Datatype::indexed(Width::Int, &[2], &[-1], int).unwrap();
        let of = Datatype::resized(Width::Int, &two, -4, 12).unwrap();
        of.commit();
        let typed = Typed::new(ProgramFunction::Small(subtract), MPI_Datatype::of(0), of.clone());
        assert!(!of.is_contiguous() && of.size() == 8);
        let bytes = |numbers: [i32; 6]| numbers.iter().flat_map(|n| n.to_ne_bytes()).collect::<Vec<u8>>();
        let mut second = bytes([1, 2, 3, 4, 5, 6]);
        typed.call(&bytes([10, 20, 30, 40, 50, 60]), &mut second, 3);
        assert_eq!(second, bytes([9, 18, 27, 36, 45, 54]));
    }
}
