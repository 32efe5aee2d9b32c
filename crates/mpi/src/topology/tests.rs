//! Topologies against the standard's text and against a search.

use proptest::prelude::*;

use super::*;
use crate::Class;

/// Returns all ways to write `n` as a product of `parts` factors that do not increase.
fn factorisations(n: i32, parts: usize, limit: i32) -> Vec<Vec<i32>> {
    match parts {
        0 => {
            if n == 1 {
                vec![vec![]]
            } else {
                vec![]
            }
        }
        _ => (1..=limit.min(n))
            .filter(|d| n % d == 0)
            .flat_map(|d| {
                let rest = factorisations(n / d, parts - 1, d);
                rest.into_iter().map(move |rest| [vec![d], rest].concat())
            })
            .collect(),
    }
}

#[test]
fn dimensions_are_as_close_as_can_be() {
    for nodes in 1..=240 {
        for parts in 1..=5 {
            let mut dims = vec![0; parts];
            dims_create(nodes, &mut dims).unwrap();
            let all = factorisations(nodes, parts, nodes);
            assert_eq!(&dims, all.iter().min().unwrap(), "{nodes} in {parts}");
        }
    }
}

#[test]
fn dimensions_keep_what_is_given() {
    let dims = |nodes, dims: &[i32]| {
        let mut dims = dims.to_vec();
        dims_create(nodes, &mut dims).map(|()| dims).map_err(|error| error.class)
    };
    // The examples of the standard.
    assert_eq!(dims(6, &[0, 0]), Ok(vec![3, 2]));
    assert_eq!(dims(7, &[0, 0]), Ok(vec![7, 1]));
    assert_eq!(dims(6, &[0, 3, 0]), Ok(vec![2, 3, 1]));
    assert_eq!(dims(7, &[0, 3, 0]), Err(Class::Dimensions));
    assert_eq!(dims(6, &[2, 3]), Ok(vec![2, 3]));
    assert_eq!(dims(12, &[2, 3]), Err(Class::Dimensions));
    assert_eq!(dims(6, &[-1, 0]), Err(Class::Dimensions));
    assert_eq!(dims(0, &[0, 0]), Err(Class::Dimensions));
    assert_eq!(dims(5, &[]), Ok(vec![]));
    assert_eq!(dims(1 << 30, &[0; 40]).unwrap().iter().filter(|&&dim| dim == 2).count(), 30);
    // Numbers with very many and very few divisors.
    assert_eq!(dims(2_147_483_647, &[0, 0, 0]), Ok(vec![2_147_483_647, 1, 1]));
    for parts in 1..=31 {
        for nodes in [2_095_133_040, 223_092_870, 1 << 30] {
            assert_eq!(
                dims(nodes, &vec![0; parts]).unwrap().into_iter().map(i64::from).product::<i64>(),
                i64::from(nodes)
            );
        }
    }
}

fn grids() -> impl Strategy<Value = Cart> {
    proptest::collection::vec((1i32..5, any::<bool>()), 0..4).prop_map(|list| {
        let (dims, periods): (Vec<_>, Vec<_>) = list.into_iter().unzip();
        Cart::new(&dims, &periods, 1000).unwrap()
    })
}

fn signed(coords: &[usize]) -> Vec<i32> {
    coords.iter().map(|&coord| coord as i32).collect()
}

