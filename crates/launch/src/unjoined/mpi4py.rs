//! Python programs that did not join: their mpi4py is made for Open MPI's library alone. It fails without that, and with it each rank is a
//! job of its own.
//!
//! Owns finding such an mpi4py. Python is asked where it would import it from; nothing of it is imported.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::plan::{Plan, Program};

const MODULE: &[u8] = b"mpi4py";
/// Of longer ones the first bytes are looked at: the imports.
const LONGEST_SCRIPT: u64 = 64 * 1024;

/// Prints the folder of an mpi4py that has extension modules for other ABIs (`MPI.openmpi.….so`) and none for MPICH's or the standard's, which
/// is called so or has no ABI in its name.
const FIND: &str = "
import importlib.util, pathlib
found = importlib.util.find_spec('mpi4py')
folder = pathlib.Path(found.origin).parent
of_abis = {path.name.split('.')[1] for path in folder.glob('MPI.*.*.so')}
built = [path for path in folder.glob('MPI.*.so') if path.name.count('.') == 2]
if of_abis and not of_abis & {'mpiabi', 'mpich'} and not built: print(folder)
";

/// The folder of the mpi4py that a Python imports, if it was built for other implementations alone.
pub fn mpi4py_of_others(python: &Path) -> Option<PathBuf> {
    let output = Command::new(python).args(["-c", FIND]).stdin(Stdio::null()).stderr(Stdio::null()).output();
    let output = output.ok().filter(|output| output.status.success())?;
    let folder = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (!folder.is_empty()).then(|| folder.into())
}

/// What to say of a job one of whose programs runs in a Python with such an mpi4py. One that has not failed must name mpi4py.
pub fn text(plan: &Plan, has_failed: bool) -> Option<String> {
    let wanted = |program: &&Program| has_failed || plan.size() > 1 && names_mpi4py(plan, program);
    let folder = plan.programs.iter().filter(wanted).find_map(|program| {
        let words = python(plan, program)?;
        plan.ask(Command::new(&words[0]).args(&words[1..]).args(["-c", FIND]))
    })?;
    let folder = folder.trim();
    (!folder.is_empty()).then(|| {
        format!(
            "no rank has joined the job: mpi4py in {folder} cannot load Canelé's library, it was built for Open MPI. \
             Instead: MPICC=mpicc pip install --force-reinstall --no-cache-dir --no-binary mpi4py mpi4py"
        )
    })
}

/// True if mpi4py is named in a program's arguments, or in a file that they or the program are.
fn names_mpi4py(plan: &Plan, program: &Program) -> bool {
    let names = |bytes: &[u8]| bytes.windows(MODULE.len()).any(|part| part == MODULE);
    let directory = plan.directory.as_deref().unwrap_or(Path::new("."));
    let file = plan.file(program).into_iter();
    let arguments = &program.command[1..];
    let mut files = file.chain(arguments.iter().map(|word| directory.join(word)));
    arguments.iter().any(|word| names(word.as_bytes()))
        || files.any(|file| start_of(&file, LONGEST_SCRIPT).is_some_and(|text| names(&text)))
}

/// The first bytes of a regular file.
fn start_of(file: &Path, bytes: u64) -> Option<Vec<u8>> {
    let mut start = Vec::new();
    let is_file = std::fs::metadata(file).is_ok_and(|about| about.is_file());
    is_file.then(|| File::open(file).ok()?.take(bytes).read_to_end(&mut start).ok())??;
    Some(start)
}

/// The Python that runs a program: the program itself, or what its first line names.
fn python(plan: &Plan, program: &Program) -> Option<Vec<OsString>> {
    let file = plan.file(program)?;
    if is_python(file.as_os_str()) {
        return Some(vec![file.into()]);
    }
    let first = start_of(&file, 256)?;
    let line = first.strip_prefix(b"#!")?.split(|&byte| byte == b'\n').next()?;
    let words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let words: Vec<OsString> = words.map(|word| OsString::from_vec(word.to_vec())).collect();
    words.iter().take(2).any(|word| is_python(word)).then_some(words)
}

/// True of `python`, `python3.11` and paths that end so.
fn is_python(name: &OsStr) -> bool {
    Path::new(name).file_name().is_some_and(|name| name.as_bytes().starts_with(b"python"))
}
