//! The identity of a Fortran compiler, for which modules are compiled and kept.
//!
//! Owns the key of a folder of modules. Two command lines have the same key exactly if the modules compiled
//! for one are valid for the other.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use canele_mpi_tables::fortran::{IntegerLength, Source, sources};

use super::super::compiler::CompilerChoice;
use super::super::query::typed;
use super::super::{Language, cannot_run};
use super::commands::{last_lines, output_of, started};
use super::flags;

/// A compiler and the options that change its modules.
#[derive(Debug)]
pub struct FortranCompiler {
    /// The command, with arguments of its own.
    command: Vec<OsString>,
    /// Name of the file that the command leads to.
    name: String,
    /// The first line of its version text.
    version: String,
    /// The options that change kinds.
    flags: Vec<OsString>,
    /// The length of an INTEGER with these options and those in the command.
    integers: IntegerLength,
}

impl FortranCompiler {
    /// Asks a compiler for its version.
    ///
    /// # Errors
    /// Returns a text about a compiler that cannot be run or prints no version.
    pub fn ask(choice: &CompilerChoice, words: &[OsString]) -> Result<FortranCompiler, String> {
        let mut command = choice.compiler.clone();
        let file = absolute(&command[0]);
        // The command is also run in another folder, so its path is made absolute.
        if command[0].as_bytes().contains(&b'/') {
            command[0] = file.clone().into();
        }
        let output = match output_of(started(&command).arg("--version")) {
            Ok(output) => output,
            Err(error) => return Err(cannot_run(Language::Fortran, choice, &error)),
        };
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let version = printed.lines().map(str::trim).find(|line| !line.is_empty());
        let Some(version) = version.filter(|_| output.status.success()) else {
            return Err(format!(
                "the compiler {} does not tell its version; `{} --version` ended with {}{}\nName a Fortran compiler with -fc=COMPILER or CANELE_FC",
                command[0].to_string_lossy(),
                typed(&command),
                output.status,
                last_lines(&output.stdout, &output.stderr)
            ));
        };
        let name = fs::canonicalize(&file).unwrap_or(file);
        let name = name.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let flags = flags::of(&[&command[1..], words].concat());
        if let Some(option) = flags::impossible(&flags) {
            return Err(format!(
                "{} makes C's int eight bytes long, too, so that the modules mpi and mpi_f08 cannot be compiled: -fdefault-integer-8 makes \
                 the default INTEGER longer alone",
                option.to_string_lossy()
            ));
        }
        let integers = flags::integers(&flags);
        let flags = flags::of(words);
        Ok(FortranCompiler { command, name, version: version.to_owned(), flags, integers })
    }

    /// Returns the name that users know: the version without the parts in parentheses.
    pub fn title(&self) -> String {
        let mut depth = 0_usize;
        let mut title = String::new();
        for c in self.version.chars() {
            match c {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                c if depth == 0 => title.push(c),
                _ => {}
            }
        }
        title.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Returns the sources of the modules for this compiler.
    pub fn sources(&self) -> Vec<Source> {
        sources(self.integers)
    }

    /// Returns true for the GNU compiler with its own kinds.
    pub fn is_plain_gnu(&self) -> bool {
        self.version.starts_with("GNU Fortran") && self.flags.is_empty() && self.command.len() == 1
    }

    /// Returns the name of the folder for its modules, compiled from these sources.
    pub fn key(&self, sources: &[Source]) -> String {
        let mut hasher = DefaultHasher::new();
        (env!("CARGO_PKG_VERSION"), &self.name, &self.version, &self.command[1..], &self.flags)
            .hash(&mut hasher);
        for source in sources {
            (source.name, &source.text).hash(&mut hasher);
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-.+_".contains(c);
        let name = self.name.replace(|c| !is_plain(c), "_");
        format!("{name}-{:016x}", hasher.finish())
    }

    /// Returns a command that compiles one source in a folder. The modules are written there.
    pub fn compile(&self, source: &str, object: &str, folder: &Path) -> Vec<OsString> {
        let mut words = self.command.clone();
        words.extend(self.flags.iter().cloned());
        words.extend(["-c", "-fPIC", "-O2"].map(OsString::from));
        // NVIDIA's compiler lacks this option, and writes no debug information by default.
        if !self.version.starts_with("nvfortran") && !self.version.starts_with("pgf") {
            words.push("-g0".into());
        }
        let mut include = OsString::from("-I");
        include.push(folder);
        words.extend([include, "-o".into(), object.into(), source.into()]);
        words
    }
}

/// Returns the path of a command, if it is found.
fn absolute(command: &OsStr) -> PathBuf {
    let command = Path::new(command);
    if command.components().count() > 1 {
        return std::path::absolute(command).unwrap_or_else(|_| command.to_owned());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(command)).find(|file| file.is_file());
    found.unwrap_or_else(|| command.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiler(name: &str, version: &str, flags: &[&str]) -> FortranCompiler {
        FortranCompiler {
            command: vec![name.into()],
            name: name.into(),
            version: version.into(),
            flags: flags.iter().map(OsString::from).collect(),
            integers: IntegerLength::Four,
        }
    }

    #[test]
    fn a_title_has_no_parentheses() {
        for (version, title) in [
            ("GNU Fortran (Debian 12.2.0-14+deb12u1) 12.2.0", "GNU Fortran 12.2.0"),
            ("ifx (IFX) 2024.0.0 20231017", "ifx 2024.0.0 20231017"),
            ("flang version 19.1.0 (https://x (y) z) b", "flang version 19.1.0 b"),
        ] {
            assert_eq!(compiler("x", version, &[]).title(), title);
        }
    }

    #[test]
    fn a_key_differs_where_modules_do() {
        let source = |text: &str| vec![Source { name: "mpi.f90", text: text.into(), has_modules: true }];
        let one = compiler("gfortran", "GNU Fortran 12", &[]);
        let key = one.key(&source("a"));
        assert!(key.starts_with("gfortran-") && key.len() == 25, "{key}");
        assert_eq!(compiler("gfortran", "GNU Fortran 12", &[]).key(&source("a")), key);
        let mut with_argument = compiler("gfortran", "GNU Fortran 12", &[]);
        with_argument.command.push("-m32".into());
        for other in [
            one.key(&source("b")),
            compiler("f95", "GNU Fortran 12", &[]).key(&source("a")),
            compiler("gfortran", "GNU Fortran 13", &[]).key(&source("a")),
            compiler("gfortran", "GNU Fortran 12", &["-fdefault-integer-8"]).key(&source("a")),
            with_argument.key(&source("a")),
        ] {
            assert_ne!(other, key);
        }
        assert!(compiler("../a b", "", &[]).key(&[]).starts_with(".._a_b-"));
    }
}
