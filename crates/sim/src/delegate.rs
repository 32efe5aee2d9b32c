//! Methods of a rail that wraps another one and passes a call on unchanged.

/// Writes methods of [`Rail`](canele_rail::Rail), [`OneSided`](canele_rail::OneSided) and
/// [`Recoverable`](canele_rail::Recoverable) that call the rail in a field: `delegate!(below: speed link)`.
macro_rules! delegate {
    (@caps $rail:ident) => {
        fn caps(&self, link: ::canele_sys::ids::LinkId) -> &::canele_rail::Caps {
            self.$rail.caps(link)
        }
    };
    (@speed $rail:ident) => {
        fn speed(&self, link: ::canele_sys::ids::LinkId) -> ::canele_rail::Speed {
            self.$rail.speed(link)
        }
    };
    (@generation $rail:ident) => {
        fn generation(&self, link: ::canele_sys::ids::LinkId) -> u32 {
            self.$rail.generation(link)
        }
    };
    (@link $rail:ident) => {
        fn link(&self, peer: ::canele_sys::ids::Rank) -> Option<::canele_sys::ids::LinkId> {
            self.$rail.link(peer)
        }
    };
    (@incoming $rail:ident) => {
        fn incoming(&self) -> &[::canele_sys::ids::LinkId] {
            self.$rail.incoming()
        }
    };
    (@disconnect $rail:ident) => {
        fn disconnect(&mut self, link: ::canele_sys::ids::LinkId) {
            self.$rail.disconnect(link);
        }
    };
    (@claim $rail:ident) => {
        fn claim(&mut self, link: ::canele_sys::ids::LinkId, bulk: usize, class: ::canele_rail::Class) -> Result<::canele_rail::Slot<'_>, ::canele_rail::Busy> {
            self.$rail.claim(link, bulk, class)
        }
    };
    (@commit $rail:ident) => {
        fn commit(&mut self, link: ::canele_sys::ids::LinkId, header: ::canele_rail::Header) {
            self.$rail.commit(link, header);
        }
    };
    (@poll $rail:ident) => {
        fn poll(&mut self, link: ::canele_sys::ids::LinkId) -> Result<Option<::canele_rail::Packet<'_>>, ::canele_rail::Corrupt> {
            self.$rail.poll(link)
        }
    };
    (@release $rail:ident) => {
        fn release(&mut self, link: ::canele_sys::ids::LinkId) {
            self.$rail.release(link);
        }
    };
    (@begin_pass $rail:ident) => {
        fn begin_pass(&mut self) {
            self.$rail.begin_pass();
        }
    };
    (@flush $rail:ident) => {
        fn flush(&mut self) -> bool {
            self.$rail.flush()
        }
    };
    (@arm $rail:ident) => {
        fn arm(&mut self) -> ::canele_rail::Armed {
            self.$rail.arm()
        }
    };
    (@sleep $rail:ident) => {
        fn sleep(&mut self, at_most: Option<::std::time::Duration>) {
            self.$rail.sleep(at_most);
        }
    };
    (@take_lost $rail:ident) => {
        fn take_lost(&mut self) -> Option<::canele_rail::Lost> {
            self.$rail.take_lost()
        }
    };
    (@close_link $rail:ident) => {
        fn close_link(&mut self, link: ::canele_sys::ids::LinkId) -> Option<::canele_rail::Unacked> {
            self.$rail.close_link(link)
        }
    };
    (@memory_link $rail:ident) => {
        fn memory_link(&self, peer: ::canele_sys::ids::Rank) -> Option<::canele_sys::ids::LinkId> {
            self.$rail.memory_link(peer)
        }
    };
    (@reach $rail:ident) => {
        fn reach(&mut self, link: ::canele_sys::ids::LinkId, place: ::canele_mem::buffer::RegionAddress, len: usize) -> ::canele_rail::Reach<'_> {
            self.$rail.reach(link, place, len)
        }
    };
    (@prefers_peer_copy $rail:ident) => {
        fn prefers_peer_copy(&mut self, link: ::canele_sys::ids::LinkId, bytes: usize) -> Option<::canele_rail::CopyingEnds> {
            self.$rail.prefers_peer_copy(link, bytes)
        }
    };
    (@prefers_both_ends $rail:ident) => {
        fn prefers_both_ends(&mut self, link: ::canele_sys::ids::LinkId, bytes: usize) -> bool {
            self.$rail.prefers_both_ends(link, bytes)
        }
    };
    (@can_copy_to_peer $rail:ident) => {
        fn can_copy_to_peer(&mut self, link: ::canele_sys::ids::LinkId) -> bool {
            self.$rail.can_copy_to_peer(link)
        }
    };
    (@copy_to_peer $rail:ident) => {
        fn copy_to_peer(&mut self, link: ::canele_sys::ids::LinkId, into: &[(u64, usize)], from: ::canele_mem::buffer::OutShare) -> bool {
            self.$rail.copy_to_peer(link, into, from)
        }
    };
    (@copy_from_peer $rail:ident) => {
        fn copy_from_peer(&mut self, link: ::canele_sys::ids::LinkId, from: &[(u64, usize)], message: usize, into: ::canele_mem::buffer::InShare) -> bool {
            self.$rail.copy_from_peer(link, from, message, into)
        }
    };
    (@own $rail:ident) => {
        fn own(&mut self, place: ::canele_mem::buffer::RegionAddress, len: usize) -> Option<::canele_mem::window::Window<'_>> {
            self.$rail.own(place, len)
        }
    };
    (@chunk_counter $rail:ident) => {
        fn chunk_counter(&mut self, link: ::canele_sys::ids::LinkId, mine: bool, index: usize) -> Option<&::canele_mem::chunk_counter::ChunkCounter> {
            self.$rail.chunk_counter(link, mine, index)
        }
    };
    (@note_offer $rail:ident) => {
        fn note_offer(&mut self, link: ::canele_sys::ids::LinkId) {
            self.$rail.note_offer(link);
        }
    };
    (@has_verbs $rail:ident) => {
        fn has_verbs(&self) -> bool {
            self.$rail.has_verbs()
        }
    };
    (@register $rail:ident) => {
        fn register(&mut self, place: ::canele_mem::buffer::MemoryAddress, memory: &::canele_mem::exposed::Exposed) -> Result<(), ::canele_sys::segment::SegmentError> {
            self.$rail.register(place, memory)
        }
    };
    (@deregister $rail:ident) => {
        fn deregister(&mut self, place: ::canele_mem::buffer::MemoryAddress) {
            self.$rail.deregister(place);
        }
    };
    (@post_verb $rail:ident) => {
        fn post_verb(&mut self, link: ::canele_sys::ids::LinkId, token: u64, verb: ::canele_rail::Verb) -> Result<(), ::canele_rail::Verb> {
            self.$rail.post_verb(link, token, verb)
        }
    };
    (@take_completion $rail:ident) => {
        fn take_completion(&mut self) -> Option<::canele_rail::VerbCompletion> {
            self.$rail.take_completion()
        }
    };
    ($rail:ident: $($name:ident)*) => {
        $($crate::delegate::delegate!(@$name $rail);)*
    };
}

pub(crate) use delegate;
