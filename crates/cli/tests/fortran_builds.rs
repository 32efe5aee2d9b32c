//! `mpifort` in build systems: answers, files for pkg-config, and programs by CMake and Meson.

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use support::fortran::{has_compiler, modules, names, path_with, run, told, write_program};
use support::installation::{Installation, is_there, printed};

#[test]
fn build_systems_get_their_answers() {
    if !has_compiler() {
        return;
    }
    let here = Installation::complete("fortran");
    let output = run(&here, "mpifort", &["-show"]);
    // CMake reads both streams as the answer.
    assert_eq!(told(&output), "");
    let folder = modules(&here, &[]);
    assert!(folder.starts_with(here.path("cache/canele/fortran")) && folder.join("mpi.mod").is_file());
    let (folder, root) = (folder.display(), here.prefix().display());
    let include = format!("-I{folder}");
    let libraries = format!("{root}/lib/canele");
    let link = format!(
        "-L{folder} -L{libraries} -Wl,--enable-new-dtags,-rpath,{libraries} -lcanele_fortran -lcanele_fort -lmpi_abi"
    );
    for (words, expected) in [
        (&["-show"][..], format!("gfortran {include} {link}")),
        (&["--showme"], format!("gfortran {include} {link}")),
        (&["-show", "-c", "a.f90"], format!("gfortran -c a.f90 {include}")),
        (&["-link_info"], format!("gfortran {include} {link}")),
        (&["-compile_info"], format!("gfortran {include}")),
        (&["--showme:compile"], include.clone()),
        (&["--showme:link"], link.clone()),
        (&["--showme:incdirs"], folder.to_string()),
        (&["--showme:libdirs"], format!("{folder} {libraries}")),
        (&["--showme:libs"], "canele_fortran canele_fort mpi_abi".into()),
        (&["--showme:command"], "gfortran".into()),
        (&["--showme:version"], format!("Canelé {}", env!("CARGO_PKG_VERSION"))),
    ] {
        assert_eq!(printed(&run(&here, "mpifort", words)), expected, "{words:?}");
    }
    fs::remove_file(here.path("lib/canele/libcanele_fort.so.0")).unwrap();
    printed(&run(&here, "mpifort", &["--showme:compile"]));
    let error = told(&run(&here, "mpifort", &["--showme:link"]));
    assert!(
        error.contains("libcanele_fort.so.0") && error.contains("cargo build -p canele-mpi-fortran"),
        "{error}"
    );
}

#[test]
fn an_administrator_prepares_the_modules_for_all_and_for_pkg_config() {
    if !has_compiler() {
        return;
    }
    let here = Installation::complete("prepared");
    write_program(&here, "program.f90", "      use mpi\n", "");
    let own = here.path("own").display().to_string();
    let there = printed(&run(&here, "mpifort", &[&format!("--prepare={own}")]));
    assert!(there.starts_with(&own) && Path::new(&there).join("mpi.mod").is_file(), "{there}");
    assert!(!here.path("lib/canele/fortran").exists());
    fs::write(here.path("lib/pkgconfig/ompi-fort.pc"), "theirs").unwrap();
    let output = run(&here, "canele", &["fortran", "--prepare"]);
    let there = printed(&output);
    assert!(Path::new(&there).starts_with(here.path("lib/canele/fortran")), "{there}");
    assert!(told(&output).contains("ompi-fort.pc stays as it is"), "{output:?}");
    fs::remove_file(here.path("lib/pkgconfig/ompi-fort.pc")).unwrap();
    assert_eq!(printed(&run(&here, "mpifort", &["--prepare"])), there);
    let output = run(&here, "mpifort", &["--showme:incdirs"]);
    assert_eq!((printed(&output), told(&output)), (there, String::new()));
    assert!(!here.path("cache").exists());
    for (name, version) in [("mpi-fort", env!("CARGO_PKG_VERSION")), ("ompi-fort", "5.0")] {
        let asked = |words: &[&str]| {
            let mut command = Command::new("pkg-config");
            command.args(words).arg(name).env("PKG_CONFIG_LIBDIR", here.path("lib/pkgconfig"));
            printed(&command.output().unwrap())
        };
        if !is_there("pkg-config") {
            break;
        }
        assert_eq!(asked(&["--modversion"]), version);
        let flags = asked(&["--cflags", "--libs"]);
        let mut compiler = Command::new("gfortran");
        compiler.args(["-o", "program", "program.f90"]).args(flags.split_whitespace());
        printed(&compiler.current_dir(here.prefix()).output().unwrap());
        assert_eq!(printed(&here.command("../program", &[]).output().unwrap()), "5");
    }
    printed(&here.install(&["--remove"]));
    assert_eq!(names(&here.path("lib")), ["pkgconfig"]);
    assert!(names(&here.path("lib/pkgconfig")).is_empty());
}

