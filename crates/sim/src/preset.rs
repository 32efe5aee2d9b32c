//! Networks by name, or from a file: the parameters of a [`Model`] in TOML.
//!
//! A file says what differs from [`Model::default`]. Those that come with Canelé stand in `presets/`, each with where its
//! numbers are from.

use canele_sys::bounded_read::{self, MOST_SETTINGS};
use std::path::{Path, PathBuf};

use crate::world::Model;

/// Those that come with Canelé: name and text.
const PRESETS: [(&str, &str); 4] = [
    ("hsl", include_str!("presets/hsl.toml")),
    ("myrinet-bip", include_str!("presets/myrinet-bip.toml")),
    ("sci-deck", include_str!("presets/sci-deck.toml")),
    ("ethernet", include_str!("presets/ethernet.toml")),
];

/// Why there is no such network.
#[derive(Debug, thiserror::Error)]
pub enum PresetError {
    /// It is none of the presets and no file.
    #[error("no network is called {0}: there are {list}, or name a file that ends in .toml", list = names().join(", "))]
    Unknown(String),
    /// The file cannot be read.
    #[error("{path}: {source}", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// It is no network.
    #[error("{name}: {why}")]
    Wrong {
        /// The file or preset.
        name: String,
        /// What is wrong in it, and where.
        why: String,
    },
}

/// The names of the presets.
pub fn names() -> Vec<&'static str> {
    PRESETS.iter().map(|(name, _)| *name).collect()
}

/// A preset by name, or the file of this name where it ends in `.toml`.
///
/// # Errors
/// There is none, or it cannot be simulated.
pub fn find(name: &str) -> Result<Model, PresetError> {
    if let Some((_, text)) = PRESETS.iter().find(|(preset, _)| *preset == name) {
        return parse(name, text);
    }
    let path = Path::new(name);
    if path.extension().is_none_or(|end| end != "toml") {
        return Err(PresetError::Unknown(name.into()));
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
        for name in names() {
            find(name).unwrap_or_else(|error| panic!("{error}"));
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
        assert!(find("token-ring").unwrap_err().to_string().contains("hsl, myrinet-bip"));
        assert!(find("/nowhere/net.toml").unwrap_err().to_string().contains("/nowhere/net.toml"));
    }
}
