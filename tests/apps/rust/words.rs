//! Words of a text are normalised and counted. Bad: the whole text is made lower case for each word.
use std::collections::HashMap;

mod text {
    pub struct Words<'a> {
        pub rest: &'a str,
    }

    #[inline(never)]
    pub fn next_word<'a>(words: &mut Words<'a>) -> Option<&'a str> {
        let trimmed = words.rest.trim_start();
        if trimmed.is_empty() {
            return None;
        }
        let (word, rest) = trimmed.split_at(trimmed.find(' ').unwrap_or(trimmed.len()));
        words.rest = rest;
        Some(word)
    }
}

trait Normalise {
    fn normalise(&self, word: &str, text: &str) -> String;
}

struct Lower;

impl Normalise for Lower {
    #[inline(never)]
    fn normalise(&self, word: &str, text: &str) -> String {
        if cfg!(bad) {
            let at = word.as_ptr() as usize - text.as_ptr() as usize;
            text.to_lowercase()[at..at + word.len()].to_string()
        } else {
            word.to_lowercase()
        }
    }
}

#[inline(never)]
fn count<N: Normalise>(text: &str, by: &N) -> HashMap<String, usize> {
    let mut out = HashMap::new();
    let mut words = text::Words { rest: text };
    while let Some(word) = text::next_word(&mut words) {
        *out.entry(by.normalise(word, text)).or_insert(0) += 1;
    }
    out
}

fn main() {
    let n = std::env::args().nth(1).map_or(300, |n| n.parse().unwrap());
    let text: String = (0..n).map(|i| format!("Word{} of Text ", i % 17)).collect();
    let counts = count(&text, &Lower);
    println!("{} {}", counts.len(), counts.values().sum::<usize>());
}
