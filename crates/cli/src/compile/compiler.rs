//! The choice of compiler, ABI of MPI and profiling library. Owns the options and variables that name them,
//! and their order.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use canele_mpi_tables::Abi;

use super::Language;
use super::abi::{ABI_OPTION, ABI_VARIABLE, read_abi};

/// The choices made by options and variables.
#[derive(Debug, PartialEq, Eq)]
pub struct CompilerChoice {
    /// The compiler, with its own arguments as in `ccache gcc`.
    pub compiler: Vec<OsString>,
    /// The option or variable that names the compiler; none for the system's.
    pub named_by: Option<&'static str>,
    /// The ABI of MPI that the program is compiled for.
    pub abi: Abi,
    /// The profiling library.
    pub profiling: Option<String>,
}

/// The option that names a profiling library, as MPICH spells it.
const PROFILE: &str = "-profile=";

impl Language {
    /// Returns the options that name the compiler, as MPICH spells them. The others are older.
    pub fn options(self) -> &'static [&'static str] {
        match self {
            Language::C => &["-cc="],
            Language::Cxx => &["-cxx=", "-CC="],
            Language::Fortran => &["-fc=", "-f90=", "-f77="],
        }
    }

    /// Returns the variables that name the compiler; the first one that is set is used.
    pub fn variables(self) -> &'static [&'static str] {
        match self {
            Language::C => &["CANELE_CC", "MPICH_CC", "OMPI_CC", "I_MPI_CC"],
            Language::Cxx => &["CANELE_CXX", "MPICH_CXX", "OMPI_CXX", "I_MPI_CXX"],
            Language::Fortran => &[
                "CANELE_FC",
                "MPICH_FC",
                "MPICH_F90",
                "MPICH_F77",
                "OMPI_FC",
                "OMPI_F90",
                "OMPI_F77",
                "I_MPI_FC",
                "I_MPI_F90",
                "I_MPI_F77",
            ],
        }
    }

    /// Returns the variable that names a profiling library.
    pub fn profiling_variable(self) -> &'static str {
        match self {
            Language::C => "MPICC_PROFILE",
            Language::Cxx => "MPICXX_PROFILE",
            Language::Fortran => "MPIFORT_PROFILE",
        }
    }

    /// Returns the default compilers; the first one that exists is used.
    pub fn default_compilers(self) -> &'static [&'static str] {
        match self {
            Language::C => &["cc"],
            Language::Cxx => &["c++"],
            Language::Fortran => &["gfortran", "flang", "flang-new", "ifx", "nvfortran"],
        }
    }
}

impl CompilerChoice {
    /// Takes the options out of `words` and completes them by the values of `variable`. An empty variable is
    /// treated as unset. The last one of several options is used. `installed` is the file that names the ABI
    /// of the installation, and that name.
    ///
    /// # Errors
    /// Returns a text for an option without a value, or for an unknown ABI.
    pub fn take(
        language: Language,
        words: &mut Vec<OsString>,
        variable: impl Fn(&str) -> Option<String>,
        installed: Option<(PathBuf, String)>,
    ) -> Result<CompilerChoice, String> {
        let variable = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let named = take(words, language.options());
        if let Some((option, "")) = named.as_ref().map(|(option, value)| (option, value.trim())) {
            return Err(format!(
                "{option} names no compiler: write {option}{}, for example, or leave the option out",
                language.default_compilers()[0]
            ));
        }
        let named =
            named.or_else(|| language.variables().iter().find_map(|&name| Some((name, variable(name)?))));
        let profiling = take(words, &[PROFILE]).map(|(_, name)| name);
        if profiling.as_ref().is_some_and(|name| name.trim().is_empty()) {
            return Err(format!(
                "{PROFILE} names no profiling library: {PROFILE}NAME takes the library libNAME or the file NAME.conf"
            ));
        }
        let found = || first_of(language.default_compilers(), &variable("PATH").unwrap_or_default());
        let compiler = named.as_ref().map_or_else(found, |(_, value)| value);
        Ok(CompilerChoice {
            compiler: compiler.split_whitespace().map(OsString::from).collect(),
            abi: abi(language, words, variable, installed)?,
            named_by: named.as_ref().map(|&(by, _)| by),
            profiling: profiling.or_else(|| variable(language.profiling_variable())),
        })
    }
}

