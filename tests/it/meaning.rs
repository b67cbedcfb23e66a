//! A semantic hit only for the same question: the differences that an embedding does not see.

use serde_json::{Value, json};

use crate::support::{Provider, Refrain, ask, with};

/// Asks every left side, then every right side without keeping it: the pairs whose right side was served.
async fn served<'a>(refrain: &Refrain, pairs: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let mut served = Vec::new();
    for (first, _) in pairs {
        refrain.keep(&ask(first)).await;
    }
    for (first, second) in pairs {
        let answer = refrain.chat_with(&[("cache-control", "no-store")], &ask(second)).await;
        if answer.outcome() == "hit" {
            served.push((*first, *second));
        }
    }
    served
}

async fn none_is_served(pairs: &[(&str, &str)]) {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    assert_eq!(served(&refrain, pairs).await, []);
    let there: Vec<(&str, &str)> = pairs.iter().map(|(_, second)| (*second, "")).collect();
    drop(there);
    let turned: Vec<(&str, &str)> = pairs.iter().map(|(first, second)| (*second, *first)).collect();
    let other = Refrain::start(&provider, "").await;
    assert_eq!(served(&other, &turned).await, [], "the other way round");
}

#[tokio::test(flavor = "multi_thread")]
async fn opposites_and_exchanged_roles_are_not_served() {
    none_is_served(&[
        ("How do I enable guest access on the router?", "How do I disable guest access on the router?"),
        ("Is port 8443 open by default?", "Is port 8443 closed by default?"),
        ("Convert 90 miles to kilometres.", "Convert 90 kilometres to miles."),
        ("Which foods should a diabetic eat?", "Which foods should a diabetic not eat?"),
        ("How do I move files from S3 to local disk?", "How do I move files from local disk to S3?"),
        ("Did revenue increase in May?", "Did revenue decrease in May?"),
        ("Can I install the update?", "Can't I uninstall the update?"),
        ("How do I lock my account?", "How do I unlock my account?"),
        ("Does the plan include support?", "Does the plan exclude support?"),
        ("What is the maximum upload size?", "What is the minimum upload size?"),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_numbers_units_dates_and_versions_are_not_served() {
    none_is_served(&[
        ("What is 17% of 240?", "What is 17% of 420?"),
        ("Summarise ticket 10432.", "Summarise ticket 10423."),
        ("Weather on 3 March", "Weather on 13 March"),
        ("Upgrade guide from v2.1 to v2.3", "Upgrade guide from v2.1 to v3.2"),
        ("Remind me in 5 minutes", "Remind me in 5 hours"),
        ("What is 1,000 USD in EUR?", "What is 1.000 USD in EUR?"),
        ("What is 2+3?", "What is 2+2?"),
        ("Is three enough for the course?", "Is four enough for the course?"),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn turned_relations_and_other_quantities_are_not_served() {
    none_is_served(&[
        ("How do I transfer money to my account?", "How do I transfer money from my account?"),
        ("Which emails were sent to Bob?", "Which emails were sent by Bob?"),
        ("Can my landlord sue me?", "Can I sue my landlord?"),
        ("Which bank acquired the insurer?", "Which bank was acquired by the insurer?"),
        ("Is option A cheaper than option B?", "Is option B cheaper than option A?"),
        ("Arguments for the death penalty", "Arguments against the death penalty"),
        ("Is smoking permitted in the park?", "Is smoking prohibited in the park?"),
        ("Are some plans free?", "Are all plans free?"),
        ("How fast is 100 Mbps?", "How fast is 100 MBps?"),
        ("What does ssh -L do?", "What does ssh -l do?"),
        ("How tall is the tallest tower in the world?", "How tall is the tallest tower in the world in feet?"),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hidden_characters_and_dropped_marks_are_not_looked_through() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let clean = "Which river is the longest?";
    for hidden in ["\u{e0053}\u{e0061}", "\u{0}", "\u{200b}", "\u{fe0f}", "\u{e000}", "\u{336}"] {
        let first = refrain.chat(&ask(&format!("{clean}{hidden}"))).await;
        assert_eq!(first.outcome(), "bypass", "{hidden:?}");
        assert!(first.header("cache-status").contains("hidden-characters"), "{}", first.header("cache-status"));
    }
    assert_eq!(refrain.chat(&ask(clean)).await.outcome(), "miss");
    refrain.chat(&ask("What does x ∈ A mean?")).await;
    assert_ne!(refrain.chat(&ask("What does x ∉ A mean?")).await.outcome(), "hit");
}

#[tokio::test(flavor = "multi_thread")]
async fn other_names_are_not_served() {
    none_is_served(&[
        ("Who is the CEO of Microsoft?", "Who is the CEO of Apple?"),
        ("What is the capital of France?", "What is the capital of Spain?"),
        ("When did Anna join the team?", "When did Hanna join the team?"),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unrelated_questions_get_answers_of_their_own() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    for text in
        ["Hello there", "Name three rivers in Peru.", "Explain binary search.", "What is 2+2?", "Tell me a joke."]
    {
        let answer = refrain.chat(&ask(text)).await;
        assert_ne!(answer.outcome(), "hit", "{text}");
    }
    assert_eq!(provider.calls(), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_instruction_does_not_drown_the_payload() {
    let system =
        "You are a translator. Keep names, keep numbers, keep the tone, output only the translation. ".repeat(40);
    let translate = |text: &str| {
        json!({"model": "alpha-small", "messages": [
            {"role": "system", "content": system}, {"role": "user", "content": format!("Translate to Danish: {text}")}]})
    };
    let delimited = |text: &str| ask(&format!("Summarise the text between the marks. <<<{text}>>>"));
    let fenced = |code: &str| ask(&format!("What does this do?\n```\n{code}\n```"));
    let quoted = |text: &str| ask(&format!("Is \"{text}\" a polite thing to say?"));
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let bodies = [
        translate("The train leaves at nine."),
        translate("My brother sold his boat."),
        delimited("The council met on Tuesday."),
        delimited("The team lost on Sunday."),
        fenced("x = x + y"),
        fenced("x = x * y"),
        quoted("See you later"),
        quoted("See you never"),
    ];
    for body in &bodies {
        assert_ne!(refrain.chat(body).await.outcome(), "hit", "{}", body["messages"]);
    }
    assert_eq!(provider.calls(), bodies.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn case_whitespace_and_accents_that_carry_meaning_are_kept_apart() {
    none_is_served(&[
        ("What does Sum(x) return?", "What does sum(x) return?"),
        ("Fix:\nif a:\n    b()\n    c()", "Fix:\nif a:\n    b()\nc()"),
        ("Polish this text.", "polish this text"),
        ("resume", "r\u{e9}sum\u{e9}"),
        ("a\u{200b}b", "ab"),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rewordings_are_served() {
    let pairs = [
        ("How do I reset my password?", "How can I reset my password?"),
        ("How do I change my email address?", "How can I change my e-mail address?"),
        ("Where can I download my invoices?", "Where do I download my invoices?"),
        ("How long is the warranty?", "What is the length of the warranty?"),
    ];
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let hits = served(&refrain, &pairs).await;
    assert!(hits.len() >= 3, "{hits:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn other_scripts_and_long_texts_are_served_exactly_only() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let long = |last: &str| format!("{} {last}", "The quick brown fox jumps over the lazy dog.".repeat(40));
    for (text, near, detail) in [
        ("如何重置我的密码？".to_owned(), "如何更改我的密码？".to_owned(), "detail=script"),
        ("Darf ich hier parken?".to_owned(), "Darf ich hier nicht parken?".to_owned(), "detail=language"),
        ("Как сбросить пароль?".to_owned(), "Как изменить пароль?".to_owned(), "detail=script"),
        (long("Who jumps?"), long("Who is lazy?"), "detail=too-long"),
    ] {
        let first = refrain.chat(&ask(&text)).await;
        assert_eq!(first.outcome(), "bypass");
        assert!(first.header("cache-status").contains(detail), "{}", first.header("cache-status"));
        assert_eq!(refrain.chat(&ask(&near)).await.outcome(), "bypass");
        let again = refrain.chat(&ask(&text)).await;
        assert_eq!((again.outcome(), again.header("x-refrain-tier")), ("hit", "exact"));
    }
    assert_eq!(provider.calls(), 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_decision_and_one_score_on_every_path() {
    let provider = Provider::start().await;
    let policy = "[caches.default]\nsimilarity_threshold = 0.95\nverifier = \"none\"";
    let refrain = Refrain::start(&provider, policy).await;
    let (known, asked) = ("How do I reset my password?", "What is the tallest tower?");
    refrain.keep(&ask(known)).await;
    refrain.post("/v1/caches/default/entries", &json!({"prompt": known, "response": "so"})).await;
    let keep_out = [("cache-control", "no-store")];
    let whole = refrain.chat_with(&keep_out, &ask(asked)).await;
    let stream = refrain.chat_with(&keep_out, &with(ask(asked), json!({"stream": true}))).await;
    let lookup =
        refrain.post("/v1/caches/default/lookup", &json!({"request": ask(asked), "explain": true})).await.json();
    let search = json!({"prompt": asked, "similarityThreshold": 0, "searchStrategies": ["semantic"]});
    let found = refrain.post("/v1/caches/default/entries/search", &search).await.json();
    let strict = refrain.post("/v1/caches/default/entries/search", &json!({"prompt": asked})).await.json();
    assert_eq!((whole.outcome(), stream.outcome(), lookup["outcome"].as_str()), ("miss", "miss", Some("miss")));
    assert_eq!(strict["data"], json!([]));
    let scores = [
        whole.header("x-refrain-similarity").parse::<f64>().unwrap(),
        stream.header("x-refrain-similarity").parse::<f64>().unwrap(),
        lookup["similarity"].as_f64().unwrap(),
        lookup["candidates"][0]["similarity"].as_f64().unwrap(),
        found["data"][0]["similarity"].as_f64().unwrap(),
    ];
    assert!(scores.iter().all(|score| (score - scores[0]).abs() < 1e-4 && (0.0..0.5).contains(score)), "{scores:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_text_scores_one_and_the_ends_of_the_scale_are_thresholds() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    refrain.chat(&ask("Define NAT.")).await;
    let again = refrain.chat(&ask("Define NAT.")).await;
    assert_eq!((again.header("x-refrain-similarity"), again.header("x-refrain-tier")), ("1.0000", "exact"));
    let tight = [("x-refrain-threshold", "1")];
    assert_eq!(refrain.chat_with(&tight, &ask("Define NAT.")).await.outcome(), "hit");
    assert_eq!(refrain.chat_with(&tight, &ask("Define NAT, please.")).await.outcome(), "miss");
    for bad in ["1.01", "-0.1", "NaN", "high", ""] {
        let answer = refrain.chat_with(&[("x-refrain-threshold", bad)], &ask("Define NAT.")).await;
        assert_eq!(answer.status, 400, "{bad:?}");
        assert!(answer.text().contains("x-refrain-threshold"), "{}", answer.text());
    }
    assert_eq!(provider.calls(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hit_can_come_through_the_graph() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "[index]\ngraph_from = 1").await;
    let questions = ["How do I reset my password?", "Where are my invoices?", "What does the warranty cover?"];
    for question in questions {
        assert_eq!(refrain.keep(&ask(question)).await.outcome(), "miss");
    }
    let metric = async || {
        let text = refrain.send("GET", "/metrics", &[], None).await.text().to_owned();
        let line = text.lines().find(|line| line.starts_with("refrain_index_searches_total{kind=\"graph\"}"));
        line.and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).unwrap_or(0.0)
    };
    let before = metric().await;
    let hit = refrain.chat_with(&[("cache-control", "no-store")], &ask("How can I reset my password?")).await;
    assert_eq!((hit.outcome(), hit.header("x-refrain-tier"), hit.said().as_str()), ("hit", "semantic", "answer 1"));
    assert!(metric().await > before, "the graph was searched");
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_whose_answer_moves_with_time_are_not_served_by_meaning() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let first = refrain.chat(&ask("What is the weather in Oslo today?")).await;
    assert_eq!(first.outcome(), "bypass");
    assert!(first.header("cache-status").contains("detail=time"));
    assert_ne!(refrain.chat(&ask("How is the weather in Oslo today?")).await.outcome(), "hit");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_policy_makes_of_such_questions_is_shown_on_every_door() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let set = async |time: Value| {
        let patch = json!({"guards": {"time": time}});
        assert_eq!(refrain.send("PATCH", "/v1/caches/default", &[], Some(&patch)).await.status, 200);
    };
    let cases = [
        ("What is on the menu today?", "today"),
        ("What is the latest release of the tool?", "latest"),
        ("Which shops open this week?", "this week"),
        ("What is the current price of tin?", "current"),
        ("Who leads the race right now?", "right now"),
        ("今天有什么菜？", "今天"),
        ("最新的手机是什么？", "最新"),
        ("现在谁是总统？", "现在"),
    ];
    for (policy, shown) in [(json!("bypass"), "bypass"), (json!(60), "ttl=60"), (json!("off"), "off")] {
        set(policy.clone()).await;
        for (text, word) in cases {
            let request = ask(text);
            let answer = refrain.chat_with(&[("cache-control", "no-store")], &request).await;
            assert_eq!(answer.header("x-refrain-time-sensitive"), shown, "{text}");
            let status = answer.header("cache-status");
            assert_eq!(status.contains("detail=time"), shown == "bypass", "{text}: {status}");
            let told = refrain.post("/v1/caches/default/lookup", &json!({"request": request, "explain": true})).await;
            let told = told.json();
            assert_eq!(told["timeSensitive"], json!({"word": word, "policy": policy}), "{told}");
            assert_eq!(told["reason"] == "time", shown == "bypass", "{told}");
        }
    }
    let metrics = refrain.send("GET", "/metrics", &[], None).await.text().to_owned();
    for policy in ["bypass", "ttl", "off"] {
        assert!(metrics.contains(&format!("refrain_time_sensitive_total{{policy=\"{policy}\"}} 16")), "{metrics}");
    }
    let other = refrain.chat(&ask("How do I reset my password?")).await;
    assert_eq!(other.header("x-refrain-time-sensitive"), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_on_age_holds_for_what_was_stored_without_it() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "[caches.default]\nguards.time = \"off\"\nverifier = \"none\"").await;
    let (timeless, moving) = ("What is the price of tin per ton?", "What is the current price of tin per ton?");
    let probe = async |text: &str| refrain.chat_with(&[("cache-control", "no-store")], &ask(text)).await;
    let limit = async |patch: Value| {
        let set = refrain.send("PATCH", "/v1/caches/default", &[], Some(&patch)).await;
        assert_eq!(set.status, 200, "{}", set.text());
    };
    refrain.keep(&ask(timeless)).await;
    assert_eq!(probe(moving).await.header("x-refrain-tier"), "semantic");
    limit(json!({"guards": {"time": 1}})).await;
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    let old = probe(moving).await;
    assert_eq!(old.outcome(), "miss");
    assert!(old.header("cache-status").contains("detail=guard-time"), "{}", old.header("cache-status"));
    assert_eq!(probe(timeless).await.outcome(), "hit", "its own prompt does not say that it moves");
    limit(json!({"guards": {"time": "off"}})).await;
    refrain.keep_with(&[("cache-control", "no-cache")], &ask(moving)).await;
    limit(json!({"guards": {"time": 1}})).await;
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    assert_eq!(probe(moving).await.outcome(), "miss", "the exact tier goes by it too");
}
