"""Slurm's node lists and repeated numbers, by tables; ``scontrol`` itself is asked in tests/engines."""

from __future__ import annotations

import pytest

from actorsession.cluster.node_lists import expand_counts, expand_node_list

LISTS = [
    ("n1", "n1"),
    ("a,b,c", "a b c"),
    ("n[1-3]", "n1 n2 n3"),
    ("n[5]", "n5"),
    ("n[8-11]", "n8 n9 n10 n11"),
    ("n[01-03,5]", "n01 n02 n03 n5"),
    ("n[08-11]", "n08 n09 n10 n11"),
    ("n[098-101]", "n098 n099 n100 n101"),
    ("a,b[1-2],c", "a b1 b2 c"),
    ("n[3,1-2]", "n3 n1 n2"),
    ("n[1-2]s[1-2]", "n1s1 n1s2 n2s1 n2s2"),
    ("rack[0-1]node[07-08],login", "rack0node07 rack0node08 rack1node07 rack1node08 login"),
    ("n[0-1][2-3]", "n02 n03 n12 n13"),
    ("[1-2]", "1 2"),
    ("10.0.0.[1-2]", "10.0.0.1 10.0.0.2"),
]
SUFFIXES = [
    ("n[1-2]-ib", "n1-ib n2-ib"),
    ("n[1-2].cluster,login.cluster", "n1.cluster n2.cluster login.cluster"),
    ("n[1-2]r[0,2]x", "n1r0x n1r2x n2r0x n2r2x"),
]


@pytest.mark.parametrize(("text", "names"), LISTS + SUFFIXES)
def test_a_node_list_is_its_names_in_order(text: str, names: str) -> None:
    assert expand_node_list(text) == names.split()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "a name of nodes is missing"),
        ("n1,", "a name of nodes is missing"),
        (",n1", "',n1' is no name of nodes"),
        ("a,,b", "',b' is no name of nodes"),
        ("n[1-2", "'n\\[1-2' is no name of nodes"),
        ("n1]", "'n1\\]' is no name of nodes"),
        ("n[1-[2-3]]", "is no name of nodes"),
        ("n1 n2", "'n1 n2' is no name of nodes"),
        ("n[]", "'' in 'n\\[\\]' is no number or range"),
        ("n[1,,2]", "'' in"),
        ("n[a-b]", "'a-b' in 'n\\[a-b\\]' is no number or range"),
        ("n[1-2-3]", "'1-2-3' in"),
        ("n[-1]", "'-1' in"),
        ("n[\u0661-\u0662]", "is no number or range"),
        ("n[3-1]", "the range '3-1' in .* ends before it begins"),
        ("n[1-9999999]", "more than 65536 nodes"),
        ("n[1-2000]m[1-2000]", "more than 65536 nodes"),
        ("n[1-65530],m[1-9]", "more than 65536 nodes"),
    ],
)
def test_a_node_list_in_another_form_says_which_part(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        expand_node_list(text)


@pytest.mark.parametrize(
    ("text", "counts"), [("1", [1]), ("4(x2),1", [4, 4, 1]), ("2,3(x1),2(x3)", [2, 3, 2, 2, 2]), ("0,1", [0, 1])]
)
def test_repeated_numbers_are_one_for_each_node(text: str, counts: list[int]) -> None:
    assert expand_counts(text) == counts


@pytest.mark.parametrize("text", ["", "x", "2,", "2(3)", "2(x)", "2(x0)", "-1", "2(x9999999)"])
def test_numbers_in_another_form_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no number or repeated number, such as 3 or 4"):
        expand_counts(text)
