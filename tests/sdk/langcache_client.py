"""The public LangCache client for Python, unmodified, with its server URL set to Refrain."""

import sys

from langcache import LangCache, errors
from langcache.models import SearchStrategy

base = sys.argv[1]
with LangCache(server_url=base, cache_id="faq", api_key="any") as cache:
    stored = cache.set(prompt="How long is the warranty?", response="Three years.", attributes={"lang": "en"}, ttl_millis=60_000)
    assert stored.entry_id
    for prompt, strategy in [("How long is the warranty?", SearchStrategy.EXACT), ("How long is the warranty, please?", SearchStrategy.SEMANTIC)]:
        found = cache.search(
            prompt=prompt,
            similarity_threshold=0.9,
            search_strategies=[SearchStrategy.EXACT, SearchStrategy.SEMANTIC],
            attributes={"lang": "en"},
        ).data
        assert len(found) == 1, found
        entry = found[0]
        assert (entry.id, entry.response, entry.prompt) == (stored.entry_id, "Three years.", "How long is the warranty?")
        assert entry.search_strategy == strategy and 0.9 <= entry.similarity <= 1, entry
        assert entry.attributes == {"lang": "en"}
    assert cache.search(prompt="How long is the delivery?", similarity_threshold=0.9).data == []
    assert cache.search(prompt="How long is the warranty?", attributes={"lang": "de"}).data == []

    try:
        cache.search(prompt="x", similarity_threshold=0.9, attributes={"": "x"})
        raise AssertionError("no error")
    except errors.BadRequestErrorResponseContent as error:
        assert error.data.status == 400 and error.data.detail, error.data
    try:
        cache.delete_by_id(entry_id="00000000-0000-7000-8000-000000000000")
        raise AssertionError("no error")
    except errors.NotFoundErrorResponseContent as error:
        assert error.data.status == 404, error.data

    cache.delete_by_id(entry_id=stored.entry_id)
    assert cache.search(prompt="How long is the warranty?").data == []
    for lang in ("en", "de"):
        cache.set(prompt=f"Which colours are there? ({lang})", response="Red.", attributes={"lang": lang})
    assert cache.delete_query(attributes={"lang": "de"}).deleted_entries_count == 1
    cache.flush()
    assert cache.search(prompt="Which colours are there? (en)").data == []

with LangCache(server_url=base, cache_id="nope", api_key="any") as cache:
    try:
        cache.search(prompt="x")
        raise AssertionError("no error")
    except errors.NotFoundErrorResponseContent as error:
        assert "nope" in error.data.detail, error.data
print("ok")
