//! Tests of command lines of other launchers and their translations.

use super::*;

fn asked(line: &str) -> Result<Asked, String> {
    let variable = |name: &str| (name == "SET").then(|| "here".into());
    translate(line.split_whitespace().map(OsString::from).collect(), variable)
}

fn run(line: &str) -> (String, Vec<String>) {
    match asked(line) {
        Ok(Asked::Run { remarks, words }) => {
            let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
            (words.join(" "), remarks)
        }
        other => panic!("{line}: {other:?}"),
    }
}

#[track_caller]
fn becomes(line: &str, expected: &str) {
    assert_eq!(run(line), (expected.to_owned(), Vec::new()), "{line}");
}

#[track_caller]
fn remarks(line: &str, expected: &str, word: &str) {
    let (line_of_run, remarks) = run(line);
    assert_eq!(line_of_run, expected, "{line}");
    assert!(remarks.len() == 1 && remarks[0].contains(word), "{remarks:?}");
}

#[track_caller]
fn refused(line: &str, word: &str) {
    let text = asked(line).expect_err(line);
    assert!(text.contains(word), "{line}: {text}");
}

#[test]
fn the_number_of_ranks_has_many_names() {
    for option in ["-n 4", "-np 4", "--np 4", "--n 4", "-c 4", "--np=4", "-n 2 -n 4"] {
        becomes(&format!("{option} ./a -n x"), "canele run -n 4 -- ./a -n x");
    }
    becomes("./a", "canele run -n 1 -- ./a");
    for line in ["-n", "-n x a", "-n 0 a", "-n -1 a", "--np= a"] {
        refused(line, "-n");
    }
}

#[test]
fn hosts_are_counted_and_numbered() {
    for option in ["-host h0,h1", "--host h0,h1", "-hosts h0,h1", "-H h0,h1"] {
        becomes(&format!("{option} -n 2 a"), "canele run --hosts h0,h1 -n 2 -- a");
    }
    becomes("--host h0:2,h1:2 a", "canele run --hosts h0:2,h1:2 -- a");
    becomes("--host h0:2,h1 -n 3 a", "canele run --hosts h0:2,h1:1 -n 3 -- a");
    becomes("--host h0,h0,h1 -n 3 a", "canele run --hosts h0:2,h1:1 -n 3 -- a");
    becomes("--host h0,h1 a", "canele run --hosts h0:1,h1:1 -- a");
    becomes("-ppn 2 -hosts h0,h1 -n 4 a", "canele run --hosts h0:2,h1:2 -n 4 -- a");
    becomes("--rsh rsh -H h0 --timeout 5 a", "canele run --hosts h0:1 --rsh rsh --timeout 5 -- a");
    refused("--host a,,b -n 2 p", "a,,b");
    refused("--host a -f file p", "file");
}

#[test]
fn this_host_needs_no_remote_shell() {
    becomes("--host localhost -n 2 a", "canele run -n 2 -- a");
    becomes("--host localhost:3 a", "canele run -n 3 -- a");
    becomes("-ppn 3 a", "canele run -n 3 -- a");
    becomes("-H localhost,h1 -n 2 a", "canele run --hosts localhost,h1 -n 2 -- a");
}

#[test]
fn a_file_of_hosts_is_read() {
    let path = std::env::temp_dir().join(format!("canele-hosts-{}", std::process::id()));
    let (file, name) = (&path, path.display());
    std::fs::write(file, "h0 slots=2\nh1:2\n").unwrap();
    for option in ["-f", "-hostfile", "--hostfile", "-machinefile"] {
        becomes(&format!("{option} {name} -n 4 a"), "canele run --hosts h0:2,h1:2 -n 4 -- a");
    }
    becomes(&format!("-f {name} -ppn 1 a"), "canele run --hosts h0:1,h1:1 -- a");
    std::fs::write(file, "h0 slots=1 max_slots=3\nh1 slots=1\n").unwrap();
    becomes(&format!("-f {name} a"), "canele run --hosts h0:1,h1:1 -- a");
    becomes(&format!("-f {name} -n 4 a"), "canele run --hosts h0:3,h1:1 -n 4 -- a");
    refused(&format!("-f {name} -n 5 a"), "take 4");
    std::fs::write(file, "localhost slots=2 # here\n").unwrap();
    becomes(&format!("-f {name} a"), "canele run -n 2 -- a");
    std::fs::write(file, "# none\n").unwrap();
    refused(&format!("-f {name} a"), "no host");
    std::fs::remove_file(file).unwrap();
    refused(&format!("-f {name} a"), "No such file");
}

