//! Queries of datatypes: names, commitment, contents, positions.

use std::sync::Arc;

use canele_mem::buffer::Readable;

use super::naive::memory;
use crate::Class;
use crate::datatype::{Basic, Combiner, Datatype, Dimension, Distribution, Envelope, Integer, Order, Width};

fn int() -> &'static Arc<Datatype> {
    Datatype::basic(Basic::Int)
}

/// Returns the numbers of an envelope: integers, addresses, large counts.
fn numbers(made: crate::Result<Arc<Datatype>>) -> (Combiner, Vec<i64>, Vec<isize>, Vec<i64>) {
    let made = made.unwrap();
    let Envelope { combiner, integers, addresses, counts, .. } = made.envelope();
    let integer = |integer: &Integer| match integer {
        Integer::Number(number) => *number,
        other => panic!("{other:?} is no number"),
    };
    (*combiner, integers.to_vec().iter().map(integer).collect(), addresses.clone(), counts.clone())
}

#[test]
fn contents_are_listed_as_in_the_standard() {
    use Combiner::*;
    let (small, large) = (Width::Int, Width::Large);
    assert_eq!(numbers(Datatype::contiguous(small, 2, int())), (Contiguous, vec![2], vec![], vec![]));
    assert_eq!(numbers(Datatype::contiguous(large, 2, int())), (Contiguous, vec![], vec![], vec![2]));
    assert_eq!(numbers(Datatype::vector(small, 2, 3, 4, int())), (Vector, vec![2, 3, 4], vec![], vec![]));
    assert_eq!(numbers(Datatype::vector(large, 2, 3, 4, int())), (Vector, vec![], vec![], vec![2, 3, 4]));
    assert_eq!(numbers(Datatype::hvector(small, 2, 3, 40, int())), (Hvector, vec![2, 3], vec![40], vec![]));
    assert_eq!(numbers(Datatype::hvector(large, 2, 3, 40, int())), (Hvector, vec![], vec![], vec![2, 3, 40]));
    let (lengths, places) = ([1, 2], [30, 40]);
    let listed = vec![2, 1, 2, 30, 40];
    assert_eq!(
        numbers(Datatype::indexed(small, &lengths, &places, int())),
        (Indexed, listed.clone(), vec![], vec![])
    );
    assert_eq!(
        numbers(Datatype::indexed(large, &lengths, &places, int())),
        (Indexed, vec![], vec![], listed.clone())
    );
    let hindexed = |width| numbers(Datatype::hindexed(width, &lengths, &places, int()));
    assert_eq!(hindexed(small), (Hindexed, vec![2, 1, 2], vec![30, 40], vec![]));
    assert_eq!(hindexed(large), (Hindexed, vec![], vec![], listed.clone()));
    let block = |width| numbers(Datatype::indexed_block(width, 5, &places, int()));
    assert_eq!(block(small), (IndexedBlock, vec![2, 5, 30, 40], vec![], vec![]));
    assert_eq!(block(large), (IndexedBlock, vec![], vec![], vec![2, 5, 30, 40]));
    let hblock = |width| numbers(Datatype::hindexed_block(width, 5, &places, int()));
    assert_eq!(hblock(small), (HindexedBlock, vec![2, 5], vec![30, 40], vec![]));
    assert_eq!(hblock(large), (HindexedBlock, vec![], vec![], vec![2, 5, 30, 40]));
    let types = [int().clone(), Datatype::basic(Basic::Char).clone()];
    let structure = |width| numbers(Datatype::structure(width, &lengths, &places, &types));
    assert_eq!(structure(small), (Struct, vec![2, 1, 2], vec![30, 40], vec![]));
    assert_eq!(structure(large), (Struct, vec![], vec![], listed));
    assert_eq!(numbers(Datatype::resized(small, int(), -1, 9)), (Resized, vec![], vec![-1, 9], vec![]));
    assert_eq!(numbers(Datatype::resized(large, int(), -1, 9)), (Resized, vec![], vec![], vec![-1, 9]));
    assert_eq!(numbers(Datatype::dup(int())), (Dup, vec![], vec![], vec![]));
    assert_eq!(numbers(Datatype::f90_integer(5)), (F90Integer, vec![5], vec![], vec![]));
}

