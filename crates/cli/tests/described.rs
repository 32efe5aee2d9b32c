//! Files that `scripts/install` puts beside the commands: man pages, completion and a modulefile, each read
//! by its program.

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use support::installation::{Installation, is_there, printed};

/// Returns a command that is killed after a minute.
fn within_a_minute(words: &[&str]) -> Command {
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "60"]).args(words);
    command
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn man_pages_are_well_formed_and_show_options_and_examples() {
    let here = Installation::complete("pages");
    let pages = here.path("share/man/man1");
    let all = names(&pages);
    for name in [
        "canele.1",
        "canele-doctor.1",
        "canele-run.1",
        "mpicc.1",
        "mpiCC.1",
        "mpifort.1",
        "mpif77.1",
        "mpiexec.1",
        "mpirun.1",
        "mpichversion.1",
    ] {
        assert!(all.iter().any(|page| page == name), "{name}: {all:?}");
    }
    let functions = names(&here.path("share/man/man3"));
    for name in [
        "canele.3",
        "canele_flow.3",
        "canele_flow_send.3",
        "canele_remote_region_put.3",
        "canele_error_text.3",
    ] {
        assert!(functions.iter().any(|page| page == name), "{name}: {functions:?}");
    }
    if Command::new("mandoc").arg("-T").arg("lint").stdin(std::process::Stdio::null()).output().is_err() {
        assert!(!is_there("mandoc"));
        return;
    }
    let mandoc = |words: &[&str], names: &[String]| {
        let folder = |name: &str| format!("man{}/{name}", name.rsplit('.').next().unwrap());
        let mut mandoc = within_a_minute(&[&["mandoc"], words].concat());
        mandoc
            .args(names.iter().map(|name| folder(name)))
            .current_dir(here.path("share/man"))
            .output()
            .unwrap()
    };
    for of_section in [&all, &functions] {
        let lint = mandoc(&["-T", "lint", "-W", "error"], of_section);
        assert!(lint.status.success(), "{}", String::from_utf8_lossy(&lint.stdout));
    }
    let shown = |name: &str| {
        let text = printed(&mandoc(&["-T", "utf8", "-O", "width=150"], &[name.to_owned()]));
        // man prints bold letters twice.
        let mut plain = String::new();
        for letter in text.chars() {
            match letter {
                '\u{8}' => _ = plain.pop(),
                _ => plain.push(letter),
            }
        }
        plain
    };
    let run = shown("canele-run.1");
    for part in ["--hostfile", "Processors that each rank may run on", "canele run -n 4 ./solver input.dat\n"]
    {
        assert!(run.contains(part), "{part}: {run}");
    }
    assert!(shown("mpirun.1").contains("-genv, -env NAME VALUE"), "a page that is another one");
    assert!(shown("mpiCC.1").contains("CANELE_CXX"));
    let send = shown("canele_flow_send.3");
    for part in [
        "canele_error canele_flow_send(const struct canele_flow *flow,",
        "Sends bytes bytes at data to rank to with a tag.",
    ] {
        assert!(send.contains(part), "{part}: {send}");
    }
    assert!(shown("mpif90.1").contains("--prepare[=FOLDER]"));
}

#[test]
fn shells_complete_command_lines() {
    let here = Installation::complete("completion");
    let script = |name: &str| here.path("share").join(name).display().to_string();
    let bash = script("bash-completion/completions/canele");
    let complete = |words: &str, index: usize| {
        let text = format!(
            ". '{bash}'; COMP_WORDS=({words}); COMP_CWORD={index}; _canele canele \"${{COMP_WORDS[{index}]}}\" ''; \
             printf '%s\\n' \"${{COMPREPLY[@]}}\"; complete -p canele"
        );
        printed(&within_a_minute(&["bash", "--norc", "-c", &text]).output().unwrap())
    };
    let offered = complete("canele ru", 1);
    assert!(offered.starts_with("run\ncomplete ") && offered.contains("-F _canele"), "{offered}");
    let offered = complete("canele run --host", 2);
    assert!(offered.starts_with("--hosts\n--hostfile\n"), "{offered}");
    let offered = complete("canele ''", 1);
    assert!(
        offered.contains("doctor\n") && !offered.contains("agent") && !offered.contains("doctor-"),
        "{offered}"
    );
    if is_there("fish") {
        let text =
            format!("source '{}'; complete -C 'canele ru'", script("fish/vendor_completions.d/canele.fish"));
        let offered = printed(&within_a_minute(&["fish", "--no-config", "-c", &text]).output().unwrap());
        assert!(offered.starts_with("run\t"), "{offered}");
    }
    if is_there("zsh") {
        let folder = here.path("share/zsh/site-functions").display().to_string();
        let text = format!(
            "fpath=('{folder}' $fpath); autoload -U compinit && compinit -D -u && print $_comps[canele]; autoload +X _canele && functions _canele"
        );
        let offered = printed(&within_a_minute(&["zsh", "-f", "-c", &text]).output().unwrap());
        assert!(offered.starts_with("_canele\n") && offered.contains("doctor"), "{offered}");
    }
}

#[test]
fn a_module_is_loaded_and_unloaded() {
    let here = Installation::complete("module");
    let folder = here.path("share/modulefiles");
    let [version] = &names(&folder.join("canele"))[..] else { panic!("one module") };
    assert_eq!(version, env!("CARGO_PKG_VERSION"));
    if !is_there("modulecmd") {
        return;
    }
    let root = here.prefix().display();
    let script = format!(
        "eval \"$(modulecmd bash use '{}')\"; eval \"$(modulecmd bash load canele)\"; \
         command -v mpicc; echo \"$MPI_HOME|$LD_LIBRARY_PATH|$PKG_CONFIG_PATH|$MANPATH\"; \
         eval \"$(modulecmd bash unload canele)\"; echo \"[$MPI_HOME$LD_LIBRARY_PATH]\"; \
         case $PATH in *'{root}'*) echo still; esac; modulecmd bash help canele",
        folder.display()
    );
    let mut bash = within_a_minute(&["bash", "--norc", "-c", &script]);
    let variables =
        ["LD_LIBRARY_PATH", "PKG_CONFIG_PATH", "MANPATH", "MODULEPATH", "LOADEDMODULES", "_LMFILES_"];
    for name in variables {
        bash.env_remove(name);
    }
    let output = bash.output().unwrap();
    let expected = format!("{root}/bin/mpicc\n{root}|{root}/lib/canele|{root}/lib/pkgconfig|\n[]");
    assert_eq!(printed(&output), expected, "{output:?}");
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("message passing between processes"),
        "{output:?}"
    );
}

#[test]
fn removing_leaves_no_folder_and_what_is_of_others() {
    let here = Installation::complete("removed");
    let page = here.path("share/man/man1/other.1");
    fs::write(&page, "").unwrap();
    assert!(here.path("share/man/man3").exists());
    printed(&here.install(&["--remove"]));
    assert_eq!(names(&here.path("share")), ["man"]);
    assert_eq!(names(&here.path("share/man")), ["man1"]);
    assert_eq!(names(&here.path("share/man/man1")), ["other.1"]);
}
