//! The form of ranks and amounts in messages.

/// The most series of ranks that are written one by one.
const MOST_SERIES: usize = 16;

/// Returns `ranks 0, 2-4, 7` or `rank 3`; for many series, the number of ranks.
pub fn rank_list(ranks: &[u32]) -> String {
    let mut spans: Vec<(u32, u32)> = Vec::new();
    for &rank in ranks {
        match spans.last_mut() {
            Some((_, last)) if *last + 1 == rank => *last = rank,
            _ => spans.push((rank, rank)),
        }
    }
    let span = |&(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    if spans.len() > MOST_SERIES {
        return format!("{} ranks ({}, …)", ranks.len(), span(&spans[0]));
    }
    let texts: Vec<String> = spans.iter().map(span).collect();
    format!("{} {}", if ranks.len() == 1 { "rank" } else { "ranks" }, texts.join(", "))
}

/// Formats an amount of bytes: three digits and a unit.
pub fn amount(bytes: u64) -> String {
    match bytes as f64 {
        bytes @ ..1e4 => format!("{bytes:.0} B"),
        bytes @ ..1e6 => format!("{:.0} KB", bytes / 1e3),
        bytes @ ..1e9 => format!("{:.1} MB", bytes / 1e6),
        bytes => format!("{:.2} GB", bytes / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_ranks_are_short() {
        assert_eq!(rank_list(&[3]), "rank 3");
        assert_eq!(rank_list(&[0, 1]), "ranks 0-1");
        assert_eq!(rank_list(&[0, 2, 3, 4, 7]), "ranks 0, 2-4, 7");
        let even: Vec<u32> = (0..40).step_by(2).collect();
        assert_eq!(rank_list(&even), "20 ranks (0, …)");
    }

    #[test]
    fn amounts_have_three_digits_and_a_unit() {
        assert_eq!([9999, 10_000, 2_500_000].map(amount), ["9999 B", "10 KB", "2.5 MB"]);
        assert_eq!(amount(1_250_000_000), "1.25 GB");
    }
}