#[test]
fn contents_of_arrays_hold_their_order_and_distributions() {
    let integers = |width| {
        let made = Datatype::subarray(width, &[4, 5], &[2, 3], &[1, 1], Order::C, int()).unwrap();
        (made.envelope().integers.to_vec(), made.envelope().counts.clone())
    };
    let numbers = |list: &[i64]| list.iter().copied().map(Integer::Number).collect::<Vec<_>>();
    let order = vec![Integer::Order(Order::C)];
    assert_eq!(integers(Width::Int), ([numbers(&[2, 4, 5, 2, 3, 1, 1]), order.clone()].concat(), vec![]));
    assert_eq!(integers(Width::Large), ([numbers(&[2]), order].concat(), vec![4, 5, 2, 3, 1, 1]));

    let dimensions = [
        Dimension { size: 6, distribution: Distribution::Cyclic, block: Some(2), processes: 2 },
        Dimension { size: 7, distribution: Distribution::None, block: None, processes: 1 },
    ];
    let integers = |width| {
        let made = Datatype::darray(width, 2, 1, &dimensions, Order::Fortran, int()).unwrap();
        (made.envelope().integers.to_vec(), made.envelope().counts.clone())
    };
    let rest = vec![
        Integer::Distribution(Distribution::Cyclic),
        Integer::Distribution(Distribution::None),
        Integer::Number(2),
        Integer::DefaultBlock,
        Integer::Number(2),
        Integer::Number(1),
        Integer::Order(Order::Fortran),
    ];
    assert_eq!(integers(Width::Int), ([numbers(&[2, 1, 2, 6, 7]), rest.clone()].concat(), vec![]));
    assert_eq!(integers(Width::Large), ([numbers(&[2, 1, 2]), rest].concat(), vec![6, 7]));
    let open = Datatype::f90_real(Some(5), None).unwrap();
    assert_eq!(open.envelope().integers.to_vec(), [Integer::Number(5), Integer::Undefined]);
}

#[test]
fn what_it_was_made_of_lives_on() {
    let made = {
        let inner = Datatype::contiguous(Width::Int, 2, int()).unwrap();
        inner.set_name("inner");
        Datatype::dup(&inner).unwrap()
    };
    assert_eq!(made.envelope().datatypes[0].name(), "inner");
    assert_eq!(made.name(), "");
}

#[test]
fn only_what_is_committed_may_be_sent() {
    let made = Datatype::contiguous(Width::Int, 2, int()).unwrap();
    assert_eq!(made.check_committed().unwrap_err().class, Class::Datatype);
    assert!(!Datatype::dup(&made).unwrap().is_committed());
    made.commit();
    assert!(made.check_committed().is_ok() && Datatype::dup(&made).unwrap().is_committed());
    assert!(Datatype::dup(int()).unwrap().is_committed());
}

#[test]
fn packing_goes_on_from_its_position() {
    let column = Datatype::vector(Width::Int, 3, 1, 2, int()).unwrap();
    let from = memory(column.span(1), 1);
    let mut packed = [0; 20];
    let position = column.pack_into(&from, 1, &mut packed, 0).unwrap();
    assert_eq!(position, 12);
    assert_eq!(int().pack_into(&from, 2, &mut packed, position).unwrap(), 20);
    assert_eq!((&packed[..4], &packed[12..]), (from.bytes(0, 4), from.bytes(0, 8)));
    let error = int().pack_into(&from, 1, &mut packed, 18).unwrap_err();
    assert!(error.class == Class::Truncate && error.text.contains("position is 18"), "{error}");
    assert_eq!(int().pack_into(&from, 1, &mut packed, -1).unwrap_err().class, Class::Argument);
    let mut to = memory(column.span(1), 77);
    assert_eq!(column.unpack_from(&packed, 0, &mut to, 1).unwrap(), 12);
    assert_eq!(to.bytes(16, 4), from.bytes(16, 4));
    assert_ne!(to.bytes(4, 4), from.bytes(4, 4));
    assert!(column.unpack_from(&packed, 12, &mut to, 1).is_err());
}
