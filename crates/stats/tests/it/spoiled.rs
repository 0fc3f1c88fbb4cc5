use gatebench_stats::simulate::Noise;
use gatebench_stats::spoiled::{Spoiled, SpoiledBy};
use gatebench_stats::verdict::Verdict;

const OPEN: Verdict = Verdict::Inconclusive {
    blocks_needed: None,
};

fn by(alone: usize, all: usize) -> SpoiledBy {
    SpoiledBy { alone, all }
}

fn weighed(candidate: SpoiledBy, baseline: SpoiledBy, verdict: Verdict) -> Verdict {
    let spoiled = Spoiled {
        candidate,
        baseline,
    };
    spoiled.weigh(verdict, 10, 0.05)
}

#[test]
fn a_side_that_lost_spoiled_blocks_and_leads_in_others_gets_no_verdict() {
    use Verdict::{Better, NoChange, Worse};
    let (none, many) = (by(0, 0), by(7, 7));
    assert_eq!(weighed(many, none, Better), OPEN);
    assert_eq!(weighed(none, many, Worse), OPEN);
    for verdict in [Worse, NoChange, OPEN] {
        assert_eq!(weighed(many, none, verdict), Worse);
    }
    for verdict in [Better, NoChange, OPEN] {
        assert_eq!(weighed(none, many, verdict), Better);
    }
}

#[test]
fn no_verdict_favors_a_side_that_spoiled_a_block() {
    use Verdict::{Better, NoChange, Worse};
    let none = by(0, 0);
    for spoiled in [by(1, 1), by(0, 1), by(3, 4)] {
        assert_eq!(weighed(spoiled, none, Better), OPEN);
        assert_eq!(weighed(spoiled, none, NoChange), OPEN);
        assert_eq!(weighed(spoiled, none, Worse), Worse);
        assert_eq!(weighed(none, spoiled, Worse), OPEN);
        assert_eq!(weighed(none, spoiled, NoChange), OPEN);
        assert_eq!(weighed(none, spoiled, Better), Better);
        for verdict in [Better, Worse, NoChange] {
            assert_eq!(
                weighed(spoiled, by(1, 1), verdict),
                OPEN,
                "both sides spoiled blocks"
            );
        }
    }
    for verdict in [Better, Worse, NoChange, Verdict::TooFewBlocks { blocks: 9 }] {
        assert_eq!(weighed(none, none, verdict), verdict);
    }
}

#[test]
fn six_blocks_that_one_side_alone_spoiled_are_lost() {
    let none = by(0, 0);
    assert_eq!(weighed(by(5, 5), none, Verdict::NoChange), OPEN);
    assert_eq!(weighed(by(6, 6), none, Verdict::NoChange), Verdict::Worse);
    assert_eq!(weighed(none, by(6, 6), Verdict::NoChange), Verdict::Better);
    assert_eq!(weighed(by(6, 6), by(0, 1), Verdict::NoChange), OPEN);
    // The p-value of 2^(1 − 6) = 0.031 is not small enough with six simultaneous comparisons.
    let six = Spoiled {
        candidate: by(6, 6),
        baseline: none,
    };
    let few = Verdict::TooFewBlocks { blocks: 3 };
    assert_eq!(six.p_value(4), Some(0.031_25));
    assert_eq!(six.weigh(Verdict::NoChange, 10, 0.05 / 6.0), OPEN);
    assert_eq!(
        six.weigh(few, 3, 0.05),
        few,
        "nine blocks are too few for a verdict"
    );
}

#[test]
fn equal_sides_that_spoil_blocks_lose_in_at_most_one_of_twenty_runs_over_all_looks() {
    // Each side spoils a block with a probability of one fifth, and the result is examined after
    // each of the 60 blocks.
    let mut noise = Noise::seeded(5);
    let mut run = |_: &usize| {
        let mut spoiled = Spoiled::default();
        (1..=60).any(|block: usize| {
            let (own, other) = (noise.uniform() < 0.2, noise.uniform() < 0.2);
            spoiled.candidate.all += usize::from(own);
            spoiled.baseline.all += usize::from(other);
            spoiled.candidate.alone += usize::from(own && !other);
            spoiled.baseline.alone += usize::from(other && !own);
            spoiled.p_value(block).is_some_and(|p| p <= 0.05)
        })
    };
    let lost = (0..20_000).filter(|at| run(at)).count();
    assert!(lost <= 1_000, "{lost} of 20,000");
    assert!(
        lost > 100,
        "{lost} of 20,000: the test must be able to fail"
    );
}
