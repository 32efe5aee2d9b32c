//! Arguments that are `int` in a function and wider in its large-count form.

use core::ffi::c_int;

use canele_mpi::{Class, Error, Result, fail};

use crate::constants::MPI_UNDEFINED;

/// An argument type of a body that represents two types of C; the exported functions convert.
pub trait WideArgument {
    /// The type in the ordinary function.
    type Small;
    /// The type in the large-count form.
    type Large;
    /// Converts the ordinary function's argument.
    fn from_small(value: Self::Small) -> Self;
    /// Converts the large-count form's argument.
    fn from_large(value: Self::Large) -> Self;
}

/// A count, and the form of its function, on which some results depend.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    /// The number, as passed.
    pub value: i64,
    /// True for the large-count form.
    pub large: bool,
}

impl WideArgument for Count {
    type Small = c_int;
    type Large = i64;

    #[inline(always)]
    fn from_small(value: c_int) -> Self {
        Self { value: i64::from(value), large: false }
    }

    #[inline(always)]
    fn from_large(value: i64) -> Self {
        Self { value, large: true }
    }
}

impl Count {
    /// Returns the count as a number of elements.
    ///
    /// # Errors
    /// Fails if it is negative.
    #[inline(always)]
    pub fn get(self) -> Result<usize> {
        usize::try_from(self.value).map_err(|_| negative(self.value))
    }
}

#[cold]
fn negative(count: i64) -> Box<Error> {
    Error::new(Class::Count, format!("the count is {count}: it must not be negative"))
}

/// An array of numbers of either width.
#[derive(Clone, Copy, Debug)]
pub enum Numbers {
    /// Numbers of type `int`.
    Small(*const c_int),
    /// Numbers of type `MPI_Count` or `MPI_Aint`.
    Large(*const i64),
}

impl Numbers {
    /// Returns true for the large-count form.
    pub fn is_large(self) -> bool {
        matches!(self, Self::Large(_))
    }

    /// Returns the first `n` numbers, as 64-bit numbers.
    ///
    /// # Errors
    /// Fails if the pointer is null and `n` is not zero.
    pub fn read(self, n: usize, what: &str) -> Result<Vec<i64>> {
        Ok(match self.slice(n, what)? {
            NumberSlice::Small(numbers) => numbers.iter().map(|number| i64::from(*number)).collect(),
            NumberSlice::Large(numbers) => numbers.to_vec(),
        })
    }

    /// Returns the first `n` numbers in place.
    ///
    /// # Errors
    /// Fails like [`Numbers::read`].
    pub fn slice<'a>(self, n: usize, what: &str) -> Result<NumberSlice<'a>> {
        let null = match self {
            Self::Small(at) => at.is_null(),
            Self::Large(at) => at.is_null(),
        };
        if null && n > 0 {
            fail!(Argument, "{what} is a null pointer: an array of {n} numbers is needed");
        }
        Ok(match self {
            Self::Small(_) if n == 0 => NumberSlice::Small(&[]),
            Self::Large(_) if n == 0 => NumberSlice::Large(&[]),
            // SAFETY: the standard asks for an array of n numbers, which does not change during the call.
            Self::Small(at) => NumberSlice::Small(unsafe { core::slice::from_raw_parts(at, n) }),
            // SAFETY: as above.
            Self::Large(at) => NumberSlice::Large(unsafe { core::slice::from_raw_parts(at, n) }),
        })
    }
}

/// An array of the program, of either width.
#[derive(Clone, Copy, Debug)]
pub enum NumberSlice<'a> {
    /// Numbers of type `int`.
    Small(&'a [c_int]),
    /// Numbers of type `MPI_Count` or `MPI_Aint`.
    Large(&'a [i64]),
}

macro_rules! array {
    ($name:ident, $doc:literal) => {
        #[doc = $doc]
        #[derive(Clone, Copy, Debug)]
        pub struct $name(pub Numbers);

        impl WideArgument for $name {
            type Small = *const c_int;
            type Large = *const i64;

            fn from_small(value: *const c_int) -> Self {
                Self(Numbers::Small(value))
            }

            fn from_large(value: *const i64) -> Self {
                Self(Numbers::Large(value))
            }
        }
    };
}
array!(Counts, "Counts, one for each of something.");
array!(Displacements, "Displacements, one for each of something.");

/// The place of a number.
#[derive(Clone, Copy, Debug)]
pub enum OutCount {
    /// An `int`.
    Small(*mut c_int),
    /// An `MPI_Count` or `MPI_Aint`.
    Large(*mut i64),
}

impl WideArgument for OutCount {
    type Small = *mut c_int;
    type Large = *mut i64;

    fn from_small(value: *mut c_int) -> Self {
        Self::Small(value)
    }

    fn from_large(value: *mut i64) -> Self {
        Self::Large(value)
    }
}

impl OutCount {
    /// Returns the number.
    ///
    /// # Errors
    /// Fails if the pointer is null.
    pub fn get(self, what: &str) -> Result<i64> {
        match self {
            // SAFETY: an argument that is read and written points to a number.
            Self::Small(from) if !from.is_null() => Ok(i64::from(unsafe { from.read() })),
            // SAFETY: as above.
            Self::Large(from) if !from.is_null() => Ok(unsafe { from.read() }),
            _ => fail!(Argument, "{what} is a null pointer: a number is needed"),
        }
    }

    /// Stores a number; `MPI_UNDEFINED` if there is none or it does not fit.
    ///
    /// # Errors
    /// Fails if the pointer is null.
    pub fn set(self, value: Option<i64>, what: &str) -> Result<()> {
        self.set_at(0, value, what)
    }

    /// Stores a number at an index of an array.
    ///
    /// # Errors
    /// Fails if the pointer is null.
    pub fn set_at(self, at: usize, value: Option<i64>, what: &str) -> Result<()> {
        let undefined = MPI_UNDEFINED;
        match self {
            Self::Small(to) if !to.is_null() => {
                let value = value.and_then(|v| c_int::try_from(v).ok()).unwrap_or(undefined);
                // SAFETY: the standard asks for a place for the result.
                unsafe { to.add(at).write(value) }
            }
            Self::Large(to) if !to.is_null() => {
                // SAFETY: as above.
                unsafe { to.add(at).write(value.unwrap_or(i64::from(undefined))) }
            }
            _ => fail!(Argument, "{what} is a null pointer: a place for the result is needed"),
        }
        Ok(())
    }
}
