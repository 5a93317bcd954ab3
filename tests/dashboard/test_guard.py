from __future__ import annotations

import pytest

from actorsession.dashboard import HEADERS, Guard


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:8080", "localhost:1", "LOCALHOST", "[::1]:80", "[::1]", "10.1.2.3:9", "localhost."]
)
def test_an_address_and_the_own_names_are_known(host: str) -> None:
    assert Guard(None, "127.0.0.1").knows_host(host)


@pytest.mark.parametrize(
    "host", ["", "evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example", "[e]:80", "::"]
)
def test_a_name_of_others_that_leads_here_is_not(host: str) -> None:
    assert Guard(None, "127.0.0.1").knows_host(host) is (host == "::")


def test_hosts_that_were_named_are_known() -> None:
    guard = Guard(None, "monitor.lan", "page.example")
    assert guard.knows_host("Monitor.LAN:8080")
    assert guard.knows_host("page.example")
    assert not guard.knows_host("other.page.example")


def test_the_token_of_the_page_is_made_of_that_of_the_cluster_and_does_not_show_it() -> None:
    one, other = Guard("the secret of the cluster", "localhost"), Guard("the secret of the cluster", "localhost")
    assert one.token == other.token
    assert "secret" not in one.token
    assert one.knows_token(one.token)
    for wrong in (None, "", one.token[:-1], f"{one.token} ", "the secret of the cluster", "\udc80"):
        assert not one.knows_token(wrong)


def test_a_cluster_without_a_token_has_a_page_with_one() -> None:
    one, other = Guard(None, "localhost"), Guard(None, "localhost")
    assert one.token != other.token
    assert one.knows_token(one.token)
    assert not one.knows_token(other.token)
    assert not one.knows_token(None)


def test_no_script_of_others_runs_in_the_page() -> None:
    rules = dict(rule.strip().split(" ", 1) for rule in HEADERS["Content-Security-Policy"].split(";"))
    assert rules.pop("img-src") == "'self' data:"
    assert set(rules.values()) == {"'self'", "'none'"}
    assert rules["default-src"] == rules["frame-ancestors"] == "'none'"
