//! Reads the header of the interface for C: its introduction, and each declaration that has a comment.
//!
//! It understands only the regular form that the header's generator writes. A comment between lines `/**` and
//! `*/` stands above its declaration. A declaration ends at the end of a line.

/// The header as it is installed.
pub const TEXT: &str = include_str!("../../../capi/include/canele.h");

/// A declaration with its comment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Declaration {
    /// The declared name, for example `canele_flow_send`.
    pub name: String,
    /// The paragraphs of its comment.
    pub comment: Vec<String>,
    /// The lines of the declaration, without the comments of members.
    pub code: String,
    /// The members of a structure or the numbers of an enumeration.
    pub members: Vec<Declaration>,
}

impl Declaration {
    /// Returns true for a function, false for a type or a constant.
    pub fn is_function(&self) -> bool {
        !self.is_constant() && !self.code.starts_with("typedef") && self.code.contains('(')
    }

    /// Returns true for a constant (`#define`), which is no type and no function.
    pub fn is_constant(&self) -> bool {
        self.code.starts_with('#')
    }
}

/// Returns the paragraphs of the comment that the header begins with.
pub fn introduction(header: &str) -> Vec<String> {
    let comment = header.split_once("/*").and_then(|(_, rest)| rest.split_once("*/"));
    paragraphs(comment.map_or("", |(text, _)| text).lines())
}

/// Returns the declarations in a header, or in the text between the braces of a declaration.
pub fn declarations(text: &str) -> Vec<Declaration> {
    let mut lines = text.lines();
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        if line.trim() == "/**" {
            let comment = paragraphs(lines.by_ref().take_while(|line| line.trim() != "*/"));
            found.extend(declaration(comment, &mut lines));
        }
    }
    found
}

/// Returns the paragraphs of a comment, made of its lines.
fn paragraphs<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut paragraphs = vec![String::new()];
    for line in lines {
        let text = line.trim().trim_start_matches('*').trim();
        let last = paragraphs.last_mut().expect("there is a first paragraph");
        match (text.is_empty(), last.is_empty()) {
            (true, true) => {}
            (true, false) => paragraphs.push(String::new()),
            (false, true) => last.push_str(text),
            (false, false) => *last = format!("{last} {text}"),
        }
    }
    paragraphs.retain(|paragraph| !paragraph.is_empty());
    paragraphs
}

/// Takes the lines of one declaration from `lines`; returns none if it has no name.
fn declaration<'a>(comment: Vec<String>, lines: &mut impl Iterator<Item = &'a str>) -> Option<Declaration> {
    let (mut code, mut body) = (Vec::new(), Vec::new());
    let (mut depth, mut is_comment, mut is_conditional) = (0_usize, false, false);
    for line in lines {
        let text = line.trim();
        let is_inside = depth > 0;
        match text {
            _ if text.starts_with("#if") => is_conditional = true,
            _ if text.starts_with("#endif") => is_conditional = false,
            _ if is_conditional => {}
            "/**" => is_comment = true,
            "*/" => is_comment = false,
            _ if is_comment => {}
            _ => {
                depth = (depth + text.matches('{').count()).saturating_sub(text.matches('}').count());
                code.push(if is_inside { line } else { line.trim_end() });
                if depth == 0
                    && (text.ends_with([';', ',']) && !text.is_empty() && is_complete(&code)
                        || text.starts_with("#define"))
                {
                    break;
                }
            }
        }
        if is_inside && depth > 0 {
            body.push(line);
        }
    }
    let code = code.join("\n");
    let name = name(&code)?.to_owned();
    Some(Declaration {
        name,
        comment,
        members: declarations(&body.join("\n")),
        code: code.trim_end_matches(',').to_owned(),
    })
}

/// Returns true once all parentheses are closed: a line of arguments may end with a comma.
fn is_complete(code: &[&str]) -> bool {
    let count = |sign| code.iter().map(|line| line.matches(sign).count()).sum::<usize>();
    count('(') == count(')')
}

