//! The options of `mpiexec`, as Open MPI, MPICH and Intel MPI name them: one table of names and meanings.

/// The meaning of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    Help,
    Version,
    Ranks,
    Hosts,
    HostFile,
    PerHost,
    BindTo,
    /// The units over which ranks are spread.
    MapBy,
    /// The numbering of ranks on those units.
    RankBy,
    /// A value of `MapBy` that has a name of its own.
    MapTo(&'static str),
    /// A value of `BindTo` that has a name of its own.
    Bind(&'static str),
    /// The number of ranks on each unit.
    PerUnit(&'static str),
    /// The number of cores for each rank.
    Elements,
    NoLocal,
    RankFile,
    /// The form of the ranks' output: words.
    Output,
    /// The folder of the ranks' output.
    OutputFolder,
    Timestamp,
    /// A text before each line.
    Prepend,
    ReportExits,
    /// Words, some of which select reports.
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
    /// Variables to pass on, several with commas between them.
    ExportList,
    Directory,
    Label,
    ReportBindings,
    /// The effect of a rank's death on the others, in Open MPI's words.
    FaultTolerance,
    /// The value of a variable.
    Setting(&'static str),
    /// An option of `canele run` with a value.
    Kept(&'static str),
    /// An option of `canele run` with a value that says how hosts are reached; only for jobs that have hosts.
    Remote(&'static str),
    /// The folder of the installation on the hosts; the command lies in `bin` below it.
    Prefix,
    /// An option that asks for the usual behaviour.
    Nothing,
    /// A known option with this number of values, which has no meaning here.
    Ignored(u8),
    /// A known option that is refused, with the reason.
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
    ("foreign", Kept("--foreign")),
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

/// Returns the meaning of the typed option, which begins with one dash or two.
pub fn meaning(typed: &str) -> Result<Meaning, String> {
    let name = typed.strip_prefix("--").or(typed.strip_prefix('-')).unwrap_or_default();
    match OPTIONS.iter().find(|(known, _)| *known == name) {
        None => Err(format!("the option {typed} is unknown; `mpiexec --help` lists those there are")),
        Some((_, Refused(why))) => Err(format!("{typed} is not supported: {why}")),
        Some(&(_, meaning)) => Ok(meaning),
    }
}

impl Meaning {
    /// Returns true if the option has no value.
    pub fn is_flag(self) -> bool {
        matches!(
            self,
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
        )
    }
}
