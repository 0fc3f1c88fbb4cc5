use super::*;
use crate::topology::Cpu;

fn lists(placement: &Placement) -> (&[usize], &[usize], &[usize]) {
    (&placement.gateway, &placement.engine, &placement.upstream)
}

#[test]
fn small_machines_share_and_larger_ones_leave_unneeded_cores_idle() {
    let sixteen: Vec<usize> = (0..16).collect();
    for (cpus, gateway, engine, upstream) in [
        (&[][..], &[][..], &[][..], &[][..]),
        (&[4], &[4], &[4], &[4]),
        (&[0, 1], &[1], &[0], &[0]),
        (&[0, 1, 2], &[2], &[0], &[1]),
        (&[0, 1, 2, 3], &[3], &[0, 1], &[2]),
        (&sixteen, &[15], &[0, 1], &[8, 9]),
    ] {
        let placed = Placement::automatic(&Topology::flat(cpus));
        assert_eq!(lists(&placed), (gateway, engine, upstream), "{cpus:?}");
    }
    let two = Placement::automatic(&Topology::flat(&[0, 1]));
    assert_eq!(
        two.note,
        "The gateway has core 1 to itself. The load generator and the upstream share core 0, so a gateway that is too \
         fast for them is reported as limited; its CPU per request stays valid."
    );
    let four = Placement::with_gateway_cores(&Topology::flat(&sixteen), 4).unwrap();
    assert_eq!(
        lists(&four),
        (
            &[12, 13, 14, 15][..],
            &[0, 1, 2, 3, 4, 5][..],
            &[6, 7, 8, 9, 10, 11][..]
        )
    );
    assert!(
        four.note
            .contains("the gateway has cores 12-15, the load generator cores 0-5"),
        "{}",
        four.note
    );
}

#[test]
fn with_a_remote_gateway_the_engine_and_the_upstream_have_this_machine() {
    let placement = |here: &[usize], count| {
        Placement::with_gateway_elsewhere(&Topology::flat(here), "far", &[0, 1, 2, 3], count)
    };
    let one = placement(&[0], 4).unwrap();
    assert_eq!(lists(&one), (&[0, 1, 2, 3][..], &[0][..], &[0][..]));
    assert_eq!(
        one.note,
        "The gateway has cores 0-3 of far; the load generator and the upstream share core 0 of this machine."
    );
    let two = placement(&[0, 1], 1).unwrap();
    assert_eq!(lists(&two), (&[3][..], &[0][..], &[1][..]));
    assert!(two.engine_is_alone() && !one.engine_is_alone());
    let error = placement(&[0, 1], 5).unwrap_err().to_string();
    assert_eq!(
        error,
        "the gateway cannot have 5 cores on far: it can have at most 4"
    );
}

#[test]
fn more_cores_than_the_machine_has_are_refused() {
    assert!(Placement::with_gateway_cores(&Topology::flat(&[0]), 1).is_ok());
    assert!(Placement::with_gateway_cores(&Topology::flat(&[0, 1, 2]), 2).is_ok());
    for (cpus, count) in [(&[0][..], 2), (&[0, 1], 0), (&[0, 1], 2), (&[], 1)] {
        let error = Placement::with_gateway_cores(&Topology::flat(cpus), count)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(&format!("cannot have {count} cores:")),
            "{error}"
        );
        assert!(
            error.contains(&format!("can use {} in total", cpus.len())),
            "{error}"
        );
    }
    let message = Placement::with_gateway_cores(&Topology::flat(&[0, 1, 2, 3]), 4)
        .unwrap_err()
        .to_string();
    assert!(message.contains("at most 3"), "{message}");
}

/// The expected layout if each CPU is a separate core and all cores are of one kind: the gateway
/// gets the last `count` CPUs. The load generator gets half of the others, rounded up, and the
/// upstream gets the rest, but each at most twice `count`. If there is only one other CPU, both get
/// it.
fn by_number(cpus: &[usize], count: usize) -> (Vec<usize>, Vec<usize>, Vec<usize>) {
    let (rest, gateway) = cpus.split_at(cpus.len() - count);
    if rest.len() == 1 {
        return (gateway.into(), rest.into(), rest.into());
    }
    let (engine, upstream) = rest.split_at(rest.len().div_ceil(2));
    let most = |cpus: &[usize]| cpus.iter().copied().take(2 * count).collect();
    (gateway.into(), most(engine), most(upstream))
}

#[test]
fn without_siblings_cores_are_divided_by_number() {
    for len in 2..20 {
        let cpus: Vec<usize> = (0..len).map(|cpu| cpu * 2 + 1).collect();
        for count in 1..len {
            let placed = Placement::with_gateway_cores(&Topology::flat(&cpus), count).unwrap();
            let (gateway, engine, upstream) = by_number(&cpus, count);
            assert_eq!(lists(&placed), (&gateway[..], &engine[..], &upstream[..]));
            assert!(placed.siblings.is_empty() && placed.gateway_is_alone());
            assert!(!placed.note.contains("physical"), "{}", placed.note);
        }
    }
}

#[test]
fn no_layout_uses_a_sibling_of_a_gateway_core_while_another_core_is_free() {
    let mut shared = 0;
    for seed in 0..3_000_usize {
        // Up to six cores with one to three threads each; some threads must not be used.
        let mut digits = seed.wrapping_mul(2_654_435_761);
        let mut next = |below: usize| {
            digits = digits
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (digits >> 33) % below
        };
        let mut cpus = Vec::new();
        let mut number = 0;
        let mut usable_cores = 0;
        for _ in 0..=next(6) {
            let threads: Vec<usize> = (0..=next(3)).map(|at| number + at).collect();
            number += threads.len();
            let allowed: Vec<usize> = threads.iter().copied().filter(|_| next(4) > 0).collect();
            usable_cores += usize::from(!allowed.is_empty());
            cpus.extend(allowed.into_iter().map(|number| Cpu {
                number,
                threads: threads.clone(),
                ..Cpu::default()
            }));
        }
        if cpus.len() < 2 {
            continue;
        }
        let most = next(cpus.len() - 1) + 1;
        let topology = Topology::new(cpus);
        let placed = Placement::with_gateway_cores(&topology, most).unwrap();
        assert_eq!(placed.gateway.len(), most);
        let every = [&placed.gateway[..], &placed.engine, &placed.upstream].concat();
        assert!(every.iter().all(|cpu| topology.numbers().contains(cpu)));
        assert!(!placed.engine.is_empty() && !placed.upstream.is_empty());
        assert!(!placed.gateway.iter().any(|cpu| placed.engine.contains(cpu)));
        // Siblings are avoidable if the gateway fits on the threads of all cores but the smallest,
        // which then remains for the load generator and the upstream.
        let mut sizes: Vec<usize> = topology
            .cores()
            .iter()
            .map(|core| core.cpus.len())
            .collect();
        sizes.sort_unstable();
        let roomiest: usize = sizes.iter().skip(1).sum();
        let is_avoidable = usable_cores > 1 && most <= roomiest;
        assert_eq!(placed.gateway_has_siblings(), !is_avoidable, "{placed:?}");
        shared += usize::from(!is_avoidable);
    }
    assert!((100..2_000).contains(&shared), "{shared}");
}
