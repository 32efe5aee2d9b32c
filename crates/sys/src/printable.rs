//! Text of files and of other processes, made safe for a terminal.
//!
//! Owns the set of characters that a terminal obeys instead of showing them: control characters, and those
//! that change the direction of writing. Each becomes the replacement character.

use std::borrow::Cow;

/// Returns the text on one line: line ends and tabs are replaced, too.
pub fn line(text: &str) -> Cow<'_, str> {
    replaced(text, is_obeyed)
}

/// Returns the text with its lines and tabs.
pub fn lines(text: &str) -> Cow<'_, str> {
    replaced(text, |c| is_obeyed(c) && !matches!(c, '\n' | '\t'))
}

fn replaced(text: &str, is_bad: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_bad) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|c| if is_bad(c) { char::REPLACEMENT_CHARACTER } else { c }).collect())
}

fn is_obeyed(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_replaced() {
        assert_eq!(
            line("\u{1b}[2Jclear\nrow\u{9b}1m \u{202e}x"),
            "\u{fffd}[2Jclear\u{fffd}row\u{fffd}1m \u{fffd}x"
        );
        assert_eq!(lines("a\n\tb\r\u{7}c"), "a\n\tb\u{fffd}\u{fffd}c");
        assert!(matches!(line("näher – 日本"), Cow::Borrowed(_)));
    }
}
