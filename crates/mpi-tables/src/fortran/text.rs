//! The format of Fortran lines.

/// The longest generated line, in characters. Fortran allows 132.
const LONGEST: usize = 120;

/// Returns a line, broken after blanks if it is too long.
pub(super) fn line(indent: usize, text: &str) -> String {
    let mut out = " ".repeat(indent);
    let mut column = indent;
    for word in text.split_inclusive(' ') {
        if column + word.len() + 2 > LONGEST && column > indent + 4 {
            out.push_str("&\n");
            out.push_str(&" ".repeat(indent + 4));
            column = indent + 4;
        }
        out.push_str(word);
        column += word.len();
    }
    out.push('\n');
    out
}

/// Returns lines.
pub(super) fn lines(indent: usize, all: &[String]) -> String {
    all.iter().map(|text| line(indent, text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_goes_on_in_the_next() {
        let long = (0..60).map(|n| format!("word{n}")).collect::<Vec<_>>().join(", ");
        let text = line(2, &format!("call many({long})"));
        assert!(text.lines().all(|line| line.len() <= 132), "{text}");
        assert_eq!(text.replace("&\n", "").split_whitespace().count(), 61);
    }
}
