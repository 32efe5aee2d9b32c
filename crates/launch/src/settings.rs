//! The settings that all ranks of a job must have alike. Owns the settings of the rank that sent them first,
//! and the comparison.

/// The settings of the first rank.
#[derive(Debug, Default)]
pub struct Settings {
    first: Option<(u32, Vec<(String, String)>)>,
}

impl Settings {
    /// Returns the settings of the first rank; none before it has sent them.
    pub fn of_first(&self) -> &[(String, String)] {
        self.first.as_ref().map_or(&[], |(_, settings)| settings)
    }

    /// Compares settings with those of the first rank, which the others must have too.
    ///
    /// # Errors
    /// Fails with a text that says, after `rank N `, which setting differs.
    pub fn compare(&mut self, from: u32, settings: &[(String, String)]) -> Result<(), String> {
        let Some((first, theirs)) = &self.first else {
            self.first = Some((from, settings.to_vec()));
            return Ok(());
        };
        match settings.iter().zip(theirs).find(|(mine, first)| mine != first) {
            None => Ok(()),
            Some(((name, mine), (other, value))) => Err(format!(
                "has {name}={mine}, but rank {first} has {other}={value}: all ranks of a job must have the same"
            )),
        }
    }
}
