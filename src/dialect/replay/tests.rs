//! Stored answers told again, in both transports: what a caller could take for a live answer, and what must survive.
