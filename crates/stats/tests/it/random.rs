use gatebench_stats::random::Random;

#[test]
fn uniform_numbers_fill_their_range() {
    let mut random = Random::seeded(2);
    let mut tenths = [0; 10];
    (0..10_000).for_each(|_| tenths[(random.uniform() * 10.0) as usize] += 1);
    assert!(
        tenths.iter().all(|count| (880..1_120).contains(count)),
        "{tenths:?}"
    );
}

#[test]
fn every_order_of_three_is_equally_frequent() {
    let mut random = Random::seeded(3);
    let mut seen = std::collections::BTreeMap::new();
    for _ in 0..6_000 {
        let mut order = [0, 1, 2];
        random.shuffle(&mut order);
        *seen.entry(order).or_insert(0) += 1;
    }
    assert_eq!(seen.len(), 6);
    assert!(
        seen.values().all(|count| (850..1_150).contains(count)),
        "{seen:?}"
    );
}

#[test]
fn every_index_is_drawn_and_none_beyond() {
    let mut random = Random::seeded(1);
    let mut seen = [0; 7];
    (0..7_000).for_each(|_| seen[random.index(7)] += 1);
    assert!(
        seen.iter().all(|count| (850..1_150).contains(count)),
        "{seen:?}"
    );
}
