import hashlib
import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcphost.naming import Names, ToolKey, public_name

PATTERN = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
SCHEMES = ("cherry", "mcp", "plain")


def digest(server: str, tool: str) -> str:
    return hashlib.sha256(f"{server}\0{tool}".encode("utf-8", "surrogatepass")).hexdigest()


@pytest.mark.parametrize(
    ("server", "tool", "name"),
    [
        ("12306-mcp", "get-current-date", "tool-12306_m-get_current_date"),
        ("amap-maps", "maps_geo", "amap_ma-maps_geo"),
        ("git", "digit", "digit"),
        ("12306-mcp", "get_12306_mcp", "get_12306_mcp"),
        ("foo", "a.b", "foo-a_b"),
        ("foo", "a b", "foo-a_b"),
        ("foo", "a-b", "foo-a_b"),
        ("高德地图", "maps_geo", "tool_maps_geo"),
        ("百度地图", "maps_geo", "tool_maps_geo"),
        ("Demo", "入库", "Demo"),
        ("Demo", "出库", "Demo"),
        ("github-a", "list", "github_list"),
        ("github-b", "list", "github_list"),
        ("Git", "digit", "Git-digit"),
        ("", "think", "think"),
        ("", "", "tool"),
        ("", "123", "tool-123"),
        ("", "_", "tool"),
        ("x", "", "x"),
        ("-", "-", "tool"),
        ("foo", "x" * 300, "foo-" + "x" * 59),
        ("foo", "x" * 58 + "_y", "foo-" + "x" * 58),
    ],
)
def test_cherry_names(server: str, tool: str, name: str):
    assert public_name(server, tool) == name


@pytest.mark.parametrize(
    ("server", "tool", "name"),
    [
        ("\ufeff\u00a0foo\u2028", "\u3000t\u2029\u1680", "foo-t"),
        ("\x85foo", "t", "tool_foo-t"),  # JavaScript's trim leaves U+0085
        ("\x1cfoo", "t", "tool_foo-t"),  # and U+001C, which str.strip takes
        ("abcdef😀", "t", "abcdef_t"),  # the seventh code unit is half of the emoji
        ("a", "1😀2", "a-1_2"),
        ("abcdef\ud83d", "x abcdef😀", "x_abcdef"),  # half an emoji is contained in the whole
        ("\ud800", "\udfff", "tool"),
    ],
)
def test_cherry_counts_and_trims_as_javascript_does(server: str, tool: str, name: str):
    assert public_name(server, tool) == name


@pytest.mark.parametrize(
    ("server", "tool", "name"),
    [
        ("12306-mcp", "get-current-date", "mcp__12306-mcp__get-current-date"),
        ("a b", "c.d", "mcp__a_b__c_d"),
        ("s", "😀", "mcp__s____"),
        ("", "", "mcp____"),
        ("s", "x" * 300, "mcp__s__" + "x" * 56),
    ],
)
def test_mcp_names(server: str, tool: str, name: str):
    assert public_name(server, tool, scheme="mcp") == name


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        ("maps_geo", "maps_geo"),
        (" get-current-date ", "get_current_date"),
        ("a__b", "a__b"),
        ("_a", "tool-_a"),
        ("", "tool"),
        ("123", "tool-123"),
        ("é", "tool-"),
        ("x" * 300, "x" * 63),
    ],
)
def test_plain_names(tool: str, name: str):
    assert public_name("server", tool, scheme="plain") == name


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(
    ("prefix", "tool", "name"),
    [
        ("dummy-server-", "think", "dummy-server-think"),
        ("a.", "get-x", "a_get-x"),
        ("", "think", "think"),
        ("", "", "tool-"),
        ("1-", "x", "tool-1-x"),
        ("p__", "x" * 300, "p__" + "x" * 60),
    ],
)
def test_a_prefix_replaces_what_the_scheme_puts_before(scheme: str, prefix: str, tool: str, name: str):
    assert public_name("dummy-server", tool, scheme=scheme, prefix=prefix) == name


def test_an_unknown_scheme_is_refused():
    with pytest.raises(ValueError, match="camel"):
        public_name("a", "b", scheme="camel")
    with pytest.raises(ValueError, match="camel"):
        Names("camel")


def test_all_that_share_a_name_get_the_suffix():
    a, b = ToolKey("github-a", "list"), ToolKey("github-b", "list")
    assert Names("cherry").assign([a, b]) == {
        a: f"github_list_{digest(*a[:2])[:6]}",
        b: f"github_list_{digest(*b[:2])[:6]}",
    }


@pytest.mark.parametrize(("scheme", "limit"), [("cherry", 63), ("plain", 63), ("mcp", 64)])
def test_a_suffixed_name_is_cut_to_the_limit(scheme: str, limit: int):
    a, b = ToolKey("s", "x" * 100 + "1"), ToolKey("s", "x" * 100 + "2")
    names = Names(scheme).assign([a, b])
    assert {len(name) for name in names.values()} == {limit}
    assert names[a].endswith("x_" + digest("s", a.tool)[:6])


def test_a_later_collision_renames_and_the_old_name_still_routes():
    names = Names("cherry")
    a, b = ToolKey("github-a", "list"), ToolKey("github-b", "list")
    assert names.assign([a]) == {a: "github_list"}
    later = names.assign([b])
    now = names.assign([a, b])
    assert later[b] == now[b]
    assert now == Names("cherry").assign([b, a])
    assert [names.lookup(name) for name in ("github_list", now[a], now[b])] == [a, a, b]


