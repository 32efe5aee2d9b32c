//! `mpiexec` and `mpirun`: command lines of other launchers, translated into a command line of `canele run`.
//!
//! Owns the translation. Starts nothing, and accepts no option silently that would change the job.

mod command_line;
mod mapping;
mod options;
mod places;
mod printing;
mod programs;

use std::ffi::OsString;

use command_line::MpiexecOptions;

use crate::allocation::ALLOCATION_VARIABLES;

/// The action that `mpiexec` must take.
#[derive(Debug, PartialEq, Eq)]
pub enum Asked {
    /// Print the usage.
    Help,
    /// Print the release.
    Version,
    /// Print the remarks, then run the command line.
    Run {
        /// Remarks about options that mean nothing or something else here.
        remarks: Vec<String>,
        /// A command line, `canele run …`.
        words: Vec<OsString>,
    },
}

/// Translates the words that follow `mpiexec`. `variable` reads the environment.
///
/// # Errors
/// Fails with a text that names the wrong option.
pub fn translate(words: Vec<OsString>, variable: impl Fn(&str) -> Option<OsString>) -> Result<Asked, String> {
    let mut wanted = match command_line::read(words, &variable)? {
        command_line::CommandLine::Help => return Ok(Asked::Help),
        command_line::CommandLine::Version => return Ok(Asked::Version),
        command_line::CommandLine::Run(wanted) => *wanted,
    };
    if wanted.programs.is_empty() {
        return Err("no program to run, as in `mpiexec -n 4 ./program`".into());
    }
    for program in &mut wanted.programs {
        let name = std::mem::take(&mut program.command[0]);
        program.command[0] = programs::found(name, wanted.directory.as_deref(), variable("PATH"));
    }
    wanted.per_host = wanted.per_host.or(wanted.mapping.per_host);
    wanted.report_bindings |= wanted.mapping.report;
    wanted.mapping.check()?;
    let in_allocation = ALLOCATION_VARIABLES.iter().any(|name| variable(name).is_some());
    let place = places::resolve(&wanted, in_allocation)?;
    let mut remarks = wanted.remarks.clone();
    let is_elsewhere = place.hosts.is_some();
    remarks.extend(wanted.mapping.lost_order().filter(|_| is_elsewhere).map(|order| {
        format!("{order}: ranks that are spread over the units of a host fill one host after the other")
    }));
    if wanted.mapping.rankfile.is_some() && (wanted.hosts.is_some() || wanted.hostfile.is_some()) {
        remarks.push(
            "the file of ranks names the hosts: those of the list or file of hosts are not used".into(),
        );
    }
    let (verbose, quiet) = (wanted.verbose, wanted.quiet);
    let words = line(wanted, place);
    if verbose {
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        remarks.push(format!("this runs as `{}`", words.join(" ")));
    }
    if quiet {
        remarks.clear();
    }
    Ok(Asked::Run { remarks, words })
}

fn line(wanted: MpiexecOptions, place: places::HostChoice) -> Vec<OsString> {
    let mut line: Vec<OsString> = vec!["canele".into(), "run".into()];
    let mut option = |name: &str, value: OsString| line.extend([name.into(), value]);
    let are_named = place.hosts.is_some() || wanted.mapping.rankfile.is_some();
    if let Some(hosts) = place.hosts {
        option("--hosts", hosts.into());
    }
    if are_named {
        wanted.remote.into_iter().for_each(|(name, value)| option(name, value));
    }
    for (name, value) in wanted.kept {
        option(name, value);
    }
    for (name, value) in wanted.mapping.options() {
        option(name, value.into());
    }
    for assignment in wanted.variables {
        option("--env", assignment);
    }
    if let Some(directory) = wanted.directory {
        option("--wd", directory);
    }
    line.extend(wanted.printing.words());
    if wanted.report_bindings {
        line.push("--report-bindings".into());
    }
    if wanted.report_exits {
        line.push("--report-exits".into());
    }
    let says_ranks = place.says_ranks || wanted.mapping.says_ranks();
    for (index, program) in wanted.programs.into_iter().enumerate() {
        if index > 0 {
            line.push(":".into());
        }
        let ranks = program.ranks.or(place.ranks.filter(|_| index == 0));
        // Hosts with numbers determine the number of ranks, if there is only one program.
        if let Some(ranks) = ranks.or((index > 0 || !says_ranks).then_some(1)) {
            line.extend(["-n".into(), ranks.to_string().into()]);
        }
        line.push("--".into());
        line.extend(program.command);
    }
    line
}

/// The usage.
pub const HELP: &str = "\
Starts MPI programs, with the options of other launchers. `canele run` does so with options of its own.

Usage: mpiexec [OPTIONS] PROG ARGS… [: -n M PROG2 ARGS…]

  -n, -np, -c N               number of ranks [default: as many as the hosts take, otherwise 1]
  -host, -hosts, -H A,B:2     hosts to run on, here with 2 ranks on B
  -f, -hostfile, -machinefile FILE
  -ppn, -npernode, -N N       number of ranks on each host
  -map-by UNIT                spread ranks over the core, l3cache, numa, socket or node in turn; ppr:N:UNIT: N on each;
                              UNIT:PE=N: N cores for each rank; -rank-by fill: consecutive ranks on each UNIT
  -bind-to UNIT|none          bind ranks to their hwthread, core, l3cache, numa or socket
  --rankfile, -rf FILE        file with `rank 0=host slot=0-1` for each rank; also --map-by rankfile:file=FILE
  --report-bindings, --display-map
                              print the processors that each rank is bound to
  -genv, -env NAME VALUE      set a variable for the ranks; -x NAME[=VALUE] and -genvlist A,B pass variables on
  -wdir, -wd DIR              start the ranks in this directory
  -l, --tag-output            start each line with its rank; -prepend-pattern TEXT: with a text (%r rank, %h host, %t time)
  --timestamp-output, -prepend-timestamp   start each line with the time
  --output WORDS              tag, timestamp, dir=DIR, file=FILE; :nocopy: to files only; also --output-filename DIR
  -outfile-pattern, -errfile-pattern FILE   write to files, with %r for the rank and %h for the host
  --stdin, -s all|none|RANKS  ranks that get standard input [default: 0]
  -print-all-exitcodes        print at the end how each rank ended
  -v, -q                      print the command line as `canele run` has it; print no remarks
  -initial-errhandler mpi_errors_return   error handler at first: this one, mpi_errors_abort or
                              mpi_errors_are_fatal
  --with-ft ulfm|none         let the others go on when a rank dies, or end them, as --on-failure continue|stop
  --rsh, --canele, --timeout, --wait, --on-failure, --foreign, --bind   as for `canele run`

Options have one dash or two. Accepted without effect: --oversubscribe (always allowed), --allow-run-as-root,
--use-hwthread-cpus, -genvall, -envall. For jobs on hosts: -launcher and -bootstrap (as --rsh), --prefix DIR.
-configfile FILE stands alone; each line of the file has the options and the program. Options of other launchers
that mean nothing here, as --mca KEY VALUE, are accepted with a remark.";

#[cfg(test)]
mod tests;
