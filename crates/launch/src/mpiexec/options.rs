//! The options of `mpiexec`: one table of names and meanings, and the reading of a command line by it.

use std::ffi::OsString;
use std::path::Path;

use super::mapping::Mapping;
use super::printing::Printing;

/// A command line, read.
pub enum Read {
    Help,
    Version,
    Run(Box<Wanted>),
}

/// What it asks for.
#[derive(Debug, Default)]
pub struct Wanted {
    pub programs: Vec<Program>,
    /// The list of hosts, as it was typed.
    pub hosts: Option<String>,
    /// The file that names them.
    pub hostfile: Option<OsString>,
    /// Ranks on each host.
    pub per_host: Option<u32>,
    /// `NAME=VALUE` each.
    pub variables: Vec<OsString>,
    pub directory: Option<OsString>,
    pub printing: Printing,
    pub mapping: Mapping,
    pub report_bindings: bool,
    pub report_exits: bool,
    /// Say what becomes of the command line.
    pub verbose: bool,
    /// Keep remarks to itself.
    pub quiet: bool,
    /// Options of `canele run` with their values.
    pub kept: Vec<(&'static str, OsString)>,
    /// The same, of jobs that have hosts.
    pub remote: Vec<(&'static str, OsString)>,
    pub remarks: Vec<String>,
}

/// One of the job's programs.
#[derive(Debug)]
pub struct Program {
    pub ranks: Option<u32>,
    pub command: Vec<OsString>,
}

/// What an option means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Help,
    Version,
    Ranks,
    Hosts,
    HostFile,
    PerHost,
    BindTo,
    /// Over what ranks are spread.
    MapBy,
    /// How they are numbered there.
    RankBy,
    /// A value of `MapBy` that has a name of its own.
    MapTo(&'static str),
    /// A value of `BindTo` that has a name of its own.
    Bind(&'static str),
    /// So many ranks on each unit.
    PerUnit(&'static str),
    /// So many cores for each rank.
    Elements,
    NoLocal,
    RankFile,
    /// How what ranks print is written: words.
    Output,
    /// In which folder.
    OutputFolder,
    Timestamp,
    /// A text before each line.
    Prepend,
    ReportExits,
    /// Words, of which some say what is reported.
    Display,
    Verbose,
    Quiet,
    /// An option of `canele run` with this value.
    Fixed(&'static str, &'static str),
    /// A variable for all programs: `NAME VALUE` or `NAME=VALUE`.
    Variable,
    /// A variable for one program.
    OwnVariable,
    /// Variables to pass on: `NAME`, or `NAME=VALUE`.
    Export,
    /// The same, several with commas between them.
    ExportList,
    Directory,
    Label,
    ReportBindings,
    /// Whether the others go on when a rank dies, in Open MPI's words.
    FaultTolerance,
    /// The value of a variable.
    Setting(&'static str),
    /// An option of `canele run` with a value.
    Kept(&'static str),
    /// An option of `canele run` with a value, for jobs that have hosts: how they are reached.
    Remote(&'static str),
    /// The folder that the command lies in on the hosts, with `bin` below it.
    Prefix,
    /// What it asks for is the case anyway.
    Nothing,
    /// Known, with so many values, and without a meaning here.
    Ignored(u8),
    /// Known, and not to be had: why.
    Refused(&'static str),
}

use Meaning::*;

const RANK_FILE: &str = "--rankfile FILE says of each rank where it runs, as `rank 0=host slot=0-1`";
const DEBUGGER: &str = "start the tool as the program, as in `mpiexec -n 2 gdb -ex run --args ./program`";
const INHERITED: &str = "the ranks of this host always inherit the environment";

/// Names without their dashes.
const OPTIONS: &[(&str, Meaning)] = &[
    ("h", Help),
    ("help", Help),
    ("V", Version),
    ("version", Version),
    ("n", Ranks),
    ("np", Ranks),
    ("c", Ranks),
    ("host", Hosts),
    ("hosts", Hosts),
    ("H", Hosts),
    ("f", HostFile),
    ("hostfile", HostFile),
    ("machinefile", HostFile),
    ("ppn", PerHost),
    ("perhost", PerHost),
    ("npernode", PerHost),
    ("N", PerHost),
    ("bind-to", BindTo),
    ("map-by", MapBy),
    ("rank-by", RankBy),
    ("bynode", MapTo("node")),
    ("byslot", MapTo("slot")),
    ("bycore", MapTo("core")),
    ("bysocket", MapTo("socket")),
    ("bind-to-core", Bind("core")),
    ("bind-to-socket", Bind("socket")),
    ("bind-to-none", Bind("none")),
    ("npersocket", PerUnit("package")),
    ("cpus-per-proc", Elements),
    ("cpus-per-rank", Elements),
    ("nolocal", NoLocal),
    ("skip-launch-node", NoLocal),
    ("rankfile", RankFile),
    ("rf", RankFile),
    ("rankmap", Refused(RANK_FILE)),
    ("cpu-set", Refused(RANK_FILE)),
    ("cpu-list", Refused(RANK_FILE)),
    ("cpu-bind", Refused(RANK_FILE)),
    ("hosts-group", Refused("-hosts names each host")),
    ("output", Output),
    ("output-filename", OutputFolder),
    ("outfile-pattern", Kept("--stdout-file")),
    ("errfile-pattern", Kept("--stderr-file")),
    ("timestamp-output", Timestamp),
    ("prepend-timestamp", Timestamp),
    ("prepend-pattern", Prepend),
    ("merge-stderr-to-stdout", Refused("`2>&1` in the shell that calls mpiexec does so")),
    ("xml", Refused("lines are labelled with --tag-output")),
    ("stdin", Kept("--stdin")),
    ("s", Kept("--stdin")),
    ("print-all-exitcodes", ReportExits),
    ("display", Display),
    ("usize", Kept("--universe")),
    ("disable-auto-cleanup", Fixed("--on-failure", "continue")),
    ("enable-recovery", Fixed("--on-failure", "continue")),
    ("genv", Variable),
    ("env", OwnVariable),
    ("x", Export),
    ("genvlist", ExportList),
    ("envlist", ExportList),
    ("memory-alloc-kinds", Setting("CANELE_MPI_MEMORY_ALLOC_KINDS")),
    ("wdir", Directory),
    ("wd", Directory),
    ("l", Label),
    ("tag-output", Label),
    ("label", Label),
    ("report-bindings", ReportBindings),
    ("prepend-rank", Label),
    ("rsh", Kept("--rsh")),
    ("canele", Kept("--canele")),
    ("timeout", Kept("--timeout")),
    ("wait", Kept("--wait")),
    ("on-failure", Kept("--on-failure")),
    ("with-ft", FaultTolerance),
    ("initial-errhandler", Kept("--initial-errhandler")),
    ("bind", Kept("--bind")),
    ("launcher", Remote("--rsh")),
    ("launcher-exec", Remote("--rsh")),
    ("bootstrap", Remote("--rsh")),
    ("bootstrap-exec", Remote("--rsh")),
    ("prefix", Prefix),
    ("display-map", ReportBindings),
    ("print-rank-map", ReportBindings),
    ("oversubscribe", Nothing),
    ("allow-run-as-root", Nothing),
    ("use-hwthread-cpus", Nothing),
    ("genvall", Nothing),
    ("envall", Nothing),
    ("genvnone", Refused(INHERITED)),
    ("envnone", Refused(INHERITED)),
    ("v", Verbose),
    ("verbose", Verbose),
    ("q", Quiet),
    ("quiet", Quiet),
    ("display-allocation", Ignored(0)),
    ("disable-hostname-propagation", Ignored(0)),
    ("iface", Ignored(1)),
    ("rmk", Ignored(1)),
    ("demux", Ignored(1)),
    ("order-nodes", Ignored(1)),
    ("report-uri", Ignored(1)),
    ("info", Version),
    ("overload-allowed", Nothing),
    ("nooversubscribe", Nothing),
    ("hybrid-hosts", Ignored(0)),
    ("localhost", Ignored(1)),
    ("nameserver", Ignored(1)),
    ("pmi-port", Ignored(0)),
    ("profile", Ignored(0)),
    ("topolib", Ignored(1)),
    ("membind", Ignored(1)),
    ("gpus-per-proc", Ignored(1)),
    ("enable-x", Ignored(0)),
    ("disable-x", Ignored(0)),
    ("silent-abort", Ignored(0)),
    ("prot", Ignored(0)),
    ("aps", Ignored(0)),
    ("mps", Ignored(0)),
    ("tune", Ignored(1)),
    ("am", Ignored(1)),
    ("personality", Ignored(1)),
    ("runtime-options", Ignored(1)),
    ("forward-signals", Ignored(1)),
    ("report-pid", Ignored(1)),
    ("report-state-on-timeout", Ignored(0)),
    ("get-stack-traces", Ignored(0)),
    ("display-topo", Ignored(0)),
    ("gdb", Refused(DEBUGGER)),
    ("gtool", Refused(DEBUGGER)),
    ("gtoolfile", Refused(DEBUGGER)),
    ("tv", Refused(DEBUGGER)),
    ("debug", Refused(DEBUGGER)),
    ("do-not-launch", Refused("--display-map says where ranks run while they do")),
    ("preload-binary", Refused("programs have to be on the hosts, under the same names")),
    ("preload-files", Refused("files have to be on the hosts, under the same names")),
    ("add-host", Refused("-hosts names all hosts from the start")),
    ("dvm", Refused("every job has a launcher of its own")),
    ("mca", Ignored(2)),
    ("gmca", Ignored(2)),
    ("prtemca", Ignored(2)),
    ("pmixmca", Ignored(2)),
];

/// The words of a file that `-configfile FILE` names, which stands alone: each line is a program with its options, what follows `#` a comment.
fn from_file(words: Vec<OsString>) -> Result<Vec<OsString>, String> {
    let is_config = words.first().is_some_and(|word| word == "-configfile" || word == "--configfile");
    if !is_config {
        return Ok(words);
    }
    let [option, file] = &words[..] else {
        return Err("-configfile FILE stands alone: the file has all options and programs".into());
    };
    let typed = format!("{} {}", option.to_string_lossy(), file.to_string_lossy());
    let text = std::fs::read_to_string(file).map_err(|error| format!("{typed}: {error}"))?;
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    let lines = lines.filter(|line| !line.trim().is_empty());
    let words: Vec<Vec<&str>> = lines.map(|line| line.split_whitespace().collect()).collect();
    Ok(words.join(&":").into_iter().map(OsString::from).collect())
}

/// Reads the words behind `mpiexec`.
pub fn read(words: Vec<OsString>, variable: &impl Fn(&str) -> Option<OsString>) -> Result<Read, String> {
    let words = from_file(words)?;
    let parts: Vec<&[OsString]> = words.split(|word| word == ":").collect();
    let mut wanted = Wanted::default();
    for (index, part) in parts.iter().enumerate() {
        let mut reader = Reader {
            words: part.iter(),
            variable,
            several: parts.len() > 1,
            further: index > 0,
            ranks: None,
        };
        match reader.read(&mut wanted)? {
            Some(Help) => return Ok(Read::Help),
            Some(Version) => return Ok(Read::Version),
            _ => {}
        }
        let command: Vec<OsString> = reader.words.cloned().collect();
        if command.is_empty() && parts.len() > 1 {
            return Err("a program is missing beside `:`".into());
        }
        if !command.is_empty() {
            wanted.programs.push(Program { ranks: reader.ranks, command });
        }
    }
    Ok(Read::Run(Box::new(wanted)))
}

/// Reads the options of one program, and leaves the program.
struct Reader<'a, F> {
    words: std::slice::Iter<'a, OsString>,
    variable: &'a F,
    several: bool,
    /// It is not the first program.
    further: bool,
    ranks: Option<u32>,
}

impl<F: Fn(&str) -> Option<OsString>> Reader<'_, F> {
    /// Answers a meaning that ends the reading.
    fn read(&mut self, wanted: &mut Wanted) -> Result<Option<Meaning>, String> {
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
        let name = typed.strip_prefix("--").or(typed.strip_prefix('-')).unwrap_or_default();
        let known = OPTIONS.iter().find(|(known, _)| *known == name);
        let &(_, meaning) = known.ok_or_else(|| {
            format!("the option {typed} is unknown; `mpiexec --help` lists those there are")
        })?;
        match meaning {
            Refused(why) => Err(format!("{typed} is not supported: {why}")),
            Ranks | Nothing | Help | Version => Ok(meaning),
            _ if self.further => {
                Err(format!("{typed} behind `:` is not supported: only -n is of one program alone"))
            }
            OwnVariable if self.several => {
                Err(format!("{typed} for one of several programs is not supported; -genv is for all"))
            }
            _ => Ok(meaning),
        }
    }

    fn take(
        &mut self,
        meaning: Meaning,
        typed: &str,
        attached: Option<OsString>,
        wanted: &mut Wanted,
    ) -> Result<(), String> {
        if let Ignored(values) = meaning {
            return self.ignore(typed, values - u8::from(values > 0 && attached.is_some()), wanted);
        }
        let flag = matches!(
            meaning,
            Label
                | ReportBindings
                | Nothing
                | MapTo(_)
                | Bind(_)
                | NoLocal
                | Timestamp
                | ReportExits
                | Verbose
                | Quiet
                | Fixed(..)
        );
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

    /// Says that an option and its values mean nothing here.
    fn ignore(&mut self, typed: &str, values: u8, wanted: &mut Wanted) -> Result<(), String> {
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

    fn export(&self, typed: &str, name: &str, wanted: &mut Wanted) {
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

/// What happens when a rank dies, in the words of `canele run`.
fn on_failure(typed: &str, text: &str) -> Result<&'static str, String> {
    match text.to_ascii_lowercase().as_str() {
        "mpi" | "ulfm" | "yes" | "true" | "1" => Ok("continue"),
        "none" | "no" | "false" | "0" => Ok("stop"),
        _ => Err(format!(
            "{typed} {text}: `ulfm` lets the others go on when a rank dies, as --on-failure continue; `none` ends them"
        )),
    }
}
