//! Bytes that outlive the process.

use proptest::prelude::*;

use super::*;

fn id() -> EntryId {
    EntryId(uuid::Uuid::from_u128(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef))
}

fn sample() -> Entry {
    let labels = BTreeMap::from([("doc".to_owned(), "handbook".to_owned()), ("rev".to_owned(), "7".to_owned())]);
    Entry {
        id: id(),
        cache: "faq".parse().unwrap(),
        tenant: TenantId([1; 32]),
        kind: EntryKind::Plain,
        exact_key: ExactKey([2; 32]),
        partition: Some(PartitionKey([3; 32])),
        canonical: Bytes::from_static(b"{}"),
        text: "How?".into(),
        attributes: labels.try_into().unwrap(),
        answer: Answer {
            dialect: Dialect::Anthropic,
            body: Bytes::from_static(b"So."),
            model: "beta".into(),
            usage: Some(TokenUsage { input: 9, output: 4 }),
        },
        stored_at: Timestamp(0x0102_0304),
        expires_at: Timestamp(u64::MAX),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// The body that both records of [`sample`] begin with.
fn golden_meta() -> String {
    [
        "03000000666171",                         // cache
        &"01".repeat(32),                         // tenant
        "01",                                     // kind: plain
        &"02".repeat(32),                         // exact key
        "01",                                     // a partition follows
        &"03".repeat(32),                         // partition
        "02000000",                               // two attributes
        "03000000646f630800000068616e64626f6f6b", // doc = handbook
        "030000007265760100000037",               // rev = 7
        "0403020100000000",                       // stored at
        "ffffffffffffffff",                       // expires at
        "1801000000000000",                       // bytes: 2 + 4 + 3 + 15 + 256
    ]
    .concat()
}

#[test]
fn the_bytes_of_version_1_are_these_for_ever() {
    let meta = golden_meta();
    assert_eq!(hex(&encode_meta(id(), &MetaRecord::of(&sample()))), format!("0121cb85a95c8ecaf5{meta}"));
    let rest = [
        "020000007b7d",                       // canonical
        "04000000486f773f",                   // text
        "01",                                 // dialect: anthropic
        "03000000536f2e",                     // body
        "0400000062657461",                   // model
        "0109000000000000000400000000000000", // usage
    ]
    .concat();
    assert_eq!(hex(&encode_entry(&sample())), format!("01d65658048000c9ce{meta}{rest}"));
    let vector = encode_vector(id(), &Fingerprint([5; 32]), &[1.0, -0.5]);
    assert_eq!(hex(&vector), format!("01ac3b7eae16fac946{}0000803f000000bf", "05".repeat(32)));
    let tokens = encode_tokens(id(), &Fingerprint([5; 32]), &tokens());
    let parts = [
        "0200000002000000", // dimension, count
        "070000000000803c", // id 7, its step
        "090000000000003c", // id 9, its step
        "7f8100ff",         // codes
    ];
    assert_eq!(hex(&tokens[9..]), format!("{}{}", "05".repeat(32), parts.concat()));
}

fn tokens() -> TokenVectors {
    TokenVectors::from_parts(2, vec![7, 9], vec![0.015_625, 0.007_812_5], vec![127, -127, 0, -1]).unwrap()
}

#[test]
fn token_vectors_come_back_for_their_own_fingerprint_only() {
    let record = Bytes::from(encode_tokens(id(), &Fingerprint([5; 32]), &tokens()));
    assert_eq!(decode_tokens(id(), &Fingerprint([5; 32]), &record), Ok(Some(tokens())));
    assert_eq!(decode_tokens(id(), &Fingerprint([6; 32]), &record), Ok(None));
    for end in 0..record.len() {
        assert_eq!(decode_tokens(id(), &Fingerprint([5; 32]), &record.slice(..end)), Err(Damaged));
    }
}

#[test]
fn a_record_under_another_key_or_of_another_version_is_damaged() {
    let record = Bytes::from(encode_entry(&sample()));
    assert_eq!(decode_entry(id(), &record), Ok(sample()));
    assert_eq!(decode_entry(EntryId::generate(), &record), Err(Damaged));
    let mut newer = record.to_vec();
    newer[0] = 2;
    assert_eq!(decode_entry(id(), &newer.into()), Err(Damaged));
}

#[test]
fn a_flip_of_any_bit_is_noticed() {
    let record = encode_entry(&sample());
    for bit in 0..record.len() * 8 {
        let mut bytes = record.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(decode_entry(id(), &bytes.into()), Err(Damaged), "bit {bit}");
    }
}

#[test]
fn a_vector_of_another_fingerprint_is_not_read() {
    let record = encode_vector(id(), &Fingerprint([5; 32]), &[1.0, -0.5]);
    assert_eq!(decode_vector(id(), &Fingerprint([5; 32]), &record), Ok(Some(vec![1.0, -0.5])));
    assert_eq!(decode_vector(id(), &Fingerprint([6; 32]), &record), Ok(None));
}

fn attributes() -> impl Strategy<Value = Attributes> {
    proptest::collection::btree_map("[a-z]{1,8}", ".{0,20}", 0..6).prop_map(|map| map.try_into().unwrap())
}

prop_compose! {
    fn answers()(
        openai in any::<bool>(),
        body in proptest::collection::vec(any::<u8>(), 0..200),
        model in ".{0,20}",
        usage in proptest::option::of((any::<u64>(), any::<u64>())),
    ) -> Answer {
        let usage = usage.map(|(input, output)| TokenUsage { input, output });
        let dialect = if openai { Dialect::OpenAi } else { Dialect::Anthropic };
        Answer { dialect, body: body.into(), model, usage }
    }
}

prop_compose! {
    fn entries()(
        id in any::<u128>(),
        cache in "[a-z][a-z0-9._-]{0,20}",
        keys in any::<([u8; 32], [u8; 32], Option<[u8; 32]>)>(),
        plain in any::<bool>(),
        canonical in proptest::collection::vec(any::<u8>(), 0..200),
        text in ".{0,50}",
        attributes in attributes(),
        answer in answers(),
        times in any::<(u64, u64)>(),
    ) -> Entry {
        Entry {
            id: EntryId(uuid::Uuid::from_u128(id)),
            cache: cache.parse().unwrap(),
            tenant: TenantId(keys.0),
            kind: if plain { EntryKind::Plain } else { EntryKind::Provider },
            exact_key: ExactKey(keys.1),
            partition: keys.2.map(PartitionKey),
            canonical: canonical.into(),
            text,
            attributes,
            answer,
            stored_at: Timestamp(times.0),
            expires_at: Timestamp(times.1),
        }
    }
}

proptest! {
    #[test]
    fn every_entry_comes_back_as_it_was(entry in entries()) {
        let meta = MetaRecord::of(&entry);
        prop_assert_eq!(decode_meta(entry.id, &encode_meta(entry.id, &meta)), Ok(meta));
        prop_assert_eq!(decode_entry(entry.id, &encode_entry(&entry).into()), Ok(entry));
    }

    #[test]
    fn arbitrary_bytes_are_refused_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(decode_meta(id(), &bytes).is_err());
        prop_assert!(decode_vector(id(), &Fingerprint([0; 32]), &bytes).is_err());
        // The same past the checksum: the fields themselves must hold out too.
        let mut sealed = Writer::new();
        sealed.raw(&bytes);
        let sealed = sealed.seal(id());
        let _ = decode_meta(id(), &sealed);
        let _ = decode_vector(id(), &Fingerprint([0; 32]), &sealed);
        let _ = decode_entry(id(), &sealed.into());
    }
}
