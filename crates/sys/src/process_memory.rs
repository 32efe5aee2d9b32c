//! Memory of other processes, read and written without their help if the kernel allows it: one copy instead
//! of two.
//!
//! A process is named by its number, which another process may have by now, or in another container. So it
//! publishes a word that no other process has, and every read reads that word too: the data counts only if
//! the word is right. A write cannot be taken back, so it reads the word just before. Between the two calls
//! the process would have to end and its number to be reused.

use std::io::Error;
use std::ptr::NonNull;

/// The proof by which another process recognises a process before it accesses its memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Proof {
    /// The process number.
    pub pid: u32,
    /// The address of the word.
    pub address: u64,
    /// The word.
    pub word: u64,
}

/// The number of stretches of either process that one call copies.
pub const MOST_STRETCHES: usize = 256;

impl Proof {
    /// Returns the proof of this process. The word stays there while any process reads this one's memory.
    pub fn own(word: &u64) -> Self {
        Self { pid: std::process::id(), address: std::ptr::from_ref(word) as u64, word: *word }
    }
}

/// Lets the other processes of the job read and write the memory of this one where Yama requires permission.
/// The permission is for the parent, which is the launcher, and its descendants.
pub fn allow_siblings() {
    // SAFETY: this option takes a number and touches no memory; where there is no Yama it is refused.
    #[cfg(all(target_os = "linux", not(miri)))]
    unsafe {
        libc::prctl(libc::PR_SET_PTRACER, libc::getppid() as libc::c_ulong, 0, 0, 0);
    }
}

/// Tries to read the memory of a process; returns true if that works.
pub fn can_read(of: &Proof) -> bool {
    // SAFETY: nothing is filled but the word's copy.
    unsafe { read(of, &[], &[]) }.is_ok()
}

/// Copies the stretches `from` in the memory of a process to the stretches `into`, in order. Both have the
/// same total length.
///
/// # Errors
/// Fails with the system's error if the kernel refuses, there is no such process or memory, or fewer bytes
/// were read. Fails without one if the process is another one by now. The contents of `into` are unspecified
/// then.
///
/// # Safety
/// Each stretch may be written by this call, and no thread of this process accesses it meanwhile.
pub unsafe fn read(of: &Proof, from: &[(u64, usize)], into: &[(NonNull<u8>, usize)]) -> Result<(), Error> {
    if cfg!(miri) || into.len().max(from.len()) > MOST_STRETCHES {
        return Err(Error::from(std::io::ErrorKind::Unsupported));
    }
    let len: usize = into.iter().map(|(_, len)| len).sum();
    let mut word = [0u8; 8];
    let mut remote = Vec::with_capacity(1 + from.len());
    remote.push(far(of.address, word.len()));
    remote.extend(from.iter().map(|(address, len)| far(*address, *len)));
    let mut local = Vec::with_capacity(1 + into.len());
    local.push(near(word.as_mut_ptr(), word.len()));
    local.extend(into.iter().map(|(start, len)| near(start.as_ptr(), *len)));
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
    all_of(got, word.len() + len)
}

/// Copies the stretches `from`, in order, to the stretches `into` in the memory of a process. Both have the
/// same total length.
///
/// # Errors
/// Fails as [`read`] does. The contents of `into` are unspecified then.
///
/// # Safety
/// Each stretch of `from` may be read by this call. The process has lent the stretches `into` to the caller:
/// its own code accesses none of them until it has been told that the call is over.
pub unsafe fn write(to: &Proof, into: &[(u64, usize)], from: &[(NonNull<u8>, usize)]) -> Result<(), Error> {
    if cfg!(miri) || from.len().max(into.len()) > MOST_STRETCHES {
        return Err(Error::from(std::io::ErrorKind::Unsupported));
    }
    // SAFETY: nothing is filled but the word's copy.
    unsafe { read(to, &[], &[]) }?;
    let len: usize = from.iter().map(|(_, len)| len).sum();
    let local: Vec<_> = from.iter().map(|(start, len)| near(start.as_ptr(), *len)).collect();
    let remote: Vec<_> = into.iter().map(|(address, len)| far(*address, *len)).collect();
    // SAFETY: the local stretches are the caller's and only read; the kernel checks the remote ones, which
    // the caller vouches for.
    let put = unsafe {
        libc::process_vm_writev(
            to.pid as libc::pid_t,
            local.as_ptr(),
            local.len() as libc::c_ulong,
            remote.as_ptr(),
            remote.len() as libc::c_ulong,
            0,
        )
    };
    all_of(put, len)
}