def test_a_name_of_a_tool_that_is_gone_is_not_given_again():
    names = Names("plain")
    gone, new = ToolKey("old", "list"), ToolKey("new", "list")
    names.assign([gone])
    assert names.assign([new]) == {new: f"list_{digest('new', 'list')[:6]}"}
    assert names.lookup("list") == gone


def test_a_tool_named_like_a_suffixed_one_takes_nothing_from_it():
    a, b = ToolKey("a", "list"), ToolKey("b", "list")
    fake = ToolKey("c", f"list_{digest('a', 'list')[:6]}")
    whole = Names("plain").assign([a, b, fake])
    assert whole[a] == f"list_{digest('a', 'list')[:7]}"
    assert whole[fake] == f"{fake.tool}_{digest('c', fake.tool)[:6]}"
    names = Names("plain")
    first = names.assign([a, b])
    names.assign([fake])
    assert names.assign([a, b, fake]) == whole
    assert names.lookup(first[a]) == a


def test_every_length_of_a_digest_can_be_taken():
    a, b = ToolKey("a", "list"), ToolKey("b", "list")
    fakes = [ToolKey("c", f"list_{digest('a', 'list')[:n]}") for n in range(6, 65)]
    names = Names("plain")
    result = names.assign([a, b, *fakes])
    assert len(set(result.values())) == len(result)
    assert names.lookup(result[a]) == a


def test_tools_with_one_digest_stay_apart():
    same = [ToolKey("s", "t", "p."), ToolKey("s", "t", "p_"), ToolKey("s", "t", "p:")]
    assert len(set(Names("cherry").assign(same).values())) == 3
    nul = [ToolKey("a\0b", "c", "x_b_"), ToolKey("a", "b\0c", "x_")]
    assert len(set(Names("cherry").assign(nul).values())) == 2


def test_a_pair_of_surrogates_is_not_the_character():
    pair, emoji = ToolKey("s", "x\ud83d\ude00"), ToolKey("s", "x😀")
    assert len(set(Names("plain").assign([pair, emoji]).values())) == 2


def test_a_callers_own_names_are_never_given():
    names = Names("plain", reserved=["list"])
    a = ToolKey("a", "list")
    assert names.assign([a]) == {a: f"list_{digest('a', 'list')[:6]}"}
    assert names.lookup("list") is None


def test_a_raw_name_routes_when_one_server_has_it():
    names = Names("cherry")
    geo, other = ToolKey("amap-maps", "maps.geo"), ToolKey("12306-mcp", "get-tickets")
    names.assign([geo, other])
    assert names.lookup("maps.geo") == geo
    names.assign([ToolKey("baidu", "maps.geo")])
    assert names.lookup("maps.geo") is None
    assert names.lookup("nothing") is None


def test_a_public_name_goes_before_a_raw_one():
    names = Names("cherry")
    public, raw = ToolKey("foo", "x"), ToolKey("bar", "foo-x")
    names.assign([raw, public])
    assert names.lookup("foo-x") == public


def test_a_raw_name_follows_a_server_whose_prefix_changed():
    names = Names("cherry")
    names.assign([ToolKey("s", "t", "a-")])
    names.assign([ToolKey("s", "t", "b-")])
    assert names.lookup("t") == ToolKey("s", "t", "b-")


texts = st.one_of(
    st.text(st.characters(exclude_categories=()), max_size=12),
    st.sampled_from(["", "-", "_", "list", "li.st", "li-st", "入库", "😀", "\ud83d", "github-a", "github-b"]),
    st.text("ab-_.", min_size=290, max_size=300),
)
prefixes = st.none() | st.sampled_from(["", "p-", "p_", "1"])


@st.composite
def catalogs(draw: st.DrawFn) -> tuple[str, list[ToolKey]]:
    """Tools of which some are named like what others would be given, two levels deep."""
    scheme = draw(st.sampled_from(SCHEMES))
    keys = draw(st.lists(st.builds(ToolKey, texts, texts, prefixes), min_size=1, max_size=12))
    for _ in range(2):
        given_names = sorted(Names(scheme).assign(keys).values())
        alike = draw(st.lists(st.sampled_from(given_names), max_size=4))
        keys += [ToolKey(draw(texts), name, draw(st.just("") | prefixes)) for name in alike]
    return scheme, keys


@given(catalogs())
def test_names_are_well_formed_unique_and_lead_back(catalog: tuple[str, list[ToolKey]]):
    scheme, keys = catalog
    names = Names(scheme)
    result = names.assign(keys)
    assert set(result) == set(keys)
    assert len(set(result.values())) == len(result)
    for key, name in result.items():
        assert PATTERN.fullmatch(name)
        assert len(name) <= 63 or (scheme == "mcp" and key.prefix is None)
        assert scheme != "mcp" or key.prefix is not None or name.startswith("mcp__")
        assert names.lookup(name) == key


@given(catalogs(), st.randoms(use_true_random=False), st.lists(texts, max_size=3))
@settings(max_examples=200)
def test_names_do_not_depend_on_order_or_batches(
    catalog: tuple[str, list[ToolKey]], rng: random.Random, reserved: list[str]
):
    scheme, keys = catalog
    whole = Names(scheme, reserved=reserved).assign(keys)
    assert not set(whole.values()) & set(reserved)
    names = Names(scheme, reserved=reserved)
    shuffled = rng.sample(keys, len(keys))
    ever: dict[str, ToolKey] = {}
    while shuffled:
        size = rng.randint(1, len(shuffled))
        batch, shuffled = shuffled[:size], shuffled[size:]
        for key, name in names.assign(batch).items():
            assert ever.setdefault(name, key) == key
    for key, name in names.assign(keys).items():
        assert ever.setdefault(name, key) == key
    assert names.assign(keys) == whole
    for name, key in ever.items():
        assert names.lookup(name) == key
