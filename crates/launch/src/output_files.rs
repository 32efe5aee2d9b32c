//! Files for the output of each rank, written by the launcher on its own host.
//!
//! Owns their names and contents. A file is open only while it is written, so their number is not bounded by
//! descriptors.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use canele_control::JobInfo;

use super::events::Stream;
use super::pattern::Pattern;
use super::time_of_day::TimeOfDay;

/// The destinations and form of output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutputSpec {
    /// The text at the start of each line of the launcher's own streams.
    pub label: Option<Pattern>,
    /// True if each line starts with the time at which it came.
    pub timestamp: bool,
    /// The names of files for standard output and standard error; without them, output goes to the launcher's
    /// own streams.
    pub files: [Option<Pattern>; 2],
    /// True if output to files goes to the launcher's own streams, too.
    pub tee: bool,
}

/// The files.
#[derive(Debug, Default)]
pub struct OutputFiles {
    patterns: [Option<Pattern>; 2],
    /// The time in their names.
    started: Option<TimeOfDay>,
    /// The ranks and streams whose last line has not ended.
    open_lines: HashSet<(u32, usize)>,
    /// Files that could not be written.
    lost: HashSet<PathBuf>,
    /// The text of the first error, until it is reported.
    unreported: Option<String>,
    /// Folders that were made for the files. Folders within these are left out.
    new_folders: Vec<PathBuf>,
}

impl OutputFiles {
    /// Creates the files of all ranks, empty, with their folders.
    ///
    /// # Errors
    /// Fails with a text that names the file that cannot be created.
    pub fn create(patterns: [Option<Pattern>; 2], info: &JobInfo) -> Result<OutputFiles, String> {
        let mut files = OutputFiles { patterns, started: Some(TimeOfDay::now()), ..OutputFiles::default() };
        let mut made = HashSet::new();
        for rank in 0..info.size {
            let host = info.host_of(rank);
            for stream in [Stream::Out, Stream::Error] {
                let Some(path) = files.path(stream, rank, (host, &info.hosts[host].name)) else { continue };
                if !made.contains(&path) {
                    let folder = create(&path).map_err(|error| {
                        format!("the output of rank {rank} to {}: {error}", path.display())
                    })?;
                    let is_within =
                        |new: &PathBuf| files.new_folders.iter().any(|folder| new.starts_with(folder));
                    let folder = folder.filter(|new| !is_within(new));
                    files.new_folders.extend(folder);
                    made.insert(path);
                }
            }
        }
        Ok(files)
    }

    /// Returns a text that names the folders that were made, if any were.
    pub fn new_folders(&self) -> Option<String> {
        let first = self.new_folders.first()?.display();
        Some(match self.new_folders.len() {
            1 => format!("made the folder {first} for the output of the ranks"),
            count => format!("made {count} folders for the output of the ranks, {first} and others"),
        })
    }

    /// Returns true if the stream goes to files.
    pub fn take(&self, stream: Stream) -> bool {
        self.patterns[stream as usize].is_some()
    }

    fn path(&self, stream: Stream, rank: u32, host: (usize, &str)) -> Option<PathBuf> {
        Some(self.patterns[stream as usize].as_ref()?.of(rank, host, self.started?).into())
    }

    /// Appends output of a rank, each line after the label.
    pub fn put(&mut self, stream: Stream, rank: u32, host: (usize, &str), bytes: &[u8], label: &str) {
        let Some(path) = self.path(stream, rank, host).filter(|path| !self.lost.contains(path)) else {
            return;
        };
        let mut text = Vec::with_capacity(bytes.len());
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            let is_open = match line.ends_with(b"\n") {
                true => self.open_lines.remove(&(rank, stream as usize)),
                false => !self.open_lines.insert((rank, stream as usize)),
            };
            if !is_open {
                text.extend_from_slice(label.as_bytes());
            }
            text.extend_from_slice(line);
        }
        let written = append(&path).and_then(|mut file| file.write_all(&text));
        if let Err(error) = written {
            let text =
                format!("cannot write the output of rank {rank} to {}: {error}; it is lost", path.display());
            self.unreported.get_or_insert(text);
            self.lost.insert(path);
        }
    }

    /// Takes the message that output was lost, if it was not taken before.
    pub fn take_lost(&mut self) -> Option<String> {
        self.unreported.take()
    }
}

/// Makes an empty file, and the folders that it lies in. Returns the first folder that was missing.
fn create(path: &Path) -> io::Result<Option<PathBuf>> {
    let folders = path.ancestors().skip(1).take_while(|folder| !folder.as_os_str().is_empty());
    let new = folders.take_while(|folder| !folder.exists()).last();
    if let Some(folder) = path.parent().filter(|_| new.is_some()) {
        std::fs::create_dir_all(folder)?;
    }
    File::create(path).map(|_| new.map(Path::to_owned))
}

/// Opens a file to write at its end. Files of spawned ranks are created here.
fn append(path: &Path) -> io::Result<File> {
    let open = || OpenOptions::new().append(true).create(true).open(path);
    open().or_else(|error| match path.parent().filter(|_| error.kind() == io::ErrorKind::NotFound) {
        Some(folder) => std::fs::create_dir_all(folder).and_then(|()| open()),
        None => Err(error),
    })
}