const CMAKE: &str = "cmake_minimum_required(VERSION 3.16)
project(program C CXX Fortran)
find_package(MPI REQUIRED COMPONENTS C CXX Fortran)
foreach(name mpi mpi_f08)
  add_executable(${name} ${name}.f90)
  target_link_libraries(${name} MPI::MPI_Fortran)
endforeach()
message(STATUS \"wrapper ${MPI_Fortran_COMPILER}\")
message(STATUS \"modules ${MPI_Fortran_HAVE_F77_HEADER} ${MPI_Fortran_HAVE_F90_MODULE} ${MPI_Fortran_HAVE_F08_MODULE}\")
";

#[test]
fn cmake_finds_the_modules_through_the_wrapper() {
    if !has_compiler() || !is_there("cmake") || !is_there("c++") {
        return;
    }
    let here = Installation::complete("fortran cmake");
    write_program(&here, "mpi.f90", "      use mpi\n", "");
    write_program(&here, "mpi_f08.f90", "      use mpi_f08\n", "");
    for name in ["mpi.f90", "mpi_f08.f90"] {
        let text = fs::read_to_string(here.path(name)).unwrap();
        fs::write(here.path(name), text.replace("\n      ", "\n")).unwrap();
    }
    fs::write(here.path("CMakeLists.txt"), CMAKE).unwrap();
    let path = path_with(&here.path("bin"));
    let cmake = |words: &[&str]| {
        let mut command = Command::new("timeout");
        command
            .args(["-s", "KILL", "300", "cmake"])
            .args(words)
            .current_dir(here.prefix())
            .env("PATH", &path);
        command.env("XDG_CACHE_HOME", here.path("cache"));
        printed(&command.output().unwrap())
    };
    let prefix = format!("-DCMAKE_PREFIX_PATH={}", here.prefix().display());
    let told = cmake(&["-S", ".", "-B", "build", &prefix]);
    let wrapper = format!("wrapper {}", here.path("bin/mpif").display());
    for part in [wrapper.as_str(), "modules TRUE TRUE TRUE"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    cmake(&["--build", "build"]);
    for program in ["../build/mpi", "../build/mpi_f08"] {
        assert_eq!(printed(&here.command(program, &[]).output().unwrap()), "5");
    }
}

const MESON: &str = "project('program', 'fortran')
mpi = dependency('mpi', language: 'fortran')
executable('program', 'program.f90', dependencies: mpi)
";

#[test]
fn meson_finds_the_modules_through_the_wrapper() {
    if !has_compiler() || !is_there("meson") {
        return;
    }
    let here = Installation::complete("fortran meson");
    write_program(&here, "program.f90", "      use mpi_f08\n", "");
    fs::write(here.path("meson.build"), MESON).unwrap();
    let path = path_with(&here.path("bin"));
    let meson = |words: &[&str]| {
        let mut command = Command::new("timeout");
        command
            .args(["-s", "KILL", "300", "meson"])
            .args(words)
            .current_dir(here.prefix())
            .env("PATH", &path)
            // Meson asks pkg-config first, which may know another MPI of this machine.
            .env("PKG_CONFIG_LIBDIR", here.path("lib/pkgconfig"));
        command.env("XDG_CACHE_HOME", here.path("cache"));
        printed(&command.output().unwrap())
    };
    meson(&["setup", "build"]);
    meson(&["compile", "-C", "build"]);
    assert_eq!(printed(&here.command("../build/program", &[]).output().unwrap()), "5");
}
