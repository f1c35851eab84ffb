//! Arguments against the compiled form.

use super::number::{Decimal, Range};
use super::shape::{Kind, Length, Object, Shape, Text};
use super::{BindError, BindErrorCode, MAX_DEFAULT_BYTES};
use crate::diagnostic::{escape, nearest};
use crate::json::{Json, Pointer, write_string};

/// How much binding may cost.
///
/// Without it a union of many branches over a long array, or an array of many objects that each
/// take a long default, would cost the product of schema and arguments.
pub(super) struct Budget {
    steps: usize,
    bytes: usize,
}

impl Budget {
    /// The budget of one call.
    pub(super) fn of_call() -> Self {
        Self { steps: 8_000_000, bytes: MAX_DEFAULT_BYTES }
    }

    /// The budget of all defaults of one contract.
    pub(super) fn of_defaults() -> Self {
        Self { steps: 2_000_000, bytes: MAX_DEFAULT_BYTES }
    }

    fn is_spent(&self) -> bool {
        self.steps == 0 || self.bytes == 0
    }
}

/// Binds `value` and answers with its effective text.
pub(super) fn bind(shape: &Shape, value: &Json, budget: &mut Budget) -> Result<String, BindError> {
    let mut binder =
        Binder { path: Pointer::default(), effective: String::new(), trials: 0, budget };
    binder.value(shape, value)?;
    Ok(binder.effective)
}

struct Binder<'a, 'b> {
    path: Pointer<'a>,
    effective: String,
    /// How many unions deep a branch is being tried, where errors are only counted.
    trials: usize,
    budget: &'b mut Budget,
}

