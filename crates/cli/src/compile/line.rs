//! The flags that are added to a compiler's command line. Owns the flags and the decision which of them a
//! line needs.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use canele_mpi_tables::Abi;

use super::Language;
use super::abi::library_name;
use super::profiling::ProfilingFlags;

/// The name of the archive beside the modules for Fortran, in the form for the linker.
pub const ARCHIVE: &str = "canele_fortran";

impl Language {
    /// Returns the libraries that a program is linked with, in the linker's form and order. Fortran has the
    /// procedures compiled by the program's own compiler, then a library of its own.
    pub fn libraries(self, abi: Abi) -> Vec<&'static str> {
        match self {
            Language::C | Language::Cxx => vec![library_name(abi)],
            Language::Fortran => vec![ARCHIVE, "canele_fort", library_name(abi)],
        }
    }
}

/// The parts of MPI that a command line needs; each level includes the previous ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Needs {
    /// No source is read: the compiler is asked about itself.
    Nothing,
    /// The header is needed; nothing is linked.
    Header,
    /// A program or a shared library is linked.
    Library,
}

/// Options after which nothing is linked, or, for `-r`, nothing shared.
const STOPS: [&str; 7] = ["-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", "-r"];

/// Options whose value is the next word, so that this word is no source.
const TAKE_A_WORD: [&str; 36] = [
    "-o",
    "-x",
    "-I",
    "-L",
    "-D",
    "-U",
    "-T",
    "-u",
    "-z",
    "-e",
    "-B",
    "-G",
    "-J",
    "-module",
    "-module-dir",
    "-integer-size",
    "-real-size",
    "-double-size",
    "-MF",
    "-MT",
    "-MQ",
    "-include",
    "-imacros",
    "-iquote",
    "-isystem",
    "-idirafter",
    "-iprefix",
    "-isysroot",
    "-Xlinker",
    "-Xpreprocessor",
    "-Xassembler",
    "-Xclang",
    "-aux-info",
    "-wrapper",
    "--param",
    "-target",
];

impl Needs {
    /// Returns the needs of a line without the compiler's name.
    pub fn of(words: &[OsString]) -> Needs {
        let (reads, needs) = Needs::look_at(words);
        if reads { needs } else { Needs::Nothing }
    }

    /// Returns the needs of the same line with a source, if it has none yet.
    pub fn with_a_source(words: &[OsString]) -> Needs {
        Needs::look_at(words).1
    }

    fn look_at(words: &[OsString]) -> (bool, Needs) {
        let (mut reads, mut needs) = (false, Needs::Library);
        let mut words = words.iter().map(OsString::as_os_str);
        while let Some(word) = words.next() {
            if STOPS.iter().any(|stop| word == *stop) {
                needs = Needs::Header;
            } else if TAKE_A_WORD.iter().any(|option| word == *option) {
                words.next();
            } else {
                reads |= is_read(word);
            }
        }
        (reads, needs)
    }
}

/// Returns true if a word is an input for compiling or linking: a file, standard input, a response file, a
/// library.
fn is_read(word: &OsStr) -> bool {
    let bytes = word.as_encoded_bytes();
    word == "-" || bytes.starts_with(b"-l") || !bytes.starts_with(b"-")
}

/// Returns the flags that find the header, or the modules for Fortran, after those of a profiling library.
pub fn compile_flags(include: &Path, profiling: &ProfilingFlags) -> Vec<OsString> {
    let mut flags = profiling.include.clone();
    flags.push(joined("-I", include));
    flags
}

/// Returns the flags that find the libraries of a language and an ABI, when linking and at the program's
/// start, with the profiling library around them. `first` is the folder of the archive or of the ABI's link
/// name, which is searched only when linking.
///
/// The folder of shared libraries is written into the program as RUNPATH, which the dynamic linker searches
/// after `LD_LIBRARY_PATH`. (RPATH, the default of some linkers, precedes it.) So the same program runs
/// unchanged with another implementation's library of the same name.
pub fn link_flags(
    (language, abi): (Language, Abi),
    first: Option<&Path>,
    library: &Path,
    profiling: &ProfilingFlags,
) -> Vec<OsString> {
    let mut flags: Vec<OsString> = first.map(|folder| joined("-L", folder)).into_iter().collect();
    flags.extend([joined("-L", library), joined("-Wl,--enable-new-dtags,-rpath,", library)]);
    flags.extend_from_slice(&profiling.before);
    flags.extend(language.libraries(abi).iter().map(|name| format!("-l{name}").into()));
    flags.extend_from_slice(&profiling.after);
    flags
}

