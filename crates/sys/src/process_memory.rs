//! Memory of other processes, read without their help where the kernel allows it: one copy instead of two.
//!
//! A process is named by its number, which another one may have by now, or in another container. So it shows a word that no other
//! process has, and every read reads that word too: what was read counts only if the word was right.

use std::io::Error;
use std::ptr::NonNull;

/// How a process is known to a process that reads its memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Proof {
    /// Its number.
    pub pid: u32,
    /// Where its word lies.
    pub address: u64,
    /// The word.
    pub word: u64,
}

/// As many stretches are filled by one call.
const MOST_STRETCHES: usize = 256;

impl Proof {
    /// Of this process, whose word lies there as long as any process reads its memory.
    pub fn own(word: &u64) -> Self {
        Self { pid: std::process::id(), address: std::ptr::from_ref(word) as u64, word: *word }
    }
}

/// Lets the other processes of the job read the memory of this one, where a process needs leave for that (Yama): the parent, which is
/// the launcher, and what descends from it.
pub fn allow_siblings() {
    // SAFETY: this option takes a number and touches no memory; where there is no Yama it is refused.
    #[cfg(all(target_os = "linux", not(miri)))]
    unsafe {
        libc::prctl(libc::PR_SET_PTRACER, libc::getppid() as libc::c_ulong, 0, 0, 0);
    }
}

/// Whether the memory of a process can be read: tries it.
pub fn can_read(of: &Proof) -> bool {
    // SAFETY: nothing is filled but the word's copy.
    unsafe { read(of, of.address, &[]) }.is_ok()
}

/// Fills `into`, one stretch after the other, with what lies at `address` in the memory of a process.
///
/// # Errors
/// The system's, if the kernel does not allow it, there is no such process or memory, or less was read; none of the system's if it is
/// another process by now. What `into` holds then is unknown.
///
/// # Safety
/// Each stretch may be written by this call, and no thread of this process accesses it meanwhile.
pub unsafe fn read(of: &Proof, address: u64, into: &[(NonNull<u8>, usize)]) -> Result<(), Error> {
    if cfg!(miri) || into.len() > MOST_STRETCHES {
        return Err(Error::from(std::io::ErrorKind::Unsupported));
    }
    let len: usize = into.iter().map(|(_, len)| len).sum();
    let mut word = [0u8; 8];
    let part = |start: *mut u8, len| libc::iovec { iov_base: start.cast(), iov_len: len };
    let far = |address: u64, len| part(std::ptr::without_provenance_mut(address as usize), len);
    let remote = [far(of.address, word.len()), far(address, len)];
    let remote = &remote[..if len == 0 { 1 } else { 2 }];
    let mut local = Vec::with_capacity(1 + into.len());
    local.push(part(word.as_mut_ptr(), word.len()));
    local.extend(into.iter().map(|(start, len)| part(start.as_ptr(), *len)));
    // SAFETY: the local stretches are the caller's and `word`; the kernel checks the remote ones.
    let got = unsafe {
        libc::process_vm_readv(
            of.pid as libc::pid_t,
            local.as_ptr(),
            local.len() as libc::c_ulong,
            remote.as_ptr(),
            remote.len() as libc::c_ulong,
            0,
        )
    };
    if got < 0 {
        return Err(Error::last_os_error());
    }
    if u64::from_ne_bytes(word) != of.word {
        return Err(Error::other("it is another process by now"));
    }
    match got as usize == word.len() + len {
        true => Ok(()),
        false => Err(Error::from(std::io::ErrorKind::UnexpectedEof)),
    }
}

/// Writes what lies at `from` to `address` in the memory of a process. The proof is checked first, by a read of the word alone.
///
/// # Errors
/// As [`read`]. What lies at `address` then is unknown.
///
/// # Safety
/// No thread of this process writes to the stretch meanwhile.
pub unsafe fn write(of: &Proof, address: u64, from: (NonNull<u8>, usize)) -> Result<(), Error> {
    // SAFETY: nothing is filled but the word's copy.
    unsafe { read(of, of.address, &[]) }?;
    let (start, len) = from;
    let local = libc::iovec { iov_base: start.as_ptr().cast(), iov_len: len };
    let remote = libc::iovec { iov_base: std::ptr::without_provenance_mut(address as usize), iov_len: len };
    // SAFETY: the local stretch is the caller's and is only read; the kernel checks the remote one.
    let got = unsafe { libc::process_vm_writev(of.pid as libc::pid_t, &local, 1, &remote, 1, 0) };
    match got {
        ..0 => Err(Error::last_os_error()),
        _ if got as usize == len => Ok(()),
        _ => Err(Error::from(std::io::ErrorKind::WriteZero)),
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    fn fetch(of: &Proof, address: u64, into: &mut [&mut [u8]]) -> bool {
        let stretches: Vec<_> =
            into.iter_mut().map(|part| (NonNull::new(part.as_mut_ptr()).unwrap(), part.len())).collect();
        // SAFETY: the stretches are borrowed for this call.
        unsafe { read(of, address, &stretches) }.is_ok()
    }

    #[test]
    fn memory_is_read_in_stretches_from_whom_it_is_of_only() {
        let (word, data) = (0x1234_5678_9abc_def0, [1u8, 2, 3, 4, 5]);
        let proof = Proof::own(&word);
        let (mut low, mut high) = ([0; 2], [0; 3]);
        assert!(fetch(&proof, data.as_ptr() as u64, &mut [&mut low, &mut high]));
        assert_eq!((low, high), ([1, 2], [3, 4, 5]));
        assert!(can_read(&proof) && !can_read(&Proof { word: 1, ..proof }));
        assert!(
            !fetch(&Proof { word: 1, ..proof }, data.as_ptr() as u64, &mut [&mut low]),
            "another process"
        );
        assert!(!fetch(&proof, 8, &mut [&mut low]), "no memory there");
        assert!(!fetch(&Proof { pid: u32::MAX >> 2, ..proof }, data.as_ptr() as u64, &mut [&mut low]));
    }

    #[test]
    fn memory_is_written_in_the_process_that_shows_the_word_only() {
        let word = 0x1234_5678_9abc_def0;
        let (mut target, source) = (vec![0u8; 4], [7u8, 8, 9]);
        let proof = Proof::own(&word);
        let address = target.as_mut_ptr() as u64;
        let from = (NonNull::from(&source).cast(), source.len());
        // SAFETY: the stretch is borrowed for this call; the target is memory of this process.
        let write = |of: &Proof, address| unsafe { write(of, address, from) };
        assert!(write(&Proof { word: 1, ..proof }, address).is_err(), "another process");
        assert_eq!(target, [0, 0, 0, 0]);
        write(&proof, address).unwrap();
        assert_eq!(target, [7, 8, 9, 0]);
        assert!(write(&proof, 8).is_err(), "no memory there");
    }
}
