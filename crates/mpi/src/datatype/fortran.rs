//! Datatypes by the range or size of a number (MPI 5.0, §19.1.9): Fortran's parameterized types.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use super::Datatype;
use super::basic::Basic;
use super::envelope::{Combiner, Envelope, Integer};
use crate::{Result, fail};

/// A family of types that differ in size.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Family {
    /// Truth values.
    Logical,
    /// Integers.
    Integer,
    /// Reals.
    Real,
    /// Complex numbers.
    Complex,
}

/// Returns the predefined datatype of a family with this size in bytes (`MPI_Type_match_size`).
pub fn match_size(family: Family, size: i64) -> Result<Basic> {
    use Basic::*;
    let members: &[Basic] = match family {
        Family::Logical => &[Logical1, Logical2, Logical4, Logical8, Logical16],
        Family::Integer => &[Integer1, Integer2, Integer4, Integer8, Integer16],
        Family::Real => &[Real2, Real4, Real8, Real16],
        Family::Complex => &[Complex4, Complex8, Complex16, Complex32],
    };
    match members.iter().find(|basic| basic.size() as i64 == size) {
        Some(basic) => Ok(*basic),
        None => fail!(Argument, "size is {size}: there is no type of family {family:?} with so many bytes"),
    }
}

/// Datatypes already made: the same request returns the same datatype.
static MADE: LazyLock<Mutex<HashMap<Asked, Arc<Datatype>>>> = LazyLock::new(Mutex::default);

type Asked = (Combiner, Option<i64>, Option<i64>);

impl Datatype {
    /// Returns an integer type of this many decimal digits (`MPI_Type_create_f90_integer`).
    pub fn f90_integer(range: i64) -> Result<Arc<Self>> {
        let basic = match range {
            i64::MIN..=2 => Basic::Integer1,
            3..=4 => Basic::Integer2,
            5..=9 => Basic::Integer4,
            10..=18 => Basic::Integer8,
            19..=38 => Basic::Integer16,
            _ => fail!(Argument, "r is {range}: the longest integer has 38 decimal digits"),
        };
        Ok(asked((Combiner::F90Integer, None, Some(range)), basic, vec![range.into()]))
    }

    /// Returns a real type of this decimal precision and exponent range, either of which may be open
    /// (`MPI_Type_create_f90_real`).
    pub fn f90_real(precision: Option<i64>, range: Option<i64>) -> Result<Arc<Self>> {
        let basics = [Basic::Real4, Basic::Real8, Basic::Real16];
        Self::f90_of(Combiner::F90Real, basics, precision, range)
    }

    /// Returns a complex type with such parts (`MPI_Type_create_f90_complex`).
    pub fn f90_complex(precision: Option<i64>, range: Option<i64>) -> Result<Arc<Self>> {
        let basics = [Basic::Complex8, Basic::Complex16, Basic::Complex32];
        Self::f90_of(Combiner::F90Complex, basics, precision, range)
    }

    fn f90_of(
        combiner: Combiner,
        basics: [Basic; 3],
        precision: Option<i64>,
        range: Option<i64>,
    ) -> Result<Arc<Self>> {
        if precision.is_none() && range.is_none() {
            fail!(Argument, "p and r are both undefined: give one of them");
        }
        // Decimal digits and the largest power of ten of IEEE's binary32, binary64 and binary128.
        const LIMITS: [(i64, i64); 3] = [(6, 37), (15, 307), (33, 4931)];
        let (p, r) = (precision.unwrap_or(0), range.unwrap_or(0));
        match LIMITS.iter().position(|(digits, power)| p <= *digits && r <= *power) {
            Some(at) => {
                let integers = [precision, range].map(|n| n.map_or(Integer::Undefined, Integer::Number));
                Ok(asked((combiner, precision, range), basics[at], integers.to_vec()))
            }
            None => {
                fail!(Argument, "p is {p} and r is {r}: the longest real has 33 digits and powers to 4931")
            }
        }
    }
}

fn asked(key: Asked, basic: Basic, integers: Vec<Integer>) -> Arc<Datatype> {
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let make = || {
        let map = Datatype::basic(basic).map.clone();
        let datatype =
            Datatype::made(map, Envelope::new(key.0).integers(integers)).expect("a small datatype");
        datatype.commit();
        datatype
    };
    made.entry(key).or_insert_with(make).clone()
}
