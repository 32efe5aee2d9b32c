//! Types that can travel as bytes.

/// Plain data: types without padding, pointers or invalid values, which can travel as bytes.
///
/// Numbers and arrays of them are plain. A structure of plain fields becomes so by a derive:
///
/// ```
/// #[derive(Clone, Copy, canele::Pod, canele::Zeroable)]
/// #[bytemuck(crate = "canele::bytemuck")]
/// #[repr(C)]
/// struct Particle {
///     position: [f64; 3],
///     charge: f64,
/// }
///
/// fn travels<T: canele::Plain>() {}
/// travels::<Particle>();
/// ```
/// A type that has a pointer is refused when the program is compiled:
///
/// ```compile_fail,E0277
/// fn travels<T: canele::Plain>() {}
/// travels::<String>();
/// ```
/// So is a structure with padding between its fields:
///
/// ```compile_fail
/// #[derive(Clone, Copy, canele::Pod, canele::Zeroable)]
/// #[bytemuck(crate = "canele::bytemuck")]
/// #[repr(C)]
/// struct Padded {
///     kind: u8,
///     charge: f64,
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot travel as bytes",
    label = "not plain data",
    note = "a structure of plain fields without padding can: `#[derive(Clone, Copy, canele::Pod, canele::Zeroable)]`, `#[bytemuck(crate = \"canele::bytemuck\")]` and `#[repr(C)]`"
)]
pub trait Plain: bytemuck::Pod {}

#[diagnostic::do_not_recommend]
impl<T: bytemuck::Pod> Plain for T {}
