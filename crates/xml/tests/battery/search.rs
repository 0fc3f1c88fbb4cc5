//! Mutates the messages of the battery to find messages that take more time or memory than allowed.
//!
//! `GATEBENCH_SEARCH_SECONDS=7200 cargo test --release -p gatebench-xml --test battery search:: --
//! --ignored --nocapture` searches for two hours of CPU time. The default is ten seconds.
//! `GATEBENCH_SEARCH_SEED` selects another sequence. Any finding fails the test, and is kept below
//! `target/tmp/search` under a name that contains the kind of processing.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::memory::Idle;
use crate::processor::cpu;
use crate::shapes::{self, BODY_BYTES, Way, Ways};
use crate::{GROWTH_MAX, TIME_MAX, alone};

/// The maximum number of messages that are kept for each way of processing: the slowest so far, and
/// some of those that take the most memory.
const KEPT: usize = 24;

/// The strings that mutations insert: parts of markup, especially those that are expensive to
/// process.
const PIECES: [&str; 44] = [
    "<i/>",
    "<i>",
    "</i>",
    "<i k='1'>x</i>",
    "<a:i/>",
    " a=''",
    " a:b='c'",
    " xmlns='urn:a'",
    " xmlns=''",
    " xmlns:p='urn:b'",
    " k='1'",
    " r='1'",
    " xsi:type='t:more'",
    " xsi:nil='true'",
    " xml:id='a'",
    " xml:space='x'",
    "<!---->",
    "<!-- a -->",
    "<?p?>",
    "<?p a?>",
    "<![CDATA[x]]>",
    "<![CDATA[]]>",
    "]]>",
    "&#65;",
    "&#x10FFFF;",
    "&lt;",
    "&amp;",
    "&x;",
    "&",
    "<",
    ">",
    "'",
    "\"",
    "x",
    ",",
    " ",
    "\n",
    "\u{e9}",
    "\u{4e2d}",
    "1",
    "-1",
    "t:",
    "<!DOCTYPE a [",
    "<s:Body>",
];

/// A random number generator (xorshift64*).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % sides.max(1)
    }

    /// Draws a number from 1 to `max`. All orders of magnitude are about equally likely.
    fn size(&mut self, max: usize) -> usize {
        let bits = self.roll(usize::BITS as usize - max.leading_zeros() as usize) + 1;
        1 + self.roll(max.min(1 << bits))
    }
}

#[derive(Clone)]
struct Message {
    way: Way,
    bytes: Vec<u8>,
    time: Duration,
    growth: u64,
}

/// Draws a part of a string, either arbitrary or between the beginnings of two tags.
fn part(dice: &mut Dice, bytes: &[u8]) -> std::ops::Range<usize> {
    if bytes.is_empty() {
        return 0..0;
    }
    let mut at = dice.roll(bytes.len());
    let mut end = (at + dice.size(bytes.len())).min(bytes.len());
    if dice.roll(4) > 0 {
        let next = |from: usize| bytes[from..].iter().position(|&byte| byte == b'<');
        at += next(at).unwrap_or(0);
        end = end.max(at);
        end += next(end).unwrap_or(0);
    }
    at..end
}

/// Applies one change at an arbitrary position. Many results are not XML.
fn change(dice: &mut Dice, bytes: &mut Vec<u8>, other: &[u8]) {
    let place = part(dice, bytes);
    match dice.roll(8) {
        0 => drop(bytes.drain(place)),
        1 | 2 => {
            let room = BODY_BYTES.saturating_sub(bytes.len());
            let piece = bytes[place.clone()].to_vec();
            let times = dice.size(room / piece.len().max(1) + 1);
            let copies = piece.repeat(times.min(room / piece.len().max(1)));
            bytes.splice(place.end..place.end, copies);
        }
        3 => {
            let piece = PIECES[dice.roll(PIECES.len())].repeat(dice.size(50_000));
            bytes.splice(place.start..place.start, piece.into_bytes());
        }
        4 => {
            let piece = PIECES[dice.roll(PIECES.len())];
            bytes.splice(place, piece.bytes());
        }
        5 => {
            let from = part(dice, other);
            bytes.splice(place, other[from].iter().copied());
        }
        6 => {
            let name = PIECES[dice.roll(PIECES.len())].repeat(dice.size(2_000));
            bytes.splice(place.start..place.start, name.into_bytes());
        }
        _ => {
            if let Some(byte) = bytes.get_mut(place.start) {
                *byte = [b'<', b'>', b'&', b'\'', b'x', 0, 0xff, b':'][dice.roll(8)];
            }
        }
    }
    bytes.truncate(BODY_BYTES);
}

struct Search {
    ways: Ways,
    kept: Vec<Message>,
    found: Vec<PathBuf>,
}

