//! The result of a slice, and the text of its failure.

use std::fs::File;
use std::io::{self, Seek};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use canele_show::bounded_read::read_all;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};

use crate::rendering::SCENE;
use crate::slices::{Slice, row_names};

/// POV-Ray's exit status after an interrupting or terminating signal.
const INTERRUPTED: i32 = 2;
/// Most bytes that are read of POV-Ray's standard error.
const MOST_COMPLAINTS: u64 = 1 << 20;
/// Most characters of POV-Ray's text in an error.
const LONGEST_TEXT: usize = 1000;

/// The result of a slice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Red, green, blue of each pixel, row after row.
    Rows(Vec<u8>),
    /// A signal ended POV-Ray before it had written the rows; the text describes the signal.
    Killed(String),
    /// POV-Ray failed, and would fail again; the text is POV-Ray's.
    Failed(String),
}

/// Returns the reason why a slice has no rows, from the read error, the exit status of the process, and its
/// text if relevant.
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

/// Opens a file in memory for POV-Ray's standard error. Writes beyond its end fail.
///
/// # Errors
/// Returns the errors of memfd_create(2), ftruncate(2) and fcntl(2).
pub fn open_complaints() -> io::Result<File> {
    let complaints = memfd_create("povray", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    ftruncate(&complaints, MOST_COMPLAINTS)?;
    fcntl_add_seals(&complaints, SealFlags::GROW | SealFlags::SHRINK)?;
    Ok(complaints.into())
}

/// Returns POV-Ray's text about a failure on its standard error, in one line; `scene` is the user's name of
/// the scene.
pub fn own_words(mut complaints: File, scene: &str) -> String {
    let bytes = match complaints.rewind().and_then(|()| read_all(complaints, MOST_COMPLAINTS)) {
        Ok(bytes) => bytes,
        Err(error) => return format!("its words cannot be read: {error}"),
    };
    // Zeros follow the written text.
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let bytes = &bytes[..end];
    cut_out(&String::from_utf8_lossy(bytes)).replace(SCENE, scene)
}

/// Returns the text after the last headline, which describes the failure; without a headline, all of it.
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
    use std::io::Write;

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
    fn what_povray_says_without_end_is_cut_off() {
        let mut complaints = open_complaints().unwrap();
        complaints.write_all(b"==== [Parsing...] ====\nfile bad.pov\n").unwrap();
        let words = || own_words(complaints.try_clone().unwrap(), "scene.pov");
        assert_eq!(words(), "file bad.pov");
        let mut child = complaints.try_clone().unwrap();
        child.rewind().unwrap();
        let written = (0..).take_while(|_| child.write_all(&[b'x'; 4096]).is_ok()).count() as u64;
        assert_eq!(written, MOST_COMPLAINTS / 4096);
        assert_eq!(words().len(), LONGEST_TEXT);
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
