#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| gatebench_fuzz::import::access_log(data));
