use gatebench_stats::little::concurrency;

#[test]
fn sixty_four_connections_at_a_millisecond_carry_64_000_per_second() {
    assert!((concurrency(64_000.0, 1e6) - 64.0).abs() < 1e-9);
}
