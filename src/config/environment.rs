//! The environment over the file: `REFRAIN__SECTION__KEY` sets `section.key`.
//!
//! All variables are taken together, since some fields only make sense with others; an error names the variable that
//! makes it, as far as that can be told.

use std::collections::BTreeMap;

use toml::{Table, Value};

use crate::config::{Config, ConfigError};

/// The prefix of environment variables that set a field: `REFRAIN__SERVER__LISTEN`.
const PREFIX: &str = "REFRAIN__";

type Variables<'a> = [(&'a String, &'a String)];

/// The configuration in `table` with the environment's variables laid over it.
///
/// # Errors
/// What is wrong, under the name of the variable that makes it.
pub(super) fn over(table: Table, env: &BTreeMap<String, String>) -> Result<Config, ConfigError> {
    let variables: Vec<(&String, &String)> = env.iter().filter(|(name, _)| name.starts_with(PREFIX)).collect();
    let table = overridden(table, &variables)?;
    config_of(&table).map_err(|problem| guilty(&table, &variables, &problem))
}

/// `table` with these variables laid over it: as TOML has them, or as the text that they are where only that fits.
fn overridden(mut table: Table, variables: &Variables<'_>) -> Result<Table, ConfigError> {
    for (name, text) in variables {
        put(&mut table, name, scalar(text))?;
    }
    for (name, text) in variables {
        if config_of(&table).is_ok() {
            break;
        }
        let mut as_text = table.clone();
        put(&mut as_text, name, Value::String((*text).clone()))?;
        if config_of(&as_text).is_ok() {
            table = as_text;
        }
    }
    Ok(table)
}

fn put(table: &mut Table, name: &str, value: Value) -> Result<(), ConfigError> {
    let path: Vec<String> = name[PREFIX.len()..].split("__").map(str::to_ascii_lowercase).collect();
    set(table, &path, value).map_err(|problem| ConfigError(format!("{name}: {problem}")))
}

/// The error, under the name of the variable that makes it, as far as that can be told.
fn guilty(table: &Table, variables: &Variables<'_>, problem: &str) -> ConfigError {
    let blamed = variables.iter().find(|(name, _)| {
        let mut without = table.clone();
        remove(&mut without, &name[PREFIX.len()..].to_ascii_lowercase());
        config_of(&without).is_ok()
    });
    let all = || variables.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
    let name = blamed.map_or_else(all, |(name, _)| (*name).clone());
    ConfigError(if name.is_empty() { problem.to_owned() } else { format!("{name}: {problem}") })
}

fn remove(table: &mut Table, path: &str) {
    match path.split_once("__") {
        None => {
            table.remove(path);
        }
        Some((section, rest)) => {
            if let Some(Value::Table(inner)) = table.get_mut(section) {
                remove(inner, rest);
            }
        }
    }
}

/// `7`, `true`, `[1]` as TOML has them, anything else a string.
fn scalar(text: &str) -> Value {
    let parsed: Result<Table, _> = toml::from_str(&format!("value = {text}"));
    parsed.ok().and_then(|mut table| table.remove("value")).unwrap_or_else(|| Value::String(text.to_owned()))
}

fn set(table: &mut Table, path: &[String], value: Value) -> Result<(), String> {
    match path {
        [] => Err("names no field".into()),
        [name] => {
            table.insert(name.clone(), value);
            Ok(())
        }
        [section, rest @ ..] => {
            let inner = table.entry(section.clone()).or_insert_with(|| Value::Table(Table::new()));
            match inner {
                Value::Table(inner) => set(inner, rest, value),
                _ => Err(format!("{section} is not a section")),
            }
        }
    }
}

fn config_of(table: &Table) -> Result<Config, String> {
    Value::Table(table.clone()).try_into().map_err(|error: toml::de::Error| error.to_string())
}
