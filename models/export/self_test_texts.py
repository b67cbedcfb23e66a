"""Texts of the start-up self-test, written for it: vectors are compared one by one, pairs by similarity."""

TEXTS = [
    "How do I reset my password?",
    "I forgot my password, how can I change it?",
    "What is the capital of France?",
    "Write a Python function that reverses a string.",
    "Hello!",
    "Explain the difference between TCP and UDP in simple words.",
    "Can I return a pair of shoes that I bought 45 days ago?",
    "Translate the sentence \u2018the weather is nice today\u2019 into German.",
    "SELECT name, count(*) FROM orders WHERE total > 99.50 GROUP BY name;",
    "My flight BA-2490 was cancelled at 7:45 pm; what compensation am I entitled to?",
    "na\u00efve caf\u00e9 r\u00e9sum\u00e9 \u2014 \u20ac25, 50% off",
    # longer than 256 tokens: also checks the truncation
    " ".join(["Summarise the following meeting notes in three bullet points, and say who has to do what until when."] * 20),
]

PARAPHRASES = [
    ("How do I reset my password?", "I forgot my password, how can I change it?"),
    ("What is the capital of France?", "Which city is France's capital?"),
    ("How long does shipping take?", "When will my order be delivered?"),
    ("Write a Python function that reverses a string.", "Give me Python code to reverse a string."),
    ("What are the symptoms of the flu?", "How can I tell whether I have the flu?"),
    ("How can I cancel my subscription?", "I want to end my subscription, what do I have to do?"),
]

UNRELATED = [
    ("How do I reset my password?", "What is the capital of France?"),
    ("Write a Python function that reverses a string.", "What are the symptoms of the flu?"),
    ("How long does shipping take?", "Explain the theory of relativity."),
    ("Hello!", "Which tax form does a freelancer need?"),
    ("How can I cancel my subscription?", "Who painted the Mona Lisa?"),
    ("Recommend a recipe for banana bread.", "How does a diesel engine work?"),
]
