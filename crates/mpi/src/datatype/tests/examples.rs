//! The standard's own examples (MPI 5.0, §5.1), and sizes of predefined datatypes in C.

use std::sync::Arc;

use canele_mem::buffer::Readable;

use super::naive::memory;
use crate::datatype::{Basic, BasicKind, Combiner, Datatype, Family, Width, match_size};

/// Makes {(double, 0), (char, 8)}, with extent 16.
fn double_char() -> Arc<Datatype> {
    let types = [Datatype::basic(Basic::Double).clone(), Datatype::basic(Basic::Char).clone()];
    Datatype::structure(Width::Int, &[1, 1], &[0, 8], &types).unwrap()
}

/// Returns the positions at which the numbers of an element begin.
fn places(datatype: &Datatype) -> Vec<isize> {
    let mut sizes = Vec::new();
    datatype.each_run(|basic, n| sizes.extend(std::iter::repeat_n(basic.size(), n)));
    let raw = memory(datatype.span(1), 0).into_raw();
    let mut at = 0;
    let place = |size: usize| {
        let mut lent = datatype.lend(raw, 1);
        let share = lent.share(at, size);
        at += size;
        share.stretches()[0].0.as_ptr() as isize - raw.address() as isize
    };
    sizes.into_iter().map(place).collect()
}

#[test]
fn type_maps_are_those_of_the_standard() {
    let old = double_char();
    assert_eq!((old.size(), old.extent(), old.true_extent()), (9, 16, 9));

    let contiguous = Datatype::contiguous(Width::Int, 3, &old).unwrap();
    assert_eq!(places(&contiguous), [0, 8, 16, 24, 32, 40]);
    assert_eq!((contiguous.extent(), contiguous.true_extent()), (48, 41));

    let vector = Datatype::vector(Width::Int, 2, 3, 4, &old).unwrap();
    assert_eq!(places(&vector), [0, 8, 16, 24, 32, 40, 64, 72, 80, 88, 96, 104]);

    let backwards = Datatype::vector(Width::Int, 3, 1, -2, &old).unwrap();
    assert_eq!(places(&backwards), [0, 8, -32, -24, -64, -56]);
    assert_eq!((backwards.lower_bound(), backwards.extent()), (-64, 80));

    let indexed = Datatype::indexed(Width::Int, &[3, 1], &[4, 0], &old).unwrap();
    assert_eq!(places(&indexed), [64, 72, 80, 88, 96, 104, 0, 8]);

    let types = [Datatype::basic(Basic::Float).clone(), old, Datatype::basic(Basic::Char).clone()];
    let structure = Datatype::structure(Width::Int, &[2, 1, 3], &[0, 16, 26], &types).unwrap();
    assert_eq!(places(&structure), [0, 4, 16, 24, 26, 27, 28]);
    assert_eq!((structure.size(), structure.extent()), (20, 32));
}

#[test]
fn marks_of_bounds_are_kept_in_what_is_made_of_them() {
    let int = Datatype::basic(Basic::Int);
    let type1 = Datatype::resized(Width::Int, int, -3, 9).unwrap();
    assert_eq!((type1.lower_bound(), type1.extent(), type1.true_extent()), (-3, 9, 4));
    let type2 = Datatype::contiguous(Width::Int, 2, &type1).unwrap();
    assert_eq!(places(&type2), [0, 9]);
    assert_eq!((type2.lower_bound(), type2.extent()), (-3, 18));
    // Types without bound markers do not move the bounds of a structure whose other types have them.
    let beside = Datatype::structure(Width::Int, &[1, 1], &[0, 100], &[type1, int.clone()]).unwrap();
    assert_eq!((beside.lower_bound(), beside.extent()), (-3, 9));
}