proptest! {
    #[test]
    fn coordinates_count_the_last_fastest(cart in grids()) {
        let mut coords = vec![0; cart.dims().len()];
        for rank in 0..cart.size() {
            prop_assert_eq!(&cart.coords(rank as i32).unwrap(), &coords);
            prop_assert_eq!(cart.rank_of(&signed(&coords)).unwrap(), rank);
            for dim in (0..coords.len()).rev() {
                coords[dim] = (coords[dim] + 1) % cart.dims()[dim];
                if coords[dim] != 0 {
                    break;
                }
            }
        }
        prop_assert!(cart.coords(cart.size() as i32).is_err() && cart.coords(-1).is_err());
    }

    #[test]
    fn shifts_move_one_coordinate(cart in grids(), by in -7i32..8) {
        for rank in 0..cart.size() {
            let coords = signed(&cart.coords(rank as i32).unwrap());
            for dim in 0..coords.len() {
                let moved = |by| {
                    let mut coords = coords.clone();
                    coords[dim] += by;
                    cart.rank_of(&coords).ok()
                };
                prop_assert_eq!(cart.shift(rank, dim as i32, by).unwrap(), (moved(-by), moved(by)));
                prop_assert_eq!(&cart.neighbours(rank)[2 * dim..2 * dim + 2], &[moved(-1), moved(1)]);
            }
        }
    }

    #[test]
    fn parts_of_a_grid_have_the_ranks_that_agree(cart in grids(), remain in any::<[bool; 4]>()) {
        let remain = &remain[..cart.dims().len()];
        for rank in 0..cart.size() {
            let dropped = |rank: usize| -> Vec<usize> {
                let coords = cart.coords(rank as i32).unwrap();
                coords.into_iter().zip(remain).filter(|&(_, &remains)| !remains).map(|(coord, _)| coord).collect()
            };
            let (sub, members) = cart.sub(rank, remain);
            let agree: Vec<usize> = (0..cart.size()).filter(|&other| dropped(other) == dropped(rank)).collect();
            prop_assert_eq!(sub.size(), members.len());
            prop_assert_eq!(members, agree);
        }
    }

    #[test]
    fn each_end_of_an_edge_knows_the_other(
        named in proptest::collection::vec((0i32..6, proptest::collection::vec((0i32..6, 0i32..9), 0..4)), 0..5),
    ) {
        let sources: Vec<i32> = named.iter().map(|(source, _)| *source).collect();
        let degrees: Vec<i32> = named.iter().map(|(_, edges)| edges.len() as i32).collect();
        let (to, weights): (Vec<i32>, Vec<i32>) = named.iter().flat_map(|(_, edges)| edges.clone()).unzip();
        let named_edges = DistGraph::edges(6, &sources, &degrees, &to, Some(&weights)).unwrap();
        let (told, counts) = named_edges.for_ends(6).unwrap();
        let (unweighted, fewer) = DistGraph::edges(6, &sources, &degrees, &to, None).unwrap().for_ends(6).unwrap();
        // An edge travels to its two ends alone, with any number of ranks.
        let places = 2 * to.len() + counts.iter().filter(|count| **count > 0).count();
        prop_assert_eq!((told.len(), unweighted.len()), (2 * to.len() + places, places));
        let (mut told, mut unweighted) = (&told[..], &unweighted[..]);
        for (rank, (count, fewer)) in (0..6).zip(counts.into_iter().zip(fewer)) {
            // The other ranks name no edges.
            let other = [&[][..]; 2];
            let graph = DistGraph::of(6, other.into_iter().chain([told.split_off(..count).unwrap()]), true).unwrap();
            let same = DistGraph::of(6, other.into_iter().chain([unweighted.split_off(..fewer).unwrap()]), false).unwrap();
            prop_assert_eq!((&same.sources, &same.destinations), (&graph.sources, &graph.destinations));
            let all = || named.iter().flat_map(|(source, edges)| edges.iter().map(move |&(to, weight)| (*source, to, weight)));
            let from: Vec<_> = all().filter(|edge| edge.1 == rank).map(|edge| (edge.0 as usize, edge.2)).collect();
            let to: Vec<_> = all().filter(|edge| edge.0 == rank).map(|edge| (edge.1 as usize, edge.2)).collect();
            let (from_weights, to_weights) = graph.weights.unwrap();
            prop_assert_eq!(graph.sources.into_iter().zip(from_weights).collect::<Vec<_>>(), from);
            prop_assert_eq!(graph.destinations.into_iter().zip(to_weights).collect::<Vec<_>>(), to);
        }
    }
}

#[test]
fn grids_that_cannot_be_are_refused() {
    let class = |dims: &[i32], ranks| Cart::new(dims, &vec![false; dims.len()], ranks).unwrap_err().class;
    assert_eq!(class(&[2, 0], 8), Class::Dimensions);
    assert_eq!(class(&[2, -2], 8), Class::Dimensions);
    assert_eq!(class(&[3, 3], 8), Class::Topology);
    assert_eq!(class(&[i32::MAX; 4], 8), Class::Topology);
    let cart = Cart::new(&[2, 3], &[true, false], 8).unwrap();
    assert_eq!(cart.rank_of(&[-1, 2]).unwrap(), 5);
    assert_eq!(cart.rank_of(&[0, 3]).unwrap_err().class, Class::Argument);
    assert_eq!(cart.shift(0, 2, 1).unwrap_err().class, Class::Argument);
    assert_eq!((cart.map(5), cart.map(6)), (Some(5), None));
    assert_eq!(Cart::new(&[], &[], 3).unwrap().size(), 1);
}