/// Takes the option of an ABI out of `words`. Without the option the variable decides; without both the
/// installation's file decides.
fn abi(
    language: Language,
    words: &mut Vec<OsString>,
    variable: impl Fn(&str) -> Option<String>,
    installed: Option<(PathBuf, String)>,
) -> Result<Abi, String> {
    let option = take(words, &[ABI_OPTION]).map(|(option, value)| (option.to_owned(), value));
    let variable = || Some((format!("{ABI_VARIABLE}="), variable(ABI_VARIABLE)?));
    let installed = || installed.map(|(file, name)| (format!("{}: ", file.display()), name));
    let Some((by, value)) = option.or_else(variable).or_else(installed) else { return Ok(Abi::Standard) };
    match read_abi(&by, &value)? {
        abi if language == Language::Fortran && abi != Abi::Standard => Err(format!(
            "the modules for Fortran are of the standard ABI alone: take {by}{value} out, or name the ABI standard"
        )),
        abi => Ok(abi),
    }
}

/// Returns the first of several commands that a folder of `path` has; the first command if there is none.
fn first_of(commands: &'static [&'static str], path: &str) -> &'static str {
    if commands.len() == 1 {
        return commands[0];
    }
    let is_command = |file: &Path| {
        file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    let is_there =
        |command: &&&str| std::env::split_paths(path).any(|folder| is_command(&folder.join(command)));
    commands.iter().find(is_there).unwrap_or(&commands[0])
}

