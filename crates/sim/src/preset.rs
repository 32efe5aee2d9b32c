//! Networks by name, or from a file: the parameters of a [`Model`] in TOML.
//!
//! A file gives the parameters that differ from [`Model::default`]. Today's Ethernet is built in, with the
//! source of its numbers in the file. A caller adds further networks by name.

use canele_sys::bounded_read::{self, MOST_SETTINGS};
use std::path::{Path, PathBuf};

use crate::world::Model;

/// A network's name, and its parameters in TOML.
pub type Preset = (&'static str, &'static str);

/// The networks that every caller knows.
const BUILT_IN: [Preset; 1] = [("ethernet", include_str!("presets/ethernet.toml"))];

/// The reason why there is no such network.
#[derive(Debug, thiserror::Error)]
pub enum PresetError {
    /// The name is none of the presets and no file.
    #[error("no network is called {name}: there are {known}, or name a file that ends in .toml")]
    Unknown {
        /// The name.
        name: String,
        /// The presets, separated by commas.
        known: String,
    },
    /// The file cannot be read.
    #[error("{path}: {source}", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The text describes no network.
    #[error("{name}: {why}")]
    Wrong {
        /// The file or preset.
        name: String,
        /// The error in it, and its place.
        why: String,
    },
}

/// Returns the network called `name` among `more` and the built-in presets, or the one in the file of this
/// name if it ends in `.toml`.
///
/// # Errors
/// Fails if there is none, or it cannot be simulated.
pub fn find(name: &str, more: &[Preset]) -> Result<Model, PresetError> {
    let presets = more.iter().chain(&BUILT_IN);
    if let Some((_, text)) = presets.clone().find(|(preset, _)| *preset == name) {
        return parse(name, text);
    }
    let path = Path::new(name);
    if path.extension().is_none_or(|end| end != "toml") {
        let known = presets.map(|(preset, _)| *preset).collect::<Vec<_>>().join(", ");
        return Err(PresetError::Unknown { name: name.into(), known });
    }
    let text = bounded_read::read_text(path, MOST_SETTINGS)
        .map_err(|source| PresetError::Unreadable { path: path.into(), source })?;
    parse(name, &text)
}

fn parse(name: &str, text: &str) -> Result<Model, PresetError> {
    let wrong = |why: String| PresetError::Wrong { name: name.into(), why };
    let model: Model = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
    model.check().map_err(wrong)?;
    Ok(model)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_can_be_simulated() {
        for (name, _) in BUILT_IN {
            find(name, &[]).unwrap_or_else(|error| panic!("{error}"));
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let error = |name: &str, text: &str| parse(name, text).unwrap_err().to_string();
        assert!(error("x", "latency = 3").contains("unknown field `latency`"));
        assert!(error("x", "payload = 300").contains("payload is a power of two"));
        assert!(error("x", "topology = { kind = \"ring\" }").contains("ring"));
        let routers = "topology = { kind = \"wormhole\", ports = 4, hosts = 2, flit_bytes = 32, buffer_flits = 4, \
                       router_ns = 1, credit_ns = 1, bytes_per_ms = 1 }";
        assert!(error("x", routers).contains("needs 6 ports"));
        let unknown = find("token-ring", &[("arcnet", "")]).unwrap_err().to_string();
        assert!(unknown.contains("arcnet, ethernet"), "{unknown}");
        assert!(find("/nowhere/net.toml", &[]).unwrap_err().to_string().contains("/nowhere/net.toml"));
    }
}