#[test]
fn graphs_are_those_of_their_lists() {
    // The example of the standard: 0 has 1 and 3, 1 has 0, 2 has 3, 3 has 0 and 2.
    let graph = Graph::new(&[2, 3, 4, 6], &[1, 3, 0, 3, 0, 2], 5).unwrap();
    let neighbours: Vec<_> = (0..4).map(|rank| graph.neighbours(rank)).collect();
    assert_eq!(neighbours, [&[1, 3][..], &[0], &[3], &[0, 2]]);
    assert_eq!((graph.map(3), graph.map(4)), (Some(3), None));
    assert_eq!(Topology::Graph(graph).destinations(3), [Some(0), Some(2)]);
    let class = |index: &[i32], edges: &[i32], ranks| Graph::new(index, edges, ranks).unwrap_err().class;
    assert_eq!(class(&[1, 2], &[1, 0], 1), Class::Topology);
    assert_eq!(class(&[2, 1], &[1, 0], 2), Class::Argument);
    assert_eq!(class(&[-1, 1], &[1], 2), Class::Argument);
    assert_eq!(class(&[1, 3], &[1, 0], 2), Class::Argument);
    assert_eq!(class(&[1, 2], &[1, 2], 3), Class::Rank);
    assert_eq!(class(&[1, 2], &[-1, 0], 3), Class::Rank);
}

#[test]
fn neighbours_of_a_rank_are_checked() {
    let graph = DistGraph::adjacent(4, (&[1, 1, 3], Some(&[1, 2, 3])), (&[], None)).unwrap();
    assert_eq!(graph.weights, Some((vec![1, 2, 3], vec![])));
    assert_eq!(Topology::DistGraph(graph).sources(0), [Some(1), Some(1), Some(3)]);
    let class = |result: Result<DistGraph>| result.unwrap_err().class;
    assert_eq!(class(DistGraph::adjacent(4, (&[4], None), (&[], None))), Class::Rank);
    assert_eq!(class(DistGraph::adjacent(4, (&[1], None), (&[-3], None))), Class::Rank);
    assert_eq!(class(DistGraph::adjacent(4, (&[1], Some(&[1])), (&[2], None))), Class::Argument);
    assert_eq!(class(DistGraph::adjacent(4, (&[1], Some(&[-1])), (&[2], Some(&[1])))), Class::Argument);
    let class = |sources: &[i32], degrees: &[i32], to: &[i32]| {
        DistGraph::edges(4, sources, degrees, to, None).expect_err("they are wrong").class
    };
    assert_eq!(class(&[4], &[1], &[0]), Class::Rank);
    assert_eq!(class(&[0], &[1], &[4]), Class::Rank);
    assert_eq!(class(&[0], &[-1], &[]), Class::Argument);
    // Data from another process may have any value.
    let class = |told: &[i32], weighted| DistGraph::of(4, [&[][..], told], weighted).unwrap_err().class;
    assert_eq!(class(&[1, 9], false), Class::Rank);
    assert_eq!(class(&[0, i32::MIN], false), Class::Rank);
    assert_eq!(class(&[!1, 4, 7], true), Class::Rank);
    assert_eq!(class(&[!0, -1, 7], true), Class::Rank);
    // One gives weights and the other does not; fewer edges than it says; a weight is missing.
    assert_eq!(class(&[1, 2], true), Class::Argument);
    assert_eq!(class(&[!1, 2, 7], false), Class::Argument);
    assert_eq!(class(&[2, 1], false), Class::Internal);
    assert_eq!(class(&[i32::MIN, 1, 7], true), Class::Internal);
    assert_eq!(class(&[!1, 2, 7, 3], true), Class::Internal);
    let told = [&[!1, 3, 7][..], &[], &[!0, 2, 5, 1, 6]];
    let graph = DistGraph::of(4, told, true).unwrap();
    assert_eq!((graph.sources, graph.destinations), (vec![3], vec![2, 1]));
    assert_eq!(graph.weights, Some((vec![7], vec![5, 6])));
}
