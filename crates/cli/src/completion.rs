//! `canele completion`: the script by which a shell completes command lines, made from the definitions of the
//! arguments.

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::{Canele, print};

/// Arguments of `canele completion`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct CompletionArguments {
    /// Shell that reads the script
    #[arg(value_enum)]
    shell: Shell,
}

const EXAMPLES: &str = "\
scripts/install and the packages put the script into the folders that shells read by themselves.

Examples:
  . <(canele completion bash)             in this shell only
  canele completion fish >~/.config/fish/completions/canele.fish";

/// Prints the script.
pub fn main(arguments: &CompletionArguments) -> ExitCode {
    let mut script = Vec::new();
    generate(arguments.shell, &mut visible(Canele::command()), "canele", &mut script);
    print(String::from_utf8_lossy(&script).trim_end());
    ExitCode::SUCCESS
}

/// Returns a command without the subcommands that no user types.
fn visible(mut command: clap::Command) -> clap::Command {
    command.build();
    let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help");
    clap::Command::new("canele")
        .version(env!("CARGO_PKG_VERSION"))
        .subcommands(shown.cloned().collect::<Vec<_>>())
}
