//! The kernel's lists of numbers: `0-3,8,10-11`.

/// The highest number of processors or nodes that any kernel supports; a longer text is not a list of them.
const MOST: u32 = 1 << 16;

/// Returns the numbers of the list, in its order; none if the text is not one. An empty text is an empty
/// list.
pub(super) fn parse(text: &str) -> Option<Vec<u32>> {
    let text = text.trim();
    if text.is_empty() {
        return Some(Vec::new());
    }
    let mut numbers = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
        if first > last || last >= MOST {
            return None;
        }
        numbers.extend(first..=last);
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn lists() {
        assert_eq!(parse("0-3,8,10-11\n"), Some(vec![0, 1, 2, 3, 8, 10, 11]));
        assert_eq!(parse("5"), Some(vec![5]));
        assert_eq!(parse("\n"), Some(vec![]), "a node without processors");
    }

    #[test]
    fn what_is_no_list() {
        for text in ["a", "1-", "3-1", "1,,2", "-1", "0-4294967295"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
