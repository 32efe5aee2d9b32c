//! `canele info --tunables`: the table of settings with their present values.

use std::process::ExitCode;

use canele_sys::tunables::Tunables;

use crate::wrong_usage;

/// Prints the table.
pub fn main() -> ExitCode {
    let now = match Tunables::from_env() {
        Ok(tunables) => tunables,
        Err(error) => return wrong_usage(&error.to_string()),
    };
    println!("{:<29} {:>10} {:>10} {:<6} allowed", "environment variable", "value", "default", "unit");
    for row in Tunables::table() {
        let value = now.value(row.name).unwrap_or_default();
        let unit = if row.unit.is_empty() { "-" } else { row.unit };
        println!("{:<29} {value:>10} {:>10} {unit:<6} {}", row.variable(), row.default, row.allowed);
        println!("    {}.", row.doc);
    }
    ExitCode::SUCCESS
}
