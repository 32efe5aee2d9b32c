//! What POV-Ray is asked for: the program, the scene, and options that make the pixels of a slice those of the picture.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::arguments::Arguments;
use crate::error::PovrayError;
use crate::slices::Slice;

/// The program's own scene.
pub const CANELES: &[u8] = include_bytes!("../scene/caneles.pov");

/// Colours that differ more from their neighbours are at an edge; POV-Ray's own default.
const EDGE: &str = "+A0.3";

/// One picture, as POV-Ray shall render it. Found out once by each rank that renders.
#[derive(Debug, Clone)]
pub struct Rendering {
    /// The program.
    pub povray: PathBuf,
    /// A file, or the program's own scene.
    pub scene: Option<PathBuf>,
    /// Pixels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    quality: u8,
    antialias: u8,
}

impl Rendering {
    /// The picture that `arguments` ask for.
    ///
    /// # Errors
    /// This host has no program `povray`, or the scene cannot be read.
    pub fn new(arguments: &Arguments) -> Result<Self, PovrayError> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let povray =
            std::env::split_paths(&path).map(|folder| folder.join("povray")).find(|it| is_program(it));
        let povray = povray.ok_or(PovrayError::NoPovray)?;
        if let Some(scene) = &arguments.scene {
            check_readable(scene)?;
        }
        Ok(Self {
            povray,
            scene: arguments.scene.clone(),
            width: arguments.width as usize,
            height: arguments.height as usize,
            quality: arguments.quality,
            antialias: arguments.antialias,
        })
    }

    /// POV-Ray's options for a slice. The picture goes to standard output as PPM, black outside of the slice; the
    /// program's own scene comes from standard input.
    ///
    /// One thread, no jitter, and the recursive way to divide pixels (`+AM2`): the other one looks at neighbouring rows.
    pub fn options(&self, slice: &Slice) -> Vec<OsString> {
        let mut options = vec![with_path("+I", self.scene.as_deref().unwrap_or(Path::new("/dev/stdin")))];
        let folder = self.scene.as_deref().and_then(Path::parent);
        options.extend(folder.filter(|it| !it.as_os_str().is_empty()).map(|it| with_path("+L", it)));
        let fixed =
            ["+O-", "+FP8", "-D", "-P", "-V", "-C", "+WT1", "-TH", "-J", "-GD", "-GR", "-GS", "-GW", "+GF"];
        options.extend(fixed.map(OsString::from));
        options.extend([format!("+W{}", self.width), format!("+H{}", self.height)].map(OsString::from));
        options.push(format!("+Q{}", self.quality).into());
        match self.antialias {
            0 => options.push("-A".into()),
            depth => options.extend([EDGE.into(), "+AM2".into(), format!("+R{depth}").into()]),
        }
        if self.height > 1 {
            // An end row of 1 means the whole picture to POV-Ray: two rows then, of which one is read.
            let rows = [format!("+SR{}", slice.start + 1), format!("+ER{}", slice.end.max(2))];
            options.extend(rows.map(OsString::from));
        }
        options
    }
}

fn with_path(option: &str, path: &Path) -> OsString {
    let mut word = OsString::from(option);
    word.push(path);
    word
}

fn is_program(file: &Path) -> bool {
    file.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

fn check_readable(scene: &Path) -> Result<(), PovrayError> {
    let failed = |cause| PovrayError::Scene { file: scene.display().to_string(), cause };
    let file = File::open(scene).map_err(failed)?;
    match file.metadata().map_err(failed)?.is_dir() {
        true => Err(failed(std::io::ErrorKind::IsADirectory.into())),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(height: usize, slice: Slice) -> Vec<String> {
        let scene = Some(PathBuf::from("scenes/a house.pov"));
        let povray = PathBuf::from("/usr/bin/povray");
        let rendering = Rendering { povray, scene, width: 9, height, quality: 5, antialias: 0 };
        rendering.options(&slice).into_iter().map(|word| word.into_string().unwrap()).collect()
    }

    #[test]
    fn rows_count_from_one_and_an_end_row_of_one_never_appears() {
        let has =
            |options: &[String], words: &[&str]| words.iter().all(|word| options.iter().any(|o| o == word));
        assert!(has(&options(20, 16..20), &["+SR17", "+ER20", "+W9", "+H20", "+Q5", "-A"]));
        assert!(has(&options(20, 0..1), &["+SR1", "+ER2"]));
        assert!(
            !options(1, 0..1).iter().any(|option| option.starts_with("+SR") || option.starts_with("+ER"))
        );
    }

    #[test]
    fn what_a_scene_includes_is_looked_for_beside_it() {
        let options = options(20, 0..20);
        assert!(options.contains(&"+Iscenes/a house.pov".to_owned()));
        assert!(options.contains(&"+Lscenes".to_owned()));
    }
}
