//! Form and place of the ranks' output, in the words of `--output` and similar options of other launchers.

use std::ffi::OsString;

/// The result of these options.
#[derive(Debug, Default)]
pub struct Printing {
    /// The text at the start of lines; an empty one means the usual text.
    pub label: Option<String>,
    pub timestamp: bool,
    directory: Option<String>,
    file: Option<String>,
    no_copy: bool,
}

impl Printing {
    /// Reads the value of Open MPI's `--output`: words with commas between them.
    ///
    /// # Errors
    /// Fails with a text that names the unknown word.
    pub fn output(&mut self, typed: &str, text: &str) -> Result<(), String> {
        let mut words = text.split(',').flat_map(|word| word.split(':'));
        words.try_for_each(|word| {
            match (&*word.to_ascii_lowercase(), word.split_once('=')) {
                ("tag" | "rank", _) => self.label = Some(self.label.take().unwrap_or_default()),
                ("tag-detailed" | "tag-fullname", _) => self.label = Some("[%h:%r] ".into()),
                ("timestamp", _) => self.timestamp = true,
                ("nocopy", _) => self.no_copy = true,
                ("copy" | "raw" | "", _) => {}
                (_, Some((name, value))) if name.eq_ignore_ascii_case("dir") => self.directory = Some(value.into()),
                (_, Some((name, value))) if name.eq_ignore_ascii_case("file") => self.file = Some(value.into()),
                _ => {
                    return Err(format!(
                        "{typed} {text}: `{word}` is not supported; tag, timestamp, dir=DIR, file=FILE and :nocopy are"
                    ));
                }
            }
            Ok(())
        })
    }

    /// Reads the value of Open MPI's older `--output-filename`.
    pub fn output_filename(&mut self, text: &str) {
        let (directory, modifiers) = text.split_once(':').unwrap_or((text, ""));
        self.no_copy |= modifiers.to_ascii_lowercase().split(',').any(|word| word == "nocopy");
        self.directory = Some(directory.into());
    }

    /// Returns the options of `canele run`.
    pub fn words(&self) -> Vec<OsString> {
        let mut words: Vec<String> = Vec::new();
        if let Some(label) = &self.label {
            words.push(if label.is_empty() { "--label".into() } else { format!("--label={label}") });
        }
        if self.timestamp {
            words.push("--timestamp".into());
        }
        if let Some(file) = &self.file {
            let file = file.replace('%', "%%");
            words.extend(["--stdout-file".into(), format!("{file}.%r.out")]);
            words.extend(["--stderr-file".into(), format!("{file}.%r.err")]);
        } else if let Some(directory) = &self.directory {
            words.extend(["--output".into(), directory.clone()]);
        }
        if !self.no_copy && (self.file.is_some() || self.directory.is_some()) {
            words.push("--tee".into());
        }
        words.into_iter().map(OsString::from).collect()
    }
}