#[test]
fn predefined_datatypes_are_as_in_c() {
    for basic in Basic::ALL {
        let datatype = Datatype::basic(*basic);
        assert!(datatype.is_committed() && datatype.is_named() && datatype.name() == basic.name());
        assert_eq!((datatype.size(), datatype.lower_bound()), (basic.size(), 0), "{basic:?}");
        assert_eq!(datatype.uniform(), Some((*basic, 1)));
        assert_eq!(datatype.extent() as usize % basic.alignment(), 0);
    }
    let extents = [
        (Basic::FloatInt, 8, 8),
        (Basic::DoubleInt, 12, 16),
        (Basic::LongInt, 12, 16),
        (Basic::TwoInt, 8, 8),
        (Basic::ShortInt, 6, 8),
        (Basic::LongDoubleInt, 20, 32),
        (Basic::LongDouble, 16, 16),
        (Basic::Complex, 8, 8),
    ];
    for (basic, size, extent) in extents {
        let datatype = Datatype::basic(basic);
        assert_eq!((datatype.size(), datatype.extent()), (size, extent), "{basic:?}");
    }
    assert!(
        Datatype::basic(Basic::TwoInt).is_contiguous() && !Datatype::basic(Basic::ShortInt).is_contiguous()
    );
}

#[test]
fn sizes_and_families_find_their_type() {
    assert_eq!(match_size(Family::Integer, 8).unwrap(), Basic::Integer8);
    assert_eq!(match_size(Family::Real, 4).unwrap(), Basic::Real4);
    assert_eq!(match_size(Family::Complex, 16).unwrap(), Basic::Complex16);
    assert_eq!(match_size(Family::Logical, 1).unwrap(), Basic::Logical1);
    assert!(match_size(Family::Real, 3).unwrap_err().text.contains("size is 3"));
}

#[test]
fn fortran_types_hold_what_is_asked_and_are_made_once() {
    let size = |datatype: crate::Result<Arc<Datatype>>| datatype.unwrap().size();
    assert_eq!([2, 4, 9, 18, 38].map(|r| size(Datatype::f90_integer(r))), [1, 2, 4, 8, 16]);
    assert_eq!(size(Datatype::f90_real(Some(6), Some(37))), 4);
    assert_eq!(size(Datatype::f90_real(Some(7), None)), 8);
    assert_eq!(size(Datatype::f90_complex(None, Some(308))), 32);
    assert!(Datatype::f90_real(None, None).is_err() && Datatype::f90_integer(39).is_err());
    let one = Datatype::f90_real(Some(15), None).unwrap();
    assert!(Arc::ptr_eq(&one, &Datatype::f90_real(Some(15), None).unwrap()));
    assert!(one.is_committed() && one.is_predefined() && !one.is_named());
    assert_eq!(one.as_basic(), Some(Basic::Real8));
}

#[test]
fn pairs_are_found_or_made_once() {
    let of = |value, index| Datatype::value_index(Datatype::basic(value), Datatype::basic(index));
    let double_int = of(Basic::Double, Basic::Int).unwrap();
    assert!(Arc::ptr_eq(&double_int, Datatype::basic(Basic::DoubleInt)));
    assert_eq!(double_int.pair(), Some((Basic::Double, Basic::Int)));
    let unnamed = of(Basic::Int16, Basic::Uint64).unwrap();
    assert_eq!((unnamed.size(), unnamed.extent(), unnamed.combiner()), (10, 16, Combiner::ValueIndex));
    assert_eq!(places(&unnamed), [0, 8]);
    assert_eq!((unnamed.pair(), unnamed.as_basic()), (Some((Basic::Int16, Basic::Uint64)), None));
    assert!(Arc::ptr_eq(&unnamed, &of(Basic::Int16, Basic::Uint64).unwrap()));
    assert!(of(Basic::CFloatComplex, Basic::Int).is_none() && of(Basic::Int, Basic::Float).is_none());
    let derived = Datatype::contiguous(Width::Int, 1, Datatype::basic(Basic::Int)).unwrap();
    assert!(Datatype::value_index(&derived, Datatype::basic(Basic::Int)).is_none());
    assert!(matches!(Basic::TwoReal.kind(), BasicKind::Pair(Basic::Real, Basic::Real)));
}

#[test]
fn huge_types_are_small_inside() {
    let byte = Datatype::basic(Basic::Byte);
    let huge = Datatype::contiguous(Width::Large, 1 << 40, &double_char()).unwrap();
    assert_eq!((huge.size(), huge.extent()), (9 << 40, 16 << 40));
    assert_eq!(huge.elements_of(9 * 1_000_000 + 8), Some(2_000_001));
    let huger = Datatype::vector(Width::Large, 1 << 20, 1 << 20, 1 << 21, byte).unwrap();
    assert_eq!((huger.size(), huger.uniform()), (1 << 40, Some((Basic::Byte, 1 << 40))));
}
