//! The command line of `mpiexec`, read by the table of its options.

use canele_sys::bounded_read::{self, MOST_SETTINGS};
use std::ffi::OsString;
use std::path::Path;

use super::mapping::MpiexecMapping;
use super::options::{self, Meaning, Meaning::*};
use super::printing::Printing;

/// A command line after parsing.
pub enum CommandLine {
    Help,
    Version,
    Run(Box<MpiexecOptions>),
}

/// The options of a command line.
#[derive(Debug, Default)]
pub struct MpiexecOptions {
    pub programs: Vec<MpiexecProgram>,
    /// The list of hosts, as the user typed it.
    pub hosts: Option<String>,
    /// The file that names them.
    pub hostfile: Option<OsString>,
    /// The number of ranks on each host.
    pub per_host: Option<u32>,
    /// Variables in the form `NAME=VALUE`.
    pub variables: Vec<OsString>,
    pub directory: Option<OsString>,
    pub printing: Printing,
    pub mapping: MpiexecMapping,
    pub report_bindings: bool,
    pub report_exits: bool,
    /// True if the translated command line is printed.
    pub verbose: bool,
    /// True if remarks are not printed.
    pub quiet: bool,
    /// Options of `canele run` with their values.
    pub kept: Vec<(&'static str, OsString)>,
    /// Options of `canele run` with their values, only for jobs that have hosts.
    pub remote: Vec<(&'static str, OsString)>,
    pub remarks: Vec<String>,
}

/// One of the job's programs.
#[derive(Debug)]
pub struct MpiexecProgram {
    pub ranks: Option<u32>,
    pub command: Vec<OsString>,
}

/// Reads the words of a file that `-configfile FILE` names as the only option. Each line is a program with
/// its options; a `#` starts a comment.
fn from_file(words: Vec<OsString>) -> Result<Vec<OsString>, String> {
    let is_config = words.first().is_some_and(|word| word == "-configfile" || word == "--configfile");
    if !is_config {
        return Ok(words);
    }
    let [option, file] = &words[..] else {
        return Err("-configfile FILE stands alone: the file has all options and programs".into());
    };
    let typed = format!("{} {}", option.to_string_lossy(), file.to_string_lossy());
    let text = bounded_read::read_text(file, MOST_SETTINGS).map_err(|error| format!("{typed}: {error}"))?;
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    let lines = lines.filter(|line| !line.trim().is_empty());
    let words: Vec<Vec<&str>> = lines.map(|line| line.split_whitespace().collect()).collect();
    Ok(words.join(&":").into_iter().map(OsString::from).collect())
}

/// Reads the words that follow `mpiexec`.
pub fn read(
    words: Vec<OsString>,
    variable: &impl Fn(&str) -> Option<OsString>,
) -> Result<CommandLine, String> {
    let words = from_file(words)?;
    let parts: Vec<&[OsString]> = words.split(|word| word == ":").collect();
    let mut wanted = MpiexecOptions::default();
    for (index, part) in parts.iter().enumerate() {
        let mut reader = Reader {
            words: part.iter(),
            variable,
            several: parts.len() > 1,
            further: index > 0,
            ranks: None,
        };
        match reader.read(&mut wanted)? {
            Some(Help) => return Ok(CommandLine::Help),
            Some(Version) => return Ok(CommandLine::Version),
            _ => {}
        }
        let command: Vec<OsString> = reader.words.cloned().collect();
        if command.is_empty() && parts.len() > 1 {
            return Err("a program is missing beside `:`".into());
        }
        if !command.is_empty() {
            wanted.programs.push(MpiexecProgram { ranks: reader.ranks, command });
        }
    }
    Ok(CommandLine::Run(Box::new(wanted)))
}

/// Reads the options of one program, and leaves the program.
struct Reader<'a, F> {
    words: std::slice::Iter<'a, OsString>,
    variable: &'a F,
    several: bool,
    /// True if the program is not the first program.
    further: bool,
    ranks: Option<u32>,
}

impl<F: Fn(&str) -> Option<OsString>> Reader<'_, F> {
    /// Reads options; returns a meaning that ends the reading.
    fn read(&mut self, wanted: &mut MpiexecOptions) -> Result<Option<Meaning>, String> {
        while let Some(word) = self.words.as_slice().first() {
            let text = word.to_string_lossy();
            if text == "--" {
                self.words.next();
                break;
            }
            if !text.starts_with('-') {
                break;
            }
            self.words.next();
            let (typed, attached) = match text.split_once('=') {
                Some((typed, value)) => (typed.to_owned(), Some(OsString::from(value))),
                None => (text.into_owned(), None),
            };
            match self.meaning(&typed)? {
                end @ (Help | Version) => return Ok(Some(end)),
                meaning => self.take(meaning, &typed, attached, wanted)?,
            }
        }
        Ok(None)
    }

    fn meaning(&self, typed: &str) -> Result<Meaning, String> {
        match options::meaning(typed)? {
            meaning @ (Ranks | Nothing | Help | Version) => Ok(meaning),
            _ if self.further => {
                Err(format!("{typed} behind `:` is not supported: only -n is of one program alone"))
            }
            OwnVariable if self.several => {
                Err(format!("{typed} for one of several programs is not supported; -genv is for all"))
            }
            meaning => Ok(meaning),
        }
    }