/// Returns the name that a declaration declares.
fn name(code: &str) -> Option<&str> {
    let is_sign = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    let before = |sign: char| code.split(sign).next().unwrap_or(code);
    let start_of_last = |text: &str| text.rfind(is_sign).map_or(0, |at| at + 1);
    let part = match code {
        _ if code.starts_with("#define") || code.starts_with("enum") => {
            return code.split_whitespace().nth(1);
        }
        _ if code.starts_with("typedef") => match code.split_once("(*") {
            Some((_, rest)) => return rest.split(')').next(),
            None => code,
        },
        _ if code.contains('(') => before('('),
        _ => before('='),
    };
    let part = part.trim_end_matches(is_sign);
    let name = &part[start_of_last(part)..];
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = "/* What it is.
 *
 * Errors: one
 * or two. */

#define UNSAID 1

/**
 * A number.
 */
#define NUMBER UINT64_MAX

/**
 * What a call gives.
 */
enum code
#if defined(__cplusplus)
  : int32_t
#endif // defined(__cplusplus)
 {
    /**
     * It went well.
     */
    GOOD = 0,
    /**
     * It did not.
     */
    BAD = 1,
};
#ifndef __cplusplus
typedef int32_t code;
#endif

/**
 * A pair.
 */
typedef struct pair {
    /**
     * The first.
     */
    const void *first;
} pair;

/**
 * Called back.
 */
typedef void (*call)(const struct pair *pair, void *context);

/**
 * Does it with `a`.
 *
 * Errors: BAD.
 */
code do_it(const struct pair *a,
           uint32_t b);

/**
 * Returns a text.
 */
const char *text_of(void);
";

    #[test]
    fn each_declaration_with_a_comment_is_found() {
        let found = declarations(SAMPLE);
        let names: Vec<&str> = found.iter().map(|declaration| &*declaration.name).collect();
        assert_eq!(names, ["NUMBER", "code", "pair", "call", "do_it", "text_of"]);
        let functions: Vec<bool> = found.iter().map(Declaration::is_function).collect();
        assert_eq!(functions, [false, false, false, false, true, true]);
        assert_eq!(found[4].comment, ["Does it with `a`.", "Errors: BAD."]);
        assert_eq!(found[4].code, "code do_it(const struct pair *a,\n           uint32_t b);");
        assert_eq!(found[0].code, "#define NUMBER UINT64_MAX");
    }

    #[test]
    fn members_have_their_own_comments() {
        let found = declarations(SAMPLE);
        let members = |at: usize| -> Vec<(&str, &str)> {
            found[at].members.iter().map(|member| (&*member.code, &*member.comment[0])).collect()
        };
        assert_eq!(
            members(1).iter().map(|(code, _)| code.trim()).collect::<Vec<_>>(),
            ["GOOD = 0", "BAD = 1"]
        );
        assert_eq!(members(1)[1].1, "It did not.");
        assert_eq!(found[2].members[0].name, "first");
        assert_eq!(found[2].code, "typedef struct pair {\n    const void *first;\n} pair;");
    }

    #[test]
    fn the_introduction_is_the_first_comment() {
        assert_eq!(introduction(SAMPLE), ["What it is.", "Errors: one or two."]);
        assert!(introduction(TEXT).len() > 5);
    }

    #[test]
    fn all_that_the_header_declares_for_programs_is_found() {
        let found = declarations(TEXT);
        let prototypes = TEXT.lines().filter(|line| {
            line.contains("canele_") && line.contains('(') && !line.starts_with([' ', '#', '/'])
        });
        let prototypes = prototypes.filter(|line| !line.starts_with("typedef")).count();
        assert_eq!(found.iter().filter(|declaration| declaration.is_function()).count(), prototypes);
        assert!(prototypes > 80, "{prototypes}");
        assert!(found.iter().all(|declaration| !declaration.comment.is_empty()));
    }
}
