//! Saved measurements, so that an interrupted run can continue: `papers.json` in the output folder.

use canele_sys::bounded_read::{self, MOST_DATA};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::outcome::Ended;
use crate::PaperError;

/// The ends of experiments, and the path of their file.
pub struct Saved {
    path: PathBuf,
    kept: SavedRun,
}

#[derive(Default, Serialize, Deserialize)]
struct SavedRun {
    /// True if the run finished with all experiments; then the next one starts from the beginning.
    finished: bool,
    quick: bool,
    ended: BTreeMap<String, Ended>,
}

impl Saved {
    /// Reads the results that an interrupted run of the same kind left in the folder, unless `fresh`. With
    /// names, it keeps the results of other experiments from any such run.
    ///
    /// # Errors
    /// There is a file of this name that no run wrote.
    pub fn open(folder: &Path, quick: bool, fresh: bool, names: &[String]) -> Result<Self, PaperError> {
        let path = folder.join("papers.json");
        let mut kept = match bounded_read::read(&path, MOST_DATA) {
            Ok(text) if !fresh => {
                let wrong = |error| format!("{}: {error}; `--fresh` replaces it", path.display());
                serde_json::from_slice(&text).map_err(wrong)?
            }
            _ => SavedRun::default(),
        };
        if kept.quick != quick || kept.finished && names.is_empty() {
            kept = SavedRun::default();
        }
        // Experiments that failed, or could not run, are tried again.
        let stays = |name: &String, ended: &mut Ended| match names {
            [] => matches!(ended, Ended::Done(_)) && ended.is_well(),
            names => !names.contains(name),
        };
        kept.ended.retain(stays);
        kept.quick = quick;
        Ok(Self { path, kept })
    }

    pub fn has(&self, name: &str) -> bool {
        self.kept.ended.contains_key(name)
    }

    pub fn get(&self, name: &str) -> Option<&Ended> {
        self.kept.ended.get(name)
    }

    pub fn is_quick(&self) -> bool {
        self.kept.quick
    }

    /// Saves the end of an experiment.
    pub fn keep(&mut self, name: &str, ended: Ended) -> Result<(), PaperError> {
        self.kept.ended.insert(name.into(), ended);
        self.write()
    }

    /// Marks the end of a run; `finished` is true if nothing remains.
    pub fn finish(&mut self, finished: bool) -> Result<(), PaperError> {
        self.kept.finished = finished;
        self.write()
    }

    fn write(&self) -> Result<(), PaperError> {
        // The file is replaced as a whole, because an interrupted write must not lose earlier results.
        let new = self.path.with_extension("json.new");
        let text = serde_json::to_string_pretty(&self.kept)? + "\n";
        let write = || std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, &self.path));
        Ok(write().map_err(|error| format!("cannot write {}: {error}", self.path.display()))?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::outcome::Outcome;
    use super::*;

    #[test]
    fn an_interrupted_run_goes_on_and_a_finished_one_starts_anew() {
        let folder = std::env::temp_dir().join(format!("canele-saved-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let open = |quick, fresh| Saved::open(&folder, quick, fresh, &[]).unwrap();
        let mut saved = open(true, true);
        saved.keep("well", Ended::Done(Outcome::default())).unwrap();
        saved.keep("bad", Ended::Failed("why".into())).unwrap();
        assert!(open(true, false).has("well") && !open(true, false).has("bad"));
        assert!(!open(false, false).has("well") && !open(true, true).has("well"));
        saved.finish(true).unwrap();
        let again = Saved::open(&folder, true, false, &["other".into()]).unwrap();
        assert!(again.has("well") && again.has("bad"), "others stay");
        assert!(!open(true, false).has("well"));
        std::fs::write(folder.join("papers.json"), "no run wrote this").unwrap();
        assert!(
            Saved::open(&folder, true, false, &[]).is_err_and(|error| error.to_string().contains("--fresh"))
        );
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