/// Returns the descriptor of a stretch of this process.
fn near(start: *mut u8, len: usize) -> libc::iovec {
    libc::iovec { iov_base: start.cast(), iov_len: len }
}

/// Returns the descriptor of a stretch of another process.
fn far(address: u64, len: usize) -> libc::iovec {
    near(std::ptr::without_provenance_mut(address as usize), len)
}

/// Checks by the result of a call that it moved all bytes.
fn all_of(moved: isize, len: usize) -> Result<(), Error> {
    match usize::try_from(moved) {
        Ok(moved) if moved == len => Ok(()),
        Ok(_) => Err(Error::from(std::io::ErrorKind::UnexpectedEof)),
        Err(_) => Err(Error::last_os_error()),
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    fn fetch(of: &Proof, address: u64, into: &mut [&mut [u8]]) -> bool {
        let stretches: Vec<_> =
            into.iter_mut().map(|part| (NonNull::new(part.as_mut_ptr()).unwrap(), part.len())).collect();
        // SAFETY: the stretches are borrowed for this call.
        unsafe { read(of, &[(address, stretches.iter().map(|part| part.1).sum())], &stretches) }.is_ok()
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

    fn store(to: &Proof, address: u64, from: &mut [&mut [u8]]) -> bool {
        let stretches: Vec<_> =
            from.iter_mut().map(|part| (NonNull::new(part.as_mut_ptr()).unwrap(), part.len())).collect();
        // SAFETY: the stretches are borrowed for this call; what lies at the address is the tests' own.
        unsafe { write(to, &[(address, stretches.iter().map(|part| part.1).sum())], &stretches) }.is_ok()
    }

    #[test]
    fn memory_is_written_from_stretches_to_whom_it_is_of_only() {
        let word = 0x1234_5678_9abc_def0;
        let proof = Proof::own(&word);
        let mut data = [0u8; 6];
        let address = data.as_mut_ptr() as u64;
        let (mut low, mut high) = ([1, 2], [3, 4, 5]);
        assert!(!store(&Proof { word: 1, ..proof }, address, &mut [&mut low]), "another process");
        assert!(!store(&Proof { pid: u32::MAX >> 2, ..proof }, address, &mut [&mut low]));
        assert!(!store(&proof, 8, &mut [&mut low]), "no memory there");
        assert_eq!(std::hint::black_box(&data), &[0; 6]);
        assert!(store(&proof, address, &mut [&mut low, &mut high]));
        assert_eq!(std::hint::black_box(&data), &[1, 2, 3, 4, 5, 0]);
    }

    #[test]
    fn stretches_of_the_other_process_are_filled_and_read_in_order() {
        let word = 0x1234_5678_9abc_def2;
        let proof = Proof::own(&word);
        let (mut here, mut there) = ([1u8, 2, 3, 4, 5], [0u8; 8]);
        let start = there.as_mut_ptr() as u64;
        let stretches = [(start + 6, 2), (start, 3)];
        let near = [(NonNull::new(here.as_mut_ptr()).unwrap(), 5)];
        // SAFETY: both arrays are the test's own.
        unsafe { write(&proof, &stretches, &near) }.unwrap();
        assert_eq!(std::hint::black_box(&there), &[3, 4, 5, 0, 0, 0, 1, 2]);
        here = [0; 5];
        // SAFETY: as above.
        unsafe { read(&proof, &stretches, &near) }.unwrap();
        assert_eq!(std::hint::black_box(&here), &[1, 2, 3, 4, 5]);
        let many = vec![(start, 0); MOST_STRETCHES + 1];
        // SAFETY: nothing is read or written.
        assert!(unsafe { read(&proof, &many, &[]).is_err() && write(&proof, &many, &[]).is_err() });
    }

    #[test]
    fn memory_that_cannot_be_written_is_not() {
        let word = 0x1234_5678_9abc_def1;
        static CONSTANT: [u8; 4] = [9; 4];
        assert!(!store(&Proof::own(&word), CONSTANT.as_ptr() as u64, &mut [&mut [1, 2, 3, 4]]));
        assert_eq!(std::hint::black_box(&CONSTANT), &[9; 4]);
    }
}
