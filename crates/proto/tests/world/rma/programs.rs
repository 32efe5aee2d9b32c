//! Programs of random RMA requests, and one that is made by hand.

use super::*;

fn run(seed: u64, cuts: bool, death: bool) {
    let mut play = Play::new(seed, cuts);
    let doomed = Rank(play.random.below(play.ranks()) as u32);
    let moment = play.random.below(2000);
    for step in 0..1_000_000 {
        if death && step == moment {
            play.dead = Some(doomed);
            play.net.world.kill(doomed);
            play.runs[doomed.0 as usize].clear();
            for rank in (0..play.ranks() as u32).map(Rank).filter(|rank| *rank != doomed).collect::<Vec<_>>()
            {
                play.net.tell(rank, doomed);
            }
        }
        play.step();
        let done = (0..play.ranks()).all(|rank| play.is_dead(rank) || play.left[rank] == 0);
        if done && (!death || step > moment) {
            break;
        }
    }
    play.check_the_end();
}

#[test]
fn rma_requests_are_done_once_and_in_order() {
    crate::seeds().for_each(|seed| run(seed, false, false));
}

#[test]
fn rma_requests_are_done_once_and_in_order_though_links_are_lost() {
    crate::seeds().for_each(|seed| run(seed, true, false));
}

#[test]
fn rma_requests_at_a_rank_that_dies_fail_and_name_it() {
    crate::seeds().for_each(|seed| run(seed, false, true));
}

#[test]
fn an_answer_that_nobody_waits_for_is_undone() {
    let settings = Settings { eager_bytes: 1000, piece_bytes: 512, unexpected_bytes: 1 << 20 };
    let model = Model { numbered: true, one_sided: false, ..Model::default() };
    let net = Net::new(settings, &[model], "aggregate", Packets::Well, 1, &[8, 8]);
    let mut play = Play { net, ..Play::new(1, false) };
    play.left.truncate(2);
    play.runs.truncate(2);
    play.origins.truncate(2);
    for (question, late) in [
        ([1, 1, 0], LateAnswer::Undo([9, 0, 0])),
        ([0, 0, 0], LateAnswer::Undo([8, 0, 0])),
        ([2, 0, 0], LateAnswer::Ignore),
    ] {
        let (proto, rail) = play.net.both(Rank(0));
        let call = NewCall { ending: Ending::Left(late), ..NewCall::new(Rank(1), RmaRequest::Ask(question)) };
        play.origins[0].submit(proto, rail, call);
        play.settle();
    }
    let asked: Vec<_> = play.asked[1].iter().map(|(_, question)| question[0]).collect();
    assert_eq!(asked, [1, 9, 0, 2], "only what gave a value was undone");
    assert_eq!(play.net.protos.iter().map(Proto::holding).collect::<Vec<_>>(), [Holding::default(); 2]);
}
