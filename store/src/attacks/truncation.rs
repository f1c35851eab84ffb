//! Archives that end early, in the stream and in the frame.

use std::io;

use super::Corpus;
use super::sample::Noise;

const RANDOM_CUTS: usize = 50;

pub(super) fn add(corpus: &mut Corpus) -> io::Result<()> {
    let stream = corpus.entries()?.stream();
    for cut in cuts(stream.len(), 1) {
        corpus.stream(format!("cut-stream/{cut}"), &stream[..cut])?;
    }
    let archive = corpus.sample.archive().map_err(io::Error::other)?;
    for cut in cuts(archive.len(), 2) {
        corpus.archive(format!("cut-frame/{cut}"), archive[..cut].to_vec());
    }
    Ok(())
}

/// Every block's boundary and random places, each once.
fn cuts(length: usize, seed: usize) -> Vec<usize> {
    let mut random = Noise::default();
    let somewhere = (0..RANDOM_CUTS).map(|_| {
        let number = usize::try_from(random.next() >> 33).unwrap_or(0);
        number.wrapping_mul(seed) % length
    });
    let mut cuts: Vec<usize> = (0..length).step_by(512).chain(somewhere).collect();
    cuts.sort_unstable();
    cuts.dedup();
    cuts
}