/// Joins a flag and its path in one word.
pub(super) fn joined(flag: &str, path: &Path) -> OsString {
    let mut word = OsString::from(flag);
    word.push(path);
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(line: &str) -> Needs {
        Needs::of(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn a_line_that_makes_a_program_needs_the_library() {
        for line in [
            "a.c",
            "-O2 -o a a.c -lm",
            "a.o b.o",
            "-shared -fPIC a.c",
            "-x c -",
            "@words",
            "-MMD a.c",
            "-lfoo",
        ] {
            assert_eq!(needs(line), Needs::Library, "{line}");
        }
    }

    #[test]
    fn a_line_that_links_nothing_needs_the_header() {
        for line in [
            "-c a.c",
            "a.c -c",
            "-E a.c",
            "-S a.c -o a.s",
            "-M a.c",
            "-MM a.c",
            "-fsyntax-only a.c",
            "-r a.o -o b.o",
            "-J modules -c a.f90",
        ] {
            assert_eq!(needs(line), Needs::Header, "{line}");
        }
    }

    #[test]
    fn a_compiler_asked_about_itself_needs_nothing() {
        for line in [
            "",
            "-v",
            "--version",
            "-dumpmachine",
            "-print-search-dirs",
            "-v -I foo -o a",
            "-c",
            "-Wall -x c",
            "--version -module modules -integer-size 64",
        ] {
            assert_eq!(needs(line), Needs::Nothing, "{line}");
        }
        assert_eq!(Needs::with_a_source(&["-O2".into()]), Needs::Library);
        assert_eq!(Needs::with_a_source(&["-c".into()]), Needs::Header);
        // The word `-c` here is the value of -MT.
        assert_eq!(needs("-MT -c a.c"), Needs::Library);
    }

    #[test]
    fn flags_name_the_folders() {
        let none = ProfilingFlags::default();
        assert_eq!(compile_flags(Path::new("/p q/include"), &none), ["-I/p q/include"]);
        let expected = ["-L/p/lib", "-Wl,--enable-new-dtags,-rpath,/p/lib", "-lmpi_abi"];
        assert_eq!(link_flags((Language::Cxx, Abi::Standard), None, Path::new("/p/lib"), &none), expected);
        let archive = Path::new("/c/key");
        let flags = link_flags((Language::Fortran, Abi::Standard), Some(archive), Path::new("/p/lib"), &none);
        let [first, folder, found, library] =
            ["-L/c/key", expected[0], expected[1], expected[2]].map(OsString::from);
        let [ours, beside] = ["-lcanele_fortran", "-lcanele_fort"].map(OsString::from);
        assert_eq!(flags, [first, folder, found, ours, beside, library]);
        let flags = link_flags((Language::C, Abi::Mpich), Some(archive), Path::new("/p/lib"), &none);
        assert_eq!(flags, ["-L/c/key", expected[0], expected[1], "-lmpi"]);
    }

    #[test]
    fn a_profiling_library_stands_before_what_it_wraps() {
        let [include, before, after] = ["-I/t", "-lt", "-lz"].map(|word| vec![OsString::from(word)]);
        let profiling = ProfilingFlags { include, before, after };
        assert_eq!(compile_flags(Path::new("/p"), &profiling), ["-I/t", "-I/p"]);
        let flags = link_flags((Language::C, Abi::Standard), None, Path::new("/p"), &profiling);
        assert_eq!(flags[2..], ["-lt", "-lmpi_abi", "-lz"]);
        let flags = link_flags(
            (Language::Fortran, Abi::Standard),
            Some(Path::new("/c")),
            Path::new("/p"),
            &profiling,
        );
        assert_eq!(flags[3..], ["-lt", "-lcanele_fortran", "-lcanele_fort", "-lmpi_abi", "-lz"]);
    }
}
