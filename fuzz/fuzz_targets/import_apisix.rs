#![no_main]

use gatebench_import::TextKind;

libfuzzer_sys::fuzz_target!(|data: &[u8]| gatebench_fuzz::import::text(TextKind::Apisix, data));
