//! Streams and bodies that are answers, and the many that only look like one: what is put together, and what is not kept.