    fn take(
        &mut self,
        meaning: Meaning,
        typed: &str,
        attached: Option<OsString>,
        wanted: &mut MpiexecOptions,
    ) -> Result<(), String> {
        if let Ignored(values) = meaning {
            return self.ignore(typed, values - u8::from(values > 0 && attached.is_some()), wanted);
        }
        let flag = meaning.is_flag();
        if let Some(value) = attached.as_ref().filter(|_| flag) {
            return Err(format!("{typed}={}: {typed} takes no value", value.to_string_lossy()));
        }
        let value = match attached {
            Some(value) => value,
            None if flag => OsString::new(),
            None => self.next(typed)?,
        };
        let text = value.to_string_lossy().into_owned();
        match meaning {
            Ranks => self.ranks = Some(number(typed, &text)?),
            Hosts => wanted.hosts = Some(text),
            HostFile => wanted.hostfile = Some(value),
            PerHost => wanted.per_host = Some(number(typed, &text)?),
            BindTo => wanted.remarks.extend(wanted.mapping.bind_to(typed, &text)?),
            MapBy => wanted.mapping.map_by(typed, &text)?,
            RankBy => wanted.mapping.rank_by(typed, &text)?,
            MapTo(unit) => wanted.mapping.map_by(typed, unit)?,
            Bind(unit) => drop(wanted.mapping.bind_to(typed, unit)?),
            PerUnit(unit) => wanted.mapping.set(Some(format!("ppr:{}:{unit}", number(typed, &text)?)), None),
            Elements => wanted.mapping.set(None, Some(number(typed, &text)?.to_string())),
            NoLocal => wanted.mapping.no_local = true,
            RankFile => wanted.mapping.rankfile = Some(text),
            Output => wanted.printing.output(typed, &text)?,
            OutputFolder => wanted.printing.output_filename(&text),
            Timestamp => wanted.printing.timestamp = true,
            Prepend => wanted.printing.label = Some(text),
            ReportExits => wanted.report_exits = true,
            Display => {
                let reported = ["map", "map-devel", "bind", "bindings"];
                match text.split(',').find(|word| !reported.contains(&&*word.to_ascii_lowercase())) {
                    Some(word) => wanted.remarks.push(format!("{typed} {text}: `{word}` means nothing here")),
                    None => wanted.report_bindings = true,
                }
            }
            Verbose => wanted.verbose = true,
            Quiet => wanted.quiet = true,
            Fixed(option, value) => wanted.kept.push((option, value.into())),
            Variable | OwnVariable if text.contains('=') => wanted.variables.push(value),
            Variable | OwnVariable => {
                let its = self.next(&format!("{typed} {text}"))?;
                wanted.variables.push(assignment(&text, its));
            }
            Export if text.contains('=') => wanted.variables.push(value),
            Export => self.export(typed, &text, wanted),
            ExportList => text.split(',').for_each(|name| self.export(typed, name, wanted)),
            Setting(name) => wanted.variables.push(assignment(name, value)),
            Directory => wanted.directory = Some(value),
            Label => wanted.printing.label = Some(wanted.printing.label.take().unwrap_or_default()),
            ReportBindings => wanted.report_bindings = true,
            FaultTolerance => wanted.kept.push(("--on-failure", on_failure(typed, &text)?.into())),
            Kept(option) => wanted.kept.push((option, value)),
            Remote(option) => wanted.remote.push((option, value)),
            Prefix => wanted.remote.push(("--canele", Path::new(&value).join("bin/canele").into())),
            Nothing | Ignored(_) | Help | Version | Refused(_) => {}
        }
        Ok(())
    }

    /// Remarks that an option and its values mean nothing here.
    fn ignore(&mut self, typed: &str, values: u8, wanted: &mut MpiexecOptions) -> Result<(), String> {
        let mut text = typed.to_owned();
        for _ in 0..values {
            text = format!("{text} {}", self.next(&text)?.to_string_lossy());
        }
        wanted.remarks.push(format!(
            "{text} means nothing here; `canele info --tunables` lists the settings of Canelé"
        ));
        Ok(())
    }

    fn next(&mut self, typed: &str) -> Result<OsString, String> {
        self.words.next().cloned().ok_or_else(|| format!("{typed} needs a value behind it"))
    }

    fn export(&self, typed: &str, name: &str, wanted: &mut MpiexecOptions) {
        match (self.variable)(name) {
            Some(value) => wanted.variables.push(assignment(name, value)),
            None => wanted.remarks.push(format!("{typed} {name}: there is no such variable to pass on")),
        }
    }
}

fn assignment(name: &str, value: OsString) -> OsString {
    let mut assignment = OsString::from(name);
    assignment.push("=");
    assignment.push(value);
    assignment
}

fn number(typed: &str, text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(format!("{typed} {text}: a number of ranks is needed, at least 1")),
    }
}

/// Translates the effect of a rank's death into the words of `canele run`.
fn on_failure(typed: &str, text: &str) -> Result<&'static str, String> {
    match text.to_ascii_lowercase().as_str() {
        "mpi" | "ulfm" | "yes" | "true" | "1" => Ok("continue"),
        "none" | "no" | "false" | "0" => Ok("stop"),
        _ => Err(format!(
            "{typed} {text}: `ulfm` lets the others go on when a rank dies, as --on-failure continue; `none` ends them"
        )),
    }
}