#[test]
fn ranks_are_bound_and_spread() {
    for (typed, words) in [
        ("-bind-to core", "--bind core"),
        ("--bind-to hwthread", "--bind hwthread"),
        ("--bind-to rr", "--bind hwthread"),
        ("--bind-to none", "--bind none"),
        ("-bind-to machine", "--bind none"),
        ("-bind-to socket", "--bind package"),
        ("-bind-to core:2", "--bind core:2"),
        ("--bind-to core:overload-allowed", "--bind core"),
        ("--bind-to-socket", "--bind package"),
        ("--bind-to core:REPORT", "--bind core --report-bindings"),
        ("--report-bindings", "--report-bindings"),
        ("--map-by core", "--map-by core"),
        ("--map-by socket:PE=2 --bind-to core", "--map-by package:pe=2 --bind core"),
        ("--map-by numa --rank-by fill", "--map-by numa:fill"),
        ("--map-by L3CACHE:OVERSUBSCRIBE", "--map-by l3cache"),
        ("--map-by slot:pe=2", "--map-by slot:pe=2"),
        ("--cpus-per-proc 2", "--map-by slot:pe=2"),
        ("--map-by node:pe=2", "--map-by node:pe=2"),
        ("--map-by ppr:1:socket", "--map-by ppr:1:package"),
        ("--npersocket 1", "--map-by ppr:1:package"),
        ("--rank-by slot --map-by slot", ""),
    ] {
        let words = if words.is_empty() { String::new() } else { format!("{words} ") };
        becomes(&format!("-n 2 {typed} a"), &format!("canele run {words}-n 2 -- a"));
    }
    becomes("--map-by ppr:2:socket a", "canele run --map-by ppr:2:package -- a");
    becomes("--map-by ppr:3:node a", "canele run -n 3 -- a");
    remarks("-n 2 --bind-to l2cache a", "canele run --bind core -n 2 -- a", "l2cache");
    for line in [
        "--bind-to user:0+1 a",
        "--map-by seq a",
        "--map-by pe-list=0-1 a",
        "--cpu-set 0,1 a",
        "-rankmap 0 a",
    ] {
        refused(line, "--rankfile");
    }
    refused("--bind-to cores a", "cores");
    refused("--map-by socket:fancy a", "fancy");
    refused("--map-by ppr:x:socket a", "ppr");
    refused("--map-by core:pe=0 a", "no number");
    refused("--rank-by x a", "--rank-by x");
}

#[test]
fn hosts_get_ranks_in_turn_or_not_at_all() {
    becomes("-n 2 -map-by node a", "canele run --map-by node -n 2 -- a");
    becomes("-n 2 --map-by core -H h0,h1 a", "canele run --hosts h0,h1 --map-by core -n 2 -- a");
    becomes("-n 2 --map-by node -H h0,h1 a", "canele run --hosts h0,h1 --map-by node -n 2 -- a");
    becomes("-n 3 --bynode -H h0:4,h1:1 a", "canele run --hosts h0:4,h1:1 --map-by node -n 3 -- a");
    let words = "--map-by core --rank-by node";
    remarks(
        &format!("-n 2 {words} -H h0,h1 a"),
        "canele run --hosts h0,h1 --map-by core -n 2 -- a",
        "--rank-by node",
    );
    becomes("--map-by ppr:2:node -H h0,h1 a", "canele run --hosts h0:2,h1:2 -- a");
    becomes("-n 1 -nolocal -H localhost,h1 a", "canele run --hosts h1 -n 1 -- a");
    becomes("-n 1 --map-by slot:NOLOCAL -H localhost:2,h1:2 a", "canele run --hosts h1:2 -n 1 -- a");
    refused("-n 1 -nolocal -H localhost a", "none is left");
    refused("-n 1 -nolocal a", "-hosts");
}

