//! Pointers of C programs, for reading and writing.
//!
//! All of them are layout-compatible with a C pointer. A null pointer is an error that names the argument, if
//! a place is required. Any other pointer must be valid as the standard requires.

use core::ffi::{CStr, c_char, c_void};

use canele_mpi::{Class, Error, Result, fail};

/// The place of a result.
#[repr(transparent)]
pub struct Out<T>(*mut T);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Out<T> {}

impl<T> Out<T> {
    /// Stores the result.
    ///
    /// # Errors
    /// Fails if the pointer is null.
    #[inline]
    pub fn set(self, value: T, what: &str) -> Result<()> {
        self.set_at(0, value, what)
    }

    /// Stores the result unless the pointer is null.
    #[inline(always)]
    pub fn put(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: the standard asks for a place for the result.
            unsafe { self.0.write(value) };
        }
    }

    /// Stores an element of an array.
    ///
    /// # Errors
    /// Fails if the pointer is null.
    #[inline]
    pub fn set_at(self, at: usize, value: T, what: &str) -> Result<()> {
        self.check(what)?;
        // SAFETY: the standard asks for a place for the result, or an array long enough.
        unsafe { self.0.add(at).write(value) };
        Ok(())
    }

    /// Stores all elements of an array.
    ///
    /// # Errors
    /// Fails if the pointer is null and there are elements.
    pub fn set_all(self, values: impl IntoIterator<Item = T>, what: &str) -> Result<()> {
        self.set_from(0, values, what).map(|_| ())
    }

    /// Stores elements of an array from an index on; returns their number.
    ///
    /// # Errors
    /// Fails if the pointer is null and there are elements.
    pub fn set_from(self, at: usize, values: impl IntoIterator<Item = T>, what: &str) -> Result<usize> {
        let mut stored = 0;
        for value in values {
            self.set_at(at + stored, value, what)?;
            stored += 1;
        }
        Ok(stored)
    }

    /// Returns the value.
    ///
    /// # Errors
    /// Fails if the pointer is null.
    #[inline]
    pub fn get(self, what: &str) -> Result<T>
    where
        T: Copy,
    {
        self.check(what)?;
        // SAFETY: an argument that is read and written points to a value.
        Ok(unsafe { self.0.read() })
    }

    /// Returns true if the pointer is null.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Makes a place from an address that another call got and that the program keeps until an operation
    /// completes.
    pub fn at(address: usize) -> Self {
        Self(core::ptr::with_exposed_provenance_mut(address))
    }

    /// Returns the address.
    pub fn address(self) -> *mut T {
        self.0
    }

    /// Returns the `n` elements of an array that is read and written.
    ///
    /// # Errors
    /// Fails if the pointer is null and `n` is not zero.
    #[inline]
    pub fn slice<'a>(self, n: usize, what: &str) -> Result<&'a mut [T]> {
        if n == 0 {
            return Ok(&mut []);
        }
        self.check(what)?;
        // SAFETY: the standard asks for an array of n elements, which no other thread touches during the
        // call.
        Ok(unsafe { core::slice::from_raw_parts_mut(self.0, n) })
    }

    #[inline(always)]
    fn check(self, what: &str) -> Result<()> {
        if self.0.is_null() { Err(no_place(what)) } else { Ok(()) }
    }
}

#[cold]
#[inline(never)]
fn no_place(what: &str) -> Box<Error> {
    Error::new(Class::Argument, format!("{what} is a null pointer: a place for the result is needed"))
}

/// An array to read.
#[repr(transparent)]
pub struct In<T>(*const T);

impl<T> Clone for In<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for In<T> {}

impl<T> In<T> {
    /// Returns the `n` elements at the pointer.
    ///
    /// # Errors
    /// Fails if the pointer is null and `n` is not zero.
    #[inline]
    pub fn slice<'a>(self, n: usize, what: &str) -> Result<&'a [T]> {
        if n == 0 {
            return Ok(&[]);
        }
        if self.0.is_null() {
            fail!(Argument, "{what} is a null pointer: an array of {n} elements is needed");
        }
        // SAFETY: the standard asks for an array of n elements, which no thread changes during the call.
        Ok(unsafe { core::slice::from_raw_parts(self.0, n) })
    }

    /// Returns the address as a number, since some values have a special meaning.
    pub fn address(self) -> usize {
        self.0 as usize
    }

    /// Makes an array from an address in an array of the program.
    pub fn at(address: *const T) -> Self {
        Self(address)
    }
}

/// A string to read.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Text(*const c_char);

impl Text {
    /// Makes a string from an address in an array of the program.
    pub fn at(address: *const c_char) -> Self {
        Self(address)
    }

    /// Returns the string as text; invalid UTF-8 is replaced.
    ///
    /// # Errors
    /// Fails if the pointer is null.
    pub fn read(self, what: &str) -> Result<String> {
        Ok(String::from_utf8_lossy(self.bytes(what)?).into_owned())
    }

    /// Returns the bytes of the string without the terminating zero.
    ///
    /// # Errors
    /// Fails if the pointer is null.
    pub fn bytes<'a>(self, what: &str) -> Result<&'a [u8]> {
        if self.0.is_null() {
            fail!(Argument, "{what} is a null pointer: a string is needed");
        }
        // SAFETY: the standard asks for a string that ends with a zero, which no thread changes during the
        // call.
        Ok(unsafe { CStr::from_ptr(self.0) }.to_bytes())
    }
}

/// The place of a string.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct TextOut(*mut c_char);

impl TextOut {
    /// Returns true if the pointer is null.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Stores as much of a text as fits into `room` bytes with its terminating zero; returns its length
    /// without the zero.
    ///
    /// # Errors
    /// Fails if the pointer is null and there is room.
    pub fn write(self, text: impl AsRef<[u8]>, room: usize, what: &str) -> Result<usize> {
        let bytes = text.as_ref();
        let bytes = &bytes[..bytes.len().min(room.saturating_sub(1))];
        if room == 0 {
            return Ok(0);
        }
        if self.0.is_null() {
            fail!(Argument, "{what} is a null pointer: room for a string is needed");
        }
        // SAFETY: the standard asks for this room; the text and its zero fit.
        unsafe {
            core::ptr::copy_nonoverlapping(bytes.as_ptr(), self.0.cast(), bytes.len());
            self.0.add(bytes.len()).write(0);
        }
        Ok(bytes.len())
    }
}

/// A buffer to send.
pub type SendBuffer = *const c_void;
/// A buffer to receive into.
pub type RecvBuffer = *mut c_void;
