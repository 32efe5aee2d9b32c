//! Groups against plain lists searched from the front.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use crate::Class;

fn ranks(list: &[u32]) -> Vec<Rank> {
    list.iter().copied().map(Rank).collect()
}

fn group(list: &[u32]) -> Group {
    Group::new(ranks(list)).unwrap()
}

fn included(group: Result<Group>) -> Vec<Rank> {
    group.unwrap().members().to_vec()
}

/// Distinct ranks in any order, often evenly spaced.
fn lists() -> impl Strategy<Value = Vec<u32>> {
    let mixed = proptest::collection::hash_set(0u32..40, 0..12)
        .prop_map(|set| set.into_iter().collect::<Vec<_>>())
        .prop_shuffle();
    let even = (0u32..20, 1u32..4, 0u32..10, any::<bool>()).prop_map(|(first, stride, size, reversed)| {
        let mut list: Vec<u32> = (0..size).map(|i| first + i * stride).collect();
        if reversed {
            list.reverse();
        }
        list
    });
    prop_oneof![mixed, even]
}

proptest! {
    #[test]
    fn places_are_those_of_the_list(list in lists()) {
        let group = group(&list);
        for rank in 0..64 {
            prop_assert_eq!(group.rank_of(Rank(rank)), list.iter().position(|&r| r == rank));
        }
        for (place, &rank) in list.iter().enumerate() {
            prop_assert_eq!(group.member(place), Rank(rank));
        }
    }

    #[test]
    fn sets_are_in_the_order_of_the_standard(a in lists(), b in lists()) {
        let (left, right) = (group(&a), group(&b));
        let both: Vec<u32> = a.iter().copied().filter(|r| b.contains(r)).collect();
        let only: Vec<u32> = a.iter().copied().filter(|r| !b.contains(r)).collect();
        let all: Vec<u32> = a.iter().copied().chain(b.iter().copied().filter(|r| !a.contains(r))).collect();
        prop_assert_eq!(left.intersection(&right).members().to_vec(), ranks(&both));
        prop_assert_eq!(left.difference(&right).members().to_vec(), ranks(&only));
        prop_assert_eq!(left.union(&right).members().to_vec(), ranks(&all));
    }

    #[test]
    fn groups_compare_as_lists_and_as_sets(a in lists(), b in lists()) {
        let mut shuffled = a.clone();
        shuffled.rotate_left(a.len() / 2);
        for b in [b, a.clone(), shuffled] {
            let set = |list: &[u32]| list.iter().copied().collect::<HashSet<_>>();
            let expected = match (a == b, set(&a) == set(&b)) {
                (true, _) => Comparison::Identical,
                (false, true) => Comparison::Similar,
                (false, false) => Comparison::Unequal,
            };
            prop_assert_eq!(group(&a).compare(&group(&b)), expected);
        }
    }

    #[test]
    fn lists_of_ranks_are_checked(list in lists(), chosen in proptest::collection::vec(-1i32..12, 0..6)) {
        let group = group(&list);
        let good = chosen.iter().all(|&r| usize::try_from(r).is_ok_and(|r| r < list.len()))
            && chosen.iter().collect::<HashSet<_>>().len() == chosen.len();
        prop_assert_eq!(group.incl(&chosen).is_ok(), good);
        prop_assert_eq!(group.excl(&chosen).is_ok(), good);
        if good {
            let these: Vec<u32> = chosen.iter().map(|&r| list[r as usize]).collect();
            let others: Vec<u32> = list.iter().copied().filter(|r| !these.contains(r)).collect();
            let (incl, excl) = (group.incl(&chosen).unwrap(), group.excl(&chosen).unwrap());
            prop_assert_eq!(incl.members(), ranks(&these));
            prop_assert_eq!(excl.members(), ranks(&others));
        }
    }

    #[test]
    fn ranges_are_walked_step_by_step(size in 0usize..12, range in [-2i32..14, -2..14, -4..5]) {
        let group = Group::first(size);
        let [first, last, stride] = range;
        let ends = stride > 0 && first <= last || stride < 0 && first >= last;
        let mut walked = Vec::new();
        let mut rank = first;
        while ends && (if stride > 0 { rank <= last } else { rank >= last }) {
            walked.push(rank);
            rank += stride;
        }
        let good = ends && walked.iter().all(|&r| (0..size as i32).contains(&r));
        prop_assert_eq!(group.range_incl(&[range]).is_ok(), good);
        if good {
            prop_assert_eq!(included(group.range_incl(&[range])), included(group.incl(&walked)));
            prop_assert_eq!(included(group.range_excl(&[range])), included(group.excl(&walked)));
        }
    }
}

#[test]
fn ranges_of_any_numbers_are_refused_before_they_are_listed() {
    let group = Group::first(4);
    let class = |range| group.range_incl(&[range]).unwrap_err().class;
    assert_eq!(class([0, i32::MAX, 1]), Class::Rank);
    assert_eq!(class([i32::MAX, i32::MIN, -1]), Class::Rank);
    assert_eq!(class([0, 3, 0]), Class::Argument);
    assert_eq!(class([3, 0, 1]), Class::Argument);
    assert_eq!(group.range_incl(&[[0, 3, 1], [0, 3, 1]]).unwrap_err().class, Class::Rank);
    assert_eq!(included(group.range_incl(&[[3, 0, -2], [0, 3, 2]])), ranks(&[3, 1, 0, 2]));
}

#[test]
fn no_member_is_in_a_group_twice() {
    for list in [&[3, 1, 3][..], &[0, 0], &[5, 5, 5]] {
        assert_eq!(Group::new(ranks(list)).unwrap_err().class, Class::Group);
    }
}

#[test]
fn ranks_are_translated_to_where_the_member_is() {
    let (left, right) = (group(&[4, 2, 9]), group(&[9, 4]));
    let places: Vec<_> = (0..3).map(|rank| left.translate(rank, &right).unwrap()).collect();
    assert_eq!(places, [Some(1), None, Some(0)]);
    assert_eq!(left.translate(3, &right).unwrap_err().class, Class::Rank);
    assert_eq!(left.translate(-7, &right).unwrap_err().class, Class::Rank);
    assert!(Group::empty().is_empty());
}
