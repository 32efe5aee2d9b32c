//! Operations that ranks gave up as they finished. They are reported once for the job, because most often all
//! ranks forget the same ones.

use std::collections::BTreeMap;

use super::wording::rank_list;

/// The most different lists of operations in one message.
const MOST_LISTS: usize = 8;

/// The operations that the ranks have reported.
#[derive(Debug, Default)]
pub struct GivenUp {
    operations: u64,
    ranks: BTreeMap<String, Vec<u32>>,
}

impl GivenUp {
    /// Adds the operations that a rank gives up.
    pub fn add(&mut self, rank: u32, operations: u32, what: String) {
        self.operations += u64::from(operations);
        self.ranks.entry(what).or_default().push(rank);
    }

    /// Returns the message for the user; none if no rank gave up any operation.
    pub fn text(&self) -> Option<String> {
        let mut lists: Vec<(Vec<u32>, &str)> =
            self.ranks.iter().map(|(what, ranks)| (ranks.clone(), what.as_str())).collect();
        lists.iter_mut().for_each(|(ranks, _)| ranks.sort_unstable());
        lists.sort();
        let left_out: usize = lists.iter().skip(MOST_LISTS).map(|(ranks, _)| ranks.len()).sum();
        let said = lists.iter().take(MOST_LISTS).map(|(ranks, what)| format!("{}: {what}", rank_list(ranks)));
        let mut said: Vec<String> = said.collect();
        if left_out > 0 {
            said.push(format!("and those of {left_out} more ranks"));
        }
        let (is, operations) = match self.operations {
            0 => return None,
            1 => ("is", "operation"),
            _ => ("are", "operations"),
        };
        Some(format!(
            "MPI_Finalize: {} {operations} {is} still under way and given up, wait for the requests first: {}",
            self.operations,
            said.join("; ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_that_give_up_the_same_are_named_together() {
        let mut given_up = GivenUp::default();
        assert_eq!(given_up.text(), None);
        given_up.add(3, 1, "1 send to rank 0 with tag 5".into());
        let text = given_up.text().unwrap();
        assert!(text.starts_with("MPI_Finalize: 1 operation is still under way"), "{text}");
        given_up.add(2, 2, "2 collective operations".into());
        given_up.add(0, 2, "2 collective operations".into());
        given_up.add(1, 2, "2 collective operations".into());
        let text = given_up.text().unwrap();
        assert!(text.starts_with("MPI_Finalize: 7 operations are still under way"), "{text}");
        let said = ": ranks 0-2: 2 collective operations; rank 3: 1 send to rank 0 with tag 5";
        assert!(text.ends_with(said), "{text}");
    }

    #[test]
    fn a_message_has_an_end() {
        let mut given_up = GivenUp::default();
        (0..1000).for_each(|rank| given_up.add(rank, 1, format!("1 send to rank {rank} with tag 5")));
        let text = given_up.text().unwrap();
        assert!(
            text.ends_with("; rank 7: 1 send to rank 7 with tag 5; and those of 992 more ranks"),
            "{text}"
        );
    }
}