#[test]
fn a_file_of_ranks_says_where_they_run() {
    for option in ["--rankfile F", "-rf F", "--map-by rankfile:file=F"] {
        becomes(&format!("{option} a"), "canele run --rankfile F -- a");
        becomes(&format!("{option} -n 2 -launcher rsh a"), "canele run --rsh rsh --rankfile F -n 2 -- a");
    }
    remarks("-rf F -H h0,h1 -n 2 a", "canele run --rankfile F -n 2 -- a", "names the hosts");
    refused("--map-by rankfile a", "rankfile:file=FILE");
}

#[test]
fn what_ranks_print_is_written_as_asked() {
    for (typed, words) in [
        ("--output-filename D", "--output D --tee"),
        ("--output-filename D:nocopy", "--output D"),
        ("--output dir=D", "--output D --tee"),
        ("--output tag,timestamp,dir=D:nocopy", "--label --timestamp --output D"),
        ("--output file=F", "--stdout-file F.%r.out --stderr-file F.%r.err --tee"),
        ("--output TAG", "--label"),
        ("--output tag-fullname", "--label=[%h:%r] "),
        ("-outfile-pattern o.%r -errfile-pattern e.%h", "--stdout-file o.%r --stderr-file e.%h"),
        ("--timestamp-output", "--timestamp"),
        ("-prepend-timestamp -l", "--label --timestamp"),
        ("-prepend-pattern %r:", "--label=%r:"),
        ("--stdin all", "--stdin all"),
        ("-s 1,2", "--stdin 1,2"),
        ("-print-all-exitcodes", "--report-exits"),
        ("--display map", "--report-bindings"),
        ("-usize 8", "--universe 8"),
        ("--enable-recovery", "--on-failure continue"),
    ] {
        becomes(&format!("-n 2 {typed} a"), &format!("canele run {words} -n 2 -- a"));
    }
    refused("-n 1 --output xml a", "xml");
    refused("-n 1 --merge-stderr-to-stdout a", "2>&1");
    remarks("-n 1 --display topo a", "canele run -n 1 -- a", "topo");
}

#[test]
fn more_and_less_is_said() {
    remarks("-v -n 2 a", "canele run -n 2 -- a", "`canele run -n 2 -- a`");
    becomes("-q -n 2 --mca btl self a", "canele run -n 2 -- a");
    refused("-n 1 -gdb a", "gdb -ex run");
}

#[test]
fn variables_are_set_and_passed_on() {
    becomes("-n 1 -genv A b -env C d a", "canele run --env A=b --env C=d -n 1 -- a");
    becomes("-n 1 -genv A=b a", "canele run --env A=b -n 1 -- a");
    becomes("-n 1 -x A=b -x SET a", "canele run --env A=b --env SET=here -n 1 -- a");
    becomes("-n 1 -genvlist SET a", "canele run --env SET=here -n 1 -- a");
    remarks("-n 1 -x UNSET a", "canele run -n 1 -- a", "UNSET");
    refused("-n 1 -genv A", "-genv A");
}

#[test]
fn the_rest_is_translated_or_means_nothing() {
    becomes(
        "-n 1 -initial-errhandler mpi_errors_return a",
        "canele run --initial-errhandler mpi_errors_return -n 1 -- a",
    );
    becomes("--with-ft ulfm -n 2 a", "canele run --on-failure continue -n 2 -- a");
    becomes("--with-ft=mpi -n 2 a", "canele run --on-failure continue -n 2 -- a");
    becomes("--with-ft none -n 2 a", "canele run --on-failure stop -n 2 -- a");
    refused("--with-ft maybe -n 2 a", "--with-ft maybe");
    becomes(
        "-n 1 -memory-alloc-kinds system,mpi a",
        "canele run --env CANELE_MPI_MEMORY_ALLOC_KINDS=system,mpi -n 1 -- a",
    );
    becomes("-n 1 -wdir /tmp -l a", "canele run --wd /tmp --label -n 1 -- a");
    becomes("-n 1 --wd /tmp --tag-output a", "canele run --wd /tmp --label -n 1 -- a");
    becomes("--oversubscribe --allow-run-as-root -n 8 a", "canele run -n 8 -- a");
    becomes("-n 1 -- -a", "canele run -n 1 -- -a");
    assert_eq!(asked("--help a"), Ok(Asked::Help));
    assert_eq!(asked("-n 3 -V"), Ok(Asked::Version));
}

