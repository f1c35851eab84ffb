//! The compiled form of a schema.

use std::collections::HashSet;

use super::number::Range;

/// One compiled schema.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) kind: Kind,
    /// Whether `null` stands beside the type.
    pub(super) nullable: bool,
    /// Effective text of the default.
    pub(super) default: Option<String>,
}

/// What a schema takes.
#[derive(Debug)]
pub(super) enum Kind {
    Object(Object),
    Array { items: Box<Shape>, length: Length },
    String(Text),
    Integer(Range),
    Number(Range),
    Boolean,
    Union(Vec<Shape>),
}

/// The members of an object.
#[derive(Debug)]
pub(super) struct Object {
    /// Sorted by name.
    pub(super) properties: Vec<Property>,
    /// What a typed dictionary's other keys hold; [`None`] where there may be no others.
    pub(super) others: Option<Box<Shape>>,
}

/// One declared property.
#[derive(Debug)]
pub(super) struct Property {
    pub(super) name: String,
    pub(super) required: bool,
    pub(super) shape: Shape,
}

/// The rules of a string.
#[derive(Debug)]
pub(super) struct Text {
    /// In code points.
    pub(super) length: Length,
    /// `enum`, in the order written.
    pub(super) choices: Option<Choices>,
    pub(super) constant: Option<String>,
}

/// The values of `enum`.
#[derive(Debug)]
pub(super) struct Choices {
    pub(super) set: HashSet<String>,
    /// The first few, to show.
    pub(super) shown: Vec<String>,
}

/// Bounds of a length, both inclusive.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Length {
    pub(super) least: Option<usize>,
    pub(super) most: Option<usize>,
}
