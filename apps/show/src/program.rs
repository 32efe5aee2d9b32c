//! The frame of a program: it joins the job, reads its arguments, runs, and reports errors.
//!
//! Every rank of a job gets the same arguments and finds the same mistakes; only rank 0 reports them.

use std::ffi::OsString;
use std::fmt::Display;
use std::path::Path;
use std::process::ExitCode;

use canele::{Job, Rank};
use canele_sys::printable;
use clap::Parser;

/// The party at fault for a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blame {
    /// The user can repair it: the program exits with 2.
    User,
    /// The job is at fault; all ranks are affected equally. The program exits with 1.
    Job,
    /// One rank is at fault, and is named. The program exits with 1.
    Rank,
    /// This rank follows rank 0, which gave up and reports the error. It exits with 0, because the job must
    /// not end before that report.
    Follower,
}

/// An error of a program.
pub trait Failure: Display + From<canele::Error> {
    /// Returns the party at fault.
    fn blame(&self) -> Blame;

    /// Returns the exit status.
    fn exit_status(&self) -> u8 {
        match self.blame() {
            Blame::User => 2,
            Blame::Job | Blame::Rank => 1,
            Blame::Follower => 0,
        }
    }
}

/// Runs a program called `name` on this rank.
pub fn main<A: Parser, F: Failure>(name: &str, run: impl FnOnce(&A, &Job) -> Result<(), F>) -> ExitCode {
    let arguments = A::try_parse_from(own_arguments(std::env::args_os().collect(), name));
    let job = match Job::start() {
        Ok(job) => job,
        Err(error) => {
            say(name, &error.to_string());
            return ExitCode::FAILURE;
        }
    };
    let rank = job.rank();
    let status = match &arguments {
        Ok(arguments) => run(arguments, &job).map_or_else(|failure| failed(name, rank, &failure), |()| 0),
        Err(error) if rank == Rank(0) => complain(name, error),
        Err(_) => 0,
    };
    // This also follows a mistake of the user: rank 0's status reports it, and no rank may look as if it had
    // failed.
    match job.finish() {
        Ok(()) => status.into(),
        Err(error) => failed(name, rank, &F::from(error)).into(),
    }
}

/// Returns the arguments of the program, beginning with its name. In a file with several programs the name
/// follows that of the file.
fn own_arguments(mut arguments: Vec<OsString>, name: &str) -> Vec<OsString> {
    let is_named = |word: &OsString| Path::new(word).file_name() == Some(name.as_ref());
    if !arguments.first().is_some_and(is_named) && arguments.get(1).is_some_and(|word| word == name) {
        arguments.remove(0);
    }
    arguments
}

/// Reports an error, unless rank 0 does; returns the exit status.
fn failed(name: &str, rank: Rank, failure: &impl Failure) -> u8 {
    match failure.blame() {
        Blame::Follower => {}
        Blame::Rank => say(name, &format!("{rank}: {failure}")),
        Blame::User | Blame::Job => say(name, &failure.to_string()),
    }
    failure.exit_status()
}

/// Prints a message on standard error. Control characters from files and other programs are made visible.
fn say(name: &str, text: &str) {
    eprintln!("{name}: {}", printable::lines(text));
}

/// Prints an error in the arguments on standard error, or the text of `--help` or `--version` on standard
/// output. Returns the exit status: 2 for wrong arguments, else 0.
fn complain(name: &str, error: &clap::Error) -> u8 {
    if !error.use_stderr() {
        // If standard output is closed, there is no reader to inform.
        let _ = error.print();
        return 0;
    }
    let text = error.render().to_string();
    eprint!("{name}: {}", text.strip_prefix("error: ").unwrap_or(&text));
    2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_those_behind_the_name_in_a_file_of_several_programs() {
        let arguments = |words: &str| {
            let of_program = own_arguments(words.split(' ').map(OsString::from).collect(), "laplace");
            of_program.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(arguments("/bin/laplace laplace --rows 3"), "/bin/laplace laplace --rows 3");
        assert_eq!(arguments("bundle laplace --rows 3"), "laplace --rows 3");
        assert_eq!(arguments("renamed --rows 3"), "renamed --rows 3");
    }
}
