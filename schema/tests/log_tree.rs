//! The tree against a second, plainer way to hash it: proofs from tiles, the edge, and what is
//! refused.

#![expect(clippy::unwrap_used, reason = "a test says where it failed")]

use proptest::prelude::*;
use skillpkg_schema::log::{
    Edge, Hash, MadeTile, Tile, TileHashes, TilePath, consistency_ranges, empty_root,
    inclusion_ranges, leaf_hash, node_hash, proof_of, tiles_of, verify_consistency,
    verify_inclusion,
};

/// `MTH` as RFC 6962 writes it.
fn plain_root(leaves: &[Hash]) -> Hash {
    match leaves {
        [] => empty_root(),
        [leaf] => *leaf,
        _ => {
            let split = leaves.len().next_power_of_two() / 2;
            node_hash(&plain_root(&leaves[..split]), &plain_root(&leaves[split..]))
        }
    }
}

fn leaves(count: usize) -> Vec<Hash> {
    (0..count).map(|at| leaf_hash(at.to_string().as_bytes())).collect()
}

/// Every tile that a log which grew by these steps has written.
fn grown(leaves: &[Hash], steps: &[usize]) -> (Edge, Vec<MadeTile>) {
    let (mut edge, mut made, mut at) = (Edge::default(), Vec::new(), 0);
    for step in steps.iter().copied().chain([leaves.len()]) {
        let end = (at + step).min(leaves.len());
        made.extend(edge.append(&leaves[at..end]).unwrap());
        at = end;
    }
    (edge, made)
}

fn fetched(tiles: &[Tile], made: &[MadeTile]) -> TileHashes {
    let mut hashes = TileHashes::default();
    for tile in tiles {
        let made = made.iter().find(|made| made.tile == *tile).unwrap();
        hashes.insert(*tile, &made.bytes).unwrap();
    }
    hashes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn proofs_from_tiles_hold_and_no_other_leaf_size_or_root_does(
        size in 1_usize..1_200,
        first in any::<prop::sample::Index>(),
        index in any::<prop::sample::Index>(),
    ) {
        let leaves = leaves(size);
        let (edge, made) = grown(&leaves, &[first.index(size), 1, 300]);
        let root = plain_root(&leaves);
        prop_assert_eq!(edge.root(), root);
        prop_assert_eq!(edge.size(), size as u64);

        let at = index.index(size);
        let ranges = inclusion_ranges(at as u64, size as u64).unwrap();
        let tiles = fetched(&tiles_of(&ranges, size as u64), &made);
        let mut proof = proof_of(&ranges, &tiles).unwrap();
        let check = |leaf, at: usize, size: usize, proof: &[Hash]| {
            verify_inclusion(&leaf, at as u64, size as u64, &root, proof)
        };
        prop_assert!(check(leaves[at], at, size, &proof).is_ok());
        prop_assert!(check(leaf_hash(b"other"), at, size, &proof).is_err());
        prop_assert!(check(leaves[at], size, size, &proof).is_err());
        if size > 1 {
            prop_assert!(check(leaves[at], (at + 1) % size, size, &proof).is_err());
            prop_assert!(check(leaves[at], at, size, &proof[1..]).is_err());
        }
        proof.push(root);
        prop_assert!(check(leaves[at], at, size, &proof).is_err());
    }

    #[test]
    fn a_later_tree_continues_an_earlier_one_and_no_other(
        size in 1_usize..1_200,
        earlier in any::<prop::sample::Index>(),
    ) {
        let leaves = leaves(size);
        let from = earlier.index(size + 1);
        let (_, made) = grown(&leaves, &[from]);
        let ranges = consistency_ranges(from as u64, size as u64).unwrap();
        let tiles = fetched(&tiles_of(&ranges, size as u64), &made);
        let proof = proof_of(&ranges, &tiles).unwrap();
        let (before, after) = (plain_root(&leaves[..from]), plain_root(&leaves));
        let check = |before: &Hash, after: &Hash, proof: &[Hash]| {
            verify_consistency(from as u64, before, size as u64, after, proof)
        };
        prop_assert!(check(&before, &after, &proof).is_ok());
        prop_assert!(check(&leaf_hash(b"x"), &after, &proof).is_err());
        if from > 0 {
            prop_assert!(check(&before, &leaf_hash(b"x"), &proof).is_err());
        }
        if !proof.is_empty() {
            prop_assert!(check(&before, &after, &proof[1..]).is_err());
        }
        let longer: Vec<Hash> = proof.iter().copied().chain([after]).collect();
        prop_assert!(check(&before, &after, &longer).is_err());
        if from < size {
            prop_assert!(verify_consistency(size as u64, &after, from as u64, &before, &proof).is_err());
        }
    }

    #[test]
    fn an_edge_is_what_its_tiles_say(size in 0_usize..1_000) {
        let leaves = leaves(size);
        let (edge, made) = grown(&leaves, &[]);
        let mut again = Edge::from_tiles(size as u64, &made).unwrap();
        prop_assert_eq!(again.root(), edge.root());
        let mut edge = edge;
        let more = [leaf_hash(b"one"), leaf_hash(b"more")];
        prop_assert_eq!(again.append(&more).unwrap(), edge.append(&more).unwrap());
        prop_assert_eq!(again.root(), edge.root());
    }

    #[test]
    fn a_path_is_read_as_it_is_written(level in 0_u8..8, index in 0_u64..1 << 50, width in 1_u16..=256) {
        for path in [
            TilePath::Hashes(Tile { level, index, width }),
            TilePath::Entries(Tile { level: 0, index, width }),
        ] {
            prop_assert_eq!(TilePath::parse(&path.to_string()), Some(path));
        }
    }

    #[test]
    fn no_text_makes_the_reading_of_a_path_fail_otherwise(path in "(tile/)?(entries|[0-9]{1,3})?/?(x[0-9]{3}/|[0-9x]{1,4}/?){0,3}(\\.p/[0-9]{1,4})?") {
        if let Some(read) = TilePath::parse(&path) {
            prop_assert_eq!(read.to_string(), path);
        }
    }
}

#[test]
fn paths_are_those_of_the_specification() {
    let path = TilePath::Hashes(Tile { level: 0, index: 1_234_067, width: 256 });
    assert_eq!(path.to_string(), "tile/0/x001/x234/067");
    let path = TilePath::Entries(Tile { level: 0, index: 273, width: 112 });
    assert_eq!(path.to_string(), "tile/entries/273.p/112");
    for wrong in [
        "tile/0/67",
        "tile/00/067",
        "tile/0/x000/067",
        "tile/0/067.p/0",
        "tile/0/067.p/256",
        "tile/64/000",
        "tile/0/067.p/01",
        "tile/0/x067",
        "tile/0/../067",
        "tile/0/067/",
        "",
        "tile/0/+67",
        "tile/0/999999999999999999999999",
    ] {
        assert_eq!(TilePath::parse(wrong), None, "{wrong}");
    }
    // The example of a tree of 70,000 leaves.
    let tiles: Vec<(u8, u64, u16)> =
        Edge::tiles(70_000).iter().map(|tile| (tile.level, tile.index, tile.width)).collect();
    assert_eq!(tiles, [(0, 273, 112), (1, 1, 17), (2, 0, 1)]);
    assert_eq!(Edge::tiles(256).len(), 1);
}
