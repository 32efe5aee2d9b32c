//! Wrong arguments: each error has the standard's class and names the argument and its value.

use std::sync::Arc;

use crate::datatype::{Basic, Datatype, Dimension, Distribution, Order, Width};
use crate::{Class, Result};

const INT: Width = Width::Int;

fn int() -> &'static Arc<Datatype> {
    Datatype::basic(Basic::Int)
}

fn refused(made: Result<Arc<Datatype>>, class: Class, text: &str) {
    let error = made.expect_err(text);
    assert!(error.class == class && error.text.contains(text), "{error}");
}

#[test]
fn counts_are_not_negative() {
    refused(Datatype::contiguous(INT, -1, int()), Class::Argument, "count is -1");
    refused(Datatype::vector(INT, -2, 1, 1, int()), Class::Argument, "count is -2");
    refused(Datatype::hvector(INT, 1, -3, 1, int()), Class::Argument, "blocklength is -3");
    refused(
        Datatype::indexed(INT, &[1, -4], &[0, 0], int()),
        Class::Argument,
        "array_of_blocklengths[1] is -4",
    );
    refused(Datatype::indexed_block(INT, -5, &[0; 0], int()), Class::Argument, "blocklength is -5");
    refused(Datatype::hindexed(INT, &[1], &[0, 0], int()), Class::Argument, "array_of_displacements has 2");
    refused(Datatype::structure(INT, &[1], &[0], &[]), Class::Argument, "array_of_types has 0");
}

#[test]
fn parts_of_arrays_lie_in_them() {
    let part = |sizes: &[i64], subsizes: &[i64], starts: &[i64]| {
        Datatype::subarray(INT, sizes, subsizes, starts, Order::C, int())
    };
    refused(part(&[], &[], &[]), Class::Argument, "ndims is 0");
    refused(part(&[0], &[0], &[0]), Class::Argument, "array_of_sizes[0] is 0");
    refused(part(&[4, 4], &[4, 5], &[0, 0]), Class::Argument, "array_of_subsizes[1] is 5");
    refused(part(&[4], &[0], &[0]), Class::Argument, "array_of_subsizes[0] is 0");
    refused(part(&[4], &[2], &[3]), Class::Argument, "array_of_starts[0] is 3");
    refused(part(&[4], &[2], &[-1]), Class::Argument, "array_of_starts[0] is -1");
}

#[test]
fn grids_hold_their_processes() {
    let cyclic = Dimension { size: 9, distribution: Distribution::Cyclic, block: None, processes: 2 };
    let deal = |size, rank, dimension| Datatype::darray(INT, size, rank, &[dimension], Order::C, int());
    refused(deal(0, 0, cyclic), Class::Argument, "size is 0");
    refused(deal(2, 2, cyclic), Class::Rank, "rank is 2");
    refused(deal(3, 0, cyclic), Class::Argument, "array_of_psizes multiply");
    refused(deal(2, 0, Dimension { size: 0, ..cyclic }), Class::Argument, "array_of_gsizes[0] is 0");
    refused(deal(2, 0, Dimension { block: Some(0), ..cyclic }), Class::Argument, "array_of_dargs[0] is 0");
    let block = Dimension { distribution: Distribution::Block, block: Some(4), ..cyclic };
    refused(deal(2, 0, block), Class::Argument, "array_of_dargs[0] is 4");
    let none = Dimension { distribution: Distribution::None, ..cyclic };
    refused(deal(2, 0, none), Class::Argument, "array_of_psizes[0] is 2");
    refused(Datatype::darray(INT, 1, 0, &[], Order::C, int()), Class::Argument, "ndims is 0");
}

#[test]
fn what_exceeds_an_address_space_is_refused() {
    let large = Class::ValueTooLarge;
    refused(Datatype::contiguous(Width::Large, i64::MAX, int()), large, "address space");
    refused(Datatype::vector(Width::Large, 3, 1, i64::MAX, int()), large, "address space");
    refused(Datatype::resized(Width::Large, int(), 1, i64::MAX), large, "address space");
    refused(
        Datatype::hindexed(Width::Large, &[1, 1], &[i64::MIN, i64::MAX - 8], int()),
        large,
        "address space",
    );
    let most = Datatype::contiguous(Width::Large, 1 << 60, int()).unwrap();
    assert_eq!(most.total_bytes(2).unwrap_err().class, Class::Count);
    refused(Datatype::contiguous(Width::Large, 2, &most), large, "address space");
}
