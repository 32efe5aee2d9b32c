//! The orderly end of a rank.

use crate::Error;
use crate::control::ToLauncher;
use crate::core::Core;
use crate::engine::Engine;

impl Engine {
    /// Sends everything that still waits and tells the launcher that this rank is done. Later calls are errors.
    ///
    /// # Errors
    /// The launcher is gone.
    pub fn finish(&self) -> Result<(), Error> {
        let core = self.enter_to_submit()?;
        let flushed = |core: &mut Core| {
            let flushed = core.proto.is_flushed() && core.rails.is_settled();
            (flushed || core.broken.is_some()).then_some(())
        };
        let mut core = match self.wait_for(core, None, flushed) {
            Ok((core, ())) | Err((core, _)) => core,
        };
        core.rails.leave();
        core.publish_counters();
        let told = core.tell(&ToLauncher::Finished);
        core.finished = true;
        core.proto.close();
        self.rouse(&core);
        core.followers.drain(..).for_each(|thread| thread.unpark());
        told
    }

    /// Makes progress until the job is finished: what a thread of the library does for a program that computes. It sleeps
    /// when nothing moves, and follows when a thread of the program waits itself.
    pub fn serve(&self) {
        let over = |core: &mut Core| (core.finished || core.broken.is_some()).then_some(());
        if let Ok(core) = self.enter() {
            let _ = self.wait_for(core, None, over);
        }
    }
}
