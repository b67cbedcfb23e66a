//! What the URL of a request to a provider names.

use crate::error::{Error, Invalid};

/// The cache that a URL names, and the path under the provider's base URL: as they were sent and decoded nowhere, so
/// that `%2F` stays a character of a name. Nothing may climb out of the base URL.
pub fn locate(path: &str) -> Result<(Option<&str>, &str), Error> {
    let unknown = || Error::NotFound(format!("there is no route {path}"));
    let (cache, rest) = match path.strip_prefix("/caches/") {
        Some(rest) => rest.split_once('/').map(|(cache, rest)| (Some(cache), rest)).ok_or_else(unknown)?,
        None => (None, path.strip_prefix('/').unwrap_or(path)),
    };
    let rest = rest.strip_prefix("v1/").ok_or_else(unknown)?;
    // An SDK that adds `/v1` by itself, given a base URL that has it already.
    let rest = rest.strip_prefix("v1/").unwrap_or(rest);
    if rest.split(['/', '\\']).any(climbs) {
        return Err(Invalid::new("path", "has a dot segment", "a path without `.` and `..`").into());
    }
    Ok((cache, rest))
}

/// Is this segment `.` or `..`, however its dots are spelled?
fn climbs(segment: &str) -> bool {
    let (mut rest, mut dots) = (segment, 0);
    while let Some(next) = [".", "%2e", "%2E"].iter().find_map(|dot| rest.strip_prefix(dot)) {
        (rest, dots) = (next, dots + 1);
    }
    rest.is_empty() && matches!(dots, 1 | 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_climbs_out_of_the_base_url() {
        for path in ["/v1/..", "/v1/a/../b", "/v1/%2e%2E/x", "/v1/.%2e", "/v1/a/./b", "/v1/a\\..\\b"] {
            assert!(locate(path).is_err(), "{path}");
        }
        for path in ["/v1/a..b", "/v1/...", "/v1/.well-known", "/v1/%2e%2ex", "/v1/files/a.txt"] {
            assert!(locate(path).is_ok(), "{path}");
        }
    }

    #[test]
    fn a_cache_and_a_doubled_version_are_read() {
        assert_eq!(locate("/v1/chat/completions").unwrap(), (None, "chat/completions"));
        assert_eq!(locate("/v1/v1/messages").unwrap(), (None, "messages"));
        assert_eq!(locate("/caches/faq/v1/models").unwrap(), (Some("faq"), "models"));
        assert!(locate("/caches/faq").is_err());
    }
}