impl Search {
    fn measure(&self, way: Way, bytes: &[u8]) -> (Duration, u64) {
        let mut time = Duration::ZERO;
        let growth = Idle::now().growth_of(|| {
            let before = cpu();
            let _ = self.ways.take(way, bytes, false);
            time = cpu() - before;
        });
        (time, growth)
    }

    fn try_one(&mut self, way: Way, bytes: Vec<u8>) {
        let (mut time, mut growth) = self.measure(way, &bytes);
        if time > TIME_MAX * 4 / 5 || growth > GROWTH_MAX / 5 * 4 {
            // Use the minimum, because other programs empty the processor's caches, and freed
            // memory may be returned late.
            for _ in 0..2 {
                let again = self.measure(way, &bytes);
                (time, growth) = (time.min(again.0), growth.min(again.1));
            }
        }
        let message = Message {
            way,
            bytes,
            time,
            growth,
        };
        if time > TIME_MAX || growth > GROWTH_MAX {
            self.found.push(save(&message));
        }
        self.keep(message);
    }

    /// Keeps a message. If [`KEPT`] messages are already kept for its way of processing, the
    /// message replaces the fastest of them if it is slower, or if it takes more memory than the
    /// fastest and more than half of the memory limit. Otherwise, the message is dropped.
    fn keep(&mut self, message: Message) {
        let of_way = |one: &&Message| one.way == message.way;
        let count = self.kept.iter().filter(of_way).count();
        if count >= KEPT {
            let cost = |one: &Message| (one.time, one.growth);
            let of_way = self.kept.iter().enumerate();
            let of_way = of_way.filter(|(_, one)| one.way == message.way);
            let (at, least) = of_way.min_by_key(|(_, one)| cost(one)).unwrap();
            let is_larger = message.growth > least.growth && message.growth > GROWTH_MAX / 2;
            if cost(&message) <= cost(least) && !is_larger {
                return;
            }
            self.kept.swap_remove(at);
        }
        self.kept.push(message);
    }

    fn step(&mut self, dice: &mut Dice) {
        let first = self.kept[dice.roll(self.kept.len())].clone();
        let second = self.kept[dice.roll(self.kept.len())].bytes.clone();
        let mut bytes = first.bytes;
        for _ in 0..dice.size(4) {
            change(dice, &mut bytes, &second);
        }
        let way = match dice.roll(4) {
            0 => Way::ALL[dice.roll(Way::ALL.len())],
            _ => first.way,
        };
        self.try_one(way, bytes);
    }
}

fn save(message: &Message) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("search");
    fs::create_dir_all(&folder).unwrap();
    let (time, growth) = (message.time.as_millis(), message.growth >> 20);
    let file = folder.join(format!("{:?}-{time}ms-{growth}MiB.xml", message.way));
    fs::write(&file, &message.bytes).unwrap();
    println!("found {}", file.display());
    file
}

fn number(name: &str, usual: u64) -> u64 {
    let said = std::env::var(name).ok();
    said.map_or(usual, |text| text.parse().unwrap())
}

#[test]
#[ignore = "uses GATEBENCH_SEARCH_SECONDS seconds of CPU time [default: 10]; run make test-full"]
fn the_search_finds_no_message_beyond_the_limits() {
    let _alone = alone();
    let seconds = number("GATEBENCH_SEARCH_SECONDS", 10);
    let mut dice = Dice(number("GATEBENCH_SEARCH_SEED", 1) * 2 + 1);
    let ways = Ways::compile();
    assert_eq!(ways.take(Way::Transformed, b"<a/>", false), Ok(()));
    let mut search = Search {
        ways,
        kept: Vec::new(),
        found: Vec::new(),
    };
    for shape in shapes::all() {
        let (bytes, is_gzip) = shape.bytes();
        if !is_gzip {
            search.try_one(shape.way, bytes);
        }
    }
    let began = cpu();
    let (mut tried, mut reported) = (0_u64, Duration::ZERO);
    while cpu() - began < Duration::from_secs(seconds) {
        search.step(&mut dice);
        tried += 1;
        if cpu() - began > reported {
            reported = cpu() - began + Duration::from_secs(60);
            let longest = search.kept.iter().max_by_key(|one| one.time).unwrap();
            let largest = search.kept.iter().max_by_key(|one| one.growth).unwrap();
            println!(
                "{tried} tried, longest {} ms ({:?}), largest {} MiB ({:?})",
                longest.time.as_millis(),
                longest.way,
                largest.growth >> 20,
                largest.way
            );
            if longest.time > TIME_MAX * 4 / 5 {
                save(longest);
            }
        }
    }
    println!("{tried} tried in {seconds} s of CPU time");
    assert!(search.found.is_empty(), "{:?}", search.found);
}
