//! What became of a slice, and why, in words.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use crate::rendering::SCENE;
use crate::slices::{Slice, row_names};

/// POV-Ray's exit status after an interrupting or terminating signal.
const INTERRUPTED: i32 = 2;
/// Characters of POV-Ray's own words in an error.
const LONGEST_TEXT: usize = 1000;

/// What became of a slice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Red, green, blue of each pixel, row after row.
    Rows(Vec<u8>),
    /// A signal ended POV-Ray before it had written the rows; the text says how.
    Killed(String),
    /// POV-Ray failed, which it would do again; the text has its own words.
    Failed(String),
}

/// Why a slice has no rows: what reading them ended with, how the process ended, and its words, if they matter.
pub fn explain(
    slice: &Slice,
    error: &io::Error,
    ended: io::Result<ExitStatus>,
    words: impl FnOnce() -> String,
) -> Outcome {
    let what = format!("POV-Ray failed on {}", row_names(slice));
    let status = match ended {
        Ok(status) => status,
        Err(error) => return Outcome::Failed(format!("{what}: {error}")),
    };
    if let Some(signal) = status.signal() {
        return Outcome::Killed(format!("signal {signal} killed POV-Ray"));
    }
    match status.code().unwrap_or_default() {
        INTERRUPTED => Outcome::Killed("a signal interrupted POV-Ray".into()),
        0 => Outcome::Failed(format!("{what}: it ended well, but its picture is not right: {error}")),
        status => Outcome::Failed(format!("{what} with exit status {status}: {}", words())),
    }
}

/// What POV-Ray says of a failure on its standard error, in one line; `scene` is the user's name of the scene.
pub fn own_words(mut complaints: File, scene: &str) -> String {
    let mut bytes = Vec::new();
    if let Err(error) = complaints.rewind().and_then(|()| complaints.read_to_end(&mut bytes)) {
        return format!("its words cannot be read: {error}");
    }
    cut_out(&String::from_utf8_lossy(&bytes)).replace(SCENE, scene)
}

/// What follows the last headline, which is about the failure; without any, all of it.
fn cut_out(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let first = lines.iter().rposition(|line| line.starts_with("====")).map_or(0, |headline| headline + 1);
    let words = lines[first..].join(" ");
    if words.is_empty() {
        return "it says nothing".into();
    }
    let excess = words.chars().count().saturating_sub(LONGEST_TEXT);
    words.chars().skip(excess).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_povray_says_of_a_failure_is_cut_out() {
        let text = "Version 3.7\n\n  Chris Cason\n==== [Parsing...] ====\nFile 'bad.pov' line 1: Parse Error: No matching }\n in \
                    'pigment'\nRender failed\n\n";
        assert_eq!(
            cut_out(text),
            "File 'bad.pov' line 1: Parse Error: No matching } in 'pigment' Render failed"
        );
        assert_eq!(cut_out("cannot start it\n"), "cannot start it");
        assert_eq!(cut_out("==== [Parsing...] ====\n"), "it says nothing");
        assert_eq!(cut_out(&"é".repeat(5000)).chars().count(), LONGEST_TEXT);
    }

    #[test]
    fn a_signal_is_no_failure_of_the_scene() {
        let explained = |status: i32| {
            let error = io::ErrorKind::UnexpectedEof.into();
            explain(&(4..9), &error, Ok(ExitStatus::from_raw(status)), || "its words".into())
        };
        assert_eq!(explained(9), Outcome::Killed("signal 9 killed POV-Ray".into()));
        assert!(matches!(explained(INTERRUPTED << 8), Outcome::Killed(_)));
        let failed = Outcome::Failed("POV-Ray failed on rows 5 to 9 with exit status 1: its words".into());
        assert_eq!(explained(1 << 8), failed);
        assert!(matches!(explained(0), Outcome::Failed(_)));
    }
}
