//! `mpicc -abi=…`: programs for each of the three ABIs, compiled by the wrapper, run as jobs and alone, and
//! the values of the headers' constants.

#[path = "../../mpi-abi/tests/support/mod.rs"]
mod programs;
mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use canele_mpi_tables::{Abi, Constant, Tables};
use programs::{Interface, folder};
use support::installation::{Installation, is_there, printed};

/// The option's value, the library that a program needs, and the tables of an ABI.
type AbiRow = (&'static str, &'static str, fn() -> Tables);

const ABIS: [AbiRow; 3] = [
    ("standard", "libmpi_abi.so.1", Tables::standard),
    ("mpich", "libmpi.so.12", Tables::mpich),
    ("openmpi", "libmpi.so.40", Tables::openmpi),
];

/// Returns a folder for compiled programs, once all libraries are built.
fn scratch() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        for interface in [Interface::standard(), Interface::mpich(), Interface::openmpi()] {
            interface.install();
        }
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("abis-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    })
}

/// Runs the built command with a time limit.
fn canele(words: &[&str]) -> Output {
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "120", env!("CARGO_BIN_EXE_canele")]).args(words);
    command.env_remove("LD_LIBRARY_PATH").env_remove("CANELE_UPDATE").output().unwrap()
}

/// Compiles a source for an ABI.
fn compiled(command: &str, abi: &str, source: &Path, more: &[&str]) -> PathBuf {
    let name = source.file_stem().unwrap().to_str().unwrap();
    let program = scratch().join(format!("{name}-{command}-{abi}"));
    let (option, program_name) = (format!("-abi={abi}"), program.to_str().unwrap());
    let words = [command, &option, source.to_str().unwrap(), "-o", program_name, "-pthread"];
    printed(&canele(&[&words, more].concat()));
    program
}

#[test]
fn programs_of_each_abi_need_its_library_and_run() {
    for (abi, library, _) in ABIS {
        for name in ["attributes", "datatypes", "groups", "requests", "truncated"] {
            let program = compiled("cc", abi, &folder("programs").join(format!("{name}.c")), &[]);
            let needed = Command::new("readelf").args(["-d"]).arg(&program).output().unwrap();
            assert!(printed(&needed).contains(&format!("[{library}]")), "{abi}");
            let ranks = if name == "attributes" { 1 } else { 2 };
            let run = ["run", "-n", &ranks.to_string(), "--timeout", "60", program.to_str().unwrap()];
            let said = printed(&canele(&run));
            assert_eq!(
                said.lines().filter(|line| line.ends_with("passed")).count(),
                ranks,
                "{abi} {name}: {said}"
            );
        }
        // Alone, the program finds the library by the path that the linker has written into it.
        let program = scratch().join(format!("attributes-cc-{abi}"));
        let mut alone = Command::new(&program);
        assert!(printed(&alone.env_remove("LD_LIBRARY_PATH").output().unwrap()).contains("passed"), "{abi}");
    }
}

/// A program in C++ that uses macros of the headers and functions beyond the standard.
const SOURCE_CPP: &str = "#include <mpi.h>
#include <mpi-ext.h>
#include <cstdio>
int main(int argc, char **argv) {
    int flag = 1, number = MPI_Comm_c2f(MPI_COMM_WORLD);
    MPI_Init(&argc, &argv);
    MPIX_Comm_is_revoked(MPI_COMM_WORLD, &flag);
    std::printf(\"%d %d %s\\n\", flag, MPI_Comm_f2c(number) == MPI_COMM_WORLD,
#if defined(MPICH) && MPICH_NUMVERSION >= 50000000
                \"mpich\"
#elif defined(OPEN_MPI) && OMPI_MAJOR_VERSION == 5
                \"openmpi\"
#else
                \"standard\"
#endif
    );
    return MPI_Finalize();
}
";

#[test]
fn programs_in_cpp_know_which_header_they_have() {
    if !is_there("c++") {
        return;
    }
    for (abi, ..) in ABIS {
        let source = scratch().join("known.cc");
        fs::write(&source, SOURCE_CPP).unwrap();
        for link in ["-pie", "-no-pie"] {
            let program = compiled("c++", abi, &source, &["-Wall", "-Wextra", "-Werror", link]);
            assert_eq!(
                printed(&canele(&["run", "-n", "1", program.to_str().unwrap()])),
                format!("0 1 {abi}")
            );
        }
    }
}

