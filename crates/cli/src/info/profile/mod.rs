//! `canele info --profile`: the profile in use, its source, and its match with this machine.

mod picture;
mod words;

use std::path::Path;
use std::process::ExitCode;

use canele_profile::{LoadedProfile, load};
use serde_json::json;

use crate::{print, say, wrong_usage};

/// Prints the profile, and draws it to a file if one is named.
pub fn main(svg: Option<&Path>, as_json: bool) -> ExitCode {
    if svg.is_some_and(|path| path.extension().is_none_or(|end| end != "svg")) {
        return wrong_usage("--svg writes SVG: the file's name must end in .svg");
    }
    let loaded = match load() {
        Ok(loaded) => loaded,
        Err(error) => return wrong_usage(&error.to_string()),
    };
    print(&if as_json { json(&loaded) } else { words::text(&loaded) });
    let Some(path) = svg else { return ExitCode::SUCCESS };
    match picture::draw(&loaded).and_then(|svg| Ok(std::fs::write(path, svg)?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("cannot write the picture {}: {error}", path.display()));
            ExitCode::FAILURE
        }
    }
}

fn json(loaded: &LoadedProfile) -> String {
    let measured = loaded.measured.as_ref();
    json!({
        "source": loaded.source.to_string(),
        "fingerprint": format!("{:016x}", loaded.profile.fingerprint()),
        "machine": measured.map(|measured| &measured.machine),
        "not_measured": measured.map(|measured| &measured.not_measured),
        "differences": loaded.differences(),
        "profile": loaded.profile,
    })
    .to_string()
}
