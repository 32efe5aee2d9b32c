//! The program, the scene, and the options that make the pixels of a slice those of the picture.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{MemfdFlags, memfd_create};

use crate::arguments::Arguments;
use crate::error::PovrayError;
use crate::slices::Slice;

/// The program's own scene.
pub const CANELES: &[u8] = include_bytes!("../scene/caneles.pov");

/// POV-Ray's name of the scene.
pub const SCENE: &str = "/dev/stdin";

/// Threshold of colour differences at an edge, POV-Ray's own default.
const EDGE: &str = "+A0.3";

/// One picture to render. Each rank that renders determines it once.
#[derive(Debug, Clone)]
pub struct Rendering {
    /// The program.
    pub povray: PathBuf,
    /// The scene file; none for the program's own scene.
    pub scene: Option<PathBuf>,
    /// Pixels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    quality: u8,
    antialias: u8,
}

impl Rendering {
    /// Makes the rendering that `arguments` select.
    ///
    /// # Errors
    /// This host has no program `povray`, or the scene cannot be read.
    pub fn new(arguments: &Arguments) -> Result<Self, PovrayError> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let povray =
            std::env::split_paths(&path).map(|folder| folder.join("povray")).find(|it| is_program(it));
        // The path is absolute because POV-Ray runs in the scene's folder.
        let povray = povray.and_then(|it| std::path::absolute(it).ok()).ok_or(PovrayError::NoPovray)?;
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

    /// Opens the scene as POV-Ray's standard input.
    ///
    /// # Errors
    /// The scene cannot be opened.
    pub fn open_scene(&self) -> io::Result<File> {
        self.scene.as_ref().map_or_else(own_scene, File::open)
    }

    /// Returns the user's name of the scene.
    pub fn scene_name(&self) -> String {
        self.scene
            .as_ref()
            .map_or_else(|| "the program's own scene".into(), |file| file.display().to_string())
    }

    /// Returns the folder in which POV-Ray runs and finds the files that the scene includes.
    pub fn folder(&self) -> &Path {
        let folder = self.scene.as_deref().and_then(Path::parent);
        folder.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }

    /// Returns POV-Ray's options for a slice. The scene comes from standard input, since POV-Ray opens no
    /// file with special letters in its name. The picture goes to standard output as PPM, black outside of
    /// the slice.
    ///
    /// The options select one thread, no jitter, and the recursive way to divide pixels (`+AM2`), because the
    /// other way uses neighbouring rows.
    pub fn options(&self, slice: &Slice) -> Vec<OsString> {
        let mut options = vec![format!("+I{SCENE}").into()];
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
            // An end row of 1 means the whole picture to POV-Ray. So two rows are rendered then, and one is
            // read.
            let rows = [format!("+SR{}", slice.start + 1), format!("+ER{}", slice.end.max(2))];
            options.extend(rows.map(OsString::from));
        }
        options
    }
}

/// Returns the program's own scene as a file in memory, at its start.
fn own_scene() -> io::Result<File> {
    let mut scene = File::from(memfd_create("scene", MemfdFlags::CLOEXEC)?);
    scene.write_all(CANELES)?;
    scene.rewind()?;
    Ok(scene)
}

fn is_program(file: &Path) -> bool {
    file.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

fn check_readable(scene: &Path) -> Result<(), PovrayError> {
    let failed = |cause| PovrayError::Scene { file: scene.display().to_string(), cause };
    let file = File::open(scene).map_err(failed)?;
    match file.metadata().map_err(failed)?.is_dir() {
        true => Err(failed(io::ErrorKind::IsADirectory.into())),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendering(scene: &str, height: usize) -> Rendering {
        let povray = PathBuf::from("/usr/bin/povray");
        Rendering { povray, scene: Some(scene.into()), width: 9, height, quality: 5, antialias: 0 }
    }

    fn options(height: usize, slice: Slice) -> Vec<String> {
        let options = rendering("house.pov", height).options(&slice).into_iter();
        options.map(|word| word.into_string().unwrap()).collect()
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
        assert_eq!(rendering("scenes/house.pov", 1).folder(), Path::new("scenes"));
        assert_eq!(rendering("house.pov", 1).folder(), Path::new("."));
        assert_eq!(rendering("/house.pov", 1).folder(), Path::new("/"));
    }
}