/// Returns the value of a constant in a program that is compiled for its ABI.
fn expected(constant: &Constant) -> Option<String> {
    let value =
        constant.value.trim_start_matches('(').rsplit_once(')').map_or(&*constant.value, |(value, _)| value);
    let value = value.rsplit_once(')').map_or(value, |(_, value)| value);
    let number = match value.strip_prefix("0x") {
        // Handles of 32 bits are signed in C.
        Some(hex) => u32::from_str_radix(hex, 16).ok().map(|bits| i64::from(bits.cast_signed())),
        None => value.parse().ok(),
    };
    // Names of variables and of functions stand for their addresses.
    number.map(|number| number.to_string()).or_else(|| value.starts_with("omp").then(|| value.to_owned()))
}

#[test]
fn headers_have_the_values_of_the_tables_and_layouts_their_sizes() {
    for (abi, _, tables) in ABIS {
        let tables = tables();
        // The library defines the values of variables.
        let is_variable = |name: &str| {
            tables.abi == Abi::Mpich
                && ["MPI_UNWEIGHTED", "MPI_WEIGHTS_EMPTY", "MPI_T_PVAR_ALL_HANDLES"].contains(&name)
        };
        let values: BTreeMap<&str, String> = tables
            .all_constants()
            .filter(|of| !is_variable(&of.name))
            .filter_map(|of| Some((of.name.as_str(), expected(of)?)))
            .collect();
        assert!(values.len() > 250, "{abi}: {} constants", values.len());
        let mut text = String::from(
            "#define MPI_REMOVED_API\n#include <mpi.h>\n#include <mpi-ext.h>\n#include <stdio.h>\nint main(void) {\n",
        );
        text += "printf(\"status %d handle %d aint %d\\n\", (int)sizeof(MPI_Status), (int)sizeof(MPI_Comm), (int)sizeof(MPI_Aint));\n";
        for (name, value) in &values {
            text += &match value.parse::<i64>() {
                Ok(_) => format!("printf(\"{name} %lld\\n\", (long long)(MPI_Aint){name});\n"),
                Err(_) => format!(
                    "printf(\"{name} %s\\n\", (void *){name} == (void *)&{value} ? \"{value}\" : \"?\");\n"
                ),
            };
        }
        let source = scratch().join(format!("values-{abi}.c"));
        fs::write(&source, text + "return 0;\n}\n").unwrap();
        let said = printed(&Command::new(compiled("cc", abi, &source, &[])).output().unwrap());
        let mut lines = said.lines();
        let [status, handle] = match tables.abi {
            Abi::Standard => [32, 8],
            Abi::Mpich => [20, 4],
            Abi::OpenMpi => [24, 8],
        };
        assert_eq!(lines.next(), Some(&*format!("status {status} handle {handle} aint 8")), "{abi}");
        for ((name, value), line) in values.iter().zip(lines) {
            assert_eq!(line, format!("{name} {value}"), "{abi}");
        }
    }
}

