//! `canele info --tunables`: the table of settings with their present values.

use std::process::ExitCode;

use canele_sys::tunables::{TunableRow, Tunables};
use serde_json::{Value, json};

use crate::{print, wrong_usage};

/// Prints the table.
pub fn main(as_json: bool) -> ExitCode {
    let now = match Tunables::from_env() {
        Ok(tunables) => tunables,
        Err(error) => return wrong_usage(&error.to_string()),
    };
    print(&if as_json { json(&now) } else { table(&now) });
    ExitCode::SUCCESS
}

fn table(now: &Tunables) -> String {
    let mut lines = vec![format!(
        "{:<29} {:>10} {:>10} {:<6} allowed",
        "environment variable", "value", "default", "unit"
    )];
    for row in Tunables::table() {
        let value = now.value(row.name).unwrap_or_default();
        let unit = if row.unit.is_empty() { "-" } else { row.unit };
        lines.push(format!(
            "{:<29} {value:>10} {:>10} {unit:<6} {}",
            row.variable(),
            row.default,
            row.allowed
        ));
        lines.push(format!("    {}.", row.doc));
    }
    lines.join("\n")
}

fn json(now: &Tunables) -> String {
    let row = |row: TunableRow| {
        json!({
            "name": row.name, "variable": row.variable(), "value": now.value(row.name).unwrap_or_default(),
            "default": row.default, "unit": row.unit, "allowed": row.allowed.to_string(), "doc": row.doc,
        })
    };
    json!({ "tunables": Tunables::table().map(row).collect::<Vec<Value>>() }).to_string()
}