#[test]
fn in_an_allocation_the_number_of_ranks_is_its_own() {
    let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
    let allocated = |name: &str| (name == "SLURM_JOB_NODELIST").then(|| "n[1-2]".into());
    let run = |line: &str| match translate(words(line), allocated) {
        Ok(Asked::Run { words, .. }) => words,
        other => panic!("{line}: {other:?}"),
    };
    assert_eq!(run("a"), words("canele run -- a"));
    assert_eq!(run("-n 3 a"), words("canele run -n 3 -- a"));
}

#[test]
fn a_program_in_the_working_directory_is_found() {
    let folder = std::env::temp_dir().join(format!("canele-programs-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy("/bin/true", folder.join("solver")).unwrap();
    std::fs::write(folder.join("data"), "").unwrap();
    let name = folder.display();
    becomes(&format!("-n 1 -wdir {name} solver"), &format!("canele run --wd {name} -n 1 -- ./solver"));
    becomes(&format!("-n 1 -wdir {name} data"), &format!("canele run --wd {name} -n 1 -- data"));
    becomes(&format!("-n 1 -wdir {name} other"), &format!("canele run --wd {name} -n 1 -- other"));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn how_hosts_are_reached_matters_where_there_are_any() {
    becomes("-launcher ssh -n 2 a", "canele run -n 2 -- a");
    becomes("-launcher rsh -H h0 -n 1 a", "canele run --hosts h0 --rsh rsh -n 1 -- a");
    becomes("--prefix /opt/c -H h0 -n 1 a", "canele run --hosts h0 --canele /opt/c/bin/canele -n 1 -- a");
    becomes("-q --display-map -n 2 a", "canele run --report-bindings -n 2 -- a");
}

#[test]
fn a_file_has_options_and_programs_in_its_lines() {
    let path = std::env::temp_dir().join(format!("canele-config-{}", std::process::id()));
    let name = path.display();
    std::fs::write(&path, "# two programs\n-n 1 m\n\n-n 3 w --fast # the others\n").unwrap();
    becomes(&format!("-configfile {name}"), "canele run -n 1 -- m : -n 3 -- w --fast");
    refused(&format!("-configfile {name} a"), "stands alone");
    std::fs::remove_file(&path).unwrap();
    refused(&format!("-configfile {name}"), "No such file");
}

#[test]
fn several_programs_are_one_job() {
    becomes("-n 1 m : -n 3 w --fast", "canele run -n 1 -- m : -n 3 -- w --fast");
    becomes("m : w", "canele run -n 1 -- m : -n 1 -- w");
    becomes("-genv A b -n 1 m : -n 2 w", "canele run --env A=b -n 1 -- m : -n 2 -- w");
    refused("-n 1 m : -n 1 -wdir /tmp w", "-wdir");
    refused("-n 1 -env A b m : -n 1 w", "-genv");
    refused("-n 1 m :", "`:`");
    refused(": -n 1 m", "`:`");
}

#[test]
fn what_is_unknown_is_named() {
    refused("-n 2 --fancy a", "--fancy");
    remarks("-n 2 --mca btl self a", "canele run -n 2 -- a", "--mca btl self");
    remarks("-n 2 -prot a", "canele run -n 2 -- a", "-prot");
    refused("-n 2 --mca btl", "--mca btl");
    refused("-n 2 --oversubscribe=1 a", "takes no value");
    refused("-n 2", "no program");
}