/// Takes all words that begin with one of `options` out of a line; returns the last one's option and value.
fn take(words: &mut Vec<OsString>, options: &[&'static str]) -> Option<(&'static str, String)> {
    let mut last = None;
    words.retain(|word| {
        let read = |&option: &&'static str| Some((option, word.to_str()?.strip_prefix(option)?.to_owned()));
        let taken = options.iter().find_map(read);
        let is_kept = taken.is_none();
        last = taken.or(last.take());
        is_kept
    });
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(
        language: Language,
        line: &str,
        variables: &[(&str, &str)],
    ) -> Result<(CompilerChoice, Vec<OsString>), String> {
        let mut words = line.split_whitespace().map(OsString::from).collect();
        let value = |name: &str| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        CompilerChoice::take(language, &mut words, value, None).map(|choice| (choice, words))
    }

    #[test]
    fn an_option_counts_before_variables_and_variables_in_their_order() {
        let all = [("I_MPI_CC", "i"), ("OMPI_CC", "o"), ("MPICH_CC", "m x"), ("CANELE_CC", "c")];
        for (line, variables, compiler, by) in [
            ("-cc=one a.c -cc=two", &all[..], &["two"][..], Some("-cc=")),
            ("a.c", &all, &["c"], Some("CANELE_CC")),
            ("a.c", &all[..3], &["m", "x"], Some("MPICH_CC")),
            ("a.c", &all[..2], &["o"], Some("OMPI_CC")),
            ("a.c", &all[..1], &["i"], Some("I_MPI_CC")),
            ("a.c", &[("CANELE_CC", " "), ("OMPI_CC", "o")], &["o"], Some("OMPI_CC")),
            ("a.c", &[("MPICH_CXX", "m")], &["cc"], None),
        ] {
            let (choice, words) = choose(Language::C, line, variables).unwrap();
            assert_eq!(
                (choice.compiler, choice.named_by),
                (compiler.iter().map(OsString::from).collect(), by)
            );
            assert_eq!(words, ["a.c"]);
        }
    }

    #[test]
    fn each_language_has_options_and_variables_of_its_own() {
        for (line, variables, compiler) in [
            ("-cxx=b -CC=a", &[][..], "a"),
            ("-CC=a -cxx=b", &[], "b"),
            ("-cxx=b", &[("MPICH_CXX", "m")], "b"),
            ("", &[("OMPI_CXX", "o"), ("MPICH_CC", "m")], "o"),
            ("", &[("I_MPI_CXX", "i")], "i"),
        ] {
            let (choice, words) = choose(Language::Cxx, line, variables).unwrap();
            assert_eq!((choice.compiler, words.len()), (vec![compiler.into()], 0), "{line}");
        }
        for (line, variables, compiler) in [
            ("-f90=b -fc=a", &[][..], "a"),
            ("-f77=b", &[("CANELE_FC", "c")], "b"),
            ("", &[("I_MPI_F90", "i"), ("OMPI_F77", "o"), ("MPICH_F90", "m")], "m"),
            ("", &[("I_MPI_F90", "i"), ("OMPI_F77", "o")], "o"),
            ("", &[("I_MPI_FC", "f"), ("I_MPI_F90", "i")], "f"),
            ("", &[("FC", "f")], "gfortran"),
        ] {
            let (choice, words) = choose(Language::Fortran, line, variables).unwrap();
            assert_eq!((choice.compiler, words.len()), (vec![compiler.into()], 0), "{line}");
        }
        // The word belongs to the compiler; here it is the option of another language.
        for (language, line) in [(Language::C, "-cxx=b"), (Language::Cxx, "-cc=b"), (Language::Cxx, "-CC")] {
            assert_eq!(choose(language, line, &[]).unwrap().1, [line]);
        }
    }

    #[test]
    fn the_first_compiler_that_is_there_is_taken() {
        let root = std::env::temp_dir().join(format!("canele-compilers-{}", std::process::id()));
        let path: Vec<_> = ["empty", "ifx", "flang"].map(|folder| root.join(folder)).into();
        for (folder, name) in [("empty", None), ("flang", Some("flang")), ("ifx", Some("ifx"))] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
            if let Some(name) = name {
                let file = root.join(folder).join(name);
                std::fs::write(&file, "").unwrap();
                std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
            }
        }
        // A file that cannot be run is not a command.
        std::fs::write(root.join("ifx/gfortran"), "").unwrap();
        let path = std::env::join_paths(path).unwrap().into_string().unwrap();
        assert_eq!(first_of(&["gfortran", "flang", "ifx"], &path), "flang");
        assert_eq!(first_of(&["gfortran", "nvfortran", "ifx"], &path), "ifx");
        assert_eq!(first_of(&["gfortran", "nvfortran"], &path), "gfortran");
        std::fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_profiling_library_is_named_by_the_option_or_the_variable() {
        let variable = [("MPICC_PROFILE", "two")];
        for (line, variables, name) in
            [("-profile=one", &variable[..], Some("one")), ("", &variable, Some("two")), ("", &[], None)]
        {
            let (choice, words) = choose(Language::C, line, variables).unwrap();
            assert_eq!((choice.profiling.as_deref(), words.len()), (name, 0));
        }
    }

    #[test]
    fn an_abi_is_named_by_the_option_or_the_variable() {
        let variable = [("CANELE_ABI", "mpich")];
        for (line, variables, abi) in [
            ("-abi=mpich -abi=openmpi", &variable[..], Abi::OpenMpi),
            ("-abi=standard", &variable, Abi::Standard),
            ("", &variable, Abi::Mpich),
            ("", &[("CANELE_ABI", " ")], Abi::Standard),
            ("", &[], Abi::Standard),
        ] {
            let (choice, words) = choose(Language::C, line, variables).unwrap();
            assert_eq!((choice.abi, words.len()), (abi, 0), "{line}");
        }
        let installed = |name: &str| Some((PathBuf::from("/opt/lib/canele/default-abi"), name.to_owned()));
        for (set, abi) in [(None, Abi::Mpich), (Some("openmpi"), Abi::OpenMpi)] {
            let value = |name: &str| set.filter(|_| name == ABI_VARIABLE).map(str::to_owned);
            let choice = CompilerChoice::take(Language::C, &mut Vec::new(), value, installed("mpich"));
            assert_eq!(choice.unwrap().abi, abi);
        }
        let error = CompilerChoice::take(Language::C, &mut Vec::new(), |_| None, installed("intel"));
        assert!(error.unwrap_err().starts_with("/opt/lib/canele/default-abi: intel names no ABI"));
        let error = choose(Language::Cxx, "-abi=", &variable).unwrap_err();
        assert!(error.starts_with("-abi= names no ABI"), "{error}");
        // A build that compiles C and Fortran gets the error before it mixes two ABIs.
        let error = choose(Language::Fortran, "", &variable).unwrap_err();
        assert!(error.contains("standard ABI alone: take CANELE_ABI=mpich out"), "{error}");
        assert!(choose(Language::Fortran, "-abi=standard", &variable).is_ok());
    }

    #[test]
    fn an_option_without_a_value_is_refused() {
        for (language, line) in [
            (Language::C, "-cc="),
            (Language::Cxx, "-cxx="),
            (Language::Cxx, "-CC="),
            (Language::Fortran, "-fc="),
        ] {
            let error = choose(language, line, &[("MPICH_CC", "m")]).unwrap_err();
            assert!(error.starts_with(&format!("{line} names no compiler")), "{error}");
        }
        let error = choose(Language::C, "-profile=", &[("MPICC_PROFILE", "m")]).unwrap_err();
        assert!(error.contains("names no profiling library"), "{error}");
    }
}