#[test]
fn the_option_counts_before_the_variable_and_others_are_refused() {
    let here = Installation::complete("abis");
    let root = here.prefix().display().to_string();
    let link = |abi: &str| {
        format!(
            "-L{root}/lib/canele/{abi} -L{root}/lib/canele -Wl,--enable-new-dtags,-rpath,{root}/lib/canele -lmpi"
        )
    };
    for (words, variable, expected) in [
        (&["-show", "-c", "a.c", "-abi=mpich"][..], "openmpi", format!("cc -I{root}/include/mpich -c a.c")),
        (&["--showme:compile"], "openmpi", format!("-I{root}/include/openmpi")),
        (&["--showme:link"], "openmpi", link("openmpi")),
        (&["--showme:link", "-abi=mpich"], "", link("mpich")),
        (&["--showme:incdirs", "-abi=mpich"], "", format!("{root}/include/mpich")),
        (&["--showme:libdirs", "-abi=mpich"], "", format!("{root}/lib/canele/mpich {root}/lib/canele")),
        (&["--showme:libs", "-abi=mpich"], "", "mpi".into()),
        (&["--showme:libs", "-abi=standard"], "mpich", "mpi_abi".into()),
    ] {
        let output = here.command("mpicc", words).env("CANELE_ABI", variable).output().unwrap();
        assert_eq!(printed(&output), expected, "{words:?}");
    }
    for (words, variable) in [(&["-abi=intel", "a.c"][..], ""), (&["a.c"], "intel")] {
        let output = here.command("mpicxx", words).env("CANELE_ABI", variable).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2));
        assert!(error.contains("standard, mpich or openmpi") && error.contains("intel"), "{error}");
    }
    assert!(printed(&here.run("mpicc", &["--help"])).contains("-abi=ABI"));
    // The installation's own default counts last. Fortran has only one ABI.
    fs::write(here.path("lib/canele/default-abi"), "mpich\n").unwrap();
    for (words, variable, name) in [
        (&["--showme:libs"][..], "", "mpi"),
        (&["--showme:libs"], "standard", "mpi_abi"),
        (&["--showme:libs", "-abi=standard"], "", "mpi_abi"),
    ] {
        let output = here.command("mpicc", words).env("CANELE_ABI", variable).output().unwrap();
        assert_eq!(printed(&output), name, "{words:?} {variable}");
    }
    assert!(printed(&here.run("mpifort", &["--showme:libs"])).ends_with(" mpi_abi"));
    // If a part of the installation is missing, the error names the remedy.
    fs::remove_file(here.path("lib/canele/mpich/libmpi.so")).unwrap();
    let output = here.run("mpicc", &["-abi=mpich", "--showme:link"]);
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("cargo build -p canele-mpich-abi"),
        "{output:?}"
    );
}

/// A library that calls MPI with constant handles, and reports the results.
const LIBRARY: &str = "#include <mpi.h>
void call_with_constants(int codes[3]) {
    int one = 1, sum;
    codes[0] = MPI_Comm_size(MPI_COMM_WORLD, &sum);
    codes[1] = MPI_Type_size(MPI_DOUBLE_INT, &one);
    codes[2] = MPI_Group_size(MPI_GROUP_EMPTY, &sum);
}
";

/// A program that is linked with this library.
const CALLER: &str = "#include <mpi.h>
#include <stdio.h>
void call_with_constants(int codes[3]);
int main(void) {
    int codes[3], length;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    call_with_constants(codes);
    for (int n = 0; n < 3; n++) {
        MPI_Error_string(codes[n], text, &length);
        puts(text);
    }
    return MPI_Finalize();
}
";

#[test]
fn handles_of_another_abi_are_named_with_what_to_do() {
    let [source, caller] = [("library.c", LIBRARY), ("caller.c", CALLER)].map(|(name, text)| {
        fs::write(scratch().join(name), text).unwrap();
        scratch().join(name)
    });
    // The caller's ABI, the callee's ABI, and the words of the errors.
    for (theirs, ours, words) in [
        ("mpich", "standard", ["MPI_COMM_WORLD", "MPI_DOUBLE_INT", "MPI_GROUP_EMPTY"]),
        ("openmpi", "standard", ["ompi_mpi_comm_world", "ompi_mpi_double_int", "ompi_mpi_group_empty"]),
        ("standard", "mpich", ["MPI_COMM_WORLD", "MPI_DOUBLE_INT", "MPI_GROUP_EMPTY"]),
        ("standard", "openmpi", ["MPI_COMM_WORLD", "MPI_DOUBLE_INT", "MPI_GROUP_EMPTY"]),
    ] {
        let library = compiled("cc", theirs, &source, &["-shared", "-fPIC"]);
        let program = compiled("cc", ours, &caller, &[library.to_str().unwrap()]);
        let said = printed(&canele(&["run", "-n", "1", program.to_str().unwrap()]));
        assert_eq!(said.lines().count(), 3, "{said}");
        for (line, word) in said.lines().zip(words) {
            assert!(line.contains(word), "{theirs} to {ours}: {line}");
            assert!(
                line.contains(&format!("mpicc -abi={ours}")) && line.contains(&format!("-abi={theirs}")),
                "{line}"
            );
        }
    }
}
