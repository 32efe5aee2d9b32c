//! Arguments that are `int` in a function and wider in its large-count twin.

use core::ffi::c_int;

use canele_mpi::{Class, Error, Result, fail};

use crate::constants::MPI_UNDEFINED;

/// A type of the body that stands for two types of C; the exported functions convert.
pub trait WideArgument {
    /// In the ordinary function.
    type Small;
    /// In the large twin.
    type Large;
    /// From the ordinary function's argument.
    fn from_small(value: Self::Small) -> Self;
    /// From the large twin's argument.
    fn from_large(value: Self::Large) -> Self;
}

/// A count; also whether it came from the large twin, which some results depend on.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    /// The number, as given.
    pub value: i64,
    /// From the large twin.
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
    /// As a number of elements.
    ///
    /// # Errors
    /// It is negative.
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
    /// Of `int`.
    Small(*const c_int),
    /// Of `MPI_Count` or `MPI_Aint`.
    Large(*const i64),
}

impl Numbers {
    /// Whether they came from the large twin.
    pub fn is_large(self) -> bool {
        matches!(self, Self::Large(_))
    }

    /// The first `n`, as 64-bit numbers.
    ///
    /// # Errors
    /// The pointer is null though `n` is not zero.
    pub fn read(self, n: usize, what: &str) -> Result<Vec<i64>> {
        Ok(match self.slice(n, what)? {
            NumberSlice::Small(numbers) => numbers.iter().map(|number| i64::from(*number)).collect(),
            NumberSlice::Large(numbers) => numbers.to_vec(),
        })
    }

    /// The first `n`, where they lie.
    ///
    /// # Errors
    /// As [`Numbers::read`].
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
    /// Of `int`.
    Small(&'a [c_int]),
    /// Of `MPI_Count` or `MPI_Aint`.
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

/// Where a number goes.
#[derive(Clone, Copy, Debug)]
pub enum OutCount {
    /// To an `int`.
    Small(*mut c_int),
    /// To an `MPI_Count` or `MPI_Aint`.
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
    /// What is there.
    ///
    /// # Errors
    /// The pointer is null.
    pub fn get(self, what: &str) -> Result<i64> {
        match self {
            // SAFETY: an argument that is read and written points to a number.
            Self::Small(from) if !from.is_null() => Ok(i64::from(unsafe { from.read() })),
            // SAFETY: as above.
            Self::Large(from) if !from.is_null() => Ok(unsafe { from.read() }),
            _ => fail!(Argument, "{what} is a null pointer: a number is needed"),
        }
    }

    /// Stores a number; `MPI_UNDEFINED` where there is none or it does not fit.
    ///
    /// # Errors
    /// The pointer is null.
    pub fn set(self, value: Option<i64>, what: &str) -> Result<()> {
        self.set_at(0, value, what)
    }

    /// Stores the number of an array at a place.
    ///
    /// # Errors
    /// The pointer is null.
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