impl<'a> Binder<'a, '_> {
    fn error(&self, code: BindErrorCode, message: impl FnOnce() -> String) -> BindError {
        if self.trials > 0 && !self.budget.is_spent() {
            return BindError { code, path: String::new(), message: String::new() };
        }
        BindError { code, path: self.path.to_string(), message: message() }
    }

    fn spend(&mut self, steps: usize) -> Result<(), BindError> {
        self.budget.steps = self.budget.steps.saturating_sub(steps);
        self.within_budget()
    }

    /// Appends text that the arguments do not hold themselves.
    fn append_default(&mut self, name: &str, default: &str) -> Result<(), BindError> {
        let added = default.len() + name.len();
        self.budget.bytes = self.budget.bytes.saturating_sub(added);
        self.within_budget()?;
        self.effective.push_str(default);
        Ok(())
    }

    fn within_budget(&self) -> Result<(), BindError> {
        if self.budget.is_spent() {
            return Err(self.error(BindErrorCode::InvalidJsonKind, || {
                "too much to bind: the values, times the branches and defaults they meet, are \
                 over the bound"
                    .to_owned()
            }));
        }
        Ok(())
    }

    fn wrong_kind(&self, expected: &str, value: &Json) -> BindError {
        self.error(BindErrorCode::InvalidJsonKind, || {
            format!("expected {expected}, found {}", kind_of(value))
        })
    }

    fn value(&mut self, shape: &'a Shape, value: &'a Json) -> Result<(), BindError> {
        self.spend(1)?;
        if let Kind::Union(branches) = &shape.kind {
            return self.union(branches, value);
        }
        if *value == Json::Null {
            if !shape.nullable {
                return Err(self.error(BindErrorCode::NullNotAllowed, || {
                    "`null` is not allowed here".to_owned()
                }));
            }
            self.effective.push_str("null");
            return Ok(());
        }
        match (&shape.kind, value) {
            (Kind::Object(object), Json::Object(members)) => self.object(object, members),
            (Kind::Object(_), _) => Err(self.wrong_kind("an object", value)),
            (Kind::Array { items, length }, Json::Array(values)) => {
                self.array(items, *length, values)
            }
            (Kind::Array { .. }, _) => Err(self.wrong_kind("an array", value)),
            (Kind::String(rules), Json::String(text)) => self.string(rules, text),
            (Kind::String(_), _) => Err(self.wrong_kind("a string", value)),
            (Kind::Integer(range), Json::Number(number)) => {
                if number.parse::<i64>().is_err() {
                    return Err(self.error(BindErrorCode::InvalidJsonKind, || {
                        format!(
                            "expected an integer from -2^63 to 2^63 - 1, without fraction or \
                             exponent, found {}",
                            escape(number)
                        )
                    }));
                }
                self.number(range, number)
            }
            (Kind::Integer(_), _) => Err(self.wrong_kind("an integer", value)),
            (Kind::Number(range), Json::Number(number)) => self.number(range, number),
            (Kind::Number(_), _) => Err(self.wrong_kind("a number", value)),
            (Kind::Boolean, Json::Bool(truth)) => {
                self.effective.push_str(if *truth { "true" } else { "false" });
                Ok(())
            }
            (Kind::Boolean | Kind::Union(_), _) => Err(self.wrong_kind("a boolean", value)),
        }
    }

    fn object(
        &mut self,
        object: &'a Object,
        members: &'a [(String, Json)],
    ) -> Result<(), BindError> {
        self.spend(object.properties.len())?;
        let mut given: Vec<Option<&'a (String, Json)>> = vec![None; object.properties.len()];
        let mut others = Vec::new();
        for member in members {
            let found = object.properties.binary_search_by(|property| property.name.cmp(&member.0));
            match found {
                Ok(position) => given[position] = Some(member),
                Err(_) if object.others.is_some() => others.push(member),
                Err(_) => {
                    self.path.push_key(member.0.as_str());
                    return Err(self.unknown(object, &member.0));
                }
            }
        }
        let mut separator = '{';
        for (property, given) in object.properties.iter().zip(given) {
            match (given, &property.shape.default) {
                (Some((name, value)), _) => {
                    self.key(&mut separator, name)?;
                    self.path.push_key(name.as_str());
                    self.value(&property.shape, value)?;
                    self.path.pop();
                }
                (None, _) if property.required => return Err(self.missing(&property.name)),
                (None, Some(default)) => {
                    self.key(&mut separator, &property.name)?;
                    self.append_default(&property.name, default)?;
                }
                (None, None) => {}
            }
        }
        if let Some(shape) = &object.others {
            others.sort_by(|(left, _), (right, _)| left.cmp(right));
            for (name, value) in others {
                self.key(&mut separator, name)?;
                self.path.push_key(name.as_str());
                self.value(shape, value)?;
                self.path.pop();
            }
        }
        self.effective.push_str(if separator == '{' { "{}" } else { "}" });
        Ok(())
    }

    fn key(&mut self, separator: &mut char, name: &str) -> Result<(), BindError> {
        self.spend(name.len() / 32)?;
        self.effective.push(*separator);
        *separator = ',';
        write_string(name, &mut self.effective);
        self.effective.push(':');
        Ok(())
    }

    fn unknown(&self, object: &Object, name: &str) -> BindError {
        self.error(BindErrorCode::UnknownProperty, || {
            let declared = object.properties.iter().map(|property| property.name.as_str());
            let offer = match nearest(name, declared) {
                Some(near) => format!("; did you mean `{}`?", escape(near)),
                None => String::new(),
            };
            format!("the property `{}` is not declared{offer}", escape(name))
        })
    }

    fn missing(&mut self, name: &'a str) -> BindError {
        self.path.push_key(name);
        self.error(BindErrorCode::MissingRequiredProperty, || {
            format!("the required property `{}` is missing", escape(name))
        })
    }

    fn array(
        &mut self,
        items: &'a Shape,
        length: Length,
        values: &'a [Json],
    ) -> Result<(), BindError> {
        let count = values.len();
        if let Some(least) = length.least.filter(|least| count < *least) {
            return Err(self.error(BindErrorCode::ArrayTooShort, || {
                format!("expected at least {least} items, found {count}")
            }));
        }
        if let Some(most) = length.most.filter(|most| count > *most) {
            return Err(self.error(BindErrorCode::ArrayTooLong, || {
                format!("expected at most {most} items, found {count}")
            }));
        }
        self.effective.push('[');
        for (position, value) in values.iter().enumerate() {
            if position > 0 {
                self.effective.push(',');
            }
            self.path.push_item(position);
            self.value(items, value)?;
            self.path.pop();
        }
        self.effective.push(']');
        Ok(())
    }

    fn string(&mut self, rules: &Text, text: &str) -> Result<(), BindError> {
        self.spend(text.len() / 32)?;
        let Length { least, most } = rules.length;
        if least.is_some() || most.is_some() {
            let count = text.chars().count();
            if let Some(least) = least.filter(|least| count < *least) {
                return Err(self.error(BindErrorCode::StringTooShort, || {
                    format!("expected at least {least} characters, found {count}")
                }));
            }
            if let Some(most) = most.filter(|most| count > *most) {
                return Err(self.error(BindErrorCode::StringTooLong, || {
                    format!("expected at most {most} characters, found {count}")
                }));
            }
        }
        if let Some(choices) = rules.choices.as_ref().filter(|choices| !choices.set.contains(text))
        {
            return Err(self.error(BindErrorCode::InvalidEnumValue, || {
                let shown = choices.shown.iter().map(|choice| format!("`{}`", escape(choice)));
                let more = if choices.set.len() > choices.shown.len() { ", …" } else { "" };
                let shown = shown.collect::<Vec<_>>().join(", ");
                format!("expected one of {shown}{more}, found `{}`", escape(text))
            }));
        }
        if let Some(constant) = rules.constant.as_ref().filter(|constant| *constant != text) {
            return Err(self.error(BindErrorCode::InvalidConstValue, || {
                format!("expected `{}`, found `{}`", escape(constant), escape(text))
            }));
        }
        write_string(text, &mut self.effective);
        Ok(())
    }

    fn number(&mut self, range: &Range, number: &str) -> Result<(), BindError> {
        self.spend(number.len() / 32)?;
        if !range.holds(&Decimal::of(number)) {
            return Err(self.error(BindErrorCode::NumberOutOfRange, || {
                format!("expected a number {}, found {}", range.shown.join(" and "), escape(number))
            }));
        }
        self.effective.push_str(number);
        Ok(())
    }

    fn union(&mut self, branches: &'a [Shape], value: &'a Json) -> Result<(), BindError> {
        let start = self.effective.len();
        let depth = self.path.depth();
        let mut accepted = None;
        for branch in branches {
            let before = self.effective.len();
            self.trials += 1;
            let tried = self.value(branch, value);
            self.trials -= 1;
            match tried {
                Ok(()) if accepted.is_some() => {
                    return Err(self.error(BindErrorCode::AmbiguousUnionBranch, || {
                        "more than one branch of `oneOf` accepts the value".to_owned()
                    }));
                }
                Ok(()) => accepted = Some(()),
                Err(error) if self.budget.is_spent() => return Err(error),
                Err(_) => {
                    self.effective.truncate(before);
                    self.path.truncate(depth);
                }
            }
        }
        if accepted.is_none() {
            self.effective.truncate(start);
            return Err(self.error(BindErrorCode::UnknownUnionDiscriminator, || {
                format!("none of the {} branches of `oneOf` accepts the value", branches.len())
            }));
        }
        Ok(())
    }
}

fn kind_of(value: &Json) -> &'static str {
    match value {
        Json::Null => "`null`",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "an array",
        Json::Object(_) => "an object",
    }
}
